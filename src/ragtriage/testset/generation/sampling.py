"""Which questions are asked: a size, a balance of criteria, quotas, and how exact the result will be."""

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragtriage.core.errors import ConfigError
from ragtriage.testset.generation.fillings import Filling
from ragtriage.testset.generation.query_templates import QueryTemplate, TextTemplate, fill_placeholders

SIZE = 1_000
MAX_SHARE = 0.10
"""The largest share of the questions that one template may have."""


@dataclass(frozen=True, slots=True)
class SamplingPlan:
    """What a sample of questions is to be."""

    size: int = SIZE
    """Questions, at most."""
    criteria: Mapping[str, int] = field(default_factory=dict)
    """Criterion → phrasings of it in every group; empty takes one of each that there is: balanced."""
    max_share: float = MAX_SHARE
    quotas: Mapping[str, float] = field(default_factory=dict)
    """Table or template id → the largest share of the groups that it may have."""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class SampledQuestion:
    """One question with its true answer."""

    id: str
    filling: Filling
    criterion: str
    query: str

    def row(self) -> dict[str, Any]:
        """The row of its file, which `ragtriage collect` and `ragtriage testset score` read."""
        one = self.filling
        return {
            "id": self.id,
            "group": one.group,
            "cluster": self.criterion,
            "query": self.query,
            "answer": list(one.answer) if isinstance(one.answer, tuple) else one.answer,
            "answer_type": one.answer_type,
            "sql": one.sql,
            "parameters": dict(one.parameters),
            "template": one.template,
            "criterion": self.criterion,
            "keys": dict(one.keys),
        }


@dataclass(frozen=True, slots=True)
class Sample:
    """The questions, and what was left out for which reason."""

    questions: tuple[SampledQuestion, ...]
    groups: int
    criteria: Mapping[str, int]
    by_template: Mapping[str, int]
    """Groups of each."""
    unphrased: int
    """Templates that lack a phrasing of some criterion."""
    ambiguous: int
    """Groups left out, since another asks the same in the same words."""
    repeated: int
    """Questions whose words another of their group has: there is no other phrasing of the template."""
    notes: tuple[str, ...] = ()


def half_width(groups: int) -> float | None:
    """Half of the 95 % interval of an accuracy over so many groups, one question each, where it is widest: at 0.5.

    1.96 √(0.25 / n), the normal approximation; None without a group.
    """
    return 1.96 * math.sqrt(0.25 / groups) if groups else None


def sample(
    templates: Sequence[QueryTemplate],
    phrasings: Iterable[TextTemplate],
    fillings: Iterable[Filling],
    plan: SamplingPlan,
) -> Sample:
    """Questions by a plan: every group has as many phrasings of a criterion as any other.

    Groups are spread evenly over the templates, as far as their fillings and the shares allow.
    """
    by_criterion: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for one in phrasings:
        by_criterion[one.template][one.criterion].append(one.text)
    criteria = criteria_of(plan, list(dict.fromkeys(name for texts in by_criterion.values() for name in texts)))
    known = {template.id: template for template in templates}
    complete = [name for name in known if all(len(by_criterion[name][c]) >= count for c, count in criteria.items())]
    by_template: dict[str, list[Filling]] = defaultdict(list)
    for one_filling in fillings:
        by_template[one_filling.template].append(one_filling)
    filled_ones = by_template.keys() & known.keys()
    waiting = {name: by_template[name] for name in complete if name in filled_ones}
    generator = random.Random(plan.seed)  # noqa: S311  # a draw, no secret
    for found in waiting.values():
        found.sort(key=lambda filling: filling.group)
        generator.shuffle(found)
    _check_quotas(plan, known)
    each = check_size(plan, criteria)
    share = max(plan.max_share, 1 / len(waiting)) if waiting else plan.max_share
    most = max(1, _floor(share * (plan.size // each)))
    possible, ambiguous = _drawn(waiting, known, by_criterion, criteria, generator, most)
    order = list(possible)
    generator.shuffle(order)  # a sample smaller than the templates is of all kinds, not of the first ones
    shuffled = {name: possible[name] for name in order}
    counts, cut = _allotted(shuffled, known, plan, plan.size // each, share)
    taken = {name: groups[: counts[name]] for name, groups in possible.items()}
    total = sum(map(len, taken.values()))
    return Sample(
        questions=tuple(question for groups in taken.values() for group in groups for question in group),
        groups=total,
        criteria=criteria,
        by_template={name: len(groups) for name, groups in taken.items() if groups},
        unphrased=len(filled_ones - set(complete)),
        ambiguous=ambiguous,
        repeated=sum(len(group) - len({one.query for one in group}) for groups in taken.values() for group in groups),
        notes=tuple(_notes(plan, waiting, share, each, total, cut=cut)),
    )


_Texts = Mapping[str, Sequence[str]]
"""Criterion → the phrasings of a template."""


def _drawn(
    waiting: Mapping[str, Sequence[Filling]],
    templates: Mapping[str, QueryTemplate],
    texts: Mapping[str, _Texts],
    criteria: Mapping[str, int],
    generator: random.Random,
    most: int,
) -> tuple[dict[str, list[list[SampledQuestion]]], int]:
    """At most so many groups of questions of each template, and how many were left out that read like another."""
    possible: dict[str, list[list[SampledQuestion]]] = {}
    asked: set[str] = set()
    ambiguous = 0
    for name, fillings in waiting.items():
        groups = possible[name] = []
        for filling in fillings:
            if len(groups) == most:
                break
            made = _group(filling, templates[name], texts[name], criteria, generator)
            if any(one.query in asked for one in made):
                ambiguous += 1
                continue
            asked.update(one.query for one in made)
            groups.append(made)
    return possible, ambiguous


def _group(
    filling: Filling, template: QueryTemplate, texts: _Texts, criteria: Mapping[str, int], generator: random.Random
) -> list[SampledQuestion]:
    made: list[SampledQuestion] = []
    used: set[str] = set()
    for criterion, count in criteria.items():
        known = texts[criterion]
        # those first that the group doesn't have under another criterion
        chosen = sorted(generator.sample(known, len(known)), key=used.__contains__)[:count]
        used.update(chosen)
        for number, text in enumerate(chosen, 1):
            name = f"{filling.group}-{criterion}" + (f"-{number}" if count > 1 else "")
            made.append(SampledQuestion(name, filling, criterion, fill_placeholders(text, template, filling.values)))
    return made


def criteria_of(plan: SamplingPlan, present: Sequence[str]) -> dict[str, int]:
    """Phrasings of each criterion in every group."""
    if not plan.criteria:
        return dict.fromkeys(present, 1)
    for name, count in plan.criteria.items():
        if name not in present:
            raise ConfigError(f"there are no phrasings of the criterion {name!r}: there are {', '.join(present)}")
        if count < 1:
            raise ConfigError(f"{name}={count}: ask for at least one phrasing of a criterion, or leave it out")
    return dict(plan.criteria)


def check_size(plan: SamplingPlan, criteria: Mapping[str, int]) -> int:
    """The questions of one group."""
    each = sum(criteria.values())
    if plan.size < each:
        raise ConfigError(f"--size {plan.size}: one group has {each} questions, so ask for at least {each}")
    return each


def check_shares(plan: SamplingPlan) -> None:
    """Raise a ConfigError if a share of the plan is out of its range."""
    for name, share in plan.quotas.items():
        if not 0 <= share <= 1:
            raise ConfigError(f"--quota {name}={share:g}: use a share from 0 to 1")
    if not 0 < plan.max_share <= 1:
        raise ConfigError(f"--max-share {plan.max_share:g}: use a share above 0, up to 1")


def _check_quotas(plan: SamplingPlan, templates: Mapping[str, QueryTemplate]) -> None:
    tables = {table for template in templates.values() for table in template.tables}
    for name in plan.quotas:
        if name not in tables and name not in templates:
            raise ConfigError(f"--quota {name}: is neither a table nor a template's id")
    check_shares(plan)


def _allotted(
    waiting: Mapping[str, Sequence[object]],
    templates: Mapping[str, QueryTemplate],
    plan: SamplingPlan,
    groups: int,
    share: float,
) -> tuple[dict[str, int], bool]:
    """Groups for each template, and whether a share made the sample smaller.

    Shares are of the sample as it is in the end, so it shrinks until they hold.
    """

    def evenly(total: int) -> dict[str, int]:
        """One group for every template in turn, until the total is reached or nothing may be taken any more."""
        most = {
            name: min(len(found), max(1, _floor(share * total)), _floor(plan.quotas.get(name, 1) * total))
            for name, found in waiting.items()
        }
        left = {name: _floor(quota * total) for name, quota in plan.quotas.items() if name not in templates}
        counts = dict.fromkeys(waiting, 0)
        remaining = total
        open_ = [name for name in waiting if most[name]]
        while remaining and open_:
            still = []
            for name in open_:
                first = templates[name].tables[0]
                if not remaining or left.get(first, 1) < 1:
                    continue
                counts[name] += 1
                remaining -= 1
                if first in left:
                    left[first] -= 1
                if counts[name] < most[name]:
                    still.append(name)
            open_ = still
        return counts

    whole = total = min(groups, sum(map(len, waiting.values())))
    while (reached := sum((counts := evenly(total)).values())) < total:
        total = reached
    return counts, total < whole


def _floor(value: float) -> int:
    return math.floor(value + 1e-9)


def _notes(
    plan: SamplingPlan, waiting: Mapping[str, Sequence[object]], share: float, each: int, groups: int, *, cut: bool
) -> Iterable[str]:
    if share > plan.max_share:
        yield f"only {len(waiting)} templates have fillings, so one may have up to {share:.0%} of the questions"
    if groups * each < plan.size - each + 1:
        why = "and no template may have more than its share" if cut else "which is all that there is"
        yield f"{groups * each:,} questions instead of {plan.size:,}: {groups:,} groups of {each}, {why}"
