"""A score read as a classifier of correctness, with the intervals of the paper's table 1."""

import pytest
from answered_rows import decided

from ragtriage.core.errors import ConfigError
from ragtriage.core.statistics import IntervalEstimate, wald, wilson
from ragtriage.testset.answered_rows import Row
from ragtriage.testset.reliability import reliability_of


@pytest.mark.parametrize(
    ("hits", "n", "shown"),
    [
        (19, 100, (0.19, 0.11, 0.27)),  # RAGAS-Fact, precision
        (88, 96, (0.92, 0.86, 0.97)),  # RAGAS-Fact, recall
        (15, 100, (0.15, 0.08, 0.22)),  # SelfCheck, precision
        (53, 107, (0.50, 0.40, 0.59)),  # SelfCheck, recall
    ],
)
def test_table_1_of_the_paper_has_walds_intervals(hits: int, n: int, shown: tuple[float, float, float]) -> None:
    found = wald(hits, n)

    assert (round(found.value or 0, 2), round(found.low or 0, 2), round(found.high or 0, 2)) == shown


def test_wilsons_interval_is_the_published_one() -> None:
    # Newcombe (1998), "Two-sided confidence intervals for the single proportion", table I, method 3
    for hits, n, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611)):
        found = wilson(hits, n)
        assert found.low == pytest.approx(low, abs=5e-5)
        assert found.high == pytest.approx(high, abs=5e-5)


def test_a_share_of_nothing_is_undefined() -> None:
    assert wilson(0, 0) == wald(0, 0) == IntervalEstimate(None, None, None, 0)


def row(name: str, score: object, *, right: bool | None) -> Row:
    return Row(name, "g", correct=right, columns={"score": score})


ROWS = [
    row("a", 0.9, right=True),
    row("b", 0.8, right=False),
    row("c", 0.5, right=True),
    row("d", 0.1, right=True),
    row("e", 0.2, right=False),
    row("f", None, right=True),
    row("g", 0.9, right=None),
    row("h", float("nan"), right=True),
]


def test_precision_and_recall_have_their_own_denominators() -> None:
    found = reliability_of(*decided(ROWS), "score", 0.5)

    assert (found.precision.value, found.precision.n) == (2 / 3, 3)
    assert (found.recall.value, found.recall.n) == (2 / 3, 3)
    assert found.left_out == 3
    low = reliability_of(*decided(ROWS), "score", 0.15, interval="wald")
    assert (low.precision, low.recall) == (wald(2, 4), wald(2, 3))


def test_scores_may_come_from_elsewhere_and_may_be_yes_or_no() -> None:
    found = reliability_of(
        *decided(ROWS), "other", 1, {"a": {"other": True}, "b": {"other": False}, "z": {"other": 1.0}}
    )

    assert (found.precision.value, found.recall.value, found.left_out) == (1.0, 1.0, 6)


def test_a_score_that_passes_nothing_has_no_precision() -> None:
    found = reliability_of(*decided(ROWS), "score", 2.0)

    assert (found.precision.value, found.recall.value) == (None, 0.0)


def test_a_score_that_no_row_has_is_refused() -> None:
    with pytest.raises(ConfigError, match="no decided row has a number under 'nope'"):
        reliability_of(*decided(ROWS), "nope", 0.5)
