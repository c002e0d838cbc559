"""The application under test: its flags, what the commands that ask it do alike, and `ragtriage collect`."""

import contextlib
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path

from ragtriage.adapters.opening import open_application
from ragtriage.cli.console import exit_if, print_json, progress, tell
from ragtriage.cli.flags import command, parse_pairs
from ragtriage.cli.input_files import print_columns, print_counts, rereadable
from ragtriage.collect.answers_file import TEMPERATURE, CollectedLines, SampledAnswers, SampleTally
from ragtriage.collect.application import (
    ASKED,
    Answering,
    Application,
    Lines,
    RequestPolicy,
    SampledApplication,
    ask_all,
    replaced,
)
from ragtriage.collect.application_names import ApplicationSpec
from ragtriage.core.case import Case
from ragtriage.core.display import plural
from ragtriage.core.errors import ApplicationError, ConfigError, InputError
from ragtriage.core.files import private_file
from ragtriage.execution.evaluating import INTERRUPTED
from ragtriage.readers import CaseFile, open_cases
from ragtriage.runs.selection import RowCounts, RowSelection, SelectedCases, require_tag_of
from ragtriage.store import open_store
from ragtriage.store.database import store_address

_HOW = frozenset({"app_header", "app_concurrency", "app_timeout", "app_max_attempts", "max_reply", "retry_failed"})
"""Flags that change how an application is asked and not what."""


@dataclass(frozen=True)
class AppFlags:
    """What was given on the command line."""

    app: str | None = None
    app_input: str | None = None
    template: str | None = None
    openai_model: str | None = None
    response_path: str | None = None
    sources_path: str | None = None
    ids_path: str | None = None
    app_header: list[str] | None = None
    app_concurrency: int | None = None
    app_timeout: float | None = None
    app_max_attempts: int | None = None
    max_reply: float | None = None
    retry_failed: bool = False

    def refuse(self, collected: Path | None = None) -> None:
        """Refuse flags about an application where none is named."""
        given = ["collected"] * (collected is not None) + [f.name for f in fields(self) if getattr(self, f.name)]
        if given:
            flag = given[0].replace("_", "-")
            raise ConfigError(f"--{flag} is for an application under test: name one with --app")

    def application(self, columns: tuple[str, ...], *, give_sources: bool = False) -> tuple[Application, RequestPolicy]:
        """The application and how it is to be asked, of rows with these columns; nothing is sent."""
        if not self.app:
            raise ConfigError("--app is needed: module:name, path/to/file.py:name or a URL")
        given = {"concurrency": self.app_concurrency, "timeout": self.app_timeout, "attempts": self.app_max_attempts}
        policy = RequestPolicy(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]  # each of its own type
        if not 0 < policy.timeout < float("inf"):
            raise ConfigError(f"--app-timeout {policy.timeout:g}: use a number of seconds above 0")
        if self.max_reply is not None and not self.max_reply > 0:
            raise ConfigError(f"--max-reply {self.max_reply:g}: use a number of megabytes above 0")
        named = ApplicationSpec(
            self.app,
            self.template,
            self.openai_model,
            self.response_path,
            self.sources_path,
            self.ids_path,
            tuple(self.app_header or ()),
            self.max_reply,
            self.app_input,
        )
        return open_application(named, columns, policy.concurrency, give_sources=give_sources), policy


def default_answers_file(flags: AppFlags, file: str, selection: RowSelection, store: str | None) -> Path:
    """Where the answers go by default: beside the store's file, under a name that the same command finds again.

    Once they were evaluated completely (`mark_evaluated`) the same command gets a new file and asks anew, since a
    changed application has the same name; with `--retry-failed` it gets the last one.
    """
    address = store_address(store)
    if "://" in address:
        raise ConfigError("--collected is needed: the store is a database, so name a .jsonl file for the answers")
    if file == "-" or not Path(file).is_file():
        raise ConfigError(
            "--collected is needed: questions from a pipe have no name, so name a .jsonl file for the answers"
        )
    asked = [getattr(flags, one.name) for one in fields(AppFlags) if one.name not in _HOW]
    told = json.dumps([str(Path(file).resolve()), *asked, selection.limit, selection.sample, selection.seed])
    name = f"collected-{sha256(told.encode()).hexdigest()[:12]}"
    number = 1
    while _mark(Path(address).parent / f"{name}-{number}.jsonl").exists():
        number += 1
    return Path(address).parent / f"{name}-{max(1, number - flags.retry_failed)}.jsonl"


def mark_evaluated(path: Path) -> None:
    """Remember that the answers in a default place were evaluated completely."""
    private_file(_mark(path))


def _mark(path: Path) -> Path:
    return path.with_suffix(".done")


@dataclass(frozen=True)
class SampleFlags:
    """What was given on the command line about samples."""

    samples: int | None = None
    temperature: float | None = None

    def application(self, application: Application) -> tuple[Application, float | None] | None:
        """Whom to ask for samples and at which temperature, if it can be told; None if none are to be drawn."""
        given = self.temperature
        if self.samples is None:
            if given is not None:
                raise ConfigError(f"--temperature {given:g} is for samples: say how many with --samples")
            return None
        if given is not None and not 0 <= given <= 2:
            raise ConfigError(f"--temperature {given:g}: use a number from 0 to 2")
        if application.takes_temperature:
            temperature = TEMPERATURE if given is None else given
            return application.again(temperature), temperature
        if given is not None:
            raise ConfigError(
                f"--temperature {given:g}: {application.name} can't be told: give the function a parameter "
                "`temperature`, put {{temperature}} into the --template, or leave the flag out to ask it again as it is"
            )
        return application.again(None), None


@dataclass(frozen=True, slots=True)
class Collected:
    """What came of asking an application."""

    lines: CollectedLines
    stopped: str | None
    """Why it stopped early."""
    incomplete: bool
    """Whether an answer or a sample, or too many rows, are missing."""
    samples: SampleTally | None = None

    def told(self) -> list[str]:
        """All of it in numbers, for people."""
        return [*self.lines.tally.lines(), *(self.samples.lines() if self.samples else ())]

    def tell_or_exit(self) -> None:
        """Tell it before a command goes on with the answers; end the command if it stopped early."""
        tell(*self.told(), *filter(None, [self.stopped]))
        exit_if(incomplete=self.stopped)


def collect_answers(
    cases: CaseFile,
    flags: AppFlags,
    selection: RowSelection,
    path: Path,
    sampling: SampleFlags = SampleFlags(),  # frozen
    *,
    flag: str = "--collected",
) -> Collected:
    """Ask the application and keep what it answers in the file that `flag` names, with progress on standard error."""
    if path.exists() and Path(cases.path).exists() and path.samefile(cases.path):
        raise InputError(f"{path}: is the file of the questions: name another file for what is collected")
    columns = ("query", "id", *(name for name in ASKED if name in cases.mapping), "history", *cases.tags)
    application, policy = flags.application(tuple(dict.fromkeys(columns)))
    sampled = sampling.application(application)
    for name in replaced(cases.tags):
        tell(f"note: the column {name!r} is left out: what is collected needs its name")
    if sampled and "samples" in cases.mapping:
        tell("note: the samples of the questions' file give way to those that are drawn")
    counts = RowCounts()
    rows = SelectedCases(cases, selection)
    with CollectedLines(path, retry_failed=flags.retry_failed, flag=flag) as lines:
        asked = sum(lines.has(case) for case in rows.counted(counts))
        print_counts(counts)
        counts.require_some(cases.name)
        continuing = f"continuing {path}: {asked} of {counts.selected} were asked before" if asked else f"into {path}"
        tell(f"asking {application.name}, {continuing}", *(f"note: {note}" for note in application.notes))
        stopped = ask(rows.read(lambda _: None), counts.selected, asked, application, policy, lines)
    other = lines.before - asked
    if other:
        tell(f"note: {path} holds {plural(other, 'case')} that are not among these questions")
    incomplete = bool(stopped or counts.incomplete or lines.tally.failures)
    if sampled is None or stopped:
        return Collected(lines, stopped, incomplete)
    tally, stopped = _draw(rows, sampling.samples or 0, *sampled, policy, path, again=flags.retry_failed, flag=flag)
    return Collected(lines, stopped, incomplete or bool(stopped) or tally.drawn < tally.asked, tally)


def _draw(
    rows: SelectedCases,
    count: int,
    application: Application,
    temperature: float | None,
    policy: RequestPolicy,
    path: Path,
    *,
    again: bool,
    flag: str,
) -> tuple[SampleTally, str | None]:
    """Draw what samples are missing; what came of it, and why it stopped early or None."""
    with SampledAnswers(path, count, temperature, retry_failed=again, flag=flag) as samples:
        total = samples.missing
        at = "by asking again" if temperature is None else f"at temperature {temperature:g}"
        tell(f"drawing {plural(total, 'sample')} {at}, {count} for every response")
        asked = samples.of(rows.read(lambda _: None))
        stopped = ask(asked, total, 0, SampledApplication(application), policy, samples) if total else None
    return samples.counted(), stopped


def ask(
    cases: Iterable[Case], total: int, done: int, application: Answering, policy: RequestPolicy, lines: Lines
) -> str | None:
    """Ask what the file doesn't hold yet, with progress on standard error; why it stopped, if not all were asked."""
    try:
        # what the application prints must not mix with the command's own output
        with progress(total, done, word="asking") as advance, contextlib.redirect_stdout(sys.stderr):
            ask_all(cases, application, lines, policy, advance)
    except KeyboardInterrupt:
        return INTERRUPTED
    except ApplicationError as why:
        return f"{why}; what was answered is kept: give the same command again when it works"
    return None


def collect_first(
    cases: CaseFile, flags: AppFlags, selection: RowSelection, path: Path, by: str | None, store: str | None
) -> bool:
    """Ask before an evaluation, by whose tag it may be sliced; whether an answer, or too many rows, are missing.

    The store is made first: it keeps its folder, where the answers may go, out of git.
    """
    require_tag_of(cases, selection, by)
    with open_store(store):
        pass
    found = collect_answers(cases, flags, selection, path)
    found.tell_or_exit()
    return found.incomplete


@command("collect")
def collect(
    questions: str,
    *,
    out: Path,
    mapping: list[str] | None = None,
    file_format: str | None = None,
    selection: RowSelection,
    as_json: bool = False,
    app_flags: AppFlags,
    sample_flags: SampleFlags,
) -> None:
    """Ask your own application all QUESTIONS and write its answers as cases.

    Exit codes: 0; 2 usage or input; 3 incomplete (a query without a response or with fewer samples, too many unusable
    rows, an application that can't be asked, interrupted).
    """
    with rereadable(questions) as file:
        cases = open_cases(file, mapping=parse_pairs(mapping, "--map"), format=file_format, questions=True)
        print_columns(cases)
        found = collect_answers(cases, app_flags, selection, out, sample_flags, flag="-o")
    if as_json:
        samples = {"samples": found.samples.as_json()} if found.samples else {}
        print_json({"file": str(out), "before": found.lines.before, **found.lines.tally.as_json(), **samples})
    else:
        sys.stdout.write("".join(f"{line}\n" for line in found.told()))
    if found.stopped:
        tell(found.stopped)
    exit_if(incomplete=found.incomplete)
