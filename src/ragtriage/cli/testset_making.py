"""`ragtriage testset schema`, `templates`, `fill`, `sample` and `build`: from a database to questions."""

# What these commands call needs the extra `testset`, so it is imported where it is called.
# ruff: noqa: PLC0415

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from ragtriage.cli.exits import INCOMPLETE
from ragtriage.cli.flags import with_flags
from ragtriage.cli.progress import progress
from ragtriage.core.errors import ConfigError
from ragtriage.report.making_document import counted_document, steps_document
from ragtriage.report.terminal import print_document

if TYPE_CHECKING:
    from ragtriage.testset.making.answers import Policies
    from ragtriage.testset.making.combinations import Kind
    from ragtriage.testset.making.database import Database
    from ragtriage.testset.making.sampling import SamplingPlan
    from ragtriage.testset.making.steps import Step

SECONDS = 30.0

Url = Annotated[
    str, typer.Argument(help="The database: sqlite:///FILE, postgresql://…, duckdb:///FILE, or the path of a file.")
]
Folder = Annotated[Path, typer.Argument(help="The folder of the test set's files.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Again = Annotated[bool, typer.Option("--again", help="Make it anew, also what was edited by hand.")]
Seconds = Annotated[float, typer.Option(help="The longest that one query may take.", min=0.1)]
Seed = Annotated[int, typer.Option(help="Of all draws.", min=0)]
Tables = Annotated[str | None, typer.Option(help="Only these tables, by commas.")]
Exclude = Annotated[str | None, typer.Option(help="Tables, and columns as table.column, to leave out, by commas.")]
Aggregates = Annotated[bool, typer.Option("--aggregates", help="Also ask how many there are.")]
Most = Annotated[int, typer.Option(help="Templates at most; the least useful are left out.", min=1)]


@dataclasses.dataclass(frozen=True)
class FillFlags:
    """How templates are filled and answered."""

    combinations: Annotated[
        str, typer.Option(help="occurring: values that occur together in the joined rows; product: the blind product.")
    ] = "occurring"
    none: Annotated[str, typer.Option(help="Where a query gives no row: drop, or no-answer.")] = "drop"
    several: Annotated[str, typer.Option(help="Where it gives several rows: drop, or list.")] = "drop"
    null: Annotated[str, typer.Option(help="Where it gives an empty value: drop, or no-answer.")] = "drop"


@dataclasses.dataclass(frozen=True)
class PlanFlags:
    """Which questions are taken."""

    size: Annotated[int, typer.Option(help="Questions, at most.", min=1)] = 1_000
    criterion: Annotated[
        list[str] | None,
        typer.Option(help="NAME=COUNT: phrasings of it in every group; may be repeated [default: one of each]."),
    ] = None
    max_share: Annotated[float, typer.Option(help="The largest share of the questions for one template.")] = 0.1
    quota: Annotated[
        list[str] | None,
        typer.Option(help="TABLE=SHARE or TEMPLATE=SHARE: the largest share of the groups; may be repeated."),
    ] = None
    seed: Seed = 0


def schema(
    url: Url,
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")] = Path("testset/schema.yaml"),
    tables: Tables = None,
    exclude: Exclude = None,
    seconds: Seconds = SECONDS,
    again: Again = False,
    as_json: AsJson = False,
) -> None:
    """Write the structure of a database, with the words that a person would use for it, as a file to edit.

    The database is only read. Exit codes: 0; 2 usage or input.
    """
    from ragtriage.testset.making.steps import make_schema

    with _opened(url, seconds) as database:
        _show([make_schema(database, out, _names(tables), _names(exclude), again=again)], as_json=as_json)


def templates(
    schema_file: Annotated[Path, typer.Argument(help="What `testset schema` wrote.")] = Path("testset/schema.yaml"),
    *,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The file to write [default: templates.yaml beside it].")
    ] = None,
    aggregates: Aggregates = False,
    most: Most = 1_000,
    again: Again = False,
    as_json: AsJson = False,
) -> None:
    """Write query templates for a schema as a file to edit: SQL with placeholders, the most useful first.

    Exit codes: 0; 2 usage or input.
    """
    from ragtriage.testset.making.steps import TEMPLATES, make_templates

    path = out or schema_file.parent / TEMPLATES
    _show([make_templates(schema_file, path, aggregates=aggregates, most=most, again=again)], as_json=as_json)


def fill(  # a command's flags are its arguments
    url: Url,
    folder: Folder = Path("testset"),
    *,
    filling: FillFlags,
    per_template: Annotated[int, typer.Option(help="Fillings of one template, at most.", min=1)] = 100,
    seed: Seed = 0,
    seconds: Seconds = SECONDS,
    again: Again = False,
    as_json: AsJson = False,
) -> None:
    """Fill the templates of FOLDER with values that occur together in a database, and have it answer each.

    Writes fillings.jsonl. Interrupted, it goes on where it was. Exit codes: 0; 2 usage or input; 3 incomplete (a
    template couldn't be filled).
    """
    from ragtriage.testset.making.filling import FillTerms
    from ragtriage.testset.making.steps import make_fillings

    terms = FillTerms(per_template, _kind(filling), _policies(filling), seed)
    with _opened(url, seconds) as database, _filling() as advance:
        step = make_fillings(database, folder, terms, again=again, progress=advance)
    _show([step], as_json=as_json)


def sample(
    folder: Folder = Path("testset"),
    *,
    plan: PlanFlags,
    again: Again = False,
    as_json: AsJson = False,
) -> None:
    """Draw the questions of a test set out of the phrasings and fillings of FOLDER, balanced over criteria.

    Writes questions.jsonl, which `ragtriage collect` asks. Exit codes: 0; 2 usage or input.
    """
    from ragtriage.testset.making.steps import make_questions

    _show([make_questions(folder, _plan(plan), again=again)], as_json=as_json)


def build(  # noqa: PLR0913  # a command's flags are its arguments
    url: Url,
    *,
    filling: FillFlags,
    plan: PlanFlags,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write to.")] = Path("testset"),
    tables: Tables = None,
    exclude: Exclude = None,
    aggregates: Aggregates = False,
    most: Most = 1_000,
    criteria: Annotated[str | None, typer.Option(help="Linguistic criteria, by commas [default: all].")] = None,
    per_criterion: Annotated[int, typer.Option(help="Phrasings of a template under each criterion.", min=1)] = 3,
    seconds: Seconds = SECONDS,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write nothing: count templates × phrasings × fillings.")
    ] = False,
    again: Again = False,
    as_json: AsJson = False,
) -> None:
    """Do all steps: from a database to questions with true answers, in several phrasings each, without a model.

    What is in the folder already, and made from the same, is kept; files that you edited are used as they stand. Exit
    codes: 0; 2 usage or input; 3 incomplete (a template couldn't be filled).
    """
    from ragtriage.testset.making.building import BuildTerms, build, count, width_of

    terms = BuildTerms(
        tables=_names(tables),
        exclude=_names(exclude),
        aggregates=aggregates,
        most=most,
        criteria=_names(criteria),
        per_criterion=per_criterion,
        combinations=_kind(filling),
        policies=_policies(filling),
        plan=_plan(plan),
    )
    with _opened(url, seconds) as database:
        if dry_run:
            counted = count(database, terms)
            if as_json:
                whole = sum(one.phrasings * one.combinations for one in counted)
                values = {"templates": [dataclasses.asdict(one) for one in counted], "questions": whole,
                          "size": terms.plan.size, "half_width": width_of(terms)}  # fmt: skip
                _write_json(values)
            else:
                print_document(Console(), counted_document(counted, terms.plan.size, width_of(terms)))
            return
        with _filling() as advance:
            steps = build(database, out, terms, again=again, progress=advance)
    _show(steps, as_json=as_json)


MAKING: dict[str, Callable[..., None]] = {
    "schema": schema,
    "templates": templates,
    "fill": with_flags(fill, "filling", FillFlags),
    "sample": with_flags(sample, "plan", PlanFlags),
    "build": with_flags(with_flags(build, "filling", FillFlags), "plan", PlanFlags),
}
"""The commands by their names."""


@contextmanager
def _opened(url: str, seconds: float) -> Iterator[Database]:
    from ragtriage.testset.making.database import Database, Limits

    with Database(url, Limits(seconds=seconds)) as database:
        yield database


@contextmanager
def _filling() -> Iterator[Any]:
    """Tells how many templates are filled, from the first one that takes a while."""
    from contextlib import ExitStack

    with ExitStack() as stack:
        advance: Any = None

        def told(done: int, total: int) -> None:
            nonlocal advance
            if advance is None:
                advance = stack.enter_context(progress(total, done, word="filling", unit="templates"))
            else:
                advance()

        yield told


def _show(steps: Sequence[Step], *, as_json: bool) -> None:
    """Print what the steps came to; exit with 3 if a template couldn't be filled."""
    if as_json:
        _write_json(
            {
                step.path.stem: {
                    "path": str(step.path),
                    "made": step.made,
                    **step.numbers,
                    "notes": list(step.notes),
                    "refused": list(step.refused),
                }
                for step in steps
            }
        )
    else:
        print_document(Console(), steps_document(steps))
    if any(step.numbers.get("problems") for step in steps):
        raise typer.Exit(INCOMPLETE)


def _write_json(values: Any) -> None:
    sys.stdout.write(json.dumps(values, ensure_ascii=False) + "\n")


def _names(given: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (given or "").split(",") if name.strip())


def _one_of(flag: str, value: str, known: Sequence[str]) -> Any:
    if value not in known:
        raise ConfigError(f"{flag} {value}: use {' or '.join(known)}")
    return value


def _kind(flags: FillFlags) -> Kind:
    kind: Kind = _one_of("--combinations", flags.combinations, ("occurring", "product"))
    return kind


def _policies(flags: FillFlags) -> Policies:
    from ragtriage.testset.making.answers import Policies

    return Policies(
        _one_of("--none", flags.none, ("drop", "no-answer")),
        _one_of("--several", flags.several, ("drop", "list")),
        _one_of("--null", flags.null, ("drop", "no-answer")),
    )


def _plan(flags: PlanFlags) -> SamplingPlan:
    from ragtriage.testset.making.sampling import SamplingPlan

    counts = {name: int(value) for name, value in _pairs("--criterion", flags.criterion, "short=2", str.isdigit)}
    quotas = {name: float(value) for name, value in _pairs("--quota", flags.quota, "album=0.2", _is_number)}
    return SamplingPlan(flags.size, counts, flags.max_share, quotas, flags.seed)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _pairs(flag: str, given: Sequence[str] | None, example: str, fits: Any) -> Iterator[tuple[str, str]]:
    for item in given or ():
        name, _, value = item.rpartition("=")
        if not name or not fits(value):
            raise ConfigError(f"{flag} {item}: write it as in {flag} {example}")
        yield name, value
