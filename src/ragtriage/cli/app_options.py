"""The flags that name the application under test, and what `collect` and `evaluate --app` do alike."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import typer

from ragtriage.cli.exits import INCOMPLETE
from ragtriage.cli.flags import with_flags
from ragtriage.cli.opening import say_rejected
from ragtriage.cli.progress import progress
from ragtriage.collect.answers_file import CollectedLines
from ragtriage.collect.application import ASKED, Application, replaced
from ragtriage.collect.application_names import Named, open_application
from ragtriage.collect.asking import Manner, ask_all
from ragtriage.core.errors import ApplicationError, ConfigError, InputError
from ragtriage.readers import CaseFile
from ragtriage.report.words import plural
from ragtriage.runs.execute import SelectedRows, Selection, Survey
from ragtriage.store import open_store
from ragtriage.store.connection import place

COLLECTED_MAP = {"id": "id", "query": "query", "response": "response", "sources": "sources"}
"""Where our fields stand in a file of collected cases, whatever its questions' own columns are called."""
_MANNER = frozenset({"app_header", "app_concurrency", "app_timeout", "app_max_attempts", "retry_failed"})
"""Flags that change how an application is asked and not what."""
INTERRUPTED = "interrupted: give the same command again to go on where it stopped"


@dataclass(frozen=True)
class AppFlags:
    """What was given on the command line."""

    app: Annotated[
        str | None,
        typer.Option(help="The application that answers: module:function, path/to/file.py:function or a URL."),
    ] = None
    template: Annotated[
        str | None,
        typer.Option(
            help="Body of a request: JSON with {{query}} or {{COLUMN}} in its texts, or a file of it "
            '[default: {"query": "{{query}}"}].'
        ),
    ] = None
    openai_model: Annotated[
        str | None, typer.Option(help="The URL is an OpenAI-compatible server; the model to name to it.")
    ] = None
    response_path: Annotated[
        str | None, typer.Option(help="Where in the reply the answer stands, for example output.text.")
    ] = None
    sources_path: Annotated[
        str | None, typer.Option(help="Where the retrieved texts stand, for example hits[*].text.")
    ] = None
    ids_path: Annotated[str | None, typer.Option(help="Where their ids stand, for example hits[*].id.")] = None
    app_header: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE, sent to the application; ${VARIABLE} is the environment's; may be repeated."),
    ] = None
    app_concurrency: Annotated[int | None, typer.Option(min=1, help="Queries at once [default: 8].")] = None
    app_timeout: Annotated[float | None, typer.Option(help="Seconds that an answer may take [default: 120].")] = None
    app_max_attempts: Annotated[
        int | None,
        typer.Option(min=1, help="How often at most a query is sent that fails for the moment [default: 4]."),
    ] = None
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Ask again what a call before got no response to.")
    ] = False


@dataclass(frozen=True, slots=True)
class Collected:
    """How asking ended."""

    lines: CollectedLines
    stopped: str | None
    """Why it ended before all were asked; None if it came to its end."""
    incomplete: bool
    """Whether too many of the questions can't be used."""


def with_app_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all flags of the application; it gets them as one value, its parameter `asking`."""
    return with_flags(command, "asking", AppFlags)


def refuse_alone(flags: AppFlags, place: Path | None) -> None:
    """Refuse flags of the application where none is named.

    Raises:
        ConfigError: there is one.
    """
    if place is not None:
        raise ConfigError("--collected is for an application under test: name one with --app")
    for one in fields(AppFlags):
        if getattr(flags, one.name):
            raise ConfigError(f"--{one.name.replace('_', '-')} is for an application under test: name one with --app")


def refuse_beside_app(*, dry_run: bool, split_sources: str | None) -> None:
    """Refuse what needs the answers before they are there, or has nothing to act on.

    Raises:
        ConfigError: it was asked for.
    """
    if dry_run:
        raise ConfigError("--dry-run needs the answers: ask with ragtriage collect, then plan its file")
    if split_sources is not None:
        raise ConfigError("--split-sources is for sources in a file; with --app they come from the application")


def questions_map(given: Mapping[str, str]) -> dict[str, str]:
    """The part of the settings' map that is about questions."""
    return {field: column for field, column in given.items() if field not in {"response", "sources"}}


def default_place(flags: AppFlags, file: str, selection: Selection, store: str | None) -> Path:
    """Where the answers go if nothing is said: beside the store's file, under a name that the same command finds again.

    Once they were judged to the end (`finished`) the same command gets a new place and asks anew, since a changed
    application has the same name; with `--retry-failed` it gets the last one.

    The store is made if it isn't there, with what keeps its folder out of git.

    Raises:
        ConfigError: there is no such place.
        StoreError: the store can't be opened.
    """
    address = place(store)
    if "://" in address:
        raise ConfigError("--collected is needed: the store is a database, so name a .jsonl file for the answers")
    if file == "-" or not Path(file).is_file():
        raise ConfigError(
            "--collected is needed: questions from a pipe have no name, so name a .jsonl file for the answers"
        )
    with open_store(store):
        pass
    asked = [getattr(flags, one.name) for one in fields(AppFlags) if one.name not in _MANNER]
    told = json.dumps([str(Path(file).resolve()), *asked, selection.limit, selection.sample, selection.seed])
    name = f"collected-{sha256(told.encode()).hexdigest()[:12]}"
    number = 1
    while _mark(Path(address).parent / f"{name}-{number}.jsonl").exists():
        number += 1
    return Path(address).parent / f"{name}-{max(1, number - flags.retry_failed)}.jsonl"


def finished(path: Path) -> None:
    """Remember that the answers in a default place were judged to the end."""
    _mark(path).touch()


def _mark(path: Path) -> Path:
    return path.with_suffix(".done")


def answers_collected(cases: CaseFile, flags: AppFlags, selection: Selection, path: Path) -> bool:
    """Ask before an evaluation.

    Returns:
        Whether an answer, or too many rows, are missing.

    Raises:
        typer.Exit: it stopped before all was asked; the same command goes on.
    """
    ended = collected(cases, flags, selection, path)
    sys.stderr.write("".join(f"{line}\n" for line in ended.lines.tally.lines()))
    if ended.stopped:
        sys.stderr.write(f"{ended.stopped}\n")
        raise typer.Exit(INCOMPLETE)
    return ended.incomplete or bool(ended.lines.tally.failures)


def opened_application(
    flags: AppFlags, columns: tuple[str, ...], *, give_sources: bool = False
) -> tuple[Application, Manner]:
    """The application and how it is to be asked; nothing is sent.

    Args:
        flags: what was given.
        columns: what the rows hold, for the template.
        give_sources: it is to answer from the sources of each case.

    Raises:
        ConfigError: a flag is wrong.
    """
    if not flags.app:
        raise ConfigError("--app is needed: module:function, path/to/file.py:function or a URL")
    default = Manner()
    manner = Manner(
        default.concurrency if flags.app_concurrency is None else flags.app_concurrency,
        default.timeout if flags.app_timeout is None else flags.app_timeout,
        default.attempts if flags.app_max_attempts is None else flags.app_max_attempts,
    )
    if not 0 < manner.timeout < float("inf"):
        raise ConfigError(f"--app-timeout {manner.timeout:g}: use a number of seconds above 0")
    named = Named(
        flags.app,
        flags.template,
        flags.openai_model,
        flags.response_path,
        flags.sources_path,
        flags.ids_path,
        tuple(flags.app_header or ()),
    )
    return open_application(named, columns, manner.concurrency, give_sources=give_sources), manner


def columns_of(cases: CaseFile) -> tuple[str, ...]:
    """What a row of a file of questions holds, under our names."""
    return tuple(dict.fromkeys(("query", "id", *(f for f in ASKED if f in cases.mapping), "history", *cases.tags)))


def collected(cases: CaseFile, flags: AppFlags, selection: Selection, path: Path) -> Collected:
    """Ask the application and keep what it answers, with progress on standard error.

    Raises:
        ConfigError, InputError: a flag or a file can't be used; nothing was asked.
    """
    if path.exists() and Path(cases.path).exists() and path.samefile(cases.path):
        raise InputError(f"{path}: is the file of the questions: name another file for what is collected")
    application, manner = opened_application(flags, columns_of(cases))
    for name in replaced(cases.tags):
        sys.stderr.write(f"note: the column {name!r} is left out: what is collected needs its name\n")
    survey = Survey()
    rows = SelectedRows(cases, selection)
    with CollectedLines(path, retry_failed=flags.retry_failed) as lines:
        asked = 0
        for case in rows.cases(survey.reject):
            survey.selected += 1
            asked += lines.has(case)
        say_rejected(survey)
        if not survey.selected:
            raise InputError(f"{cases.path}: none of its {survey.rejected} rows can be used")
        continuing = f"continuing {path}: {asked} of {survey.selected} were asked before" if asked else f"into {path}"
        sys.stderr.write(f"asking {application.name}, {continuing}\n")
        stopped = None
        try:
            with progress(survey.selected, asked, word="asking") as advance, contextlib.redirect_stdout(sys.stderr):
                ask_all(rows.cases(lambda _: None), application, lines, manner, advance)
        except KeyboardInterrupt:
            stopped = INTERRUPTED
        except ApplicationError as why:
            stopped = f"{why}; what was answered is kept: give the same command again when it works"
    other = lines.before - asked
    if other:
        sys.stderr.write(f"note: {path} holds {plural(other, 'case')} that are not among these questions\n")
    return Collected(lines, stopped, survey.incomplete)
