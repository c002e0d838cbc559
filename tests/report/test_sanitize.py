"""Texts from outside are made harmless without moving anything, and cut around what matters."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ragtriage.core.display import one_line, sanitize
from ragtriage.report.case_parts import excerpts, merged_spans

SPANS = st.lists(
    st.tuples(st.integers(0, 5000), st.integers(0, 5000)).map(lambda pair: (min(pair), max(pair))), max_size=30
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
def test_one_line_keeps_its_limit(text: str, most: int) -> None:
    line = one_line(text, most)

    assert len(line) <= most
    assert "\n" not in line


def test_one_line_tells_that_it_cut() -> None:
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


def test_a_text_that_is_short_enough_is_shown_whole() -> None:
    assert excerpts(100, [], 100) == ((0, 100),)


def test_a_long_text_is_cut_around_what_matters() -> None:
    shown = excerpts(100_000, [(50_000, 50_020)], 1000)

    assert any(a <= 50_000 and b >= 50_020 for a, b in shown)


def test_touching_spans_become_one() -> None:
    assert merged_spans([(5, 9), (0, 3), (3, 4), (6, 7)]) == [(0, 4), (5, 9)]
