"""How counts and amounts are written."""

import unicodedata

import pytest

from ragtriage.core.display import STAND_IN, dollars, listed, plural, sanitize, settled, told_apart


def test_a_count_stands_with_its_noun():
    said = plural(1, "case"), plural(2000, "case"), plural(2, "batch", "batches")

    assert said == ("1 case", "2,000 cases", "2 batches")


@pytest.mark.parametrize(
    ("value", "limit", "shown"),
    [
        (0.79999, 0.8, "0.79999"), (0.7996, 0.8, "0.7996"), (0.741, 0.75, "0.74"), (0.8, 0.8, "0.80"),
        (0.8000001, 0.8, "0.80"), (0.2049, 0.2, "0.205"), (0.7996, 0.7998, "0.7996"), (0.5, None, "0.50"),
        (-0.001, None, "0.00"),
    ],
)  # fmt: skip
def test_a_score_is_shown_on_its_side_of_a_limit(value, limit, shown):
    assert told_apart(value, limit) == shown


def test_what_differs_between_processors_is_no_difference():
    for tie in (0.625, 0.125, 0.69, 0.31, 1 - 0.69, 0.8):
        assert len({settled(tie + by, 2) for by in (-1e-7, 0, 1e-7)}) == 1


def test_small_amounts_are_exact_and_large_ones_to_the_cent():
    assert [dollars(0), dollars(0.0012), dollars(0.314)] == ["$0.00", "$0.0012", "$0.31"]


def test_the_last_part_of_a_list_stands_behind_a_word():
    said = listed(["a"], "or"), listed(["a", "b"], "or"), listed(["a", "b", "c"], "and"), listed([], "and")

    assert said == ("a", "a or b", "a, b and c", "")


def test_signs_that_move_a_cursor_or_turn_the_direction_are_replaced_one_for_one():
    turning = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    signs = [
        sign
        for sign in map(chr, range(0xE000))
        if unicodedata.bidirectional(sign) in turning or unicodedata.category(sign) in {"Cc", "Cs"}
    ]
    assert "\u2066" in signs

    for sign in signs:
        assert sanitize(f"a{sign}b") in (f"a{STAND_IN}b", "a b", "a\nb")
