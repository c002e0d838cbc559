"""Repeatability: numbers worked out by hand, and what holds for any numbers."""

import io
import json
from collections.abc import Sequence
from dataclasses import replace
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from ragtriage import METRICS, Score, Undefined, metrics_named
from ragtriage.core.statistics import REACH
from ragtriage.core.verdicts import Outcome
from ragtriage.diagnosis.rules import thresholds_with
from ragtriage.report.run_document import ALIKE, ALWAYS, repeats_document
from ragtriage.report.terminal import print_document
from ragtriage.runs.case_row import CaseRow
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.repeats import WORST, MetricRepeat, RepeatSummary, repeat_summary

GROUNDEDNESS = metrics_named(["groundedness"])
CONFIG = EvaluationConfig(GROUNDEDNESS, thresholds_with({}), ())


def scored(case: str, outcome: Outcome | float, *, weight: float = 1.0) -> CaseRow:
    found = Score(outcome, 1) if isinstance(outcome, float) else outcome
    return CaseRow(0, case, weight=weight, outcomes={"groundedness": found})


def repeated(*trials: Sequence[CaseRow], thresholds: dict[str, float] | None = None) -> RepeatSummary:
    return repeat_summary(trials, CONFIG if thresholds is None else replace(CONFIG, thresholds=thresholds))


def scores(*rows: Sequence[float], **weights: float) -> MetricRepeat:
    """Rows are cases, columns are trials."""
    trials = zip(*rows, strict=True)
    ((found),) = repeated(
        *([scored(f"c{i}", v, weight=weights.get(f"c{i}", 1.0)) for i, v in enumerate(t)] for t in trials)
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
    # the trials' variances over cases are 1/8, 0 and 1/2: 5/24 in the mean, of which 1/12 is the judge's
    assert found.smallest == pytest.approx(REACH * sqrt((5 / 24 - 1 / 12 + 2 / 12) / 2))
    assert [(c.case, c.flipped) for c in found.worst] == [("c0", True), ("c1", False)]
    assert [c.mean for c in found.worst] == pytest.approx([5 / 6, 1 / 3])
    assert [c.spread for c in found.worst] == pytest.approx([sqrt(1 / 12)] * 2)


def test_noise_alone_makes_a_difference_that_can_not_be_seen() -> None:
    found = scores(*([float(i % 2), float(1 - i % 2)] for i in range(100)))

    assert found.spread == 0
    assert found.case_spread == pytest.approx(sqrt(1 / 2))
    assert found.flips == 1.0
    # a variance of 1/2 in each case is more than the 25/99 over cases: nothing is left for how the cases differ
    assert found.smallest == pytest.approx(REACH * sqrt(2 * 1 / 2 / 100))


def test_what_is_undefined_or_failed_is_left_out_and_counted() -> None:
    none, broken = Undefined("no response was given"), Undefined("time-out", failed=True)
    (found,) = repeated(
        [scored("a", 1.0), scored("b", 0.0), scored("c", none)],
        [scored("a", 0.5), scored("b", broken), scored("c", none)],
        [scored("a", broken), scored("b", 0.0), scored("c", none)],
    ).metrics

    assert (found.cases, found.undefined, found.failed) == (2, 3, 2)
    assert found.mean == pytest.approx((0.5 + 0.5 + 0.0) / 3)
    assert found.case_spread == pytest.approx(sqrt(1 / 8) / 2)
    assert found.flips == 0.5
    # the first trial alone has two scores, of variance 1/2; the first case differs by itself by 1/8, the second not
    assert found.smallest == pytest.approx(REACH * sqrt((1 / 2 - 1 / 16 + 2 / 16) / 2))


def test_weights_count_in_the_mean_as_they_do_in_a_run() -> None:
    found = scores([1.0, 1.0], [0.0, 0.0], c0=3.0)

    assert found.mean == 0.75
    # variance 3/16 over an effective number of 16/10 cases; no noise
    assert found.smallest == pytest.approx(REACH * sqrt((3 / 16) / (16 / 10 - 1)))


def test_nothing_is_nothing_and_a_single_trial_has_no_spread() -> None:
    assert repeated().metrics[0].mean is None
    (found,) = repeated([scored("a", Undefined("no"))], [scored("a", Undefined("no"))]).metrics
    assert (found.mean, found.spread, found.flips, found.smallest, found.cases) == (None, None, None, None, 0)

    one = scores([1.0], [0.0])
    assert (one.mean, one.spread, one.case_spread, one.flips) == (0.5, *[None] * 3)
    assert (one.smallest, one.worst) == (None, ())  # nothing is known of the judge's noise


def test_a_flip_is_across_the_threshold_of_a_metric_that_has_one() -> None:
    (found,) = repeated([scored("a", 0.0)], [scored("a", 1.0)], thresholds={}).metrics
    assert found.flips is None
    assert found.worst[0].flipped is False

    # where lower is better, a score at the threshold is good: 0.2 and 0.1 are both low, 0.2 and 0.3 are not
    lower = [replace(GROUNDEDNESS[0], better="lower")]
    for second, flips in ((0.1, 0.0), (0.3, 1.0)):
        trials = [[scored("a", value)] for value in (0.2, second)]
        assert repeat_summary(trials, EvaluationConfig(lower, {"groundedness": 0.2}, ())).metrics[0].flips == flips


def test_only_the_worst_cases_are_listed() -> None:
    found = scores(*([0.0, i / 100] for i in range(50)))

    assert [c.case for c in found.worst] == [f"c{49 - i}" for i in range(WORST)]


grids = st.integers(2, 4).flatmap(
    lambda n: st.lists(st.lists(st.sampled_from([0.0, 0.1, 1 / 3, 0.8, 1.0]), min_size=n, max_size=n), min_size=1)
)


@given(st.lists(st.floats(0, 1), min_size=1), st.integers(2, 5))
def test_trials_that_are_the_same_have_no_spread_and_flip_nothing(values: list[float], times: int) -> None:
    records = [scored(f"c{i}", value) for i, value in enumerate(values)]
    (found,) = repeated(*[records] * times).metrics

    assert found.spread == pytest.approx(0, abs=1e-12)
    assert (found.case_spread, found.flips, found.worst) == (0, 0, ())
    assert found.mean == pytest.approx(sum(values) / len(values))


@given(grids, st.randoms())
def test_the_order_of_records_does_not_matter(grid: list[list[float]], chance) -> None:
    trials = [[scored(f"c{i}", row[t]) for i, row in enumerate(grid)] for t in range(len(grid[0]))]
    there = repeated(*trials)
    for trial in trials:
        chance.shuffle(trial)
    one, other = there.metrics[0], repeated(*trials).metrics[0]

    for name in ("mean", "spread", "case_spread", "flips", "smallest"):
        assert getattr(one, name) == pytest.approx(getattr(other, name)), name
    assert [c.case for c in one.worst] == [c.case for c in other.worst]
    assert 0 <= one.flips <= 1


def test_machines_get_numbers_in_a_stable_shape() -> None:
    found = json.loads(json.dumps(repeated([scored("a", 1.0)], [scored("a", 0.0)]).as_json(), allow_nan=False))

    assert (found["trials"], found["cases"], list(found["metrics"])) == (2, 1, ["groundedness"])
    assert set(found["metrics"]["groundedness"]) == {
        "better", "mean", "spread", "case_spread", "flips", "smallest", "cases", "undefined",
        "failed", "worst",
    }  # fmt: skip
    assert found["same"] is False


@pytest.mark.parametrize(
    ("case", "outcome", "same"),
    [("c", 0.5, True), ("c", 0.6, False), ("c", Undefined("none"), False), ("d", 0.5, False)],
)
def test_trials_are_the_same_only_if_no_score_differs(case: str, outcome: Outcome | float, same: bool) -> None:
    first = scored("c", 0.5)

    assert repeated([first], [first], [scored(case, outcome)]).same is same


def test_a_single_trial_and_failures_are_not_called_the_same() -> None:
    broken = scored("a", Undefined("time-out", failed=True))

    assert repeated([scored("a", 1.0)]).same is False
    assert repeated([broken], [broken]).same is False


def shown(summary: RepeatSummary, width: int = 100, judge: str = "openai:some-model") -> str:
    file = io.StringIO()
    told = repeats_document(summary, input="rows.jsonl", judge=judge)
    print_document(Console(file=file, width=width), told)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def test_a_person_reads_a_table_and_the_cases_that_are_least_alike() -> None:
    broken = Undefined("time-out", failed=True)
    trials = [[scored("a", v), scored("b", 0.5), scored("c", w)] for v, w in ((1.0, 1.0), (0.0, broken))]

    text = shown(repeated(*trials))

    assert text.startswith("2 trials of 3 cases · rows.jsonl · judged by openai:some-model\n")
    assert "\nGrounded  0.54   0.412  0.354  50.0 %  1.253         1\n" in text
    assert "they failed: Grounded 1. The same command tries these again." in text
    assert "\na     Grounded  0.50   0.707  flips\n" in text
    assert "\x1b" not in text
    assert "nothing to show" in shown(repeated())
    everything = repeat_summary([[scored("a", 1.0)]], replace(CONFIG, metrics=METRICS))
    assert all(m.title in shown(everything) for m in METRICS)
    assert "Least alike" not in shown(everything)


@pytest.mark.parametrize(("judge", "told"), [("embedded", ALWAYS), ("openai:x", ALIKE)])
def test_trials_that_are_the_same_are_said_to_be_so(judge: str, told: str) -> None:
    trial = [scored("a", 1.0), scored("b", 0.0)]
    text = shown(repeated(trial, trial), 200, judge)

    assert told in text
    assert "Least alike" not in text
    (line,) = [line for line in text.splitlines() if line.startswith("Grounded")]
    sees = f"{REACH * sqrt(1 / 2 / 2):.3f}"
    assert line.split() == ["Grounded", "0.50", "0.000", "0.000", "0.0", "%", sees]


@pytest.mark.parametrize("width", [50, 72])
def test_a_narrow_console_wraps_names_and_cuts_no_numbers(width: int) -> None:
    found = repeated([scored("a", 1.0), scored("b", 0.5)], [scored("a", 0.0), scored("b", 0.5)])
    (metric,) = found.metrics
    wordy = replace(found, metrics=(replace(metric, title="A metric with a very long title indeed"),))

    text = shown(wordy, width)
    numbers = f"{metric.mean:.2f} {metric.spread:.3f} {metric.case_spread:.3f} 50.0 % {metric.smallest:.3f}"
    assert numbers in " ".join(text.split())
    assert "…" not in text
