"""A stored run whose cases have traces, for the tests of what is sent."""

import re
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import blake2b

from ragtriage.core.case import Case, Record, Source
from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.verdicts import Answer, Component, Failure, Verdict
from ragtriage.diagnosis.rules import thresholds_with
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.judges.fake import FakeJudge
from ragtriage.metrics import THELMA
from ragtriage.runs.case_row import RowsHash
from ragtriage.runs.evaluation_config import EvaluationConfig, to_stored
from ragtriage.runs.manifest import RunIdentity
from ragtriage.runs.selection import RowSelection
from ragtriage.store import Store

SECRET_TEXT = "heron"
"""Stands in every text of a case, and in the judge's explanations; nowhere else."""
NAMES = tuple(metric.name for metric in THELMA)


def hexed(text: str, digits: int) -> str:
    """An id made of a text."""
    return blake2b(text.encode(), digest_size=digits // 2).hexdigest()


def traced_case(i: int, **changes: object) -> Case:
    """One case of a trace with two sources, the second of which isn't needed."""
    retrieval = hexed(f"retrieval {i}", 16)
    values: dict[str, object] = {
        "id": f"case {i}",
        "query": f"What does the heron number {i} cost?",
        "sources": (
            Source(f"The heron number {i} costs six euros. It is needed."),
            Source("All of the herons travel for free, which is bad."),
        ),
        "response": f"The heron number {i} costs six euros. It is bad for the day.",
        "trace_id": hexed(f"trace {i}", 32),
        "tags": {
            "span_id": hexed(f"span {i}", 16),
            "source_spans": [f"{retrieval}:0", f"{retrieval}:1"],
            "conversation": f"talk {i // 2}",
            "service": "shop",
        },
    }
    return Case(**(values | changes))  # type: ignore[arg-type]  # by name


def case_for(tool: str, i: int, **changes: object) -> Case:
    """One case whose ids are such as a tool gives them."""
    made = traced_case(i)
    if tool in {"langsmith", "opik"}:
        span = str(uuid.UUID(hexed(f"span {i}", 32)))
        return traced_case(
            i, **{"trace_id": str(uuid.UUID(str(made.trace_id))), "tags": {**made.tags, "span_id": span}} | changes
        )
    return replace(made, **changes)  # type: ignore[arg-type]  # by name


def answer(question: Question) -> Answer:
    """Sentences; no to what is bad, a failure where a text is broken, else yes."""
    if question.kind in DECOMPOSITIONS:
        return tuple(Component(m.group(), m.span()) for m in re.finditer(r"[^.?!\s][^.?!]*[.?!]?", question.subject))
    if "broken" in question.subject:
        return Failure("the heron flew off")
    no = "bad" in question.subject
    return Verdict("no" if no else "yes", 0.1 if no else 0.9, 0.9, "says the heron")


def records(cases: Iterable[Case]) -> Iterator[Record]:
    """What is found out about cases, in their order."""
    given = list(cases)
    found = {record.case.id: record for record in evaluate_sync(given, FakeJudge(answer), metrics=THELMA)}
    return (found[case.id] for case in given)


def keep_run(store: Store, found: list[Record], judge: str = "embedded", names: tuple[str, ...] = NAMES) -> int:
    """Store records as a finished run, and return its number."""
    rows = RowsHash()
    for record in found:
        rows.add(record.case)
    identity = RunIdentity(rows.hexdigest(), names, {"claims": "1", "supported": "2"})
    config = EvaluationConfig(THELMA, thresholds_with({}))
    stored = to_stored(config, RowSelection(), {})
    with store.begin(identity, input="traces.jsonl", rows=len(found), judge=judge, configuration=stored) as run:
        for record in found:
            run.keep(record)
        run.finish()
    return run.number


def many_records(count: int, tool: str = "otlp") -> Iterator[Record]:
    """Records of many traces, of which only a few were judged; ids are such as a tool gives them."""
    few = list(records([traced_case(i) for i in range(20)]))
    for i in range(count):
        one, made = few[i % len(few)], case_for(tool, i)
        yield replace(one, case=replace(one.case, id=made.id, trace_id=made.trace_id, tags=made.tags))
