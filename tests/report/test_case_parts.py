"""Texts from outside are made harmless without moving anything, marked without losing a character, and cut."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ragtriage.core.display import one_line, sanitize
from ragtriage.report.case_parts import LOOKS, Mark, excerpts, merged_spans, pieces

TEXT = "The fee is 20 euros and it is due today."
SPANS = st.lists(
    st.tuples(st.integers(0, 5000), st.integers(0, 5000)).map(lambda pair: (min(pair), max(pair))), max_size=30
)
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


@given(st.text())
def test_a_harmless_text_is_as_long_as_before_and_has_no_control_character(text: str) -> None:
    shown = sanitize(text)

    assert len(shown) == len(text)
    assert not any((ord(c) < 0x20 and c != "\n") or 0x7F <= ord(c) < 0xA0 for c in shown)
    shown.encode()


def test_escape_sequences_overrides_and_lone_surrogates_are_replaced() -> None:
    assert sanitize("\x1b[2J\x00\u202e\ud800ok\r\n\u05d0") == "�[2J���ok \n\u05d0"


@given(st.text(), st.integers(2, 50))
def test_one_line_keeps_its_limit_and_tells_that_it_cut(text: str, most: int) -> None:
    line = one_line(text, most)

    assert len(line) <= most
    assert "\n" not in line
    assert one_line("a " * 100, 10) == "a a a a a…"
    assert one_line("short", 10) == "short"


@given(st.integers(0, 5000), SPANS, st.integers(300, 2000))
def test_windows_are_disjoint_in_order_within_the_text_and_not_longer_than_asked(
    length: int, spans: list[tuple[int, int]], most: int
) -> None:
    inside = [(a, min(b, length)) for a, b in spans if a < length]

    shown = excerpts(length, inside, most)

    assert sum(b - a for a, b in shown) <= most
    assert all(0 <= a <= b <= length for a, b in shown)
    assert all(first[1] < second[0] for first, second in pairwise(shown))


def test_a_long_text_is_cut_around_what_matters_and_a_short_one_is_whole() -> None:
    assert any(a <= 50_000 and b >= 50_020 for a, b in excerpts(100_000, [(50_000, 50_020)], 1000))
    assert excerpts(100, [], 100) == ((0, 100),)
    assert merged_spans([(5, 9), (0, 3), (3, 4), (6, 7)]) == [(0, 4), (5, 9)]


@given(st.text(max_size=50), MARKS)
def test_the_pieces_make_up_the_text(text: str, marks: list[Mark]) -> None:
    found = pieces(text, marks, 1000)

    assert len("".join(piece.text for piece in found)) == len(text)
    assert all(piece.left_out == 0 for piece in found)


def test_where_marks_overlap_the_most_pressing_is_shown_and_all_are_named() -> None:
    nested = pieces(TEXT, [Mark((0, 40), "supported", 1), Mark((24, 39), "unsupported", 2)], 1000)
    assert [(p.text, p.look, p.numbers, p.ends) for p in nested] == [
        ("The fee is 20 euros and ", "supported", (1,), ()),
        ("it is due today", "unsupported", (1, 2), (2,)),
        (".", "supported", (1,), (1,)),
    ]
    overlapping = pieces(TEXT, [Mark((0, 20), "check", 1), Mark((10, 30), "extraneous", 2)], 1000)
    assert [(p.look, p.numbers) for p in overlapping] == [
        ("check", (1,)), ("check", (1, 2)), ("extraneous", (2,)), ("plain", ()),
    ]  # fmt: skip
    repeated = pieces(TEXT, [Mark((0, 10), "supported", 1), Mark((5, 20), "plain", repeated=True)], 1000)
    assert [(p.look, p.repeated) for p in repeated] == [
        ("supported", False), ("supported", True), ("plain", True), ("plain", False),
    ]  # fmt: skip


def test_a_long_marked_text_says_how_much_is_missing() -> None:
    text = "x" * 20_000 + "here" + "y" * 20_000

    found = pieces(text, [Mark((20_000, 20_004), "unsupported", 1)], 1000)

    assert any(p.text == "here" and p.ends == (1,) for p in found)
    assert sum(len(p.text) + p.left_out for p in found) == len(text)
    assert sum(len(p.text) for p in found) <= 1000
