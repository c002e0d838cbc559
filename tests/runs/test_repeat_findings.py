"""How far trials agree on the findings that are shown."""

import io
import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from ragtriage import Case, Component, Record, Rule, Verdict, metrics_named, thresholds_with
from ragtriage.core.verdicts import with_chance
from ragtriage.metrics.aggregate import share
from ragtriage.report.run_document import repeats_document
from ragtriage.report.terminal import print_document
from ragtriage.runs.repeats import Repeats, RepeatSummary

LOW = Rule("ungrounded", "failure", {"groundedness": "low"}, "made up", "generator", "Try another.")
UNSURE = Rule("unsure", "doubt", {"groundedness": "low"}, "can't tell", "the judge", "")


def record(case: int, low: float | None) -> Record:
    """A case that is ungrounded with a probability; None: it was told without one that it isn't."""
    verdict = Verdict("yes") if low is None else with_chance(Verdict("no"), 1 - low)
    return Record(Case(f"c{case}", "What?"), {}, {"groundedness": share([Component("It floats.")], [verdict])})


def repeated(*trials: Sequence[float | None], rules: Sequence[Rule] = (LOW,)) -> RepeatSummary:
    repeats = Repeats(metrics_named(["groundedness"]), thresholds_with({}), rules)
    for trial, cases in enumerate(trials):
        for case, low in enumerate(cases):
            repeats.add(trial, record(case, low))
    return repeats.summary()


def test_an_example_worked_out_by_hand() -> None:
    (found,) = repeated([0.9, 0.9, 0.3, 0.2], [0.9, 0.4, 0.3, 0.2]).findings

    # shown in 2 and in 1 of 4 cases
    assert (found.rule, found.kind, found.shown, found.flips) == ("ungrounded", "failure", 1.5, 0.25)
    assert found.spread == pytest.approx(0.5**0.5)


@given(st.lists(st.lists(st.sampled_from([0.0, 1.0]), min_size=3, max_size=3), min_size=2, max_size=4))
def test_probabilities_of_0_and_1_count_what_is_shown(trials: list[list[float]]) -> None:
    found = repeated(*trials).findings

    assert len(found) == any(map(any, trials))
    assert all(one.shown == sum(map(sum, trials)) / len(trials) for one in found)


def test_a_doubt_is_counted_where_it_is_shown() -> None:
    (found,) = repeated([0.6, 0.1], [0.4, 0.1], rules=(UNSURE,)).findings

    assert found.shown == 0.5


def test_a_case_without_a_second_trial_can_not_flip() -> None:
    repeats = Repeats(metrics_named(["groundedness"]), thresholds_with({}), (LOW,))
    for trial, case, low in ((0, 0, 0.95), (1, 0, 0.1), (0, 1, 0.95)):
        repeats.add(trial, record(case, low))
    (found,) = repeats.summary().findings

    assert (found.flips, found.shown) == (1.0, 1.0)


def test_what_is_only_suspected_is_not_listed() -> None:
    assert repeated([0.3] * 60, [0.31] * 60).findings == ()
    assert repeated([0.9]).findings == repeated().findings == repeated([None], [None]).findings == ()


def test_the_page_and_json_say_it() -> None:
    summary = repeated([0.9, 0.9, 0.3, 0.2], [0.9, 0.4, 0.3, 0.2])
    file = io.StringIO()
    print_document(Console(file=file, width=100), repeats_document(summary))

    assert "ungrounded    1.5     0.7  25.0 %" in file.getvalue()
    told = json.loads(json.dumps(summary.as_json()))["findings"]["ungrounded"]
    assert (told["shown"], told["flips"], told["kind"]) == (1.5, 0.25, "failure")
