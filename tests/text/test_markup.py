"""HTML is read as a page shows it, and spans are places in the HTML."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.text.claims import split_claims
from ragtriage.text.markup import visible_text
from ragtriage.text.sentences import split_facts, split_sentences

PAGE = (
    "<p>The fee is 5&nbsp;euros.</p><p>You can pay in <b>cash</b> &amp; by card.</p>"
    "<ul><li>Cheques aren't taken.</li><li>Coins are welcome.</li></ul>"
)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>One.</p><p>Two.</p>", "One.\nTwo.\n"),
        ("One<br>two<br/>three", "One\ntwo\nthree\n"),
        ("<ul><li>One <b>thing</b></li><li>Two</li></ul>", "- One thing\n- Two\n"),
        ("<p>10&ndash;16 &#8364; &lt;b&gt;</p>", "10–16 € <b>\n"),
        (
            "<table><tr><th>Plan</th><th>Price</th></tr><tr><td>Pro<br>yearly</td><td>$9</td></tr></table>",
            "| Plan | Price |\n|---|---|\n| Pro yearly | $9 |\n",
        ),
        ("<table><tr><td>Mon</td><td>closed</td></tr><tr><td>Tue</td>", "| Mon | closed |\n| Tue |\n"),
        ("<p>Seen.</p><script>var hidden = '<p>';</script><style>p {}</style><p>Seen too.</p>", "Seen.\nSeen too.\n"),
        ("<p>Seen.<!-- not this --></p>", "Seen.\n"),
        ("<p>Write `<br>` or:</p>\n```\n<td>x</td>\n```", "Write `<br>` or:\n```\n<td>x</td>\n```\n"),
    ],
)
def test_what_is_shown(html: str, expected: str) -> None:
    assert visible_text(html) == expected


@pytest.mark.parametrize(
    "text", ["a < b and c > d", "List<String> names", "<name> stands for your name", "AT&T and R&amp;D", ""]
)
def test_what_is_no_html_stays(text: str) -> None:
    assert visible_text(text) == text


@pytest.mark.parametrize("split", [split_claims, split_facts, split_sentences])
def test_each_block_is_split_by_itself_and_found_again_in_the_html(split) -> None:  # type: ignore[no-untyped-def]
    found = split(PAGE)

    assert found[0].text == "The fee is 5 euros."
    assert [c.text for c in found][-2:] == ["Cheques aren't taken.", "Coins are welcome."]
    places = [PAGE[slice(*c.span)] for c in found]
    assert places[0] == "The fee is 5&nbsp;euros."
    assert "<b>cash</b>" in "".join(places[1:-2])


@given(
    st.lists(
        st.sampled_from(
            ["<p>", "</p>", "<td>", "<tr>", "</table>", "<li>", "<!--", "-->", "<script>", "</script>", "&amp;", "&",
             "<", "`", "```", "One is here. ", "x", "\n", "\u2028", "<br>"]
        ),
        max_size=30,
    )
)  # fmt: skip
def test_spans_lie_in_the_html_whatever_it_is(pieces: list[str]) -> None:
    html = "".join(pieces)
    for component in split_facts(html):
        assert component.span is not None
        start, end = component.span
        assert 0 <= start <= end <= len(html)
