"""All steps in one go, and what they would come to before anything is written."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragtriage.core.errors import InputError
from ragtriage.testset.generation.build_record import Stamps, digest_of
from ragtriage.testset.generation.build_steps import (
    FILLINGS,
    PHRASINGS,
    SCHEMA,
    TEMPLATES,
    Progress,
    Step,
    make_fillings,
    make_questions,
    make_schema,
    make_templates,
)
from ragtriage.testset.generation.database import Database
from ragtriage.testset.generation.filling_files import read_fillings
from ragtriage.testset.generation.fillings import Filling, FillTerms
from ragtriage.testset.generation.phrasing import criteria_named, phrase
from ragtriage.testset.generation.reflection import reflect
from ragtriage.testset.generation.sampling import SamplingPlan, check_shares, check_size, criteria_of, half_width
from ragtriage.testset.generation.schema_file import read_schema
from ragtriage.testset.generation.template_enumeration import MOST, enumerate_templates
from ragtriage.testset.generation.template_files import phrasings_text, read_templates
from ragtriage.testset.generation.true_answers import Policies
from ragtriage.testset.generation.value_combinations import Drawing, Kind

PER_CRITERION = 3
"""Phrasings of a template under each criterion; every group takes one of them."""
_FEWEST, _MOST = 20, 1_000
"""Fillings of a template."""


@dataclass(frozen=True, slots=True)
class BuildTerms:
    """How a test set is built."""

    tables: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    aggregates: bool = False
    most: int = MOST
    criteria: tuple[str, ...] = ()
    """Names of linguistic criteria; all if empty."""
    per_criterion: int = PER_CRITERION
    combinations: Kind = "occurring"
    policies: Policies = field(default_factory=Policies)
    plan: SamplingPlan = field(default_factory=SamplingPlan)

    def fill_terms(self) -> FillTerms:
        """As many fillings as the plan can use of one template."""
        names = criteria_named(self.criteria)
        groups = self.plan.size / max(1, sum(self.plan.criteria.values()) or len(names))
        wanted = math.ceil(self.plan.max_share * groups)
        return FillTerms(min(_MOST, max(_FEWEST, wanted)), self.combinations, self.policies, self.plan.seed)


@dataclass(frozen=True, slots=True)
class Counted:
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
    database: Database, folder: Path, terms: BuildTerms, *, again: bool = False, progress: Progress | None = None
) -> list[Step]:
    """From an open database to `questions.jsonl`, each step's file in one folder; what is there already is kept.

    Raises:
        ConfigError: a term is wrong.
        InputError: the database or a file can't be read or written, or nothing can be asked.
    """
    check_terms(terms, folder)
    seed = terms.plan.seed
    steps = [make_schema(database, folder / SCHEMA, terms.tables, terms.exclude, again=again)]
    steps.append(
        make_templates(folder / SCHEMA, folder / TEMPLATES, aggregates=terms.aggregates, most=terms.most, again=again)
    )
    steps.append(make_fillings(database, folder, terms.fill_terms(), again=again, progress=progress))
    steps.append(make_phrasings(folder, terms.criteria, terms.per_criterion, seed, again=again))
    steps.append(make_questions(folder, terms.plan, again=again))
    return steps


def check_terms(terms: BuildTerms, folder: Path | None = None) -> None:
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


def make_phrasings(
    folder: Path, criteria: Sequence[str], per_criterion: int, seed: int, *, again: bool = False
) -> Step:
    """Write `phrasings.yaml` by rule, for the templates that have fillings.

    Raises:
        ConfigError: there is no such criterion.
        InputError: a file can't be read or written, or no template can be phrased.
    """
    path = folder / PHRASINGS
    stamps = Stamps(folder, again=again)
    chosen = criteria_named(criteria)
    inputs = digest_of(
        folder / SCHEMA, folder / TEMPLATES, folder / FILLINGS, [one.name for one in chosen], per_criterion, seed
    )
    if not stamps.needed(path, inputs):
        edited = stamps.edited(path)
        notes = (f"{path} was edited by hand, and is used as it stands",) if edited else ()
        return Step(path, made=False, numbers=stamps.numbers(path), notes=notes)
    schema = read_schema(folder / SCHEMA)
    templates = read_templates(folder / TEMPLATES, schema).templates
    fillings = read_fillings(folder / FILLINGS, templates).fillings
    filled = {one.template for one in fillings}
    found = phrase(
        schema,
        [template for template in templates if template.id in filled],
        chosen,
        per_criterion=per_criterion,
        seed=seed,
        values=_values(fillings),
    )
    if not found.texts:
        first = (*found.refused, *found.without)
        raise InputError(f"no template can be phrased.{' The first: ' + first[0].reason if first else ''}")
    numbers: dict[str, Any] = {
        "phrasings": len(found.texts),
        "templates": len({one.template for one in found.texts}),
        "criteria": [one.name for one in chosen],
        "refused": len(found.refused),
        "without": len(found.without),
    }
    stamps.write(path, phrasings_text(found.texts), inputs, numbers)
    return Step(path, made=True, numbers=numbers)


def count(database: Database, terms: BuildTerms) -> list[Counted]:
    """What every template would come to, with nothing written: N phrasings and Q combinations of M templates.

    Raises:
        ConfigError: a term is wrong.
        InputError: the database can't be read.
    """
    check_terms(terms)
    schema = reflect(database, terms.tables, terms.exclude).schema
    templates = enumerate_templates(schema, aggregates=terms.aggregates, most=terms.most).templates
    phrased = phrase(
        schema, templates, criteria_named(terms.criteria), per_criterion=terms.per_criterion, seed=terms.plan.seed
    )
    texts: dict[str, int] = defaultdict(int)
    for one in phrased.texts:
        texts[one.template] += 1
    drawing = Drawing(database, schema, terms.plan.seed)
    found = []
    for template in templates:
        try:
            drawn = drawing.combinations(template, terms.fill_terms().per_template)
            known = drawn.product if terms.combinations == "product" else drawn.occurring
            found.append(Counted(template.id, template.sql, texts[template.id], known, drawn.product, drawn.sampled))
        except InputError as error:
            found.append(
                Counted(template.id, template.sql, texts[template.id], 0, 0, sampled=False, problem=str(error))
            )
    return found


def width_of(terms: BuildTerms) -> float | None:
    """Half of the 95 % interval of a criterion's accuracy that the size buys, if so many groups can be had."""
    each = sum(terms.plan.criteria.values()) or len(criteria_named(terms.criteria))
    return half_width(terms.plan.size // each)


def _values(fillings: Sequence[Filling]) -> Mapping[str, list[str]]:
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for one in fillings:
        for placeholder, value in one.values.items():
            if len(found[placeholder]) < 200:
                found[placeholder][str(value)] = None
    return {placeholder: list(values) for placeholder, values in found.items()}
