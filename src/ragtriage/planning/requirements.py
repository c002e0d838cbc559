"""What a step may need of a case, found out without a judge; what is missing is the reason for an undefined score."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ragtriage.core.case import Case
from ragtriage.core.metric import ORDER
from ragtriage.core.verdicts import Missing
from ragtriage.text.citations.segments import unsegmented_reason


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing that a step needs of a case."""

    missing: Missing
    """The outcome of the step where the case doesn't have it."""
    met: Callable[[Case], bool]


def turns_of(case: Case) -> tuple[str, ...]:
    """The conversation before the query, each message with its speaker."""
    return tuple(f"{turn.role}: {turn.text}" for turn in case.history if turn.text.strip())


_GIVE_IDS = "give ids as source_ids, or sources as objects with an id"

RESPONSE = Requirement(Missing("no response was given", "response"), lambda case: case.response is not None)
RESPONSE_TEXT = Requirement(
    Missing("the response is empty", "response"), lambda case: bool((case.response or "").strip())
)
SOURCES = Requirement(Missing("no sources were retrieved", "sources"), lambda case: bool(case.sources))
REFERENCE = Requirement(
    Missing("the case has no reference", "reference"), lambda case: bool((case.reference or "").strip())
)
SAMPLES = Requirement(Missing("the case has no samples of the response", "samples"), lambda case: bool(case.samples))
RELEVANT_IDS = Requirement(
    Missing("the case names no relevant sources", "relevant ids"), lambda case: case.relevant_ids is not None
)
CONVERSATION = Requirement(Missing("no conversation went before the query", "query"), lambda case: bool(turns_of(case)))
CITATIONS = (
    Requirement(Missing("the response cites nothing", "response"), lambda case: unsegmented_reason(case) != "nothing"),
    Requirement(
        Missing("the response cites only as a whole: no mark stands behind what it says", "response"),
        lambda case: unsegmented_reason(case) != "whole",
    ),
    Requirement(
        Missing(
            "the response has no mark that is known: if its bracketed or raised numbers cite, say so with "
            "--citation-mark",
            "response",
        ),
        lambda case: unsegmented_reason(case) != "unread",
    ),
)
SOURCE_IDS = (  # without relevant ids there are none to compare
    Requirement(
        Missing(f"the sources have no ids: {_GIVE_IDS}", "sources"),
        lambda case: (
            case.relevant_ids is None or not case.sources or any(source.id is not None for source in case.sources)
        ),
    ),
    Requirement(
        Missing(f"not every source has an id: {_GIVE_IDS}", "sources"),
        lambda case: case.relevant_ids is None or all(s.id is not None for s in case.sources),
    ),
)

CITES_NOTHING = tuple(one.missing for one in CITATIONS)
"""The outcomes of a step on the citations of a response that has none, or none that can be read."""
REASONS = frozenset(
    one.missing.reason
    for one in (
        RESPONSE, RESPONSE_TEXT, SOURCES, REFERENCE, SAMPLES, RELEVANT_IDS, CONVERSATION, *CITATIONS, *SOURCE_IDS
    )
)  # fmt: skip
"""Everything that a case may lack, in words."""


def first_unmet(requirements: Iterable[Requirement], case: Case) -> Missing | None:
    """The first of these that the case doesn't meet; None if it meets all."""
    return next((one.missing for one in requirements if not one.met(case)), None)


def first_missing(reasons: Iterable[Missing | None]) -> Missing | None:
    """The reason that is reported where several hold: see `ragtriage.core.metric.ORDER`. None if there is none."""
    found = [reason for reason in reasons if reason]
    return min(found, key=lambda m: (m.failed, ORDER.index(m.field)), default=None)
