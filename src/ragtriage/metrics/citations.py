"""Whether the citations carry what is said ("Automating Groundedness Evaluation in RAG Applications", 2025)."""

import re
from dataclasses import dataclass, replace
from types import MappingProxyType

from ragtriage.core.case import Case, Record
from ragtriage.core.metric import metric
from ragtriage.core.steps import Match, OnlyWhere, only_where_not
from ragtriage.core.verdicts import (
    Cell,
    Component,
    Failure,
    Outcome,
    Score,
    Undefined,
    Verdict,
    Verdicts,
    highest,
    is_yes,
)
from ragtriage.metrics.aggregate import SEGMENTS, negated, share

ROUND_ONE = Match(SEGMENTS, "supported", "cited sources")
"""Each segment with marks against what it cites, taken together."""
ROUND_TWO = Match(SEGMENTS, "supported", "true segments", OnlyWhere(ROUND_ONE, "wasn't asked"))
"""Each segment without marks against the segments that round one found true."""
ELSEWHERE = Match(
    SEGMENTS,
    "supported",
    "sources",
    only_where_not(ROUND_ONE, only_where_not(ROUND_TWO, OnlyWhere(ROUND_ONE, "names sources"))),
)
"""Tells a false segment that the sources support from one that nothing does; no score depends on it. Of one that cites
what doesn't exist the reason is known."""
EACH_ALONE = Match(SEGMENTS, "supported", "each citation")
WITHOUT_EACH = Match(
    SEGMENTS, "supported", "other citations", OnlyWhere(ROUND_ONE, "has yes", only_where_not(EACH_ALONE))
)
"""Whether a citation can be spared; asked only where several together support what none of them supports alone."""

FALSE = MappingProxyType(
    {
        "unsupported": "not supported by what it cites",
        "misattributed": "supported by a source that it doesn't cite",
        "unattributed": "cites nothing, though a source supports it",
        "uncited": "cites nothing, and nothing that is cited bears it out",
        "dangling": "cites what doesn't exist",
    }
)
"""Why a segment is false."""
UNCITED = Verdict("no", 0.0, 1.0, "it cites nothing")


@metric(
    title="Citations carry the answer",
    fault="not supported by what it cites",
    kinds=FALSE,
    cited=ROUND_ONE,
    borne_out=ROUND_TWO,
    elsewhere=ELSEWHERE,
)
def citation_groundedness(cited: Verdicts, borne_out: Verdicts, elsewhere: Verdicts) -> Outcome:
    """The share of the response's segments that what they cite supports, or that segments so supported bear out.

    True segments / segments that claim something, in [0, 1]. Args: all of shape (n_segments, 1). Undefined without a
    response, or if it cites or claims nothing. Source: "Automating Groundedness Evaluation in RAG Applications".
    """
    cells = [highest(pair) for pair in zip(cited.best(), borne_out.best(), strict=True)]
    outcome = share(cited.components, cells)
    if not isinstance(outcome, Score):
        return outcome
    found = zip(outcome.parts, elsewhere.best(), strict=True)
    return replace(outcome, parts=tuple(replace(p, kind=fault_kind(p.component, p.cell, other)) for p, other in found))


@metric(title="Segments cited", fault="not supported by what it cites", kinds=FALSE, cited=ROUND_ONE)
def citation_recall(cited: Verdicts) -> Outcome:
    """The share of the response's segments that are wholly supported by what they cite themselves.

    Segments that their own citations support / segments that claim something, in [0, 1]; one without citations isn't
    supported. Args: cited: shape (n_segments, 1). Undefined without a response, or if it cites or claims nothing.
    Source: Gao et al. 2023, "Enabling Large Language Models to Generate Text with Citations", section 4.
    """
    return share(cited.components, [cell or UNCITED for cell in cited.best()])


@metric(
    title="Citations needed",
    fault="a citation that doesn't support what it stands behind",
    cited=ROUND_ONE,
    alone=EACH_ALONE,
    without=WITHOUT_EACH,
)
def citation_precision(cited: Verdicts, alone: Verdicts, without: Verdicts) -> Outcome:
    """The share of citations that support their segment alone, or without which the others no longer support it.

    In [0, 1], over the citations of segments that claim something; one that names no source supports nothing. Args:
    cited: shape (n_segments, 1); alone and without: shape (n_segments, n_citations). Undefined without a response, or
    if it cites or claims nothing. Source: Gao et al. 2023, section 4, citation by citation.
    """
    rows = zip(cited.components, citations_needed(cited, alone, without), strict=True)
    found = [(_citation(segment, at), cell) for segment, cells in rows for at, cell in enumerate(cells)]
    if not found:
        return Undefined("no segment that claims something cites a source")
    return share([component for component, _ in found], [cell for _, cell in found])


def citations_needed(cited: Verdicts, alone: Verdicts, without: Verdicts) -> tuple[tuple[Cell, ...], ...]:
    """The verdict on each citation of each segment, in the order of its marks; shapes as for `citation_precision`."""
    rows = zip(cited.best(), alone.cells, without.cells, strict=True)
    return tuple(
        tuple(_needed(together, own, others[at], highest(ones)) for at, own in enumerate(ones) if own is not None)
        for together, ones, others in rows
    )


def fault_kind(segment: Component, cell: Cell, elsewhere: Cell) -> str:
    """Why a segment is false, a key of `FALSE`; empty if it isn't, or isn't known."""
    if not isinstance(cell, Verdict) or cell.value != "no":
        return ""
    if any(not citation.sources for citation in segment.citations):
        return "dangling"
    found = is_yes(elsewhere)
    if segment.citations:
        return "misattributed" if found else "unsupported"
    return "unattributed" if found else "uncited"


def _needed(together: Cell, own: Cell, others: Cell, best: Cell) -> Cell:
    """The verdict on one citation, from those on all of them, on it alone, on the others, and the best alone."""
    if is_yes(own) or isinstance(own, Failure):
        return own
    if not is_yes(together):
        return together
    if is_yes(best):
        return own  # another one supports it alone, so this one can be spared
    return negated(others) or own


def _citation(segment: Component, place: int) -> Component:
    """A segment as what one of its citations stands behind."""
    sources = segment.citations[place].sources if segment.citations else ()
    return replace(segment, source=sources[0] if sources else None)


_QUOTE = re.compile(r"“([^“”]{8,})”")
_ELLIPSIS = re.compile(r"\s*(?:…|\.\.\.)\s*")


@dataclass(frozen=True, slots=True)
class CheckedSegment:
    """One segment with the verdicts on it."""

    segment: Component
    cell: Cell = None
    """Of the round that it was checked in; None for a remark, and where it wasn't asked."""
    kind: str = ""
    """Why it is false, a key of `ragtriage.metrics.citations.FALSE`; empty if it isn't."""
    elsewhere: Cell = None
    """Against all sources together; None where that wasn't asked."""
    supported_by: int | None = None
    """The source, by position from 0, in which alone the words stand that the judge quotes for a yes against all of
    them; None where the quotes don't tell."""
    needed: tuple[Cell, ...] = ()
    """On each of its citations, in their order; empty where that wasn't asked."""


def checked_segments(record: Record) -> tuple[CheckedSegment, ...]:
    """The segments of a case in the order of the text, remarks included; empty where the response wasn't cut."""
    listed = record.components(SEGMENTS) or ()
    judged = [segment for segment in listed if not segment.remark]
    unasked = (None,) * len(judged)
    rounds = [record.verdicts(step) for step in (ROUND_ONE, ROUND_TWO, ELSEWHERE)]
    one, two, elsewhere = (found.best() if found else unasked for found in rounds)
    checks = [found for step in (ROUND_ONE, EACH_ALONE, WITHOUT_EACH) if (found := record.verdicts(step))]
    needed = citations_needed(*checks) if len(checks) == 3 else ((),) * len(judged)
    checked = iter(
        CheckedSegment(
            segment,
            cell := highest(pair),
            fault_kind(segment, cell, other),
            other,
            source_quoted(record.case, other),
            own,
        )
        for segment, pair, other, own in zip(judged, zip(one, two, strict=True), elsewhere, needed, strict=True)
    )
    return tuple(CheckedSegment(segment) if segment.remark else next(checked) for segment in listed)


def source_quoted(case: Case, cell: Cell) -> int | None:
    """The one source, by position from 0, in which stands what a judge quotes for its yes; None where that isn't one.

    Case and spaces apart; a quote of which pieces stand in several sources doesn't tell, and neither do two quotes from
    different ones.
    """
    if not isinstance(cell, Verdict) or cell.value != "yes":
        return None
    texts = [_folded(source.text) for source in case.known_sources]
    found: set[int] = set()
    for quote in _QUOTE.findall(cell.explanation):
        pieces = [piece for part in _ELLIPSIS.split(quote) if (piece := _folded(part))]
        holding = [at for at, text in enumerate(texts) if pieces and all(piece in text for piece in pieces)]
        if len(holding) == 1:
            found.add(holding[0])
    return found.pop() if len(found) == 1 else None


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
