"""Two clusters compared: difference, interval, p-value, balance."""

from collections import Counter
from typing import Any

import pytest
from answered_rows import answers, scored, scored_evenly

from examples import examples
from ragtriage.core.errors import ConfigError
from ragtriage.testset.answered_rows import Row
from ragtriage.testset.scoring import METRICS, ClusterDifference, GrammarMetric, balanced


def of(rows: list[Row], metric: GrammarMetric = "accuracy", **terms: object) -> ClusterDifference:
    found = scored(rows, **terms).comparison
    assert found is not None
    return found.metrics[metric]


def worse(groups: int) -> list[Row]:
    """In every group `b` is right and `a` is wrong."""
    return answers(*(f"g{i} {name} d1" for i in range(groups) for name in ("a -", "b +")))


def test_with_few_groups_all_flips_are_taken() -> None:
    assert of(worse(3)).p == 2 / 2**3  # the observed one and its opposite
    assert of(worse(10)).p == 2 / 2**10
    assert of(worse(3)).difference == -1.0


def test_with_many_groups_flips_are_drawn() -> None:
    assert of(worse(40)).p == 1 / 10_001


def test_where_nothing_differs_there_is_nothing_to_see() -> None:
    found = of(answers(*(f"g{i} {name} {'+-'[i % 2]} d1" for i in range(20) for name in "ab")))

    assert (found.difference, found.low, found.high, found.p, found.detectable) == (0.0, 0.0, 0.0, 1.0, None)
    assert found.undefined == (
        "no resample differs from another, so the smallest detectable difference can't be estimated"
    )


@pytest.mark.parametrize("row", examples("cluster_comparison"))
def test_what_is_found_by_hand_and_what_is_undefined_with_the_reason(row: dict[str, Any]) -> None:
    found = of(answers(*row["lines"]), row["metric"])

    assert {name: getattr(found, name) for name in row["found"]} == {
        name: pytest.approx(value) if isinstance(value, float) else value for name, value in row["found"].items()
    }


def test_the_interval_is_that_of_a_bootstrap_over_groups() -> None:
    rows = answers(*(f"g{i} {name} {'+' if i % 4 == 0 or name == 'b' else '-'}" for i in range(400) for name in "ab"))

    found = of(rows)

    # each group's difference is −1 with probability .75, so its mean has the error √(.75 · .25 / 400) = .0217
    assert found.difference == -0.75
    assert found.low == pytest.approx(-0.75 - 1.96 * 0.0217, abs=0.005)
    assert found.high == pytest.approx(-0.75 + 1.96 * 0.0217, abs=0.005)
    assert found.detectable == pytest.approx(2.8 * 0.0217, abs=0.003)
    assert found == of(rows)
    assert found != of(rows, seed=1)


def test_which_is_first_can_be_said() -> None:
    rows = [*worse(3), *answers("g1 c + d1")]

    assert scored(rows).comparison is None
    named = scored(rows, clusters=("b", "a")).comparison
    assert named is not None
    assert (named.first, named.second, named.metrics["accuracy"].difference) == ("b", "a", 1.0)


@pytest.mark.parametrize(("pair", "told"), [(("a", "x"), "no row has the cluster 'x'"), (("a", "a"), "with itself")])
def test_clusters_that_cannot_be_compared_are_told(pair: tuple[str, str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        scored(worse(2), clusters=pair)


UNEVEN = answers("g1 a +", "g1 a -", "g1 a -", "g1 b +", "g2 a -", "g2 b -", "g2 b +", "g3 b -")


def test_a_balanced_sample_has_as_many_of_both_in_every_group() -> None:
    kept = balanced(UNEVEN, "a", "b")

    assert Counter((row.group, row.cluster) for row in kept) == {(g, c): 1 for g in ("g1", "g2") for c in "ab"}
    assert balanced(UNEVEN[::-1], "a", "b") == kept[::-1]
    assert {tuple(row.id for row in balanced(UNEVEN, "a", "b", seed)) for seed in range(20)} > {
        tuple(row.id for row in kept)
    }
    assert scored_evenly(UNEVEN).clusters["a"].rows == 2


def test_a_balanced_file_is_its_own_balanced_sample() -> None:
    assert scored_evenly(worse(3)).as_json() == scored(worse(3)).as_json()


@pytest.mark.parametrize(("rows", "told"), [(worse(2)[::2], "two clusters"), (answers("g1 a +", "g2 b +"), "no group")])
def test_what_cannot_be_balanced_is_told(rows: list[Row], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        scored_evenly(rows)


@pytest.mark.parametrize("average", ["rows", "groups"])
@pytest.mark.parametrize("scope", ["pooled", "per cluster"])
def test_every_metric_is_compared_by_what_its_clusters_show(average: str, scope: str) -> None:
    found = scored([*UNEVEN, *answers("g3 a + d1", "g1 b - d1")], average=average, scope=scope)
    assert found.comparison is not None

    for metric in METRICS:
        a, b = (found.clusters[name].values[found.terms.average][metric] for name in "ab")
        difference = found.comparison.metrics[metric]
        assert a is not None
        assert b is not None
        assert difference.difference == a - b
        assert (difference.low or 0) <= a - b <= (difference.high or 0)
