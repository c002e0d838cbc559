"""What `testset score` finds out beyond the scores: a second run, the corpus, THELMA's blame, the report."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ragtriage.cli.app_options import INTERRUPTED, AppFlags, opened_application, refuse_alone
from ragtriage.cli.exits import INCOMPLETE
from ragtriage.cli.flags import with_flags
from ragtriage.cli.options import place_of
from ragtriage.cli.progress import progress
from ragtriage.cli.results import diagnosed, opened
from ragtriage.collect.answers_file import CollectedLines
from ragtriage.collect.asking import ask_all
from ragtriage.core.errors import ApplicationError, ConfigError
from ragtriage.judges.protocol import Judge
from ragtriage.readers.files import STDIN, raw_rows
from ragtriage.report.words import plural
from ragtriage.store import open_store
from ragtriage.testset.beyond import Beyond
from ragtriage.testset.both_blames import Component, both_blames, components_of
from ragtriage.testset.corpus import Corpus, look_for_gaps, read_corpus
from ragtriage.testset.correctness import Decision, Given
from ragtriage.testset.groups import Tagged
from ragtriage.testset.rows import Row
from ragtriage.testset.sufficiency import SecondRun, decided_again, second_questions, second_run_of

GIVEN: dict[str, Given] = {"sibling": "sibling", "gold": "gold"}


@dataclass(frozen=True)
class BlameFlags:
    """What was given on the command line."""

    given: Annotated[
        str,
        typer.Option(
            help="What --app is given: the sources of a right answer (sibling), or the database's row (gold)."
        ),
    ] = "sibling"
    second_run: Annotated[
        Path | None,
        typer.Option(help="The .jsonl file of what --app answers again [default: ROWS with .again.jsonl]."),
    ] = None
    corpus: Annotated[
        Path | None,
        typer.Option(help="Folder of .md and .txt files, or JSONL with id and text: look there for what gaps lack."),
    ] = None
    run: Annotated[
        str | None, typer.Option(help="A stored run of the same cases (its number, or last): THELMA's blame beside.")
    ] = None
    report: Annotated[Path | None, typer.Option(help="Write groups, answers and blame as one HTML file.")] = None


def with_blame_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all flags of what it finds out beyond the scores, as one value, its parameter `blaming`."""
    return with_flags(command, "blaming", BlameFlags)


@dataclass(frozen=True, slots=True)
class Prepared:
    """What was read before anything is asked."""

    corpus: Corpus | None
    run: str | None
    """The number of the run that stands beside."""
    components: Mapping[str, Component]
    """What it says of each case."""


def prepared(path: str, flags: BlameFlags, asking: AppFlags, store: str | None) -> Prepared:
    """Check the flags against each other, and read the corpus and the run.

    Raises:
        ConfigError, InputError: a flag or the corpus can't be used.
        StoreError: there is no such run.
    """
    if flags.given not in GIVEN:
        raise ConfigError(f"--given {flags.given}: use {' or '.join(GIVEN)}")
    if not asking.app:
        refuse_alone(asking, None)
        if flags.second_run is not None or flags.given != "sibling":
            raise ConfigError("--given and --second-run are for asking again: name the application with --app")
    elif path == STDIN and flags.second_run is None:
        reason = "rows from a pipe have no name, so name a .jsonl file for the answers"
        raise ConfigError(f"--second-run is needed: {reason}")
    corpus = read_corpus(flags.corpus) if flags.corpus else None
    if flags.run is None:
        return Prepared(corpus, None, {})
    with open_store(place_of(store), create=False) as there:
        stored, criteria = opened(there, flags.run, None)
        return Prepared(corpus, str(stored.number), components_of(diagnosed(stored, criteria), criteria.rules))


def asked_again(
    path: str,
    rows: Sequence[Row],
    decisions: list[Decision],
    flags: BlameFlags,
    asking: AppFlags,
    corpus: Corpus | None,
    judge: Callable[[], Judge] | None,
    tolerance: float,
) -> tuple[list[Decision], SecondRun]:
    """Ask the application again what it got wrong, from sources that suffice; what was asked before isn't asked again.

    Args:
        path: of the rows.
        rows: as they were answered.
        decisions: one a row.
        flags: what is given, and where the answers go.
        asking: whom to ask.
        corpus: where texts stand that the rows don't hold.
        judge: see `decide`.
        tolerance: for numbers, see `typed_match`.

    Raises:
        ConfigError: the application can't be given sources, or there is no name for the answers' file.
        typer.Exit: it stopped before all was asked; the same command goes on.
    """
    columns = tuple(dict.fromkeys(["query", "id", *(name for row in rows for name in row.columns)]))
    application, manner = opened_application(asking, columns, give_sources=True)
    questions = second_questions(rows, decisions, GIVEN[flags.given], corpus.texts if corpus else None)
    where = flags.second_run or _place(path)
    cases = [one.case for one in questions.questions]
    with CollectedLines(where, retry_failed=asking.retry_failed) as lines:
        before = sum(lines.has(case) for case in cases)
        sys.stderr.write(f"asking {application.name} again, into {where}: {before} of {len(cases)} were asked before\n")
        try:
            with progress(len(cases), before, word="asking again") as advance, contextlib.redirect_stdout(sys.stderr):
                ask_all(cases, application, lines, manner, advance)
        except (KeyboardInterrupt, ApplicationError) as why:
            told = INTERRUPTED if isinstance(why, KeyboardInterrupt) else f"{why}; what was answered is kept"
            sys.stderr.write(f"{told}\n")
            raise typer.Exit(INCOMPLETE) from None
    responses = _responses(where)
    found = decided_again(rows, decisions, questions.questions, responses, judge, tolerance)
    return found, second_run_of(questions, found)


def found_beyond(rows: Sequence[Row], tagged: Sequence[Tagged], ready: Prepared, again: SecondRun | None) -> Beyond:
    """Everything that was asked for beyond the scores.

    Raises:
        ConfigError: the run holds none of these answers.
    """
    gaps, corpus = None, ready.corpus
    if corpus is not None:
        if corpus.skipped:
            sys.stderr.write(f"{plural(corpus.skipped, 'document')} of the corpus can't be used\n")
        groups = list(dict.fromkeys(one.row.group for one in tagged if one.tag == "gap"))
        gaps = tuple(look_for_gaps(rows, groups, corpus))
    blames = None
    if ready.run is not None:
        blames = both_blames(tagged, ready.components, ready.run)
        if blames.missing == len(tagged):
            hint = "evaluate the same file, whose ids it goes by"
            raise ConfigError(f"--run: run {ready.run} holds none of these answers: {hint}")
    return Beyond(again, gaps, len(corpus.documents) if corpus else 0, blames, ready.components)


def _place(path: str) -> Path:
    """`cases.jsonl` → `cases.again.jsonl`."""
    plain = Path(path.removesuffix(".gz"))
    return plain.with_name(f"{plain.stem}.again.jsonl")


def _responses(path: Path) -> dict[str, str]:
    found = {}
    for record in raw_rows(str(path)):
        values = record.values or {}
        if isinstance(values.get("response"), str):
            found[str(values["id"])] = str(values["response"])
    return found
