"""The steps from a database to questions, each from the files before it to its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ragtriage.core.errors import InputError
from ragtriage.testset.generation.build_record import BuildRecord, digest_of
from ragtriage.testset.generation.database import Database
from ragtriage.testset.generation.filling_files import PartlyFilled, json_line, read_fillings
from ragtriage.testset.generation.fillings import Filling, FillTerms, TemplateFilled, fill_template
from ragtriage.testset.generation.phrasing import criteria_named, phrase
from ragtriage.testset.generation.reflection import reflect
from ragtriage.testset.generation.sampling import SamplingPlan, half_width, sample
from ragtriage.testset.generation.schema_file import read_schema, schema_text
from ragtriage.testset.generation.template_enumeration import MOST, enumerate_templates
from ragtriage.testset.generation.template_files import (
    phrasings_text,
    read_phrasings,
    read_templates,
    templates_text,
)
from ragtriage.testset.generation.value_combinations import CombinationSampler

SCHEMA, TEMPLATES, PHRASINGS, FILLINGS, QUESTIONS = (
    "schema.yaml",
    "templates.yaml",
    "phrasings.yaml",
    "fillings.jsonl",
    "questions.jsonl",
)
_DROPPED = ("none", "several", "null", "echo", "needless")
_COUNTS = ("occurring", "product", "tried", "blind", *_DROPPED, "empty")
_MOST_VALUES = 200
"""Values of a placeholder that are looked for in phrasings."""

Progress = Callable[[int, int], None]
"""Is told how many templates of how many are done."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a step came to."""

    path: Path
    made: bool
    """False where the file was there already, made from the same."""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    """Entries of the files before it that can't be used, with the reason."""


def make_schema(
    database: Database, path: Path, tables: Collection[str] = (), exclude: Collection[str] = (), *, again: bool = False
) -> Step:
    """Write `schema.yaml` from an open database.

    Raises:
        ConfigError: a named table or column isn't there.
        InputError: the database can't be read, or the file can't be written.
    """
    found = reflect(database, tables, exclude)
    text = schema_text(found.schema)
    record = BuildRecord(path.parent, again=again)
    inputs = digest_of(text)
    numbers = {
        "dialect": found.schema.dialect,
        "tables": len(found.schema.tables),
        "columns": sum(len(table.columns) for table in found.schema.tables),
        "asked_about": sum(not c.surrogate for table in found.schema.tables for c in table.columns),
        "foreign_keys": sum(len(table.foreign_keys) for table in found.schema.tables),
        "named_tables": sum(bool(table.names) for table in found.schema.tables),
    }
    if not record.needed(path, inputs):
        return Step(path, made=False, numbers=numbers, notes=(*found.notes, *_as_it_stands(record, path)))
    record.write(path, text, inputs, numbers)
    return Step(path, made=True, numbers=numbers, notes=found.notes)


def make_templates(
    schema_path: Path, path: Path, *, aggregates: bool = False, most: int = MOST, again: bool = False
) -> Step:
    """Write `templates.yaml` from `schema.yaml`.

    Raises:
        InputError: a file can't be read or written, or there is nothing to ask about.
    """
    record = BuildRecord(path.parent, again=again)
    inputs = digest_of(schema_path, aggregates, most)
    if not record.needed(path, inputs):
        return _kept(record, path)
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
    record.write(path, templates_text(found.templates), inputs, numbers)
    return Step(path, made=True, numbers=numbers, notes=notes)


def make_fillings(
    database: Database, folder: Path, terms: FillTerms, *, again: bool = False, progress: Progress | None = None
) -> Step:
    """Write `fillings.jsonl` from `schema.yaml`, `templates.yaml` and an open database.

    Every template is kept as soon as it is filled, so that an interrupted step goes on where it was.

    Raises:
        InputError: a file can't be read or written, or no template has a single answer.
    """
    path = folder / FILLINGS
    record = BuildRecord(folder, again=again)
    inputs = digest_of(folder / SCHEMA, folder / TEMPLATES, database.state(), asdict(terms))
    if not record.needed(path, inputs):
        return _kept(record, path)
    schema = read_schema(folder / SCHEMA)
    if schema.dialect != database.dialect:
        raise InputError(
            f"schema.yaml is of a {schema.dialect} database, and {database.shown} is one of {database.dialect}"
        )
    read = read_templates(folder / TEMPLATES, schema)
    with PartlyFilled(path, inputs) as part:
        sampler = CombinationSampler(database, schema, terms.seed)
        for number, template in enumerate(read.templates):
            if progress:
                progress(number, len(read.templates))
            if template.id not in part.done:
                part.add(fill_template(template, schema, sampler, database, terms))
        results = [part.done[template.id] for template in read.templates]
        numbers = _filled_numbers(results)
        if not numbers["fillings"]:
            raise InputError(_nothing(results))
        lines = (json_line(asdict(filling)) for one in results for filling in one.fillings)
        record.write(path, "".join(lines), inputs, numbers)
    return Step(path, made=True, numbers=numbers, refused=read.refused)


def make_phrasings(
    folder: Path, criteria: Sequence[str], per_criterion: int, seed: int, *, again: bool = False
) -> Step:
    """Write `phrasings.yaml` by rule, for the templates that have fillings.

    Raises:
        ConfigError: there is no such criterion.
        InputError: a file can't be read or written, or no template can be phrased.
    """
    path = folder / PHRASINGS
    record = BuildRecord(folder, again=again)
    chosen = criteria_named(criteria)
    sources = [folder / name for name in (SCHEMA, TEMPLATES, FILLINGS)]
    inputs = digest_of(*sources, [one.name for one in chosen], per_criterion, seed)
    if not record.needed(path, inputs):
        return _kept(record, path)
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
    numbers = {
        "phrasings": len(found.texts),
        "templates": len({one.template for one in found.texts}),
        "criteria": [one.name for one in chosen],
        "refused": len(found.refused),
        "without": len(found.without),
    }
    record.write(path, phrasings_text(found.texts), inputs, numbers)
    return Step(path, made=True, numbers=numbers)


def make_questions(folder: Path, plan: SamplingPlan, *, again: bool = False) -> Step:
    """Write `questions.jsonl` from `phrasings.yaml` and `fillings.jsonl`.

    Raises:
        ConfigError: the plan can't be fulfilled.
        InputError: a file can't be read or written, or no template has both phrasings and fillings.
    """
    path = folder / QUESTIONS
    record = BuildRecord(folder, again=again)
    sources = [folder / name for name in (SCHEMA, TEMPLATES, PHRASINGS, FILLINGS)]
    inputs = digest_of(*sources, asdict(plan))
    if not record.needed(path, inputs):
        return _kept(record, path)
    templates = read_templates(folder / TEMPLATES, read_schema(folder / SCHEMA))
    phrasings = read_phrasings(folder / PHRASINGS, templates.templates)
    fillings = read_fillings(folder / FILLINGS, templates.templates)
    found = sample(templates.templates, phrasings.phrasings, fillings.fillings, plan)
    if not found.questions:
        raise InputError(f"{folder}: no template has fillings and a phrasing of every criterion: nothing can be asked")
    joining = {one.id for one in templates.templates if len(one.tables) > 1 or (one.shape and one.shape.joined)}
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
    record.write(path, "".join(json_line(one.row()) for one in found.questions), inputs, numbers)
    refused = (*templates.refused, *phrasings.refused, *fillings.refused)
    return Step(path, made=True, numbers=numbers, notes=found.notes, refused=refused)


def _kept(record: BuildRecord, path: Path) -> Step:
    """A step with nothing to do."""
    return Step(path, made=False, numbers=record.numbers(path), notes=_as_it_stands(record, path))


def _as_it_stands(record: BuildRecord, path: Path) -> tuple[str, ...]:
    return (f"{path} was edited by hand, and is used as it stands",) if record.edited(path) else ()


def _nothing(results: Iterable[TemplateFilled]) -> str:
    totals = _totals(results)
    problem = next((one.problem for one in results if one.problem), "")
    why = ", ".join(f"{totals[name]:,} {name}" for name in _DROPPED if totals[name]) or "no values"
    return f"no query gives a single answer ({why}).{' The first problem: ' + problem if problem else ''}"


def _totals(results: Iterable[TemplateFilled]) -> dict[str, int]:
    return {name: sum(one.counts.get(name, 0) for one in results) for name in _COUNTS}


def _filled_numbers(results: Collection[TemplateFilled]) -> dict[str, Any]:
    return {
        "templates": len(results),
        "filled_templates": sum(bool(one.fillings) for one in results),
        "sampled_templates": sum(one.sampled for one in results),
        "fillings": sum(len(one.fillings) for one in results),
        **_totals(results),
        "problems": [f"template {one.template}: {one.problem}" for one in results if one.problem],
    }


def _values(fillings: Iterable[Filling]) -> Mapping[str, list[str]]:
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for one in fillings:
        for placeholder, value in one.values.items():
            if len(found[placeholder]) < _MOST_VALUES:
                found[placeholder][str(value)] = None
    return {placeholder: list(values) for placeholder, values in found.items()}
