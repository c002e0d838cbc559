"""A judge's reliability curve by labels."""

from collections.abc import Sequence

import pytest

from ragtriage import Case, Component, Record, Verdict
from ragtriage.core.statistics import wilson_interval
from ragtriage.core.verdicts import with_chance
from ragtriage.metrics import metric_named
from ragtriage.metrics.aggregate import share
from ragtriage.trust.chance_fits import reliability_curve
from ragtriage.trust.corrected_mean import LabelledMetric, join_labels
from ragtriage.trust.label_files import Label, verdict_of

METRIC = metric_named("groundedness")
assert METRIC


def labelled(claims: Sequence[tuple[Verdict, bool, float]]) -> LabelledMetric:
    """A run of one case: of each claim what the judge said, what is true, and its inclusion probability."""
    texts = [Component(f"Claim {i}.") for i in range(len(claims))]
    score = share(texts, [verdict for verdict, *_ in claims])
    labels = [
        Label("7", "c", "groundedness", i, texts[i].text, true, verdict_of(score.parts[i]), None, chance=inclusion)
        for i, (_, true, inclusion) in enumerate(claims)
    ]
    record = Record(Case("c", "q"), {}, {"groundedness": score})
    (found,) = join_labels(("7",), (METRIC,), [record], labels).metrics
    return found


def chance(p: float) -> Verdict:
    return with_chance(Verdict("yes"), p)


def test_a_point_is_the_share_of_yes_among_neighbouring_chances() -> None:
    low = [(chance(0.2), i < 3, 0.5) for i in range(10)]
    high = [(chance(0.9), i < 8, 0.5) for i in range(20)]
    points = reliability_curve(labelled([*high, *low]))

    assert [(one.said, one.true, one.labels) for one in points] == [
        (pytest.approx(0.2), pytest.approx(0.3), 10),
        (pytest.approx(0.9), pytest.approx(0.4), 20),  # equal ones stay together
    ]
    assert (points[0].low, points[0].high) == pytest.approx(wilson_interval(0.3, 10))


def test_labels_that_were_unlikely_to_be_drawn_count_for_more_and_widen_the_interval() -> None:
    rare = [(chance(0.5), True, 0.1)] * 10 + [(chance(0.5), False, 1.0)] * 10
    (point,) = reliability_curve(labelled(rare))
    assert point.true == pytest.approx(100 / 110)
    assert (point.low, point.high) == pytest.approx(wilson_interval(100 / 110, 110**2 / 1010))


def test_with_few_labels_and_of_a_judge_without_probabilities_there_is_none() -> None:
    assert reliability_curve(labelled([(chance(0.5), True, 1.0)] * 19)) == ()
    assert reliability_curve(labelled([(Verdict("yes"), True, 1.0)] * 40)) == ()
    unknown = [(Verdict("unknown", 0.5), True, 1.0)] * 40
    assert reliability_curve(labelled(unknown + [(Verdict("yes", 0.9), True, 1.0)] * 15)) == ()


def test_without_chances_the_probabilities_are_taken() -> None:
    (point,) = reliability_curve(labelled([(Verdict("yes", 0.8), i % 4 > 0, 1.0) for i in range(20)]))
    assert (point.said, point.true) == (pytest.approx(0.8), pytest.approx(0.75))
