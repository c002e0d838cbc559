"""What every command prints to, how far it is (a bar in a terminal, else a line every ten seconds), how it ends."""

from __future__ import annotations

import json
import shutil
import signal
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Protocol, TextIO

import typer

from ragtriage.core.errors import ConfigError

if TYPE_CHECKING:
    from ragtriage.report.document import Document


EVERY = 10.0
"""Seconds between two lines where there is no terminal."""
ENOUGH_CASES, ENOUGH_SECONDS = 10, 3.0
"""Before so much is done behind the first case nothing is said of a rate: what came first is mostly loading."""
BURST = 0.5
"""Seconds between two cases of one burst."""


class ExitCode(IntEnum):
    """The exit codes of every command, beside 0."""

    GATE_FAILED = 1
    """A mean is outside the limit that was asked for."""
    USAGE = 2
    """Usage or input."""
    INCOMPLETE = 3
    """A later call can bring what is missing: failures, too many unusable rows, an interruption, a full disk."""


def exit_if(*, incomplete: object = False, gate_failed: object = False) -> None:
    """End the command with the code that is due, if any: 3 where something is missing, else 1 where a gate failed."""
    if incomplete:
        raise typer.Exit(ExitCode.INCOMPLETE)
    if gate_failed:
        raise typer.Exit(ExitCode.GATE_FAILED)


def show(*documents: Document) -> None:
    """Documents on standard output."""
    from rich.console import Console  # noqa: PLC0415  # help is instant without it

    from ragtriage.report.terminal import print_document  # noqa: PLC0415  # as above

    console = Console()
    for document in documents:
        print_document(console, document)


def print_found(value: Callable[[], Any], document: Callable[[], Document], *, as_json: bool) -> None:
    """What a command found: one JSON value, or a document for people."""
    if as_json:
        print_json(value())
    else:
        show(document())


def print_json(value: Any, *, indent: int | None = None) -> None:
    """One JSON value on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=indent) + "\n")


def tell(*lines: str) -> None:
    """Lines on standard error."""
    sys.stderr.write("".join(f"{line}\n" for line in lines))


def say(*lines: str) -> None:
    """Lines of words on standard output, which a terminal shows without a word cut at its edge."""
    sys.stdout.write("".join(f"{line}\n" for line in fitted(lines, sys.stdout)))


def fitted(lines: Iterable[str], stream: TextIO) -> Iterator[str]:
    """Lines as a terminal has room for them, what goes on indented by two more; as they are where there is none."""
    width = shutil.get_terminal_size().columns if stream.isatty() else None
    for line in lines:
        further = " " * (len(line) - len(line.lstrip()) + 2)
        if width is None or len(line) <= width:
            yield line
        else:
            yield from textwrap.wrap(
                line, width, subsequent_indent=further, break_long_words=False, break_on_hyphens=False
            )


def refuse_unasked(command: str, *, yes: bool, dry_run: bool) -> None:
    """Refuse a command that asks before it deletes where nobody can answer."""
    if not (yes or dry_run or sys.stdin.isatty()):
        hint = "give --yes, or look first with --dry-run"
        raise ConfigError(f"{command} asks before it deletes, and nobody can answer here: {hint}")


def agreed(question: str) -> bool:
    """Whether the user says yes; anything else is no."""
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


class Advance(Protocol):
    """To be called for each case that is done, or for several."""

    def __call__(self, count: int = 1, /) -> None:
        """Count them."""


class Pace:
    """How fast cases are done, without the time to the first one, in which models are loaded.

    Cases come in bursts, and the first burst was waiting for the models too: all that come within a moment of the first
    count as done when it was.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._first: float | None = None
        self._counted = 0

    def count(self, cases: int = 1) -> None:
        """Count what is done now."""
        now = self._clock()
        if self._first is None or (self._counted == 0 and now - self._first < BURST):
            self._first = now
        else:
            self._counted += cases

    def rate(self) -> float | None:
        """Cases a second; None before enough were done."""
        if self._first is None or self._counted < ENOUGH_CASES:
            return None
        seconds = self._clock() - self._first
        return self._counted / seconds if seconds >= ENOUGH_SECONDS else None


@contextmanager
def at_ctrl_c(act: Callable[[], object]) -> Iterator[None]:
    """Act at Ctrl-C, instead of being interrupted, while the block runs; only the main thread hears of it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: act())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def progress(
    total: int | None, done: int, note: Callable[[], str] = str, word: str = "evaluating", unit: str = "cases"
) -> Iterator[Advance]:
    """Show progress while the block runs, with a note beside it, for example what was spent."""
    if total == done:
        yield lambda _=1: None
    elif sys.stderr.isatty():
        with _bar(total, done, note, word) as advance:
            yield advance
    else:
        yield _lines(total, done, note, unit)


@contextmanager
def _bar(total: int | None, done: int, note: Callable[[], str], word: str) -> Iterator[Advance]:
    from rich.console import Console  # noqa: PLC0415  # only where a bar is drawn
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415

    columns = (TextColumn(word), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total, completed=done, rate="")
        pace, count = Pace(), done

        def advance(more: int = 1, /) -> None:
            nonlocal count
            count += more
            pace.count(more)
            bar.update(task, advance=more, rate="  ".join(filter(None, (_speed(pace, count, total), note()))))

        yield advance


def _lines(total: int | None, before: int, note: Callable[[], str], unit: str) -> Advance:
    done = before
    last = time.monotonic()
    pace = Pace()

    def advance(more: int = 1, /) -> None:
        nonlocal done, last
        done += more
        pace.count(more)
        now = time.monotonic()
        if now - last < EVERY:
            return
        last = now
        of = "" if total is None else f" of {total}"
        tell(", ".join(filter(None, (f"{done}{of} {unit}", _speed(pace, done, total), note()))))
        sys.stderr.flush()

    return advance


def _speed(pace: Pace, done: int, total: int | None) -> str:
    """How fast, and how long it will take; empty before that can be told."""
    rate = pace.rate()
    if not rate:
        return ""
    left = "" if total is None else f", about {(total - done) / rate:.0f} s left"
    return f"{rate:.1f} a second{left}"
