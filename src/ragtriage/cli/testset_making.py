"""`ragtriage testset schema`, `templates`, `fill`, `sample` and `build`: from a database to questions."""

# What these commands call needs the extra `testset`, so it is imported where it is called.
# ruff: noqa: PLC0415

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer
from rich.console import Console

from ragtriage.cli.console import ExitCode, print_json
from ragtriage.cli.flag_groups import AsJson, names_in, with_flag_groups
from ragtriage.cli.progress import progress
from ragtriage.core.errors import ConfigError
from ragtriage.report.terminal_making import print_counted, print_steps

if TYPE_CHECKING:
    from ragtriage.testset.making.answers import Policies
    from ragtriage.testset.making.database import Database
    from ragtriage.testset.making.sampling import SamplingPlan
    from ragtriage.testset.making.steps import Step

N = TypeVar("N", int, float)
SECONDS = 30.0

Url = Annotated[
    str, typer.Argument(help="The database: sqlite:///FILE, postgresql://…, duckdb:///FILE, or the path of a file.")
]
Folder = Annotated[Path, typer.Argument(help="The folder of the test set's files.")]
Again = Annotated[bool, typer.Option("--again", help="Overwrite what is there, including edits by hand.")]
Seconds = Annotated[float, typer.Option(help="Maximum time for one query.", min=0.1)]
Seed = Annotated[int, typer.Option(help="Seed of all random draws.", min=0)]
Tables = Annotated[str | None, typer.Option(help="Only these tables, separated by commas.")]
Exclude = Annotated[
    str | None, typer.Option(help="Tables and columns (table.column) to leave out, separated by commas.")
]
Aggregates = Annotated[bool, typer.Option("--aggregates", help="Also write templates that count rows.")]
Most = Annotated[int, typer.Option(help="Maximum number of templates; the least useful are left out.", min=1)]


@dataclasses.dataclass(frozen=True)
class FillFlags:
    """How templates are filled and answered."""

    combinations: Annotated[
        Literal["occurring", "product"],
        typer.Option(help="occurring: values that occur together in the joined rows; product: the blind product."),
    ] = "occurring"
    none: Annotated[
        Literal["drop", "no-answer"], typer.Option(help="What to do where a query gives no row: drop, or no-answer.")
    ] = "drop"
    several: Annotated[
        Literal["drop", "list"], typer.Option(help="What to do where it gives several rows: drop, or list.")
    ] = "drop"
    null: Annotated[
        Literal["drop", "no-answer"],
        typer.Option(help="What to do where it gives an empty value: drop, or no-answer."),
    ] = "drop"

    def policies(self) -> Policies:
        """As a value."""
        from ragtriage.testset.making.answers import Policies

        return Policies(self.none, self.several, self.null)


@dataclasses.dataclass(frozen=True)
class PlanFlags:
    """Which questions are taken."""

    size: Annotated[int, typer.Option(help="Maximum number of questions.", min=1)] = 1_000
    criterion: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=COUNT: phrasings under a criterion in every group; may be repeated [default: one of each]."
        ),
    ] = None
    max_share: Annotated[float, typer.Option(help="Maximum share of the questions for one template.")] = 0.1
    quota: Annotated[
        list[str] | None,
        typer.Option(help="TABLE=SHARE or TEMPLATE=SHARE: maximum share of the groups; may be repeated."),
    ] = None
    seed: Seed = 0

    def plan(self) -> SamplingPlan:
        """As a value."""
        from ragtriage.testset.making.sampling import SamplingPlan

        counts = _numbers("--criterion", self.criterion, "short=2", int)
        return SamplingPlan(
            self.size, counts, self.max_share, _numbers("--quota", self.quota, "album=0.2", float), self.seed
        )


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
        _show([make_schema(database, out, names_in(tables), names_in(exclude), again=again)], as_json=as_json)


def templates(
    schema_file: Annotated[Path, typer.Argument(help="What `testset schema` wrote.")] = Path("testset/schema.yaml"),
    *,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The file to write [default: templates.yaml next to it].")
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
    per_template: Annotated[int, typer.Option(help="Maximum number of fillings of one template.", min=1)] = 100,
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

    terms = FillTerms(per_template, filling.combinations, filling.policies(), seed)
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

    _show([make_questions(folder, plan.plan(), again=again)], as_json=as_json)


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
    criteria: Annotated[
        str | None, typer.Option(help="Linguistic criteria, separated by commas [default: all].")
    ] = None,
    per_criterion: Annotated[int, typer.Option(help="Number of phrasings of a template per criterion.", min=1)] = 3,
    seconds: Seconds = SECONDS,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write nothing: only count templates × phrasings × fillings.")
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
        tables=names_in(tables),
        exclude=names_in(exclude),
        aggregates=aggregates,
        most=most,
        criteria=names_in(criteria),
        per_criterion=per_criterion,
        combinations=filling.combinations,
        policies=filling.policies(),
        plan=plan.plan(),
    )
    with _opened(url, seconds) as database:
        if dry_run:
            counted = count(database, terms)
            if as_json:
                whole = sum(one.phrasings * one.combinations for one in counted)
                print_json(
                    {
                        "templates": [dataclasses.asdict(one) for one in counted],
                        "questions": whole,
                        "size": terms.plan.size,
                        "half_width": width_of(terms),
                    }
                )
            else:
                print_counted(Console(), counted, terms.plan.size, width_of(terms))
            return
        with _filling() as advance:
            steps = build(database, out, terms, again=again, progress=advance)
    _show(steps, as_json=as_json)


COMMANDS: dict[str, Callable[..., None]] = {
    "schema": schema,
    "templates": templates,
    "fill": with_flag_groups(fill),
    "sample": with_flag_groups(sample),
    "build": with_flag_groups(build),
}
"""The commands by their names."""


@contextmanager
def _opened(url: str, seconds: float) -> Iterator[Database]:
    from ragtriage.testset.making.database import Database, Limits

    with Database(url, Limits(seconds=seconds)) as database:
        yield database


@contextmanager
def _filling() -> Iterator[Any]:
    """Shows how many templates are filled."""
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
        print_json(
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
        print_steps(Console(), steps)
    if any(step.numbers.get("problems") for step in steps):
        raise typer.Exit(ExitCode.INCOMPLETE)


def _numbers(flag: str, given: Sequence[str] | None, example: str, read: Callable[[str], N]) -> dict[str, N]:
    """`["short=2"]` → name and number."""
    found: dict[str, N] = {}
    for item in given or ():
        name, _, value = item.rpartition("=")
        try:
            found[name] = read(value)
        except ValueError:
            name = ""
        if not name:
            raise ConfigError(f"{flag} {item}: write it as in {flag} {example}")
    return found
