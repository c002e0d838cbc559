"""A file is evaluated from Python, without the command line: what a listener is told, and how a run ends."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli_rows import written
from ragtriage import Component, FakeJudge, InputError, Verdict, metrics_named, open_cases, open_store, thresholds_with
from ragtriage.core.errors import Stopped
from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.verdicts import Answer
from ragtriage.execution.evaluate_file import evaluate_file
from ragtriage.execution.evaluating import (
    INTERRUPTED,
    CaseDone,
    Event,
    RowsRead,
    RunFinished,
    RunResumed,
    RunStarted,
    RunStopped,
)
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.store import Store

CONFIG = EvaluationConfig(metrics_named(["groundedness"]), thresholds_with({}), ())


def agreeable(question: Question) -> Answer:
    if question.kind in DECOMPOSITIONS:
        return (Component(question.subject, (0, len(question.subject))),)
    return Verdict("yes", 0.9, 0.9)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    lines = [{"id": f"r{i}", "question": "q?", "contexts": ["s"], "answer": f"It costs {i}."} for i in range(4)]
    return written(tmp_path / "rows.jsonl", [*lines, {"id": "bad"}])


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "store") as opened:
        yield opened


def kinds(events: list[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


def test_a_listener_is_told_everything_in_its_order(store: Store, rows: Path) -> None:
    events: list[Event] = []
    result = evaluate_file(open_cases(rows), FakeJudge(agreeable), store, CONFIG, notify=events.append)

    assert kinds(events) == ["RowsRead", "RunStarted", *["CaseDone"] * 4, "RunFinished"]
    assert isinstance(events[0], RowsRead)
    assert (events[0].rows.selected, events[0].rows.rejected) == (4, 1)
    assert str(events[1]) == "new run 1"
    assert {event.record.case.id for event in events if isinstance(event, CaseDone)} == {"r0", "r1", "r2", "r3"}
    assert events[-1] == RunFinished(1)
    assert (result.first.stopped, result.repeats, result.unfinished) == (None, None, False)
    assert result.first.tally.summary().cases == 4


def test_what_a_judge_stopped_is_kept_and_continued(store: Store, rows: Path) -> None:
    class Limited(FakeJudge):
        def _answer(self, question: Question) -> Answer:
            if len(self.asked) > 5:
                raise Stopped("the budget is spent")
            return super()._answer(question)

    events: list[Event] = []
    stopped = evaluate_file(open_cases(rows), Limited(agreeable), store, CONFIG, trials=3, notify=events.append)
    again = evaluate_file(open_cases(rows), FakeJudge(agreeable), store, CONFIG, notify=events.append)

    assert [trial.stopped for trial in stopped.trials] == ["the budget is spent"]
    assert RunStopped(1, "the budget is spent") in events
    assert again.first.stored.number == 1
    (resumed,) = (event for event in events if isinstance(event, RunResumed))
    assert str(resumed) == f"continuing run 1: {stopped.first.stored.info.done} of 4"
    assert again.first.tally.summary().cases == 4


def test_after_ctrl_c_there_is_a_result(store: Store, rows: Path) -> None:
    def leave(event: Event) -> None:
        if isinstance(event, CaseDone):
            raise KeyboardInterrupt

    result = evaluate_file(open_cases(rows), FakeJudge(agreeable), store, CONFIG, notify=leave)

    assert (result.first.stopped, result.unfinished) == (INTERRUPTED, True)
    assert store.run(1).info.state == "interrupted"
    assert result.first.tally.summary().cases == result.first.stored.info.done


def test_trials_are_runs_of_their_own(store: Store, rows: Path) -> None:
    events: list[Event] = []
    result = evaluate_file(open_cases(rows), FakeJudge(agreeable), store, CONFIG, trials=2, notify=events.append)

    started = [event for event in events if isinstance(event, RunStarted)]
    assert [(event.number, event.trial) for event in started] == [(1, 0), (2, 1)]
    assert [trial.stored.info.repeats for trial in result.trials] == [None, 1]
    assert result.repeats is not None
    assert result.repeats.same
    assert kinds(events).count("RowsRead") == 1


def test_a_file_without_a_usable_row_begins_no_run(store: Store, rows: Path) -> None:
    cases = open_cases(rows)
    rows.write_text('{"id": "bad"}\n', encoding="utf-8")
    with pytest.raises(InputError, match="its only row can't be used"):
        evaluate_file(cases, FakeJudge(agreeable), store, CONFIG)

    assert store.runs() == []
