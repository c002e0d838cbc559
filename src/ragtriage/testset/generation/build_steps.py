"""The steps from a database to questions, each from the files before it to its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ragtriage.core.errors import InputError
from ragtriage.testset.generation.build_record import Stamps, digest_of
from ragtriage.testset.generation.database import Database
from ragtriage.testset.generation.filling_files import PartlyFilled, filling_line, json_line, read_fillings
from ragtriage.testset.generation.fillings import FillTerms, TemplateFilled, fill_template
from ragtriage.testset.generation.reflection import reflect
from ragtriage.testset.generation.sampling import SamplingPlan, half_width, sample
from ragtriage.testset.generation.schema_file import read_schema, schema_text
from ragtriage.testset.generation.template_enumeration import MOST, enumerate_templates
from ragtriage.testset.generation.template_files import (
    TemplatesRead,
    read_phrasings,
    read_templates,
    templates_text,
)
from ragtriage.testset.generation.value_combinations import Drawing

SCHEMA, TEMPLATES, PHRASINGS, FILLINGS, QUESTIONS = (
    "schema.yaml",
    "templates.yaml",
    "phrasings.yaml",
    "fillings.jsonl",
    "questions.jsonl",
)

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
    stamps = Stamps(path.parent, again=again)
    inputs = digest_of(text)
    numbers = {
        "dialect": found.schema.dialect,
        "tables": len(found.schema.tables),
        "columns": sum(len(table.columns) for table in found.schema.tables),
        "asked_about": sum(not c.surrogate for table in found.schema.tables for c in table.columns),
        "foreign_keys": sum(len(table.foreign_keys) for table in found.schema.tables),
        "named_tables": sum(bool(table.names) for table in found.schema.tables),
    }
    needed = stamps.needed(path, inputs)
    if needed:
        stamps.write(path, text, inputs, numbers)
    return Step(path, needed, numbers, (*found.notes, *_as_it_stands(stamps, path, needed=needed)))


def make_templates(
    schema_path: Path, path: Path, *, aggregates: bool = False, most: int = MOST, again: bool = False
) -> Step:
    """Write `templates.yaml` from `schema.yaml`.

    Raises:
        InputError: a file can't be read or written, or there is nothing to ask about.
    """
    stamps = Stamps(path.parent, again=again)
    inputs = digest_of(schema_path, aggregates, most)
    needed = stamps.needed(path, inputs)
    notes: list[str] = []
    if needed:
        found = enumerate_templates(read_schema(schema_path), aggregates=aggregates, most=most)
        if not found.templates:
            raise InputError(
                f"{schema_path}: no template can be made: no table has names and another column to ask for; write "
                "names for a table"
            )
        if found.left_out:
            notes.append(
                f"{found.left_out:,} further templates are left out: --most {most + found.left_out} keeps them"
            )
        joining = sum(bool(one.shape and one.shape.joined) for one in found.templates)
        numbers = {"templates": len(found.templates), "joining": joining, "left_out": found.left_out}
        stamps.write(path, templates_text(found.templates), inputs, numbers)
    return Step(path, needed, stamps.numbers(path), (*notes, *_as_it_stands(stamps, path, needed=needed)))


def make_fillings(
    database: Database, folder: Path, terms: FillTerms, *, again: bool = False, progress: Progress | None = None
) -> Step:
    """Write `fillings.jsonl` from `schema.yaml`, `templates.yaml` and an open database.

    Every template is kept as soon as it is filled, so that an interrupted step goes on where it was.

    Raises:
        InputError: a file can't be read or written, or no template has a single answer.
    """
    path = folder / FILLINGS
    stamps = Stamps(folder, again=again)
    inputs = digest_of(folder / SCHEMA, folder / TEMPLATES, database.state(), asdict(terms))
    if not stamps.needed(path, inputs):
        return Step(path, made=False, numbers=stamps.numbers(path), notes=_as_it_stands(stamps, path, needed=False))
    schema = read_schema(folder / SCHEMA)
    _same_dialect(schema.dialect, database)
    read = read_templates(folder / TEMPLATES, schema)
    part = PartlyFilled(path, inputs)
    finished = False
    try:
        drawing = Drawing(database, schema, terms.seed)
        for number, template in enumerate(read.templates):
            if progress:
                progress(number, len(read.templates))
            if template.id not in part.done:
                part.add(fill_template(template, schema, drawing, database, terms))
        results = [part.done[template.id] for template in read.templates]
        if not any(one.fillings for one in results):
            raise InputError(_nothing(results))
        text = "".join(filling_line(filling) for one in results for filling in one.fillings)
        stamps.write(path, text, inputs, _filled_numbers(results))
        finished = True
    finally:
        part.close(finished=finished)
    return Step(path, made=True, numbers=stamps.numbers(path), refused=read.refused)


def make_questions(folder: Path, plan: SamplingPlan, *, again: bool = False) -> Step:
    """Write `questions.jsonl` from `phrasings.yaml` and `fillings.jsonl`.

    Raises:
        ConfigError: the plan can't be fulfilled.
        InputError: a file can't be read or written, or no template has both phrasings and fillings.
    """
    path = folder / QUESTIONS
    stamps = Stamps(folder, again=again)
    sources = [folder / name for name in (SCHEMA, TEMPLATES, PHRASINGS, FILLINGS)]
    inputs = digest_of(*sources, asdict(plan))
    if not stamps.needed(path, inputs):
        return Step(path, made=False, numbers=stamps.numbers(path), notes=_as_it_stands(stamps, path, needed=False))
    templates = _templates(folder)
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
    stamps.write(path, "".join(json_line(one.row()) for one in found.questions), inputs, numbers)
    refused = (*templates.refused, *phrasings.refused, *fillings.refused)
    return Step(path, made=True, numbers=numbers, notes=found.notes, refused=refused)


def _templates(folder: Path) -> TemplatesRead:
    return read_templates(folder / TEMPLATES, read_schema(folder / SCHEMA))


def _same_dialect(dialect: str, database: Database) -> None:
    if dialect != database.dialect:
        raise InputError(f"schema.yaml is of a {dialect} database, and {database.shown} is one of {database.dialect}")


def _as_it_stands(stamps: Stamps, path: Path, *, needed: bool) -> tuple[str, ...]:
    if needed or not stamps.edited(path):
        return ()
    return (f"{path} was edited by hand, and is used as it stands",)


def _nothing(results: Collection[TemplateFilled]) -> str:
    totals = _totals(results)
    problem = next((one.problem for one in results if one.problem), "")
    why = ", ".join(
        f"{count:,} {name}" for name, count in totals.items() if name in {"none", "several", "null", "echo", "needless"}
    )
    return (
        f"no query gives a single answer ({why or 'no values'}).{' The first problem: ' + problem if problem else ''}"
    )


def _totals(results: Collection[TemplateFilled]) -> dict[str, int]:
    names = ("occurring", "product", "tried", "blind", "none", "several", "null", "echo", "needless", "empty")
    return {name: sum(one.counts.get(name, 0) for one in results) for name in names}


def _filled_numbers(results: Collection[TemplateFilled]) -> dict[str, Any]:
    problems = [f"template {one.template}: {one.problem}" for one in results if one.problem]
    return {
        "templates": len(results),
        "filled_templates": sum(bool(one.fillings) for one in results),
        "sampled_templates": sum(one.sampled for one in results),
        "fillings": sum(len(one.fillings) for one in results),
        **_totals(results),
        "problems": problems,
    }
