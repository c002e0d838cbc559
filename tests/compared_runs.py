"""Sides of a comparison for tests: made by hand as values, and as runs by a scripted judge."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cli_rows import written
from ragtriage import Component, FakeJudge, Verdict, open_cases, open_store, thresholds_with
from ragtriage.core.questions import DECOMPOSITIONS, Kind, Question
from ragtriage.core.verdicts import Answer, Failure
from ragtriage.execution.evaluate_file import FileResult, evaluate_file
from ragtriage.metrics import METRICS, metrics_named
from ragtriage.runs.compare.case_table import DIGESTED, CaseTable, digest_of, question_digest
from ragtriage.runs.compare.comparison import SideHeader
from ragtriage.runs.compare.sides import Side, definition_digest
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.store import Store

Values = Sequence[float | None]


def made_side(
    scores: Mapping[str, Values],
    *,
    number: int = 1,
    ids: Sequence[str] | None = None,
    own_ids: bool = True,
    texts: Mapping[str, Sequence[str]] | None = None,
    tags: Mapping[str, Sequence[str | None]] | None = None,
    weight: Sequence[float] | None = None,
    failed: Mapping[str, Sequence[bool]] | None = None,
    fingerprints: Mapping[str, str] | None = None,
    **more: Any,
) -> Side:
    """A side by its numbers: a run of embedded, complete, whose queries are its ids and whose responses its number."""
    count = len(next(iter(scores.values())))
    names = list(ids) if ids is not None else [f"c{i}" for i in range(count)]
    said: dict[str, Sequence[str]] = {
        "query": names, "history": [""] * count, "reference": [""] * count, "sources": ["s"] * count,
        "order": ["s"] * count, "response": [f"{number}"] * count, "others": [""] * count, **(texts or {}),
    }  # fmt: skip
    digests = {name: _digests(said[name]) for name in DIGESTED if name != "question"}
    digests["history"] = np.full(count, digest_of(), np.uint64)
    digests["question"] = np.array([question_digest(one, []) for one in said["query"]], np.uint64)
    metrics = tuple(m for m in METRICS if m.name in scores)
    values = {name: np.array([math.nan if v is None else v for v in own], float) for name, own in scores.items()}
    table = CaseTable(
        names, own_ids, digests, np.array(weight if weight is not None else [1.0] * count, float), values,
        {name: np.array((failed or {}).get(name, [False] * count), bool) for name in scores}, tags or {},
        **{key: more.pop(key) for key in ("found", "noise") if key in more},
    )  # fmt: skip
    header = {
        "name": f"run {number}", "runs": (number,), "baseline": None, "input": f"v{number}.jsonl",
        "created": f"2026-11-{number:02}T00:00:00+00:00", "cases": count, "judge": "embedded", "trials": 1,
        "version": "0.1.0",
    }  # fmt: skip
    kinds = {"supported": "1", "claims": "1", "essential": "1", "answered": "1", "questions": "1", "similarity": "1"}
    return Side(
        SideHeader(**{**header, **more.pop("header", {})}), table, metrics, {**kinds, **(fingerprints or {})},
        {m.name: definition_digest(m) for m in metrics}, more.pop("thresholds", {}), more.pop("rules", ""),
        more.pop("corrections", {}),
    )  # fmt: skip


def _digests(texts: Sequence[str]) -> Any:
    return np.array([digest_of(text.encode()) for text in texts], np.uint64)


class ScriptedJudge(FakeJudge):
    """Says no to what holds the word "bad", fails at "broken", and yes to everything else.

    Args:
        other: kinds that it answers by another prompt than usual.
        trial: with each the word "moody" counts otherwise.
    """

    def __init__(self, other: Sequence[str] = (), name: str = "embedded") -> None:
        super().__init__(_answer, name=name)
        self._other = other

    def fingerprint(self, kind: Kind) -> str:
        """Its name and the kind; another for the kinds that are answered otherwise."""
        return super().fingerprint(kind) + ("!" if kind in self._other else "")


def _answer(question: Question) -> Answer:
    if "broken" in question.subject and question.kind not in DECOMPOSITIONS:
        return Failure("the judge is broken")
    if question.kind in DECOMPOSITIONS:
        parts, at = [], 0
        for text in question.subject.split("; "):
            at = question.subject.index(text, at)
            parts.append(Component(text, (at, at + len(text))))
        return tuple(parts)
    if question.kind in {"declines", "similarity"} or "bad" in question.subject:
        return Verdict("no", 0.1, 0.95)
    return Verdict("yes", 0.9, 0.95)


def answers(count: int, bad: Sequence[int] = (), **columns: Any) -> list[dict[str, Any]]:
    """Rows with ids; those in `bad` claim something bad.

    Args:
        count: how many.
        bad: their places.
        **columns: further columns: a value for all, or a function of the place.
    """
    return [
        {
            "id": f"q{i}",
            "question": f"What about {i}?",
            "contexts": [f"Fact {i}", f"Other {i}"],
            "answer": f"Claim {i}; {'bad' if i in bad else 'good'} claim {i}",
            **{name: value(i) if callable(value) else value for name, value in columns.items()},
        }
        for i in range(count)
    ]


def store_run(
    rows: Sequence[Mapping[str, Any]],
    file: str = "answers.jsonl",
    *,
    folder: Path = Path(),
    metrics: Sequence[str] = ("thelma",),
    judge: FakeJudge | None = None,
    trials: int = 1,
    store: Store | None = None,
) -> FileResult:
    """Evaluate rows into the default store of a folder."""
    path = written(folder / file, [dict(row) for row in rows])
    config = EvaluationConfig(metrics_named(metrics), thresholds_with({}))
    judge = judge or ScriptedJudge()
    if store is not None:
        return evaluate_file(open_cases(path), judge, store, config, name=file, trials=trials)
    with open_store(folder / ".ragtriage") as there:
        return evaluate_file(open_cases(path), judge, there, config, name=file, trials=trials)
