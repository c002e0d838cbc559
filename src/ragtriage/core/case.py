"""What is evaluated: one question-answer exchange of a RAG application."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Source:
    """One retrieved text."""

    text: str
    """What the generator was given."""
    id: str | None = None
    """The application's own name for it, where it has one."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier message of a conversation."""

    role: str
    """Who spoke, for example `user` or `assistant`."""
    text: str
    """What was said."""


LEAST_WEIGHT, MOST_WEIGHT = 1e-9, 1e9
"""Of a case: beyond these, sums of weights and of their squares lose the other cases, or overflow."""
WINDOW = 64
"""Cases in flight: enough to fill an API's concurrency."""


def counted_weight(weight: float) -> float:
    """A weight as it counts: one that no reader takes, but an earlier one took, counts as the nearest that it takes."""
    return min(max(weight, LEAST_WEIGHT), MOST_WEIGHT)


@dataclass(frozen=True, slots=True)
class Case:
    """One query, what was retrieved for it and what was answered (the "RAG triad" of THELMA, section 3)."""

    id: str
    """Unique within a file or data set."""
    query: str
    """The user's words."""
    sources: tuple[Source, ...] = ()
    """The retrieved texts in the retriever's order; empty if nothing was retrieved."""
    response: str | None = None
    """The answer; None if none was given (a time-out, a retriever-only file), which is not the empty string."""
    reference: str | None = None
    """A true answer, where one is known."""
    history: tuple[Turn, ...] = ()
    """The conversation before the query."""
    samples: tuple[str, ...] = ()
    """Further responses to the same query, drawn at temperature 1."""
    relevant_ids: tuple[str, ...] | None = None
    """The ids of the sources that should have been retrieved, where they are known."""
    tags: Mapping[str, Any] = field(default_factory=dict)
    """Every other column of the input, kept for slicing."""
    weight: float = 1.0
    """How many cases this one stands for (a sampled production stream), from `LEAST_WEIGHT` to `MOST_WEIGHT`."""
    time: str | None = None
    """When it happened, ISO 8601."""
    trace_id: str | None = None
    """The trace it came from."""
    citation_mark: str | None = None
    """A regular expression for the application's own citation marks; None for the usual ones, as `[1]`. What the group
    `name`, else the first group, else the whole match holds names the sources."""
