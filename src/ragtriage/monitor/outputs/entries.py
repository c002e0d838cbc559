"""What is sent, entry by entry, and what is said beside a score, whichever tool it goes to."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from ragtriage.monitor.outputs.scores import ConversationMean, ScoredBy, ScoredTrace, SentScore, SourceVerdict
from ragtriage.runs.case_row import digest

EntryKind = Literal["score", "source", "conversation"]
"""A case's score, the verdict on a source, or the mean of a conversation."""
UNDEFINED = "undefined"
"""Why what has no value isn't sent to a tool that wants a number."""
Environment = Mapping[str, str]


@dataclass(frozen=True)
class Entry:
    """One score as a tool takes it."""

    key: bytes
    """The digest of what it is of, 16 bytes."""
    kind: EntryKind
    path: str
    """Where it goes, beneath the tool's address."""
    body: Mapping[str, Any]
    of: str
    """What the tool's replies call what it is of: the id of a span, a trace or a conversation."""

    @cached_property
    def text(self) -> str:
        """The body as JSON."""
        return json.dumps(self.body, ensure_ascii=False)

    @property
    def digest(self) -> bytes:
        """Of all that is sent, 16 bytes."""
        return digest(f"{self.path}\0{self.text}")


@dataclass(frozen=True, slots=True)
class NotSent:
    """What isn't sent, since the tool has no place for it."""

    reason: str
    """`UNDEFINED`, or a few words."""


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """One request to a tool."""

    method: str
    path: str
    content: str
    """JSON."""


def score_key(trace: ScoredTrace, score: SentScore) -> bytes:
    """What names one score of a case."""
    return _key("score", trace.case_id, trace.trace, trace.span or "", score.metric)


def source_key(trace: ScoredTrace, verdict: SourceVerdict) -> bytes:
    """What names the verdict on a source."""
    return _key("source", trace.case_id, trace.trace, verdict.span, str(verdict.place))


def mean_key(mean: ConversationMean) -> bytes:
    """What names the mean of a conversation."""
    return _key("conversation", mean.conversation, mean.metric)


def _key(*parts: str) -> bytes:
    return digest(json.dumps(parts))


def facts(by: ScoredBy, score: SentScore) -> dict[str, Any]:
    """What is said beside a score: by which judge, from which verdicts; texts only where they may be quoted."""
    told = by.facts
    if score.label:
        told["label"] = score.label
    if score.value is not None:
        told |= {"judged": score.judged, "unknown": score.unknown}
    return told


def comment_of(score: SentScore) -> str | None:
    """What is said of a score in words: its explanation where texts may be quoted, why it is undefined else."""
    return score.explanation or score.undefined or None


def without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without what isn't known."""
    return {name: value for name, value in values.items() if value is not None}
