"""What a segment is compared with: its cited sources, together, one by one or without one; and true segments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from ragtriage.core.case import Case
from ragtriage.core.verdicts import Citation, Component, Known, Verdict, Verdicts

Texts = tuple[str, ...]
Target = Texts | Verdict | None
"""The texts to hold it against; a verdict that needs no judge; None for what isn't asked."""


def targets_of(
    case: Case, component: Component, against: Literal["cited sources", "each citation", "other citations"]
) -> list[Target]:
    """The targets of one segment: one, or one a citation. A segment without marks isn't asked about."""
    cited = component.citations
    match against:
        case "cited sources":
            if not cited:
                return [None]
            wrong = [c for c in cited if not c.sources]
            return [_names_nothing(wrong, case) if wrong else _texts(case, cited)]
        case "each citation":
            return [_texts(case, [c]) if c.sources else _names_nothing([c], case) for c in cited]
        case "other citations":
            alone = len(cited) == 1
            return [None if alone or not c.sources else _texts(case, [o for o in cited if o is not c]) for c in cited]


def true_texts(earlier: Known) -> Texts:
    """The texts of the segments that an earlier step found true."""
    if not isinstance(earlier, Verdicts):
        return ()
    pairs = zip(earlier.components, earlier.best(), strict=True)
    return tuple(c.text for c, cell in pairs if isinstance(cell, Verdict) and cell.value == "yes")


def _texts(case: Case, cited: Iterable[Citation]) -> Texts:
    """The texts of the cited sources, blank ones left out."""
    places = dict.fromkeys(at for citation in cited for at in citation.sources)
    return tuple(case.sources[at].text for at in places if case.sources[at].text.strip())


def _names_nothing(wrong: Iterable[Citation], case: Case) -> Verdict:
    names = ", ".join(f"“{c.name}”" for c in wrong)
    count = len(case.sources)
    there = (
        "no sources were retrieved"
        if not count
        else "there is one source"
        if count == 1
        else f"there are {count} sources"
    )
    return Verdict("no", 0.0, 1.0, f"nothing is called {names}: {there}")
