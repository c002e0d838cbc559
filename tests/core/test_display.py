"""How counts and amounts are written."""

from __future__ import annotations

from ragtriage.core.display import dollars, listed, plural


def test_a_count_stands_with_its_noun():
    said = plural(1, "case"), plural(2000, "case"), plural(2, "batch", "batches")

    assert said == ("1 case", "2,000 cases", "2 batches")


def test_small_amounts_are_exact_and_large_ones_to_the_cent():
    assert [dollars(0), dollars(0.0012), dollars(0.314)] == ["$0.00", "$0.0012", "$0.31"]


def test_the_last_part_of_a_list_stands_behind_a_word():
    said = listed(["a"], "or"), listed(["a", "b"], "or"), listed(["a", "b", "c"], "and"), listed([], "and")

    assert said == ("a", "a or b", "a, b and c", "")
