"""What a stored run says of its traces: scores, verdicts on single sources, means of conversations."""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Literal, Self

from ragtriage.core.case import Record, counted_text, counted_weight
from ragtriage.core.display import shortened
from ragtriage.core.metric import Metric
from ragtriage.core.verdicts import Answered, Outcome, Score, Undefined, Verdict
from ragtriage.diagnosis.rules import Level, level_of
from ragtriage.judges.judge_config import is_local
from ragtriage.metrics import RETRIEVAL, metric_named
from ragtriage.metrics.thelma import source_precision
from ragtriage.runs.case_row import WHOLE, CaseRow, Columns
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.run import Run, RunInfo

FAILED = "the judge failed on it"
"""Said of a failure, whose cause may quote what a model replied."""
OWN_REASON = "the metric says why, in words of its own"
"""Said of what a metric of a user's own leaves undefined, which may quote the case."""
LONGEST = 2_000
"""Characters of an explanation."""
MOST_PARTS = 10
"""Components that an explanation names."""
SOURCES = source_precision.name
"""The metric that judges every source by itself."""
_WITHOUT_TEXTS = Columns(scores=True, steps=True, texts=())

ScorerKind = Literal["CODE", "LLM"]
"""Who judged: a program on this machine, or a language model."""
_FROM_IDS = frozenset(metric.name for metric in RETRIEVAL)


def scorer_of(metric: str, judge: str) -> ScorerKind:
    """Who computes a metric where this judge is asked."""
    return "CODE" if is_local(judge) or metric in _FROM_IDS else "LLM"


@dataclass(frozen=True, slots=True)
class ScoredBy:
    """What all scores of a run have in common."""

    mark: str
    """Names the run wherever it is sent to, and the same run alone: what has it already is renewed by it."""
    run: int
    judge: str
    fingerprint: str
    """A digest of the judge's fingerprints, 16 hexadecimal digits."""
    created: str
    """When the run began, UTC, ISO 8601."""
    kinds: Mapping[str, ScorerKind]
    """By metric."""
    project: str | None = None
    """What the tool keeps the traces under, if it wants to be told."""

    @classmethod
    def of(cls, info: RunInfo) -> Self:
        """That of a stored run."""
        prints = blake2b(json.dumps(sorted(info.fingerprints.items())).encode(), digest_size=8).hexdigest()
        kinds = {name: scorer_of(name, info.judge) for name in info.metrics}
        return cls(
            f"ragtriage-{info.number}-{info.identity[:12]}", info.number, info.judge, prints, info.created, kinds
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What is said of the run beside a score."""
        return {"ragtriage.run": self.run, "judge": self.judge, "fingerprint": self.fingerprint}

    @property
    def nanoseconds(self) -> int:
        """When the run began, since 1970."""
        begun = datetime.fromisoformat(self.created)
        return int((begun if begun.tzinfo else begun.replace(tzinfo=UTC)).timestamp()) * 1_000_000_000

    def own_id(self, key: bytes) -> uuid.UUID:
        """An id for what a key of 16 bytes names, the same in every process."""
        return uuid.UUID(bytes=blake2b(self.mark.encode() + key, digest_size=16).digest(), version=5)


@dataclass(frozen=True, slots=True)
class SentScore:
    """One score of one case."""

    metric: str
    value: float | None
    """None where it is undefined or failed."""
    undefined: str = ""
    """Why there is no value, in words that quote no text; empty where there is one."""
    failed: bool = False
    """Whether the judge failed, so that a later run may bring a value."""
    label: Level | None = None
    """By the run's threshold; None where there is no value or no threshold."""
    explanation: str | None = None
    """What the score rests on, which quotes the case; None where nothing may be quoted."""
    judged: int = 0
    unknown: int = 0


@dataclass(frozen=True, slots=True)
class SourceVerdict:
    """Whether one source was needed."""

    span: str
    """The retrieval's span."""
    place: int
    """Its place in that span, from 0."""
    verdict: Answered
    chance: float | None
    """Of yes, in [0, 1]; None where the verdict is unknown."""
    sure: bool = True
    """Whether the judge is sure of a no."""
    explanation: str | None = None


@dataclass(frozen=True, slots=True)
class ScoredTrace:
    """One case with a trace."""

    case_id: str
    trace: str
    span: str | None
    """That of the question; None where it isn't known."""
    scores: Sequence[SentScore]
    conversation: str | None = None
    weight: float = 1.0
    service: str | None = None
    response_id: str | None = None
    """The provider's, of the response."""
    sources: Sequence[SourceVerdict] = ()


@dataclass(frozen=True, slots=True)
class ConversationMean:
    """The mean of one metric over the cases of a conversation, weighted by their weights."""

    conversation: str
    metric: str
    value: float
    cases: int
    """How many of them have a value."""
    label: Level | None


class RunScores:
    """What a run says of its traces; each iteration reads it anew, in the order of its cases.

    With `quote` explanations are made, which quote the cases; verdicts on single `sources` take longer to read. After
    an iteration `without_trace` says how many cases had no trace, and `means` are those of the conversations.
    """

    def __init__(self, run: Run, config: EvaluationConfig, *, quote: bool = False, sources: bool = False) -> None:
        self._run, self._config = run, config
        self._quote, self._sources = quote, sources
        self._metrics = {metric.name: metric for metric in config.metrics}
        self.by = ScoredBy.of(run.info)
        self.without_trace = 0
        self.means: list[ConversationMean] = []

    def __iter__(self) -> Iterator[ScoredTrace]:
        self.without_trace, means = 0, _Means(self._config.thresholds, self._metrics)
        whole = self._quote or self._sources
        for row in self._run.place.read(WHOLE if whole else _WITHOUT_TEXTS):
            if not row.trace_id:
                self.without_trace += 1
                continue
            scored = self._scored(row, row.record() if whole else None)
            means.add(scored)
            yield scored
        self.means = means.all()

    def _scored(self, row: CaseRow, record: Record | None) -> ScoredTrace:
        tags = row.tags
        outcomes = record.outcomes if record else row.outcomes
        return ScoredTrace(
            row.id,
            str(row.trace_id),
            _text(tags, "span_id"),
            [self._score(name, outcome) for name, outcome in outcomes.items()],
            _text(tags, "conversation"),
            counted_weight(row.weight),
            _text(tags, "service"),
            response_id=_text(tags, "response_id"),
            sources=self._verdicts(record) if record and self._sources else (),
        )

    def _score(self, name: str, outcome: Outcome) -> SentScore:
        metric = self._metrics.get(name)
        if isinstance(outcome, Undefined):
            why = FAILED if outcome.failed else outcome.reason if metric_named(name) else OWN_REASON
            quoted = shortened(outcome.reason, LONGEST) if self._quote else None
            return SentScore(name, None, why, outcome.failed, explanation=quoted)
        explained = explanation_of(metric, outcome) if self._quote else None
        label = _label(metric, outcome.value, self._config.thresholds)
        return SentScore(
            name,
            outcome.value,
            label=label,
            explanation=explained,
            judged=outcome.judged,
            unknown=outcome.unknown,
        )

    def _verdicts(self, record: Record) -> list[SourceVerdict]:
        """The verdicts on sources whose place in a span is known; none of a failed question."""
        places = record.case.tags.get("source_spans")
        needed = record.verdicts(source_precision.needs["needed"])
        if needed is None or not isinstance(places, list):
            return []
        found = []
        for component, cell in zip(needed.components, needed.best(), strict=True):
            at = component.source
            place = _place(places[at]) if at is not None and at < len(places) else None
            if place is None or not isinstance(cell, Verdict):
                continue
            chance = float(cell.value == "yes") if cell.chance is None else cell.chance
            why = shortened(cell.explanation, LONGEST) if self._quote and cell.explanation else None
            known = None if cell.value == "unknown" else chance
            found.append(SourceVerdict(*place, cell.value, known, cell.sure, why))
        return found


def has_traces(run: Run) -> bool:
    """Whether any case of a run has a trace."""
    return any(row.trace_id for row in run.place.read(_WITHOUT_TEXTS))


def _text(tags: Mapping[str, Any], name: str) -> str | None:
    value = tags.get(name)
    return None if value is None or value == "" else str(value)


def _place(written: object) -> tuple[str, int] | None:
    """`SPAN:PLACE` → both; None where a source comes from no retrieval."""
    span, _, place = str(written or "").rpartition(":")
    return (span, int(place)) if span and place.isascii() and place.isdecimal() else None


def _label(metric: Metric | None, value: float, thresholds: Mapping[str, float]) -> Level | None:
    if metric is None or metric.name not in thresholds:
        return None
    return level_of(value, thresholds[metric.name], metric.better)


def explanation_of(metric: Metric | None, score: Score) -> str | None:
    """The components that speak against the answer, with the judge's words; else how many there are."""
    bad = [part for part in score.parts if part.good is False]
    lines = []
    for part in bad[:MOST_PARTS]:
        fault = metric.fault_of(part) if metric else ""
        why = part.cell.explanation if isinstance(part.cell, Verdict) else ""
        said = ": ".join(filter(None, (f"“{' '.join(part.component.text.split())}”", fault)))
        lines.append(f"{said} ({why})" if why else said)
    if len(bad) > MOST_PARTS:
        lines.append(f"and {len(bad) - MOST_PARTS} more")
    return shortened(" · ".join(lines) or counted_text(score.parts), LONGEST) or None


class _Means:
    """Gathers the means of conversations."""

    def __init__(self, thresholds: Mapping[str, float], metrics: Mapping[str, Metric]) -> None:
        self._thresholds, self._metrics = thresholds, metrics
        self._sums: dict[tuple[str, str], tuple[float, float, int]] = {}

    def add(self, trace: ScoredTrace) -> None:
        """Take the scores of one case in."""
        if trace.conversation is None:
            return
        for score in trace.scores:
            if score.value is not None:
                key = (trace.conversation, score.metric)
                total, weight, count = self._sums.get(key, (0.0, 0.0, 0))
                self._sums[key] = (total + score.value * trace.weight, weight + trace.weight, count + 1)

    def all(self) -> list[ConversationMean]:
        """The means, in the order in which the conversations began."""
        return [
            ConversationMean(
                conversation,
                metric,
                total / weight,
                count,
                _label(self._metrics.get(metric), total / weight, self._thresholds),
            )
            for (conversation, metric), (total, weight, count) in self._sums.items()
        ]
