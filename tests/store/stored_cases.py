"""Cases, records and a judge for the tests of the store."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ragtriage.core.case import Case, Record, Source, Turn
from ragtriage.core.metric import Metric
from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.verdicts import Answer, Component, Failure, Verdict
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.judges.fake import FakeJudge
from ragtriage.metrics import THELMA
from ragtriage.runs.case_row import RowsHash
from ragtriage.runs.manifest import RunIdentity
from ragtriage.store import Store
from ragtriage.store.run_writer import RunWriter

NAMES = tuple(metric.name for metric in THELMA)


def case(i: int, **changes: object) -> Case:
    """One case in English, different from every other."""
    values: dict[str, object] = {
        "id": f"case {i}",
        "query": f"What is the price of the ticket number {i}?",
        "sources": (
            Source(f"The price of the ticket number {i} is six euros. It is valid until the evening.", f"doc {i}"),
            Source("All of the dogs travel for free if they sit on a lap."),
        ),
        "response": f"The price of it is six euros. The ticket number {i} is valid for the day.",
        "tags": {"part": i % 3},
    }
    return Case(**(values | changes))  # type: ignore[arg-type]  # by name


FULL = Case(
    id="full",
    query="And what is the price of the other one?",
    sources=(Source("The price of the other one is \x00 nine.", "a"), Source("", None), Source("The \ud800 odd.", "")),
    response="\\It is nine (a).",
    reference="Nine.",
    history=(Turn("user", "What is the price?"), Turn("assistant", "It is six.")),
    samples=("It is nine.", "It is ten."),
    relevant_ids=("a",),
    tags={"nested": {"a": [1, None, 2.5]}, "text": "ü\ud800\x00", "": ""},
    weight=2.5,
    time="2026-01-02T03:04:05+00:00",
    trace_id="t-1",
    citation_mark=r"\((a)\)",
)


def answer(question: Question) -> Answer:
    """Sentences, and verdicts of every sort that depend on the texts alone."""
    if question.kind in DECOMPOSITIONS:
        found = [Component(m.group(), m.span()) for m in re.finditer(r"[^.?!\s][^.?!]*[.?!]?", question.subject)]
        own = [Component(f"{question.subject.split()[0]} paraphrased.")] if question.subject.strip() else []
        return (*found, *own)
    size = len(question.subject) + sum(map(len, question.evidence))
    if size % 7 == 0:
        return Verdict("unknown", 1 / 3, None, "it can't be told")
    if size % 2:
        return Verdict("no", size / 1009, 0.1 + 0.2, "", sure=False)
    return Verdict("yes", 0.9, 0.7, "ü: because\n\x00")


def fails(question: Question) -> Answer:
    """Like `answer`, but without an answer to one question of case 3."""
    return Failure("too long") if "number 3" in question.subject and question.kind == "supported" else answer(question)


def identity_of(cases: list[Case], version: str = "1", names: tuple[str, ...] = NAMES) -> RunIdentity:
    """What identifies a run over these cases."""
    rows = RowsHash()
    for one in cases:
        rows.add(one)
    return RunIdentity(rows.hexdigest(), names, {"claims": version})


def evaluated(
    cases: list[Case], judge: FakeJudge | None = None, metrics: Sequence[Metric] = THELMA
) -> Iterator[Record]:
    """The records of these cases."""
    return evaluate_sync(cases, judge or FakeJudge(answer), metrics=metrics)


def begun(store: Store, cases: list[Case], version: str = "1", **more: Any) -> RunWriter:
    """A run over these cases that is being written; `more` is what `begin` takes."""
    return store.begin(
        identity_of(cases, version), **({"input": "a.jsonl", "rows": len(cases), "judge": "fake"} | more)
    )


def ended(run: RunWriter, cases: list[Case], judge: FakeJudge | None = None, heading: Any = None) -> RunWriter:
    """It, with what is left of these cases."""
    for record in evaluated(list(run.todo(cases)), judge):
        run.keep(record, heading)
    run.finish()
    return run


def written(store: Store, cases: list[Case], version: str = "1", **more: Any) -> int:
    """The number of a finished run over these cases."""
    return ended(begun(store, cases, version, **more), cases).number


CASES_FOR_THE_KILL = [case(i) for i in range(150)]
