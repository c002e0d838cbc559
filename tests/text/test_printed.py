"""Texts are read as they are shown: HTML as a page shows it, and tables with their header, however they are printed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from ragtriage.judges.embedded.readings import read
from ragtriage.text.blocks import printed_tables, result_rows
from ragtriage.text.claims import split_claims
from ragtriage.text.markup import visible_text
from ragtriage.text.sentences import split_facts, split_sentences

PAGE = (
    "<p>The fee is 5&nbsp;euros.</p><p>You can pay in <b>cash</b> &amp; by card.</p>"
    "<ul><li>Cheques aren't taken.</li><li>Coins are welcome.</li></ul>"
)


@pytest.mark.parametrize("row", examples("printed", "html"))
def test_html_is_read_as_a_page_shows_it_and_nothing_else_is_html(row: dict[str, Any]) -> None:
    assert visible_text(row["text"]) == row["shown"]


@pytest.mark.parametrize("row", examples("printed", "tables"))
def test_a_table_in_any_form_is_one_and_nothing_else(row: dict[str, Any]) -> None:
    assert printed_tables(row["text"]).strip() == row["shown"]


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


def test_rows_are_read_with_their_header() -> None:
    reading = read('part,name,stock\n4410,"gasket, 40 mm",118\n5311,valve,3\n')

    assert [s.text for s in reading.sentences] == [
        "part: 4410; name: gasket, 40 mm; stock: 118",
        "part: 5311; name: valve; stock: 3",
    ]
    assert reading.table


def test_the_result_of_a_query_has_no_names_of_columns() -> None:
    rows = ("('Skell', 410, datetime.date(2024, 5, 1))", "('Selby', Decimal('9.90'), None)")

    for text in (f"[{', '.join(rows)}]", "\n".join(rows)):
        assert result_rows(text) == [["Skell", "410", "2024-05-01"], ["Selby", "9.9", ""]]
    assert result_rows("[{'name': 'Ada'}]") == result_rows("Ada has 17 goals [1].") == []


@pytest.mark.parametrize("text", ["[{{}}]", "{{a}}\n{{}}", "[" * 3_000 + "]" * 3_000])
def test_odd_lists_are_no_tables(text: str) -> None:
    assert printed_tables(text) == text
    assert not read(text).table


def test_two_rows_of_a_result_are_a_table() -> None:
    assert read("[('Alder', 12), ('Birch', 30)]").table
    assert not read("Alder has 12 members.\nBirch has 30.").table
