"""`ragtriage testset`: its tree, and the commands that lead from a database to questions."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path

from ragtriage.cli.console import exit_if, print_found, progress
from ragtriage.cli.flags import command, parse_names, parse_numbers
from ragtriage.report.testset_document import counted_document, example_document, steps_document
from ragtriage.testset.example import write_example
from ragtriage.testset.generation import require_packages
from ragtriage.testset.generation.build import (
    TEMPLATES,
    BuildOptions,
    BuildStep,
    accuracy_half_width,
    count,
    make_fillings,
    make_questions,
    make_schema,
    make_templates,
)
from ragtriage.testset.generation.build import build as build_all
from ragtriage.testset.generation.database import SECONDS, OpenedDatabase
from ragtriage.testset.generation.fillings import AnswerPolicies, FillingOptions
from ragtriage.testset.generation.sampling import SamplingPlan
from ragtriage.testset.generation.value_combinations import CombinationKind


@dataclass(frozen=True)
class PlanFlags:
    """Which questions are taken."""

    size: int = 1_000
    criterion: list[str] | None = None
    max_share: float = 0.1
    quota: list[str] | None = None
    seed: int = 0

    def plan(self) -> SamplingPlan:
        """As a value."""
        counts = parse_numbers(self.criterion, "--criterion", "short=2", int)
        quotas = parse_numbers(self.quota, "--quota", "album=0.2", float)
        return SamplingPlan(self.size, counts, self.max_share, quotas, self.seed)


@command("testset schema")
def schema(
    url: str,
    *,
    out: Path = Path("testset/schema.yaml"),
    tables: str | None = None,
    exclude: str | None = None,
    seconds: float = SECONDS,
    again: bool = False,
    as_json: bool = False,
) -> None:
    """Write the structure of a database, with the words that a person would use for it, as a file to edit.

    The database is only read. Exit codes: 0; 2 usage or input.
    """
    require_packages()
    with OpenedDatabase(url, seconds) as database:
        _show([make_schema(database, out, parse_names(tables), parse_names(exclude), again=again)], as_json=as_json)


@command("testset templates")
def templates(
    schema_file: Path = Path("testset/schema.yaml"),
    *,
    out: Path | None = None,
    aggregates: bool = False,
    most: int = 1_000,
    again: bool = False,
    as_json: bool = False,
) -> None:
    """Write query templates for a schema as a file to edit: SQL with placeholders, the most useful first.

    Exit codes: 0; 2 usage or input.
    """
    require_packages()
    path = out or schema_file.parent / TEMPLATES
    _show([make_templates(schema_file, path, aggregates=aggregates, most=most, again=again)], as_json=as_json)


@command("testset fill")
def fill(  # noqa: PLR0913  # a command's flags are its arguments
    url: str,
    folder: Path = Path("testset"),
    *,
    combinations: CombinationKind = "occurring",
    policies: AnswerPolicies,
    per_template: int = 100,
    seed: int = 0,
    seconds: float = SECONDS,
    again: bool = False,
    as_json: bool = False,
) -> None:
    """Fill the templates of FOLDER with values that occur together in a database, and have it answer each.

    Writes fillings.jsonl. Exit codes: 0; 2 usage or input; 3 incomplete (a template couldn't be filled).
    """
    require_packages()
    terms = FillingOptions(per_template, combinations, policies, seed)
    with OpenedDatabase(url, seconds) as database:
        step = make_fillings(database, folder, terms, again=again, progress=_filling)
    _show([step], as_json=as_json)


@command("testset sample")
def sample(
    folder: Path = Path("testset"), *, plan_flags: PlanFlags, again: bool = False, as_json: bool = False
) -> None:
    """Draw the questions of a test set from the phrasings and fillings of FOLDER, balanced over criteria.

    Writes questions.jsonl, which `ragtriage collect` asks. Exit codes: 0; 2 usage or input.
    """
    _show([make_questions(folder, plan_flags.plan(), again=again)], as_json=as_json)


@command("testset build")
def build(  # noqa: PLR0913  # a command's flags are its arguments
    url: str,
    *,
    combinations: CombinationKind = "occurring",
    policies: AnswerPolicies,
    plan_flags: PlanFlags,
    out: Path = Path("testset"),
    tables: str | None = None,
    exclude: str | None = None,
    aggregates: bool = False,
    most: int = 1_000,
    criteria: str | None = None,
    per_criterion: int = 3,
    seconds: float = SECONDS,
    dry_run: bool = False,
    again: bool = False,
    as_json: bool = False,
) -> None:
    """Do all steps: from a database to questions with true answers, in several phrasings each, without a model.

    What the folder has from the same input is kept; files that you edited are used as they are. Exit codes: 0; 2 usage
    or input; 3 incomplete (a template couldn't be filled).
    """
    require_packages()
    terms = BuildOptions(
        tables=parse_names(tables),
        exclude=parse_names(exclude),
        aggregates=aggregates,
        most=most,
        criteria=parse_names(criteria),
        per_criterion=per_criterion,
        combinations=combinations,
        policies=policies,
        plan=plan_flags.plan(),
    )
    with OpenedDatabase(url, seconds) as database:
        if dry_run:
            counted, size, half_width = count(database, terms), terms.plan.size, accuracy_half_width(terms)
            print_found(
                lambda: {
                    "templates": [asdict(one) for one in counted],
                    "questions": sum(one.phrasings * one.combinations for one in counted),
                    "size": size,
                    "half_width": half_width,
                },
                lambda: counted_document(counted, size, half_width),
                as_json=as_json,
            )
            return
        steps = build_all(database, out, terms, again=again, progress=_filling)
    _show(steps, as_json=as_json)


@command("testset example")
def example(folder: Path, *, as_json: bool = False) -> None:
    """Write a fictitious engineering consultancy: a database, documents that state a part of it, and an application.

    Exit codes: 0; 2 usage or input.
    """
    written = write_example(folder)
    print_found(written.as_json, lambda: example_document(written), as_json=as_json)


def _filling(total: int) -> AbstractContextManager[Callable[[], None]]:
    """Shows how many templates are filled."""
    return progress(total, 0, word="filling", unit="templates")


def _show(steps: Sequence[BuildStep], *, as_json: bool) -> None:
    """Print what the steps came to; exit with 3 if a template couldn't be filled."""
    print_found(
        lambda: {
            step.path.stem: {
                "path": str(step.path),
                "made": step.made,
                **step.numbers,
                "notes": list(step.notes),
                "refused": list(step.refused),
            }
            for step in steps
        },
        lambda: steps_document(steps),
        as_json=as_json,
    )
    exit_if(incomplete=any(step.numbers.get("problems") for step in steps))
