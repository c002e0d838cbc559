"""Phrasings by rule: no model, no cost, the meaning kept by construction."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from ragtriage.core.errors import ConfigError
from ragtriage.testset.generation.phrasing.criteria import (
    CRITERIA,
    Criterion,
    Refusal,
    Requirements,
    ValueLeakDetector,
    requirements_of,
)
from ragtriage.testset.generation.phrasing.questions import wordings_of
from ragtriage.testset.generation.phrasing.row_descriptions import Unnameable
from ragtriage.testset.generation.phrasing.styles import STYLES
from ragtriage.testset.generation.query_templates import QueryTemplate, TextTemplate
from ragtriage.testset.generation.schema import Schema

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


RULES = "rules"
"""Who makes them."""
TRIED = 60
"""Candidates for one criterion after which no more are tried."""


def phrase(
    schema: Schema,
    templates: Iterable[QueryTemplate],
    criteria: Sequence[Criterion] = CRITERIA,
    *,
    per_criterion: int = 1,
    seed: int = 0,
    values: Mapping[str, Sequence[str]] | None = None,
) -> PhrasingResult:
    """Phrasings by rule of every query template under every criterion.

    The same arguments always give the same phrasings; those of a template don't depend on the other templates.

    Args:
        schema: the database's, with the words by which people call things.
        templates: those without a shape are refused.
        criteria: a user's own need a model and are refused.
        per_criterion: how many phrasings, at least 1; fewer are made where the rules know no others.
        seed: which of the possible phrasings are taken.
        values: `table.column` → values that will be filled in or asked for, or a sample of them; none of them may stand
            in a phrasing, and their length is that of a placeholder.

    Raises:
        ConfigError: `per_criterion` is below 1.
    """
    if per_criterion < 1:
        raise ConfigError(f"--per-criterion {per_criterion}: give at least 1")
    known = dict(values or {})
    leaks = ValueLeakDetector(known)
    texts: list[TextTemplate] = []
    refused: list[RefusedPhrasing] = []
    without: list[RefusedPhrasing] = []
    for template in templates:
        try:
            wordings = wordings_of(schema, template)
        except Unnameable as error:
            without.append(RefusedPhrasing(template.id, "", str(error)))
            continue
        required = requirements_of(schema, template, [f"{one.direct}?" for one in wordings], known, leaks)
        used: set[str] = set()
        for criterion in criteria:
            if criterion.own:
                without.append(RefusedPhrasing(template.id, criterion.name, "rules can't write it: give --judge"))
                continue
            chance = random.Random(f"{seed}:{template.id}:{criterion.name}")  # noqa: S311  # a choice of words
            candidates = islice(STYLES[criterion.name](wordings, chance), TRIED)
            found, bad = _chosen(candidates, required, criterion, per_criterion, used)
            texts += found
            refused += bad
            used |= {one.text for one in found}
            if len(found) < per_criterion:
                why = bad[-1].reason if bad and not found else f"rules know {len(found)} of {per_criterion}"
                without.append(RefusedPhrasing(template.id, criterion.name, why))
    return PhrasingResult(tuple(texts), tuple(refused), tuple(without))


def _chosen(
    candidates: Iterable[str], required: Requirements, criterion: Criterion, count: int, used: set[str]
) -> tuple[list[TextTemplate], list[RefusedPhrasing]]:
    """The first usable candidates: those that no other criterion has taken before those that one has."""
    new: dict[str, TextTemplate] = {}
    again: dict[str, TextTemplate] = {}
    bad: dict[str, RefusedPhrasing] = {}
    for text in candidates:
        if text in new or text in again or text in bad:
            continue
        try:
            measures = required.verify(text, criterion)
        except Refusal as error:
            bad[text] = RefusedPhrasing(required.template.id, criterion.name, str(error), text)
            continue
        (again if text in used else new)[text] = TextTemplate(
            required.template.id, criterion.name, text, RULES, measures
        )
        if len(new) == count:
            break
    return [*new.values(), *again.values()][:count], list(bad.values())
