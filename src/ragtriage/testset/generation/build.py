"""The steps from a database to questions, each from the files before it to its own, or all in one go."""

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from ragtriage.core.errors import InputError
from ragtriage.core.validation import validated
from ragtriage.testset.generation.database import OpenedDatabase
from ragtriage.testset.generation.fillings import (
    AnswerPolicies,
    FilledTemplate,
    FillingOptions,
    fill_template,
    json_line,
    read_fillings,
    values_of,
)
from ragtriage.testset.generation.phrasing.criteria import criteria_named
from ragtriage.testset.generation.phrasing.rule_phrasing import phrase
from ragtriage.testset.generation.query_templates import MOST, enumerate_templates
from ragtriage.testset.generation.reflection import reflect
from ragtriage.testset.generation.sampling import (
    SamplingPlan,
    check_shares,
    check_size,
    criteria_of,
    half_width,
    sample,
)
from ragtriage.testset.generation.schema import read_schema, schema_text, write_whole
from ragtriage.testset.generation.template_files import phrasings_text, read_phrasings, read_templates, templates_text
from ragtriage.testset.generation.value_combinations import CombinationKind, CombinationSampler

NAME = "made.json"


@dataclass(frozen=True, slots=True)
class BuildStep:
    """What a step came to."""

    path: Path
    made: bool
    """False where the file was there already, made from the same."""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    """Entries of the files before it that can't be used, with the reason."""


@dataclass(frozen=True, slots=True)
class _Made:
    """A file as it was made: digests of what from and of itself, and what was counted."""

    inputs: str
    output: str
    numbers: Mapping[str, Any] = field(default_factory=dict)


def digest_of(*parts: object) -> str:
    """A digest of files (a `Path`: its bytes) and of values that JSON can hold."""
    found = blake2b(digest_size=16)
    for part in parts:
        try:
            data = part.read_bytes() if isinstance(part, Path) else json.dumps(part, sort_keys=True).encode()
        except FileNotFoundError:
            raise InputError(f"{part}: there is no such file: the step before this one writes it") from None
        except OSError as error:
            raise InputError(f"{part}: can't be read: {error.strerror or error}") from None
        found.update(len(data).to_bytes(8, "big") + data)
    return found.hexdigest()


def write_if_needed(
    path: Path, sources: tuple[object, ...], make: Callable[[], tuple[str, BuildStep]], *, again: bool
) -> BuildStep:
    """Make a file, unless it is there and its sources are what they were when it was made.

    A file that wasn't made here is used as it stands. The folder's `made.json` keeps what every file was made from.
    `sources` is what it is made from, see `digest_of`. With `again` it is made anew, also if it was edited by hand.
    """
    if path.is_dir():
        raise InputError(f"{path}: is a folder: name a file")
    if path.parent.exists() and not path.parent.is_dir():
        raise InputError(f"{path.parent}: is a file: name a folder")
    record = path.parent / NAME
    known: dict[str, _Made] = {}
    try:
        known = validated(dict[str, _Made], json.loads(record.read_text(encoding="utf-8")))
    except FileNotFoundError:
        pass
    except (OSError, ValueError):
        raise InputError(f"{record}: can't be read: delete it, and the step is made anew") from None
    inputs = digest_of(*sources)
    before = known.get(path.name)
    if path.exists() and not again:
        edited = before is None or before.output != digest_of(path)
        if before is None or before.inputs == inputs:
            notes = (f"{path} was edited by hand, and is used as it stands",) if edited else ()
            return BuildStep(path, made=False, numbers=before.numbers if before else {}, notes=notes)
        if edited:
            raise InputError(
                f"{path}: was edited by hand, and what it is made from has changed since: move it away, or give "
                "--again to make it anew"
            )
    text, step = make()
    write_whole(path, text)
    known[path.name] = _Made(inputs, digest_of(path), step.numbers)
    write_whole(record, json.dumps({name: asdict(one) for name, one in known.items()}, indent=1) + "\n")
    return step


SCHEMA, TEMPLATES, PHRASINGS, FILLINGS, QUESTIONS = (
    "schema.yaml",
    "templates.yaml",
    "phrasings.yaml",
    "fillings.jsonl",
    "questions.jsonl",
)
_DROPPED = ("none", "several", "null", "echo")
_COUNTS = ("occurring", "product", "tried", *_DROPPED, "empty")

TemplateProgress = Callable[[int], AbstractContextManager[Callable[[], None]]]
"""Given how many templates are to be filled, what is called after each of them."""


def _untold(_: int) -> AbstractContextManager[Callable[[], None]]:
    return nullcontext(lambda: None)


def make_schema(
    database: OpenedDatabase,
    path: Path,
    tables: Collection[str] = (),
    exclude: Collection[str] = (),
    *,
    again: bool = False,
) -> BuildStep:
    """Write `schema.yaml` from an open database."""
    found = reflect(database, tables, exclude)
    text = schema_text(found.schema)
    numbers = {
        "dialect": found.schema.dialect,
        "tables": len(found.schema.tables),
        "columns": sum(len(table.columns) for table in found.schema.tables),
        "asked_about": sum(not c.surrogate for table in found.schema.tables for c in table.columns),
        "foreign_keys": sum(len(table.foreign_keys) for table in found.schema.tables),
        "named_tables": sum(bool(table.names) for table in found.schema.tables),
    }
    step = write_if_needed(path, (text,), lambda: (text, BuildStep(path, made=True, numbers=numbers)), again=again)
    return replace(step, numbers=numbers, notes=(*found.notes, *step.notes))


def make_templates(
    schema_path: Path, path: Path, *, aggregates: bool = False, most: int = MOST, again: bool = False
) -> BuildStep:
    """Write `templates.yaml` from `schema.yaml`."""

    def make() -> tuple[str, BuildStep]:
        found = enumerate_templates(read_schema(schema_path), aggregates=aggregates, most=most)
        if not found.templates:
            raise InputError(
                f"{schema_path}: no template can be made: no table has names and another column to ask for; write "
                "names for a table"
            )
        notes: tuple[str, ...] = ()
        if found.left_out:
            notes = (f"{found.left_out:,} further templates are left out: --most {most + found.left_out} keeps them",)
        joining = sum(bool(one.shape and one.shape.joined) for one in found.templates)
        numbers = {"templates": len(found.templates), "joining": joining, "left_out": found.left_out}
        return templates_text(found.templates), BuildStep(path, made=True, numbers=numbers, notes=notes)

    return write_if_needed(path, (schema_path, aggregates, most), make, again=again)


def make_fillings(
    database: OpenedDatabase,
    folder: Path,
    terms: FillingOptions,
    *,
    again: bool = False,
    progress: TemplateProgress = _untold,
) -> BuildStep:
    """Write `fillings.jsonl` from `schema.yaml`, `templates.yaml` and an open database."""
    path = folder / FILLINGS
    sources = (folder / SCHEMA, folder / TEMPLATES, database.state(), asdict(terms))

    def make() -> tuple[str, BuildStep]:
        schema = read_schema(folder / SCHEMA)
        if schema.dialect != database.dialect:
            raise InputError(
                f"schema.yaml is of a {schema.dialect} database, and {database.shown} is one of {database.dialect}"
            )
        templates, refused = read_templates(folder / TEMPLATES, schema)
        sampler = CombinationSampler(database, schema, terms.seed)
        results = []
        with progress(len(templates)) as advance:
            for template in templates:
                results.append(fill_template(template, schema, sampler, database, terms))
                advance()
        numbers = _filled_numbers(results)
        text = "".join(json_line(asdict(filling)) for one in results for filling in one.fillings)
        return text, BuildStep(path, made=True, numbers=numbers, refused=refused)

    return write_if_needed(path, sources, make, again=again)


def make_phrasings(
    folder: Path, criteria: Sequence[str], per_criterion: int, seed: int, *, again: bool = False
) -> BuildStep:
    """Write `phrasings.yaml` by rule, for the templates that have fillings."""
    path = folder / PHRASINGS
    chosen = criteria_named(criteria)

    def make() -> tuple[str, BuildStep]:
        schema = read_schema(folder / SCHEMA)
        templates, _ = read_templates(folder / TEMPLATES, schema)
        fillings, _ = read_fillings(folder / FILLINGS, templates)
        filled = {one.template for one in fillings}
        asked = [template for template in templates if template.id in filled]
        found = phrase(schema, asked, chosen, per_criterion=per_criterion, seed=seed, values=values_of(fillings, asked))
        if not found.texts:
            first = (*found.refused, *found.without)
            raise InputError(f"no template can be phrased.{' The first: ' + first[0].reason if first else ''}")
        numbers = {
            "phrasings": len(found.texts),
            "templates": len({one.template for one in found.texts}),
            "criteria": [one.name for one in chosen],
            "refused": len(found.refused),
            "without": len(found.without),
        }
        return phrasings_text(found.texts), BuildStep(path, made=True, numbers=numbers)

    files = [folder / name for name in (SCHEMA, TEMPLATES, FILLINGS)]
    return write_if_needed(path, (*files, [one.name for one in chosen], per_criterion, seed), make, again=again)


def make_questions(folder: Path, plan: SamplingPlan, *, again: bool = False) -> BuildStep:
    """Write `questions.jsonl` from `phrasings.yaml` and `fillings.jsonl`."""
    path = folder / QUESTIONS

    def make() -> tuple[str, BuildStep]:
        templates, unusable = read_templates(folder / TEMPLATES, read_schema(folder / SCHEMA))
        phrasings, unfit = read_phrasings(folder / PHRASINGS, templates)
        fillings, wrong = read_fillings(folder / FILLINGS, templates)
        found = sample(templates, phrasings, fillings, plan)
        if not found.questions:
            raise InputError(
                f"{folder}: no template has fillings and a phrasing of every criterion: nothing can be asked"
            )
        joining = {one.id for one in templates if len(one.tables) > 1 or (one.shape and one.shape.joined)}
        numbers = {
            "questions": len(found.questions),
            "groups": found.groups,
            "criteria": dict(found.criteria),
            "templates": len(found.by_template),
            "joining": sum(name in joining for name in found.by_template),
            "largest_share": max(found.by_template.values()) / found.groups,
            "half_width": half_width(found.groups),
            "unphrased_templates": found.unphrased,
            "ambiguous_groups": found.ambiguous,
            "repeated_questions": found.repeated,
        }
        text = "".join(json_line(one.row()) for one in found.questions)
        refused = (*unusable, *unfit, *wrong)
        return text, BuildStep(path, made=True, numbers=numbers, notes=found.notes, refused=refused)

    files = [folder / name for name in (SCHEMA, TEMPLATES, PHRASINGS, FILLINGS)]
    return write_if_needed(path, (*files, asdict(plan)), make, again=again)


def _filled_numbers(results: Collection[FilledTemplate]) -> dict[str, Any]:
    """What fillings come to; an InputError is raised if there are none."""
    totals = {name: sum(one.counts.get(name, 0) for one in results) for name in _COUNTS}
    problems = [one for one in results if one.problem]
    fillings = sum(len(one.fillings) for one in results)
    if not fillings:
        why = ", ".join(f"{totals[name]:,} {name}" for name in _DROPPED if totals[name]) or "no values"
        first = f" The first problem: {problems[0].problem}" if problems else ""
        raise InputError(f"no query gives a single answer ({why}).{first}")
    return {
        "templates": len(results),
        "filled_templates": sum(bool(one.fillings) for one in results),
        "sampled_templates": sum(one.sampled for one in results),
        "fillings": fillings,
        **totals,
        "problems": [f"template {one.template}: {one.problem}" for one in problems],
    }


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
    combinations: CombinationKind = "occurring"
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
    database: OpenedDatabase,
    folder: Path,
    terms: BuildOptions,
    *,
    again: bool = False,
    progress: TemplateProgress = _untold,
) -> list[BuildStep]:
    """From an open database to `questions.jsonl`, each step's file in one folder; what is there already is kept."""
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

    In `folder` may be phrasings that somebody edited; then what criteria there are isn't known yet.
    """
    names = [one.name for one in criteria_named(terms.criteria)]
    check_shares(terms.plan)
    if folder is not None and (folder / PHRASINGS).exists():
        names = list(terms.plan.criteria)
    check_size(terms.plan, criteria_of(terms.plan, names))


def count(database: OpenedDatabase, terms: BuildOptions) -> list[TemplateEstimate]:
    """What every template would come to, with nothing written: N phrasings and Q combinations of M templates."""
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
        known, product, sampled, problem = 0, 0, False, ""
        try:
            drawn = sampler.combinations(template, terms.filling_options().per_template)
            known = drawn.product if terms.combinations == "product" else drawn.occurring
            product, sampled = drawn.product, drawn.sampled
        except InputError as error:
            problem = str(error)
        found.append(TemplateEstimate(template.id, template.sql, texts[template.id], known, product, sampled, problem))
    return found


def accuracy_half_width(terms: BuildOptions) -> float | None:
    """Half of the 95 % interval of a criterion's accuracy that the size buys, if so many groups can be had."""
    each = sum(terms.plan.criteria.values()) or len(criteria_named(terms.criteria))
    return half_width(terms.plan.size // each)
