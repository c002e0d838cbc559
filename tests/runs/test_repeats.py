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

from ragtriage import METRICS, Case, Component, ConfigError, Failure, Record, Score, Undefined, Verdict, metrics_named
from ragtriage.core.verdicts import Cell, Known, Outcome, Part, Verdicts
from ragtriage.report.run_document import ALIKE, ALWAYS, repeats_document
from ragtriage.report.terminal import print_document
from ragtriage.runs.repeats import REACH, WORST, MetricRepeat, Repeats, RepeatSummary

GROUNDEDNESS = metrics_named(["groundedness"])
YES, NO, UNKNOWN = Verdict("yes", 0.9), Verdict("no", 0.1), Verdict("unknown")


def part(text: str, cell: Cell, source: int | None = None) -> Part:
    return Part(Component(text, source=source), cell, None)


def record(
    case: str, outcome: Outcome | float, *parts: Part, weight: float = 1.0, steps: dict[str, Known] | None = None
) -> Record:
    found = Score(outcome, len(parts), parts=parts) if isinstance(outcome, float) else outcome
    return Record(Case(case, "What?", weight=weight), steps or {}, {"groundedness": found})


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
    # the trials' variances over cases are 1/8, 0 and 1/2: 5/24 in the mean, of which 1/12 is the judge's
    assert found.smallest == pytest.approx(REACH * sqrt((5 / 24 - 1 / 12 + 2 / 12) / 2))
    assert found.floor == pytest.approx(REACH * sqrt(2 / 12 / 2))
    assert [(c.case, c.flipped) for c in found.worst] == [("c0", True), ("c1", False)]
    assert [c.mean for c in found.worst] == pytest.approx([5 / 6, 1 / 3])
    assert [c.spread for c in found.worst] == pytest.approx([sqrt(1 / 12)] * 2)


def test_noise_alone_makes_a_difference_that_can_not_be_seen() -> None:
    found = scores(*([float(i % 2), float(1 - i % 2)] for i in range(100)))

    assert found.spread == 0
    assert found.case_spread == pytest.approx(sqrt(1 / 2))
    assert found.flips == 1.0
    # a variance of 1/2 in each case is more than the 25/99 over cases: nothing is left for how the cases differ
    assert found.smallest == found.floor == pytest.approx(REACH * sqrt(2 * 1 / 2 / 100))


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
    # the first trial alone has two scores, of variance 1/2; the first case differs by itself by 1/8, the second not
    assert found.smallest == pytest.approx(REACH * sqrt((1 / 2 - 1 / 16 + 2 / 16) / 2))


def test_weights_count_in_the_mean_as_they_do_in_a_run() -> None:
    found = scores([1.0, 1.0], [0.0, 0.0], c0=3.0)

    assert found.mean == 0.75
    # variance 3/16 over an effective number of 16/10 cases; no noise
    assert found.smallest == pytest.approx(REACH * sqrt((3 / 16) / (16 / 10 - 1)))


def test_a_single_trial_has_no_spread() -> None:
    found = scores([1.0], [0.0])

    assert (found.mean, found.spread, found.case_spread, found.flips, found.verdict_flips) == (0.5, *[None] * 4)
    assert (found.smallest, found.floor) == (None, None)  # nothing is known of the judge's noise
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

    for name in ("mean", "spread", "case_spread", "flips", "verdict_flips", "smallest", "floor"):
        assert getattr(one, name) == pytest.approx(getattr(other, name)), name
    assert [c.case for c in one.worst] == [c.case for c in other.worst]
    assert 0 <= one.flips <= 1
    assert 0 <= one.verdict_flips <= 1


def test_where_lower_is_better_a_flip_is_across_the_threshold_too() -> None:
    """At the threshold a score is good, so that 0.2 and 0.1 are both low, and 0.2 and 0.3 are not."""
    lower = [replace(GROUNDEDNESS[0], better="lower")]
    for second, flips in ((0.1, 0.0), (0.3, 1.0)):
        repeats = Repeats(lower, {"groundedness": 0.2})
        for trial, value in enumerate((0.2, second)):
            repeats.add(trial, record("a", value))
        assert repeats.summary().metrics[0].flips == flips


def test_what_no_judge_is_asked_is_no_kind_of_question() -> None:
    seen = {"retrieved(ids(relevant ids), each source)": Verdicts((Component("a"),), ((YES,),))}

    assert repeated([record("a", 1.0, steps=seen)], [record("a", 1.0, steps=seen)]).kinds == ()


def test_machines_get_numbers_in_a_stable_shape() -> None:
    found = json.loads(json.dumps(repeated([record("a", 1.0)], [record("a", 0.0)]).as_json(), allow_nan=False))

    assert (found["trials"], found["cases"], list(found["metrics"])) == (2, 1, ["groundedness"])
    assert set(found["metrics"]["groundedness"]) == {
        "better", "mean", "spread", "case_spread", "flips", "verdict_flips", "smallest", "floor", "cases",
        "undefined", "failed", "worst",
    }  # fmt: skip
    assert (found["same"], found["kinds"]) == (False, {})


def steps(claims: Sequence[str], *cells: Cell) -> dict[str, Known]:
    """A decomposition, and its verdicts against one target."""
    units = tuple(Component(text) for text in claims)
    return {
        "claims(response)": units,
        "sources(sources)": (Component("as retrieved"),),
        "supported(claims(response), sources)": Verdicts(units, tuple((cell,) for cell in cells)),
    }


def test_verdicts_are_told_by_kind_of_question() -> None:
    one = steps(["It floats.", "It sinks.", "Only here."], YES, NO, YES)
    other = steps(["It sinks.", "It floats.", "Elsewhere."], NO, UNKNOWN, YES)
    found = repeated([record("c", 0.5, steps=one)], [record("c", 0.5, steps=other)]).as_json()

    assert found["kinds"] == {"supported": {"verdicts": 2, "flips": 0.5}}


def test_a_verdict_that_was_not_asked_in_every_trial_is_not_compared() -> None:
    asked, not_asked = steps(["It floats."], YES), steps(["It floats."], None)

    (kind,) = repeated([record("c", 0.5, steps=asked)], [record("c", 0.5, steps=not_asked)]).kinds
    assert (kind.verdicts, kind.flips) == (0, None)


def test_the_same_component_against_another_source_is_another_verdict() -> None:
    units = (Component("When?"),)
    trials = ({"answered(questions(query), each source)": Verdicts(units, ((YES, cell),))} for cell in (YES, NO))
    (kind,) = repeated(*([record("c", 0.5, steps=one)] for one in trials)).kinds

    assert (kind.kind, kind.verdicts, kind.flips) == ("answered", 2, 0.5)


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (record("c", 0.5, steps=steps(["It floats."], YES)), True),
        (record("c", 0.5, steps=steps(["It floats."], NO)), False),
        (record("c", 0.5, steps=steps(["It is afloat."], YES)), False),
        (record("c", 0.6, steps=steps(["It floats."], YES)), False),
        (record("c", Undefined("none"), steps=steps(["It floats."], YES)), False),
        (record("d", 0.5, steps=steps(["It floats."], YES)), False),
    ],
)
def test_trials_are_the_same_only_if_they_differ_in_nothing(other: Record, same: bool) -> None:
    first = record("c", 0.5, steps=steps(["It floats."], YES))

    assert repeated([first], [first], [other]).same is same


def test_a_single_trial_and_failures_are_not_called_the_same() -> None:
    broken = record("a", Undefined("time-out", failed=True))

    assert repeated([record("a", 1.0)]).same is False
    assert repeated([broken], [broken]).same is False


def shown(summary: RepeatSummary) -> str:
    file = io.StringIO()
    told = repeats_document(summary, input="rows.jsonl", judge="openai:some-model")
    print_document(Console(file=file, width=100), told)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def test_a_person_reads_a_table_and_the_cases_that_are_least_alike() -> None:
    broken = Undefined("time-out", failed=True)
    trials = [
        [record("a", v, part("x", YES if v else NO)), record("b", 0.5), record("c", w)]
        for v, w in ((1.0, 1.0), (0.0, broken))
    ]

    text = shown(repeated(*trials))

    assert text.startswith("2 trials of 3 cases · rows.jsonl · judged by openai:some-model\n")
    assert "\nGrounded  0.54   0.412  0.354  50.0 %  1.253  1.253         1\n" in text
    assert "they failed: Grounded 1. The same command tries these again." in text
    assert "\na     Grounded  0.50   0.707  flips, 1 verdict differs" in text
    assert "\x1b" not in text


def test_a_table_without_anything_to_compare() -> None:
    assert "nothing to show" in shown(repeated())
    assert "Least alike" not in shown(repeated([record("a", 1.0)]))
    everything = Repeats(METRICS)
    everything.add(0, record("a", 1.0))
    assert all(m.title in shown(everything.summary()) for m in METRICS)


def test_verdicts_have_a_table_of_their_own() -> None:
    one, other = steps(["It floats.", "It sinks."], YES, NO), steps(["It floats.", "It sank."], NO, NO)
    text = shown(repeated([record("c", 0.5, steps=one)], [record("c", 0.0, steps=other)]))

    assert "\nsupported         1  100.0 %\n" in text


@pytest.mark.parametrize(("judge", "told"), [("embedded", ALWAYS), ("openai:x", ALIKE)])
def test_trials_that_are_the_same_are_said_to_be_so_instead_of_zeros(judge: str, told: str) -> None:
    trial = [record("a", 1.0), record("b", 0.0)]
    file = io.StringIO()
    print_document(Console(file=file, width=200), repeats_document(repeated(trial, trial), judge=judge))
    text = file.getvalue()

    assert told in text
    assert "Least alike" not in text
    (line,) = [line for line in text.splitlines() if line.startswith("Grounded")]
    assert line.split() == ["Grounded", "0.50", f"{REACH * sqrt(1 / 2 / 2):.3f}"]


def test_a_narrow_console_cuts_names_and_no_numbers() -> None:
    found = repeated([record("a", 1.0), record("b", 0.5)], [record("a", 0.0), record("b", 0.5)])
    (metric,) = found.metrics
    wordy = replace(found, metrics=(replace(metric, title="A metric with a very long title indeed"),))
    file = io.StringIO()
    print_document(Console(file=file, width=72), repeats_document(wordy))

    (line,) = [line for line in file.getvalue().splitlines() if line.startswith("A metric")]
    numbers = f"{metric.mean:.2f} {metric.spread:.3f} {metric.case_spread:.3f} 50.0 % {metric.smallest:.3f}"
    assert line.partition("…")[2].split() == [*numbers.split(), f"{metric.floor:.3f}"]
