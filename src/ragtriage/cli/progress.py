"""How far a run is: a bar in a terminal, else a line every ten seconds; both on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO

EVERY = 10.0
"""Seconds between two lines where there is no terminal."""


class Advance(Protocol):
    """Tell that one more case is done."""

    def __call__(self) -> None:
        """One more."""
        ...


@contextmanager
def progress(
    total: int, done: int, note: Callable[[], str] = str, word: str = "evaluating", unit: str = "cases"
) -> Iterator[Advance]:
    """Show progress while the block runs.

    Args:
        total: how many cases the run has.
        done: how many of them were done before.
        note: what else is to be shown, for example what was spent.
        word: what is being done.
        unit: what is counted.
    """
    if total == done:
        yield lambda: None
    elif sys.stderr.isatty():
        with _bar(total, done, note, word) as advance:
            yield advance
    else:
        yield _Lines(total, done, note, unit, sys.stderr)


@contextmanager
def _bar(total: int, done: int, note: Callable[[], str], word: str) -> Iterator[Advance]:
    from rich.console import Console  # noqa: PLC0415  # only where a bar is drawn
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (
        TextColumn(word),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total, completed=done, rate="")
        started = time.monotonic()
        count = 0

        def advance() -> None:
            nonlocal count
            count += 1
            rate = count / max(1e-9, time.monotonic() - started)
            bar.update(task, advance=1, rate=f"{rate:.1f} a second {note()}".rstrip())

        yield advance


class _Lines:
    def __init__(self, total: int, done: int, note: Callable[[], str], unit: str, out: TextIO) -> None:
        self._total, self._done, self._before, self._note, self._out = total, done, done, note, out
        self._unit = unit
        self._started = self._last = time.monotonic()

    def __call__(self) -> None:
        self._done += 1
        now = time.monotonic()
        if now - self._last < EVERY:
            return
        self._last = now
        rate = (self._done - self._before) / (now - self._started)
        left = (self._total - self._done) / rate
        note = f", {self._note()}" if self._note() else ""
        self._out.write(
            f"{self._done} of {self._total} {self._unit}, {rate:.1f} a second, about {left:.0f} s left{note}\n"
        )
        self._out.flush()
