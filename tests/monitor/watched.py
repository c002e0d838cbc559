"""Traffic, a scripted judge and a watch of them, for the tests; processes of their own import it too."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.verdicts import Answer, Component, Failure, Verdict
from ragtriage.diagnosis.rules import thresholds_with
from ragtriage.judges.fake import FakeJudge
from ragtriage.metrics import metrics_named
from ragtriage.monitor.replay import WatchEvent, WatchOptions, WatchResult, replay
from ragtriage.readers import open_cases
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.store import Store

METRICS = ("groundedness",)
CONFIG = EvaluationConfig(metrics_named(METRICS), thresholds_with({}))
BEGIN = datetime(2026, 11, 1, tzinfo=UTC)


def row(i: int, claims: str = "yyyy", **changed: Any) -> dict[str, Any]:
    """A row, ten minutes after the one before; `claims` has for each claim of its response whether it is supported.

    `!` is a claim on which the judge fails.
    """
    told = {"y": "right", "n": "wrong", "!": "broken"}
    response = " ".join(f"Claim {k} of answer {i} is {told[one]}." for k, one in enumerate(claims))
    return {
        "id": f"r{i}",
        "question": f"What is the price of ticket {i}?",
        "contexts": [f"The price of ticket {i} is six euros."],
        "answer": response,
        "time": (BEGIN + timedelta(minutes=10 * i)).isoformat(),
        **changed,
    }


def steady(i: int) -> str:
    """Claims of which 7 of 8 are supported, differing from case to case."""
    return ("yyyy", "yyyn", "yyyy", "yynn", "yyyy", "yyyy", "yyyy", "yyyn")[i % 8]


def answer(question: Question) -> Answer:
    """What the claims themselves say."""
    if question.kind in DECOMPOSITIONS:
        texts = [f"{one.strip()}." for one in question.subject.split(".") if one.strip()]
        return tuple(Component(one) for one in texts)
    if "broken" in question.subject:
        return Failure("it has no answer")
    return Verdict("no" if "wrong" in question.subject else "yes", 0.9)


def fake(version: str = "1", delay: float | None = None) -> FakeJudge:
    """The judge, whose answers come in another order than the questions."""
    return FakeJudge(answer, shuffled=1, version=version, delay=delay)


def watched(
    store: Store,
    *paths: Path,
    judge: FakeJudge | None = None,
    options: WatchOptions | None = None,
    notify: Callable[[WatchEvent], None] = lambda _: None,
) -> WatchResult:
    """Replay files."""
    files = [open_cases(path) for path in paths]
    return replay(files, judge or fake(), store, CONFIG, options or WatchOptions(), notify)
