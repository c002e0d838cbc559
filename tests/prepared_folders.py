"""Folders as some tests of commands need them, made without a command."""

import atexit
import random
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Mapping
from contextlib import chdir, closing, suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from cli_rows import row, written
from compared_runs import ScriptedJudge, answers, store_run
from library_database import sqlite_library
from ragtriage import Component, FakeJudge, JudgeError, Verdict, open_cases, open_store, thresholds_with
from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.verdicts import Answer
from ragtriage.execution.evaluate_file import evaluate_file
from ragtriage.metrics import metrics_named
from ragtriage.runs.compare.baseline import BaselineOptions, write_baseline
from ragtriage.runs.compare.sides import side_of
from ragtriage.runs.evaluation_config import EvaluationConfig, config_of


def _parts(question: Question) -> Answer:
    """Texts are split at `; `."""
    found, at = [], 0
    for text in question.subject.split("; "):
        at = question.subject.index(text, at)
        found.append(Component(text, (at, at + len(text))))
    return tuple(found)


def _drawn(question: Question) -> Answer:
    """The same question always gets the same answer, mostly yes; a few can't be told."""
    if question.kind in DECOMPOSITIONS:
        return _parts(question)
    score = round(random.Random(f"{question.kind} {question.subject}").random() ** 0.5, 3)
    value = "yes" if score >= 0.5 else "unknown" if score >= 0.4 else "no"
    return Verdict(value, score, max(score, 1 - score), f"drawn: {question.subject[:40]}", sure=score >= 0.25)


def _stored(rows: list[dict[str, object]], names: list[str]) -> None:
    """A run by the fake judge in the default store."""
    path = written(Path("rows.jsonl"), rows)
    config = EvaluationConfig(metrics_named(names), thresholds_with({}))
    judge = FakeJudge(_drawn, name="embedded")
    with open_store(Path(".ragtriage")) as store:
        evaluate_file(open_cases(path), judge, store, config, name="rows.jsonl")


def fake_judge() -> None:
    """Eight rows of all sorts, under every metric."""
    odd = {"amount": 1.5, "nested": {"a": [1]}, "a,b": 'x "quoted", ü'}
    rich = {
        "contexts": [{"id": "a", "text": "Ticket 6 costs 9 euros."}, {"id": "b", "text": "The office sells tickets."}],
        "reference": "It costs 9 euros; it is blue.",
        "samples": ["9 euros.", "Ticket 6 costs 9 euros."],
        "relevant_ids": ["b", "c"],
    }
    more = {i: f"Ticket {i} costs {i + 3} euros [1]; it is blue; it is for {'you' * i} [2]." for i in range(8)}
    rows = [
        row(0),
        row(1, **odd),
        row(2, answer=None),
        row(3, answer=""),
        row(4, contexts=[]),
        row(5, answer=more[5]),
        row(6, **rich, answer=more[6]),
        row(7, question="What does ticket 7 cost?; Which colour is it?; Whom is it for?", answer=more[7]),
    ]
    _stored(rows, ["all"])


def rows() -> None:
    """Two good rows."""
    written(Path("rows.jsonl"), [row(0), row(1)])


def two_runs() -> None:
    """Two good rows, and two runs of files like it."""
    for metrics in (["self_distinctness"], ["groundedness"]):
        _stored([row(0), row(1)], metrics)


def ticket_run() -> None:
    """A run of three rows with longer ids."""
    _stored([row(i, id=f"ticket-{i}") for i in range(3)], ["self_distinctness"])


def empty_store() -> None:
    """A store without a run."""
    with open_store(Path(".ragtriage")):
        pass


def newer_store() -> None:
    """Two good rows, and a store whose tables are of a version to come."""
    rows()
    empty_store()
    with closing(sqlite3.connect(".ragtriage/runs.sqlite")) as connection, connection:
        connection.execute("UPDATE meta SET value = '999'")


def another_database() -> None:
    """An SQLite database that is no store."""
    with closing(sqlite3.connect("other.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE books (title TEXT)")


def labelled_run() -> None:
    """Sixty rows of three claims each, and labels of all claims by somebody stricter than the judge."""
    rows = [
        {"id": f"c{i}", "question": "q?", "contexts": ["s"], "answer": "; ".join(f"Claim {k} of {i}" for k in range(3))}
        for i in range(60)
    ]
    _stored(rows, ["groundedness", "answer_f1", "response_precision"])
    labels = []
    for i in range(60):
        for place in range(3):
            text = f"Claim {place} of {i}"
            verdict = _drawn(Question("supported", text))
            assert isinstance(verdict, Verdict)
            labels.append(
                {"run": "1", "case": f"c{i}", "metric": "groundedness", "component": place, "text": text,
                 "label": (verdict.score or 0) >= 0.7, "verdict": verdict.value, "score": verdict.score,
                 "chance": 1.0, "by": ""}
            )  # fmt: skip
    written(Path("labels.jsonl"), labels)


def library() -> None:
    """A small SQLite database with odd values."""
    sqlite_library(Path("library.sqlite").resolve())


def compared_runs() -> None:
    """Two runs of the same dozen questions, the second with worse answers, and a baseline of the first."""
    store_run(answers(12, topic=lambda i: f"t{i % 2}"), "v1.jsonl")
    store_run(answers(12, range(8), topic=lambda i: f"t{i % 2}"), "v2.jsonl")
    with open_store(Path(".ragtriage")) as store:
        reading = config_of(store.run(1).info)
        side = side_of([store.run(1)], "run 1", reading=reading)
    write_baseline(Path("base.json"), side, BaselineOptions())


def versions() -> None:
    """Runs of one set of questions, a sort of side each."""
    shutil.copytree(_versions(), Path(), dirs_exist_ok=True)


@cache
def _versions() -> Path:
    """A folder with them, made once; their numbers are those of the comments."""
    folder = Path(tempfile.mkdtemp(prefix="versions"))
    atexit.register(shutil.rmtree, folder)
    with chdir(folder):
        _store_versions()
    return folder


def _store_versions() -> None:
    tags = {"topic": lambda i: f"t{i % 2}", "doc": lambda i: f"d{i % 10}"}
    bad = tuple(range(3, 14))
    store_run(answers(30, **tags), "v1.jsonl")  # 1
    store_run(answers(30, bad, **tags), "v2.jsonl")  # 2
    store_run(answers(30, (*bad, 20), **tags), "v3.jsonl", trials=2)  # 3 and 4
    store_run(answers(30, bad, **tags), "prompt.jsonl", judge=ScriptedJudge(("supported",)))  # 5
    store_run(answers(30, bad, **tags), "judge.jsonl", judge=ScriptedJudge(name="other"))  # 6
    store_run([*answers(29), {**answers(30)[29], "answer": "broken; claim"}], "failed.jsonl")  # 7
    store_run(answers(8, range(6)), "few.jsonl")  # 8
    no_ids = [{name: value for name, value in one.items() if name != "id"} for one in answers(30, range(9))]
    store_run(no_ids[::-1], "no-ids.jsonl")  # 9
    mixed = answers(30, contexts=lambda i: [f"Fact {i}", f"Other {i}"][: 1 if i % 5 == 0 else 2])
    mixed[3]["question"] = "Something else?"
    store_run([*mixed[1:28], {**mixed[0], "id": "new"}], "mixed.jsonl", metrics=("thelma", "answer_f1"))  # 10


def two_files() -> None:
    """Two versions of a dozen answers, in files, of which nothing was evaluated."""
    first = [row(i, answer=f"Ticket {i} costs {i + 3} euros. It is valid for {i + 1} days.") for i in range(12)]
    second = [dict(one) for one in first]
    for i in (1, 4, 5, 8):
        second[i]["answer"] = f"{second[i]['answer']} It includes a free lunch on day {i}."
    second[9]["contexts"] = ["The office is closed."]
    second[11] = row(12)
    written(Path("v1.jsonl"), first)
    written(Path("v2.jsonl"), second)
    Path("cases").mkdir()
    for part in range(3):
        written(Path(f"cases/{'abc'[part]}.jsonl"), first[4 * part : 4 * part + 4])


def unfinished_run() -> None:
    """A dozen rows, a run of them, and one of another version of them that ended at the seventh."""

    def broken(question: Question) -> Answer:
        if "ticket 7" in question.subject.lower():
            raise JudgeError("the judge is gone")
        return _drawn(question)

    rows = [row(i) for i in range(12)]
    _stored(rows, ["thelma"])
    config = EvaluationConfig(metrics_named(["thelma"]), thresholds_with({}))
    changed = written(Path("rows.jsonl"), [{**one, "answer": f"{one['answer']}; it is blue"} for one in rows])
    with open_store(Path(".ragtriage")) as store, suppress(JudgeError):
        evaluate_file(open_cases(changed), FakeJudge(broken, name="embedded"), store, config, name="rows.jsonl")


def traffic() -> None:
    """Files of traces' cases, ten minutes apart: two hours of it, and a baseline that worse answers follow."""
    begin = datetime(2026, 11, 1, tzinfo=UTC)

    def case(i: int, **changed: object) -> dict[str, object]:
        ids = {"trace_id": f"{i + 1:032x}", "span_id": f"{i + 1:016x}"}
        return row(i, time=(begin + timedelta(minutes=10 * i)).isoformat(), **(ids | changed))

    def asked(i: int) -> dict[str, object]:
        return {"question": f"What does ticket {i % 6} cost?", "tenant": "b" if i % 6 else "a"}

    two_hours = [case(i, version="1.4" if i < 5 else "1.5", session_id=f"talk {i // 2}", **asked(i)) for i in range(12)]
    told = "anna.muster@example.org"
    named = {
        "question": f"Was the ticket of {told} paid?",
        "answer": f"Yes, {told} paid by DE89 3704 0044 0532 0130 00.",
    }
    worse = "The museum opens at nine on {} June, and dogs may come in for free."
    written(Path("t.jsonl"), two_hours)
    written(Path("private.jsonl"), [case(i, **named, user=told) for i in range(2)])
    written(Path("mlflow.jsonl"), [case(0, trace_id="tr-1"), case(1, trace_id=None)])
    written(Path("base.jsonl"), [case(i) for i in range(50)])
    written(Path("worse.jsonl"), [case(i, **({"answer": worse.format(i)} if i > 54 else {})) for i in range(50, 70)])


PREPARED: Mapping[str, Callable[[], None]] = {
    "another database": another_database,
    "compared runs": compared_runs,
    "empty store": empty_store,
    "fake judge": fake_judge,
    "labelled run": labelled_run,
    "newer store": newer_store,
    "rows": rows,
    "ticket run": ticket_run,
    "two files": two_files,
    "traffic": traffic,
    "two runs": two_runs,
    "library": library,
    "unfinished run": unfinished_run,
    "versions": versions,
}
"""Name in a table → what is done in the present folder."""
