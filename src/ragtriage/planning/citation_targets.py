"""What a segment of a response is held against: the sources that it cites, together, one by one, and without one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ragtriage.core.case import Case
from ragtriage.core.verdicts import Citation, Component, Verdict

Texts = tuple[str, ...]
Against = Texts | Verdict | None
"""The texts to hold a component against; a verdict that needs no judge; None for what isn't asked."""


def _cited(case: Case, cited: Iterable[Citation]) -> Texts:
    """The texts of the cited sources, blank ones left out."""
    places = dict.fromkeys(at for citation in cited for at in citation.sources)
    return tuple(case.sources[at].text for at in places if case.sources[at].text.strip())


def _cited_or_no(case: Case, cited: Sequence[Citation]) -> Against:
    """The texts of the cited sources; a no if one of the citations names no source."""
    wrong = [citation.name for citation in cited if not citation.sources]
    if not wrong:
        return _cited(case, cited)
    count = len(case.sources)
    there = {0: "no sources were retrieved", 1: "there is one source"}.get(count, f"there are {count} sources")
    names = ", ".join(f"“{name}”" for name in wrong)
    return Verdict("no", 0.0, 1.0, f"nothing is called {names}: {there}")


def cited_sources(case: Case, segment: Component) -> Sequence[Against]:
    """All that it cites, taken together; a segment without marks isn't asked about."""
    return [_cited_or_no(case, segment.citations) if segment.citations else None]


def each_citation(case: Case, segment: Component) -> Sequence[Against]:
    """Each citation alone."""
    return [_cited_or_no(case, [citation]) for citation in segment.citations]


def other_citations(case: Case, segment: Component) -> Sequence[Against]:
    """For each citation all the others; None where there are none, or the citation itself names no source."""
    cited = segment.citations
    return [
        _cited(case, [other for other in cited if other is not one]) if len(cited) > 1 and one.sources else None
        for one in cited
    ]
