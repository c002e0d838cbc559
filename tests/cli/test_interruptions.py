"""A run that is cut off, by a kill or by Ctrl-C, is continued by the same command and nothing is judged twice."""

import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cli_rows import row, written
from forked import Child
from ragtriage import (
    Component,
    FakeJudge,
    JudgeError,
    Record,
    Verdict,
    metrics_named,
    open_cases,
    open_store,
    thresholds_with,
)
from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.verdicts import Answer
from ragtriage.execution.evaluate_file import evaluate_file
from ragtriage.execution.evaluating import CaseDone, Event, RunResumed, RunStarted
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.selection import ALL_ROWS, RowSelection
from ragtriage.runs.tally import SlicedTally

ROWS = 300
CONFIG = EvaluationConfig(metrics_named(["groundedness"]), thresholds_with({}), ())

CHILD = """
import sys
from test_interruptions import CONFIG, agreeable
from ragtriage import FakeJudge, open_cases, open_store
from ragtriage.execution.evaluating import CaseDone, RunResumed, RunStarted
from ragtriage.execution.evaluate_file import evaluate_file

def follow(event):
    if isinstance(event, RunStarted | RunResumed):
        print(event, flush=True)
    if isinstance(event, CaseDone):
        print(event.record.case.id, flush=True)

judge = FakeJudge(agreeable, delay=0.01)
with open_store(sys.argv[2]) as store:
    evaluate_file(open_cases(sys.argv[1]), judge, store, CONFIG, name="rows", notify=follow)
"""


def agreeable(question: Question) -> Answer:
    if question.kind in DECOMPOSITIONS:
        return (Component(question.subject, (0, len(question.subject))),)
    return Verdict("yes", 0.9, 0.9)


def cut_off(path: Path, store: Path, after: int, number: signal.Signals) -> str:
    """Evaluate in a process of its own, which gets the signal when so many records have come out."""
    with Child(
        path, store, code=f"import sys\nsys.path[:0] = {[str(Path(__file__).parent), *sys.path]}\n{CHILD}"
    ) as child:
        announcement = child.stdout.readline().strip()
        for _ in range(after):
            child.stdout.readline()
        child.send_signal(number)
        child.communicate()
    assert child.returncode != 0
    return announcement


def evaluated(path: Path, store: Path, judge: FakeJudge, selection: RowSelection = ALL_ROWS) -> tuple[str, list[str]]:
    """What was announced, and the cases that were evaluated now."""
    events: list[Event] = []
    with open_store(store) as opened:
        cases = open_cases(path)
        result = evaluate_file(cases, judge, opened, CONFIG, selection=selection, name="rows", notify=events.append)
        assert result.first.tally.summary().cases == result.first.rows.selected
    (start,) = (str(event) for event in events if isinstance(event, RunStarted | RunResumed))
    return start, [event.record.case.id for event in events if isinstance(event, CaseDone)]


def test_after_a_kill_the_same_command_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path, store = written(tmp_path / "rows.jsonl", [row(i) for i in range(ROWS)]), tmp_path / "store"
    assert cut_off(path, store, 120, signal.SIGKILL) == "new run 1"
    with open_store(store) as opened:
        kept = {record.case.id for record in opened.run(1).records()}
    assert 100 <= len(kept) < ROWS

    judge = FakeJudge(agreeable)
    announcement, records = evaluated(path, store, judge)

    assert announcement == f"continuing run 1: {len(kept)} of {ROWS}"
    assert len(records) == ROWS - len(kept)
    assert not kept & set(records)
    asked = {question.subject for question in judge.asked if question.kind == "claims"}
    assert len(asked) <= ROWS - len(kept)
    with open_store(store) as opened:
        assert (opened.run(1).info.state, opened.run(1).info.done) == ("finished", ROWS)
        assert [record.case.id for record in opened.run(1).records()] == [f"r{i}" for i in range(ROWS)]


def test_a_judge_that_cannot_work_leaves_a_run_to_be_continued(tmp_path: Path) -> None:
    path, store = written(tmp_path / "rows.jsonl", [row(i) for i in range(ROWS)]), tmp_path / "store"

    def tired(question: Question) -> Answer:
        if "Ticket 200 " in question.subject:
            raise JudgeError("the key is refused")
        return agreeable(question)

    with pytest.raises(JudgeError):
        evaluated(path, store, FakeJudge(tired))
    with open_store(store) as opened:
        info = opened.run(1).info
    with pytest.raises(JudgeError):
        evaluated(path, store, FakeJudge(tired, version="2"))  # another judge makes another run
    with open_store(store) as opened:
        assert [one.number for one in opened.runs()] == [2, 1]
    announcement, records = evaluated(path, store, FakeJudge(agreeable))

    assert (info.state, info.done >= 100) == ("interrupted", True)
    assert announcement == f"continuing run 1: {info.done} of {ROWS}"
    assert len(records) == ROWS - info.done


def test_failed_cases_are_asked_again_by_the_next_run(tmp_path: Path) -> None:
    path, store = written(tmp_path / "rows.jsonl", [row(i) for i in range(5)]), tmp_path / "store"

    def slow(question: Question) -> Answer:
        if question.kind == "supported" and "Ticket 2 " in question.subject:
            raise TimeoutError("no answer after 30 s")
        return agreeable(question)

    evaluated(path, store, FakeJudge(slow))
    again = FakeJudge(agreeable)
    announcement, _ = evaluated(path, store, again)

    assert announcement == "new run 2: 0 rows changed since run 1"
    assert [(q.kind, q.subject) for q in again.asked] == [("supported", "Ticket 2 costs 5 euros.")]


def test_ctrl_c_prints_what_there_is_and_the_same_command_goes_on(command, monkeypatch: pytest.MonkeyPatch) -> None:
    written(Path("rows.jsonl"), [row(i) for i in range(150)])
    args = ("evaluate", "rows.jsonl", "--json", "--metrics", "groundedness")
    add, counted = SlicedTally.add, []

    def interrupted(tally: SlicedTally, record: Record, *assessed: Any) -> None:
        counted.append(record)
        if len(counted) == 64:
            os.kill(os.getpid(), signal.SIGINT)
        add(tally, record, *assessed)

    with monkeypatch.context() as patched:
        patched.setattr(SlicedTally, "add", interrupted)
        said = command(*args)

    assert said.code == 3
    assert 50 <= said.json["cases"] < 150
    assert "interrupted: give the same command again to go on where it stopped" in said.err
    with open_store() as opened:
        assert (opened.run(1).info.state, opened.run(1).info.done) == ("interrupted", said.json["cases"])
    again = command(*args)
    assert f"continuing run 1: {said.json['cases']} of 150\n" in again.err
    assert (again.code, again.json["run"], again.json["cases"]) == (0, 1, 150)
    assert re.search(r"^new run 2: 0 rows changed", command(*args, "--limit", "300").err, re.MULTILINE)


def test_ctrl_c_before_anything_is_judged_is_told_and_is_no_failed_gate(tmp_path: Path) -> None:
    with Child("trust", "agreement", "-", folder=tmp_path) as child:
        time.sleep(1.0)
        child.send_signal(signal.SIGINT)
        told = child.stderr.read()

    assert child.returncode == 3
    assert told == "ragtriage: interrupted: give the same command again\n"
