"""What every command prints to, how far it is (a line in a terminal, else one every ten seconds), how it ends."""

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
MOMENT = 0.1
"""Seconds between two states of the line in a terminal."""
CLEARED = "\r\x1b[K"
"""To the beginning of a terminal's line, which is then empty."""
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
    """Lines on standard error, in the place of a line that says how far it is."""
    cleared = CLEARED if lines and sys.stderr.isatty() else ""
    sys.stderr.write(cleared + "".join(f"{line}\n" for line in lines))


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
def status_line() -> Iterator[Callable[[str], None]]:
    """Shows how far it is: one line that is written over in a terminal, else a line every ten seconds."""
    terminal = sys.stderr.isatty()
    last, every = (0.0, MOMENT) if terminal else (time.monotonic(), EVERY)

    def show(line: str) -> None:
        nonlocal last
        if time.monotonic() - last < every:
            return
        last = time.monotonic()
        if terminal:
            sys.stderr.write(CLEARED + line[: shutil.get_terminal_size().columns - 1])
        else:
            tell(line)
        sys.stderr.flush()

    try:
        yield show
    finally:
        if terminal:
            sys.stderr.write(CLEARED)


@contextmanager
def progress(
    total: int | None, done: int, note: Callable[[], str] = str, word: str = "evaluating", unit: str = "cases"
) -> Iterator[Advance]:
    """Show progress while the block runs, with a note beside it, for example what was spent."""
    if total == done:
        yield lambda _=1: None
        return
    pace, of = Pace(), "" if total is None else f" of {total}"
    with status_line() as show:

        def advance(more: int = 1, /) -> None:
            nonlocal done
            done += more
            pace.count(more)
            show(", ".join(filter(None, (f"{word}: {done}{of} {unit}", _speed(pace, done, total), note()))))

        yield advance


def _speed(pace: Pace, done: int, total: int | None) -> str:
    """How fast, and how long it will take; empty before that can be told."""
    rate = pace.rate()
    if not rate:
        return ""
    left = "" if total is None else f", about {(total - done) / rate:.0f} s left"
    return f"{rate:.1f} a second{left}"
