"""Overlapping and nested marks cut a text into pieces that lose no character."""

from hypothesis import given
from hypothesis import strategies as st

from ragtriage.report.case_parts import LOOKS, Mark, pieces

TEXT = "The fee is 20 euros and it is due today."

MARKS = st.lists(
    st.builds(
        Mark,
        st.tuples(st.integers(-3, 60), st.integers(-3, 60)),
        st.sampled_from(LOOKS),
        st.integers(0, 5),
        st.booleans(),
    ),
    max_size=8,
)


@given(st.text(max_size=50), MARKS)
def test_the_pieces_make_up_the_text(text: str, marks: list[Mark]) -> None:
    found = pieces(text, marks, 1000)

    assert len("".join(piece.text for piece in found)) == len(text)
    assert all(piece.left_out == 0 for piece in found)


def test_nested_marks_show_the_most_pressing_and_name_all() -> None:
    found = pieces(TEXT, [Mark((0, 40), "supported", 1), Mark((24, 39), "unsupported", 2)], 1000)

    assert [(p.text, p.look, p.numbers, p.ends) for p in found] == [
        ("The fee is 20 euros and ", "supported", (1,), ()),
        ("it is due today", "unsupported", (1, 2), (2,)),
        (".", "supported", (1,), (1,)),
    ]


def test_overlapping_marks_are_both_kept() -> None:
    found = pieces(TEXT, [Mark((0, 20), "check", 1), Mark((10, 30), "extraneous", 2)], 1000)

    assert [p.numbers for p in found] == [(1,), (1, 2), (2,), ()]
    assert [p.look for p in found] == ["check", "check", "extraneous", "plain"]


def test_a_repeated_sentence_lies_over_other_marks() -> None:
    found = pieces(TEXT, [Mark((0, 10), "supported", 1), Mark((5, 20), "plain", repeated=True)], 1000)

    assert [(p.look, p.repeated) for p in found] == [
        ("supported", False),
        ("supported", True),
        ("plain", True),
        ("plain", False),
    ]


def test_a_long_text_is_cut_and_says_how_much_is_missing() -> None:
    text = "x" * 20_000 + "here" + "y" * 20_000

    found = pieces(text, [Mark((20_000, 20_004), "unsupported", 1)], 1000)

    assert any(p.text == "here" and p.ends == (1,) for p in found)
    assert sum(len(p.text) + p.left_out for p in found) == len(text)
    assert sum(len(p.text) for p in found) <= 1000
