"""What comes of phrasing, and new phrasings put beside those that there are: nothing that a person edited is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragtriage.testset.generation.phrasing.criteria import Criterion
from ragtriage.testset.generation.query_templates import QueryTemplate, TextTemplate

WRITTEN = "written"


@dataclass(frozen=True, slots=True)
class RefusedPhrasing:
    """A phrasing that can't be used, or one that couldn't be made."""

    template: str
    """The query template's id."""
    criterion: str
    """Empty where it is all of them."""
    reason: str
    text: str = ""
    """What was refused; empty where there is no text."""
    made_by: str = "rules"


@dataclass(frozen=True, slots=True)
class PhrasingResult:
    """What came of phrasing: usable phrasings, and what was refused."""

    texts: tuple[TextTemplate, ...] = ()
    """In the order of the templates, then of the criteria."""
    refused: tuple[RefusedPhrasing, ...] = ()
    without: tuple[RefusedPhrasing, ...] = ()
    """Where a template has fewer phrasings under a criterion than were asked for, with the reason."""
    stopped: str = ""
    """Why a model was asked no more; empty if it was asked for everything."""
    failed: int = 0
    """Templates for which a request to the model failed."""


def lacking(
    templates: Iterable[QueryTemplate],
    criteria: Sequence[Criterion],
    there: Iterable[TextTemplate],
    maker: str,
    count: int,
) -> list[QueryTemplate]:
    """The templates that have fewer than `count` phrasings under some criterion, by the maker or written by hand."""
    has = Counter((one.template, one.criterion) for one in there if one.made_by in {maker, WRITTEN})
    return [one for one in templates if any(has[one.id, criterion.name] < count for criterion in criteria)]


def added(
    templates: Sequence[QueryTemplate],
    criteria: Sequence[Criterion],
    there: Sequence[TextTemplate],
    new: Iterable[TextTemplate],
    count: int,
) -> tuple[TextTemplate, ...]:
    """New phrasings, by one maker, put beside those that there are, until there are `count` under each criterion.

    They stand by template, then by criterion, those of this call first; phrasings of other templates at the end.
    """
    taken: list[TextTemplate] = []
    has: dict[tuple[str, str, str], list[str]] = {}
    for old in there:
        has.setdefault((old.template, old.criterion, old.made_by), []).append(old.text)
    for one in new:
        own = has.setdefault((one.template, one.criterion, one.made_by), [])
        by_hand = has.get((one.template, one.criterion, WRITTEN), [])
        if len(own) + len(by_hand) < count and one.text not in own and one.text not in by_hand:
            own.append(one.text)
            taken.append(one)
    places = {template.id: n for n, template in enumerate(templates)}
    order = {criterion.name: n for n, criterion in enumerate(criteria)}
    texts = sorted(
        (*there, *taken),
        key=lambda one: (places.get(one.template, len(places)), order.get(one.criterion, len(order))),
    )
    return tuple(texts)
