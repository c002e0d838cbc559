"""What a case lacks for a step, found from the case alone, before any judge is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import assert_never

from ragtriage.core.case import Case
from ragtriage.core.metric import ORDER
from ragtriage.core.steps import Decompose, Field, Match, Step
from ragtriage.core.verdicts import Missing
from ragtriage.planning.levels import Plan, closure
from ragtriage.text.citations.segments import Why, why_uncut

NO_RESPONSE = Missing("no response was given", "response")
EMPTY = Missing("the response is empty", "response")
NO_SOURCES = Missing("no sources were retrieved", "sources")
NO_REFERENCE = Missing("the case has no reference", "reference")
NO_SAMPLES = Missing("the case has no samples of the response", "samples")
NO_RELEVANT = Missing("the case names no relevant sources", "relevant ids")
NO_CONVERSATION = Missing("no conversation went before the query", "query")
CITES_NOTHING = Missing("the response cites nothing", "response")
CITES_AS_A_WHOLE = Missing("the response cites only as a whole: no mark stands behind what it says", "response")
UNREAD_MARKS = Missing(
    "the response has no mark that is known: if its bracketed or raised numbers cite, say so with --citation-mark",
    "response",
)
UNCUT: Mapping[Why, Missing | None] = {
    "": None,
    "nothing": CITES_NOTHING,
    "whole": CITES_AS_A_WHOLE,
    "unread": UNREAD_MARKS,
}
"""Why a response isn't cut by its marks."""

_GIVE = "give ids as source_ids, or sources as objects with an id"
NO_IDS = Missing(f"the sources have no ids: {_GIVE}", "sources")
NOT_ALL_IDS = Missing(f"not every source has an id: {_GIVE}", "sources")
LACKS = frozenset(
    missing.reason
    for missing in (
        CITES_NOTHING,
        CITES_AS_A_WHOLE,
        UNREAD_MARKS,
        NO_RESPONSE,
        EMPTY,
        NO_SOURCES,
        NO_REFERENCE,
        NO_SAMPLES,
        NO_RELEVANT,
        NO_CONVERSATION,
        NO_IDS,
        NOT_ALL_IDS,
    )
)
"""All that a case may lack, in words."""


def absent(step: Decompose, case: Case) -> Missing | None:
    """Why the case can't be broken into these components; None if it can."""
    missing = _not_given(case, step.of)
    return UNCUT[why_uncut(case)] if missing is None and step.into == "segments" else missing


def _not_given(case: Case, field: Field) -> Missing | None:  # noqa: PLR0911  # one for each field
    match field:
        case "response":
            if case.response is None:
                return NO_RESPONSE
            return None if case.response.strip() else EMPTY
        case "sources":
            return None if case.sources else NO_SOURCES
        case "reference":
            return None if (case.reference or "").strip() else NO_REFERENCE
        case "samples":
            return None if case.samples else NO_SAMPLES
        case "relevant ids":
            return None if case.relevant_ids is not None else NO_RELEVANT
        case "query":
            return None
        case _:
            assert_never(field)


def target_absent(step: Match, case: Case) -> Missing | None:
    """Why there is nothing to hold components against; None if there is.

    A match against an empty response is no: it says nothing. An empty reference is none, as in `absent`.
    """
    if step.against == "response" and case.response is None:
        return NO_RESPONSE
    if step.against == "reference" and not (case.reference or "").strip():
        return NO_REFERENCE
    if step.against == "conversation" and not case.history:
        return NO_CONVERSATION
    if step.relation == "retrieved" and case.relevant_ids is not None:  # else there are none to compare
        nameless = sum(source.id is None for source in case.sources)
        if nameless:
            return NO_IDS if nameless == len(case.sources) else NOT_ALL_IDS
    return None


def first_of(reasons: Iterable[Missing | None]) -> Missing | None:
    """The reason that is reported where several hold: see `ragtriage.core.metric.ORDER`. None if there is none."""
    found = [reason for reason in reasons if reason]
    return min(found, key=lambda m: (m.failed, ORDER.index(m.field)), default=None)


def lack(step: Step, case: Case) -> Missing | None:
    """What the case lacks for this step or one that it depends on; None if nothing."""
    return first_of(
        absent(one, case) if isinstance(one, Decompose) else target_absent(one, case) for one in closure([step])
    )


def unneeded(plan: Plan, case: Case) -> Mapping[Step, Missing]:
    """The steps that no score and no rule needs on this case, as all that would need them lack something.

    A rule reads scores, so where no score can be computed no rule needs anything.

    Returns:
        Step → what is lacking. They are not asked: a metric without its reference costs nothing.
    """
    wanted: set[Step] = set()
    idle: dict[Step, Missing] = {}
    lacking = {m.name: first_of(lack(step, case) for step in m.needs.values()) for m in plan.metrics}
    hopeless = first_of(lacking.values()) if lacking and all(lacking.values()) else None
    by_rules = [((step,), hopeless or lack(step, case)) for step in plan.also]
    for needs, missing in [*((tuple(m.needs.values()), lacking[m.name]) for m in plan.metrics), *by_rules]:
        if missing is None:
            wanted.update(closure(needs))
        else:
            for step in closure(needs):
                idle.setdefault(step, missing)
    return {step: missing for step, missing in idle.items() if step not in wanted}
