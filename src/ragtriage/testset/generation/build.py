"""All steps in one go, and what they would come to before anything is written."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ragtriage.core.errors import InputError
from ragtriage.testset.generation.build_steps import (
    PHRASINGS,
    SCHEMA,
    TEMPLATES,
    BuildStep,
    Progress,
    make_fillings,
    make_phrasings,
    make_questions,
    make_schema,
    make_templates,
)
from ragtriage.testset.generation.database import Database
from ragtriage.testset.generation.fillings import FillingOptions
from ragtriage.testset.generation.phrasing import criteria_named, phrase
from ragtriage.testset.generation.reflection import reflect
from ragtriage.testset.generation.sampling import SamplingPlan, check_shares, check_size, criteria_of, half_width
from ragtriage.testset.generation.template_enumeration import MOST, enumerate_templates
from ragtriage.testset.generation.true_answers import AnswerPolicies
from ragtriage.testset.generation.value_combinations import CombinationSampler, Kind

PER_CRITERION = 3
"""Phrasings of a template under each criterion; every group takes one of them."""
_FEWEST, _MOST = 20, 1_000
"""Fillings of a template."""


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How a test set is built."""

    tables: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    aggregates: bool = False
    most: int = MOST
    criteria: tuple[str, ...] = ()
    """Names of linguistic criteria; all if empty."""
    per_criterion: int = PER_CRITERION
    combinations: Kind = "occurring"
    policies: AnswerPolicies = field(default_factory=AnswerPolicies)
    plan: SamplingPlan = field(default_factory=SamplingPlan)

    def filling_options(self) -> FillingOptions:
        """As many fillings as the plan can use of one template."""
        names = criteria_named(self.criteria)
        groups = self.plan.size / max(1, sum(self.plan.criteria.values()) or len(names))
        wanted = math.ceil(self.plan.max_share * groups)
        return FillingOptions(min(_MOST, max(_FEWEST, wanted)), self.combinations, self.policies, self.plan.seed)


@dataclass(frozen=True, slots=True)
class TemplateEstimate:
    """What one template would come to."""

    template: str
    sql: str
    phrasings: int
    """N."""
    combinations: int
    """Q: those that occur, or the product."""
    product: int
    sampled: bool
    """Whether Q is that of drawn rows only."""
    problem: str = ""


def build(
    database: Database, folder: Path, terms: BuildOptions, *, again: bool = False, progress: Progress | None = None
) -> list[BuildStep]:
    """From an open database to `questions.jsonl`, each step's file in one folder; what is there already is kept.

    Raises:
        ConfigError: a term is wrong.
        InputError: the database or a file can't be read or written, or nothing can be asked.
    """
    check_options(terms, folder)
    schema, templates = folder / SCHEMA, folder / TEMPLATES
    return [
        make_schema(database, schema, terms.tables, terms.exclude, again=again),
        make_templates(schema, templates, aggregates=terms.aggregates, most=terms.most, again=again),
        make_fillings(database, folder, terms.filling_options(), again=again, progress=progress),
        make_phrasings(folder, terms.criteria, terms.per_criterion, terms.plan.seed, again=again),
        make_questions(folder, terms.plan, again=again),
    ]


def check_options(terms: BuildOptions, folder: Path | None = None) -> None:
    """Whether the terms can be fulfilled, as far as that is known before anything is read or written.

    Args:
        terms: of the build.
        folder: where phrasings may be that somebody edited; then what criteria there are isn't known yet.

    Raises:
        ConfigError: there is no such criterion, a share is out of its range, or the size is below one group.
    """
    names = [one.name for one in criteria_named(terms.criteria)]
    check_shares(terms.plan)
    if folder is not None and (folder / PHRASINGS).exists():
        names = list(terms.plan.criteria)
    check_size(terms.plan, criteria_of(terms.plan, names))


def count(database: Database, terms: BuildOptions) -> list[TemplateEstimate]:
    """What every template would come to, with nothing written: N phrasings and Q combinations of M templates.

    Raises:
        ConfigError: a term is wrong.
        InputError: the database can't be read.
    """
    check_options(terms)
    schema = reflect(database, terms.tables, terms.exclude).schema
    templates = enumerate_templates(schema, aggregates=terms.aggregates, most=terms.most).templates
    phrased = phrase(
        schema, templates, criteria_named(terms.criteria), per_criterion=terms.per_criterion, seed=terms.plan.seed
    )
    texts = Counter(one.template for one in phrased.texts)
    sampler = CombinationSampler(database, schema, terms.plan.seed)
    found = []
    for template in templates:
        try:
            drawn = sampler.combinations(template, terms.filling_options().per_template)
            known = drawn.product if terms.combinations == "product" else drawn.occurring
            found.append(
                TemplateEstimate(template.id, template.sql, texts[template.id], known, drawn.product, drawn.sampled)
            )
        except InputError as error:
            problem = str(error)
            found.append(
                TemplateEstimate(template.id, template.sql, texts[template.id], 0, 0, sampled=False, problem=problem)
            )
    return found


def accuracy_half_width(terms: BuildOptions) -> float | None:
    """Half of the 95 % interval of a criterion's accuracy that the size buys, if so many groups can be had."""
    each = sum(terms.plan.criteria.values()) or len(criteria_named(terms.criteria))
    return half_width(terms.plan.size // each)
