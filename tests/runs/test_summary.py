"""A run in numbers: means, intervals, what is left out of them, and slices."""

import json
from dataclasses import replace

import numpy as np
import pytest

from ragtriage import RULES, Case, Record, Score, Undefined, metrics_named, thresholds_with
from ragtriage.core.verdicts import Component, Outcome, Part, Verdict, with_chance
from ragtriage.metrics import THELMA
from ragtriage.report.case_report import listed_case, worst_first
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.metric_tally import weighted_interval
from ragtriage.runs.summary import Gates, Tally
from ragtriage.runs.tally import MAX_SLICES, OTHERS, SlicedTally

CONFIG = EvaluationConfig(metrics_named(["groundedness"]), thresholds_with({}))


def record(i: int, outcome: Outcome, *, weight: float = 1.0, **tags: object) -> Record:
    return Record(Case(f"c{i}", "What?", weight=weight, tags=tags), {}, {"groundedness": outcome})


def counted(*records: Record, by: str | None = None) -> SlicedTally:
    assessment = SlicedTally(CONFIG, by)
    for one in records:
        assessment.add(one)
    return assessment


def test_undefined_failed_and_unknown_are_counted_apart() -> None:
    outcomes = [Score(1.0, 2, 1), Score(0.5, 2), Undefined("no response was given"), Undefined("time-out", failed=True)]
    (found,) = counted(*(record(i, outcome) for i, outcome in enumerate(outcomes))).summary().metrics

    assert (found.mean, found.n, found.failed, found.unknown) == (0.75, 2, 1, 1)
    assert found.undefined == {"no response was given": 1}
    assert sum(found.bins) == 2


def test_without_a_case_or_a_score_there_is_a_summary_all_the_same() -> None:
    summary = SlicedTally(EvaluationConfig(THELMA, thresholds_with({}))).summary()
    undefined = counted(record(0, Undefined("no response was given"))).summary()

    assert (summary.cases, summary.diagnosis) == (0, {})
    assert all(m.mean is None for m in summary.metrics)
    assert undefined.as_json()["metrics"]["groundedness"]["mean"] is None
    assert json.dumps(undefined.as_json(), allow_nan=False)
    # without anything wrong no case is the worst
    assert undefined.worst is counted(record(0, Score(1.0, 1))).summary().worst is None


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e308])
def test_means_are_weighted_and_only_the_proportion_of_weights_counts(scale: float) -> None:
    (found,) = counted(record(0, Score(1.0, 1), weight=3.0), record(1, Score(0.0, 1))).summary().metrics
    values, weights = np.array([1.0, 0.0, 0.5]), np.array([1.0, 0.5, 0.5])

    assert found.mean == 0.75
    assert weighted_interval(values, weights * scale) == pytest.approx(weighted_interval(values, weights))


def test_the_order_of_the_cases_changes_no_number_and_more_cases_narrow_the_interval() -> None:
    values = [i / 7 for i in range(8)] * 3
    weights = [1.0 + i % 5 for i in range(24)]
    there = weighted_interval(np.array(values), np.array(weights))
    assert there == weighted_interval(np.array(values[::-1]), np.array(weights[::-1]))

    few, many = (np.array([0.0, 1.0] * n) for n in (5, 500))
    (mean, low, high), (_, narrow_low, narrow_high) = (weighted_interval(v, np.ones(len(v))) for v in (few, many))
    assert low < mean < high
    assert narrow_high - narrow_low < (high - low) / 4


def test_the_worst_of_equal_cases_do_not_depend_on_their_order() -> None:
    rule = replace(RULES[0], when={"groundedness": "low"}, declines=False)
    config = replace(CONFIG, rules=(rule,))
    records = [record(i, Score(0.0, 2)) for i in range(9)]
    there, back = SlicedTally(config), SlicedTally(config)
    for one, other in zip(records, records[::-1], strict=True):
        there.add(one)
        back.add(other)

    (group,) = there.summary().groups
    assert group.worst == back.summary().groups[0].worst == ("c0", "c1", "c2", "c3", "c4")


def test_the_worst_case_is_the_one_that_the_list_of_cases_begins_with() -> None:
    part = Part(Component("It is blue."), with_chance(Verdict("no"), 0.3), good=False)
    rule = replace(RULES[0], when={"groundedness": "low"}, declines=False)
    config = replace(CONFIG, rules=(rule,))
    records = [
        record(1, Score(0.3, 1, parts=(part,))),  # likely, and not sure
        record(10, Score(0.2, 2)),
        record(2, Score(0.2, 2)),
        record(3, Score(1.0, 2)),
    ]
    tally = SlicedTally(config)
    found = [(one, tally.add(one)) for one in records]
    rows = worst_first(listed_case(one, findings, config) for one, findings in found)

    assert [row.id for row in rows] == ["c2", "c10", "c1", "c3"]
    summary = tally.summary()
    assert (summary.worst, summary.groups[0].worst) == ("c2", ("c2", "c10", "c1"))


def test_slices_are_ordered_by_size_and_too_many_are_put_together() -> None:
    records = [record(i, Score(1.0, 1), colour=f"c{i % (MAX_SLICES + 20)}") for i in range(200)]
    slices = counted(*records, record(999, Score(0.0, 1)), by="colour").slices()

    assert slices is not None
    assert next(iter(slices)) == OTHERS
    assert sum(one.cases for one in slices.values()) == 201
    assert len(slices) == MAX_SLICES + 1
    assert counted(record(0, Score(1.0, 1)), by="colour").slices().keys() == {"(none)"}  # type: ignore[union-attr]


def test_a_gate_fails_beyond_its_value_and_not_at_it_and_where_nobody_knows_the_mean() -> None:
    summary = counted(record(0, Score(0.8, 5)), record(1, Score(0.6, 5))).summary()
    assert Gates({"groundedness": 0.7}, {}).failing(summary) == []
    (line,) = Gates({"groundedness": 0.71}, {}).failing(summary)
    assert line == "gate failed: mean groundedness is 0.700, at least 0.71 was asked for"

    tally = Tally(metrics_named(["answer_f1", "hallucination"]), thresholds_with({}))
    lacking = Undefined("the case has no reference")
    tally.add(Record(Case("0", "Why?"), {}, {"answer_f1": lacking, "hallucination": lacking}))
    lines = Gates({"answer_f1": 0.5}, {"hallucination": 0.2}).failing(tally.summary())
    assert [line.split(", ")[1] for line in lines] == ["at least 0.5 was asked for", "at most 0.2 was asked for"]
    # of hallucination, lower is better
    tally.add(Record(Case("1", "Why?"), {}, {"answer_f1": lacking, "hallucination": Score(0.3, 10)}))
    assert Gates({}, {"hallucination": 0.3}).failing(tally.summary()) == []
    (line,) = Gates({}, {"hallucination": 0.2}).failing(tally.summary())
    assert line == "gate failed: mean hallucination is 0.300, at most 0.2 was asked for"
