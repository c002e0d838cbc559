"""Repeatability: numbers worked out by hand, and what holds for any numbers."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from ragtriage import METRICS, Case, Component, ConfigError, Failure, Record, Score, Undefined, Verdict, metrics_named
from ragtriage.repeats import WORST, MetricRepeat, Repeats, RepeatSummary
from ragtriage.report.terminal_repeats import print_repeats
from ragtriage.verdicts import Cell, Outcome, Part

GROUNDEDNESS = metrics_named(["groundedness"])
YES, NO, UNKNOWN = Verdict("yes", 0.9), Verdict("no", 0.1), Verdict("unknown")


def part(text: str, cell: Cell, source: int | None = None) -> Part:
    return Part(Component(text, source=source), cell, None)


def record(case: str, outcome: Outcome | float, *parts: Part, weight: float = 1.0) -> Record:
    found = Score(outcome, len(parts), parts=parts) if isinstance(outcome, float) else outcome
    return Record(Case(case, "What?", weight=weight), {}, {"groundedness": found})


def repeated(*trials: Sequence[Record], thresholds: dict[str, float] | None = None) -> RepeatSummary:
    repeats = Repeats(GROUNDEDNESS, thresholds)
    for trial, records in enumerate(trials):
        for one in records:
            repeats.add(trial, one)
    return repeats.summary()


def scores(*rows: Sequence[float], **weights: float) -> MetricRepeat:
    """Rows are cases, columns are trials."""
    trials = zip(*rows, strict=True)
    ((found),) = repeated(
        *([record(f"c{i}", v, weight=weights.get(f"c{i}", 1.0)) for i, v in enumerate(t)] for t in trials)
    ).metrics
    return found


def test_an_example_worked_out_by_hand() -> None:
    found = scores([1.0, 0.5, 1.0], [0.5, 0.5, 0.0])

    # the runs' means are 3/4, 1/2 and 1/2
    assert found.mean == pytest.approx(7 / 12)
    assert found.spread == pytest.approx(sqrt(1 / 48))
    # each case has one trial that is half a point off: variance 1/12
    assert found.case_spread == pytest.approx(sqrt(1 / 12))
    # the first crosses 0.8, the second stays below
    assert found.flips == 0.5
    # the trials' variances over cases are 1/8, 0 and 1/2: 5/24 in the mean, of which half is the squared error
    assert found.smallest == pytest.approx(1.96 * sqrt(2) * sqrt(5 / 48))
    assert [(c.case, c.flipped) for c in found.worst] == [("c0", True), ("c1", False)]
    assert [c.mean for c in found.worst] == pytest.approx([5 / 6, 1 / 3])
    assert [c.spread for c in found.worst] == pytest.approx([sqrt(1 / 12)] * 2)


def test_noise_alone_makes_a_difference_that_can_not_be_seen() -> None:
    found = scores(*([float(i % 2), float(1 - i % 2)] for i in range(100)))

    assert found.spread == 0
    assert found.case_spread == pytest.approx(sqrt(1 / 2))
    assert found.flips == 1.0
    # a variance of 25/99 in each trial
    assert found.smallest == pytest.approx(1.96 * sqrt(2 * 25 / 99 / 100))


def test_more_cases_see_smaller_differences() -> None:
    few, many = (scores(*([float(i % 2)] * 2 for i in range(n))) for n in (10, 1000))

    assert few.smallest is not None
    assert many.smallest == pytest.approx(few.smallest / 10, rel=0.06)


def test_verdicts_are_compared_by_the_text_of_their_component() -> None:
    first = [part("It floats.", YES), part("It sinks.", NO), part("Only here.", NO)]
    second = [part("It sinks.", NO), part("It floats.", NO), part("Elsewhere.", YES)]
    (found,) = repeated([record("c", 0.5, *first)], [record("c", 0.5, *second)]).metrics

    assert found.verdict_flips == 0.5
    assert (found.spread, found.flips) == (0, 0)
    assert [(c.case, c.spread, c.verdict_flips) for c in found.worst] == [("c", 0, 1)]


def test_a_text_said_twice_or_in_two_sources_is_two_components() -> None:
    first = [part("Same.", YES), part("Same.", NO), part("Same.", YES, source=1)]
    second = [part("Same.", YES), part("Same.", NO), part("Same.", NO, source=1)]
    (found,) = repeated([record("c", 0.5, *first)], [record("c", 0.5, *second)]).metrics

    assert found.verdict_flips == pytest.approx(1 / 3)


@pytest.mark.parametrize(("other", "share"), [(UNKNOWN, 1.0), (Failure("time-out"), 1.0), (Verdict("yes", 0.6), 0.0)])
def test_only_the_value_of_a_verdict_counts(other: Cell, share: float) -> None:
    trials = ([record("c", 1.0, part("It floats.", cell))] for cell in (YES, other))

    assert repeated(*trials).metrics[0].verdict_flips == share


def test_the_same_text_in_another_case_is_another_verdict() -> None:
    here, there = record("a", 1.0, part("Same.", YES)), record("b", 1.0, part("Same.", NO))

    assert repeated([here, there], [here, there]).metrics[0].verdict_flips == 0.0


def test_what_is_undefined_or_failed_is_left_out_and_counted() -> None:
    none, broken = Undefined("no response was given"), Undefined("time-out", failed=True)
    (found,) = repeated(
        [record("a", 1.0, part("x", YES)), record("b", 0.0), record("c", none)],
        [record("a", 0.5, part("x", YES)), record("b", broken), record("c", none)],
        [record("a", broken), record("b", 0.0), record("c", none)],
    ).metrics

    assert (found.cases, found.undefined, found.failed) == (2, 3, 2)
    assert found.mean == pytest.approx((0.5 + 0.5 + 0.0) / 3)
    assert found.case_spread == pytest.approx(sqrt(1 / 8) / 2)
    assert found.flips == 0.5
    assert found.verdict_flips is None  # in no component of all trials
    assert found.smallest == pytest.approx(1.96 * sqrt(2) * sqrt(1 / 2 / 2))  # the first trial alone has two scores


def test_weights_count_in_the_mean_as_they_do_in_a_run() -> None:
    found = scores([1.0, 1.0], [0.0, 0.0], c0=3.0)

    assert found.mean == 0.75
    # variance 3/16 over an effective number of 16/10 cases
    assert found.smallest == pytest.approx(1.96 * sqrt(2 * (3 / 16) / (16 / 10 - 1)))


def test_a_single_trial_has_no_spread() -> None:
    found = scores([1.0], [0.0])

    assert (found.mean, found.spread, found.case_spread, found.flips, found.verdict_flips) == (0.5, *[None] * 4)
    assert found.smallest == pytest.approx(1.96 * sqrt(2 * 1 / 2 / 2))
    assert found.worst == ()


def test_nothing_is_nothing() -> None:
    assert repeated().metrics[0].mean is None
    (found,) = repeated([record("a", Undefined("no"))], [record("a", Undefined("no"))]).metrics
    assert (found.mean, found.spread, found.flips, found.smallest, found.cases) == (None, None, None, None, 0)


def test_a_metric_without_a_threshold_does_not_flip() -> None:
    (found,) = repeated([record("a", 0.0)], [record("a", 1.0)], thresholds={}).metrics

    assert found.flips is None
    assert found.worst[0].flipped is False


def test_a_case_counts_once_in_a_trial() -> None:
    repeats = Repeats(GROUNDEDNESS)
    repeats.add(7, record("a", 1.0))
    repeats.add(2, record("a", 1.0))

    with pytest.raises(ConfigError, match="'a' comes twice in trial 7"):
        repeats.add(7, record("a", 0.0))


def test_only_the_worst_cases_are_listed() -> None:
    found = scores(*([0.0, i / 100] for i in range(50)))

    assert [c.case for c in found.worst] == [f"c{49 - i}" for i in range(WORST)]


grids = st.integers(2, 4).flatmap(
    lambda n: st.lists(st.lists(st.sampled_from([0.0, 0.1, 1 / 3, 0.8, 1.0]), min_size=n, max_size=n), min_size=1)
)


@given(st.lists(st.floats(0, 1), min_size=1), st.integers(2, 5))
def test_trials_that_are_the_same_have_no_spread_and_flip_nothing(values: list[float], times: int) -> None:
    records = [record(f"c{i}", value, part("x", YES), part("y", NO)) for i, value in enumerate(values)]
    (found,) = repeated(*[records] * times).metrics

    assert found.spread == pytest.approx(0, abs=1e-12)
    assert (found.case_spread, found.flips, found.verdict_flips, found.worst) == (0, 0, 0, ())
    assert found.mean == pytest.approx(sum(values) / len(values))


@given(grids, st.randoms())
def test_the_order_of_records_does_not_matter(grid: list[list[float]], chance) -> None:
    pairs = [(t, record(f"c{i}", v, part("x", YES if v > 0.5 else NO)))
             for i, row in enumerate(grid) for t, v in enumerate(row)]  # fmt: skip
    there, back = Repeats(GROUNDEDNESS), Repeats(GROUNDEDNESS)
    for pair in pairs:
        there.add(*pair)
    chance.shuffle(pairs)
    for pair in pairs:
        back.add(*pair)
    one, other = there.summary().metrics[0], back.summary().metrics[0]

    for name in ("mean", "spread", "case_spread", "flips", "verdict_flips", "smallest"):
        assert getattr(one, name) == pytest.approx(getattr(other, name)), name
    assert [c.case for c in one.worst] == [c.case for c in other.worst]
    assert 0 <= one.flips <= 1
    assert 0 <= one.verdict_flips <= 1


def test_machines_get_numbers_in_a_stable_shape() -> None:
    found = json.loads(json.dumps(repeated([record("a", 1.0)], [record("a", 0.0)]).as_json(), allow_nan=False))

    assert (found["trials"], found["cases"], list(found["metrics"])) == (2, 1, ["groundedness"])
    assert set(found["metrics"]["groundedness"]) == {
        "mean", "spread", "case_spread", "flips", "verdict_flips", "smallest", "cases", "undefined", "failed", "worst",
    }  # fmt: skip


def shown(summary: RepeatSummary) -> str:
    file = io.StringIO()
    print_repeats(Console(file=file, width=100), summary, input="rows.jsonl", judge="openai:some-model")
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def test_a_person_reads_a_table_and_the_cases_that_are_least_alike() -> None:
    broken = Undefined("time-out", failed=True)
    trials = [
        [record("a", v, part("x", YES if v else NO)), record("b", 0.5), record("c", w)]
        for v, w in ((1.0, 1.0), (0.0, broken))
    ]

    text = shown(repeated(*trials))

    assert text.startswith("2 trials of 3 cases · rows.jsonl · judged by openai:some-model\n")
    assert "\nGrounded  0.54   0.412      0.354  50.0 %   100.0 %  0.589         1\n" in text
    assert "judge failed: Grounded 1. The same command tries these again." in text
    assert "\na     Grounded  0.50   0.707  flips, 1 verdict differs" in text
    assert "\x1b" not in text


def test_a_table_without_anything_to_compare() -> None:
    assert "nothing to show" in shown(repeated())
    assert "Least alike" not in shown(repeated([record("a", 1.0)]))
    everything = Repeats(METRICS)
    everything.add(0, record("a", 1.0))
    assert all(m.title in shown(everything.summary()) for m in METRICS)
