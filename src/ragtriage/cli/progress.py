"""How far a run is: a bar in a terminal, else a line every ten seconds; both on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ragtriage.cli.console import tell

EVERY = 10.0
"""Seconds between two lines where there is no terminal."""


Advance = Callable[[], None]
"""To be called for each case that is done."""


@contextmanager
def progress(
    total: int | None, done: int, note: Callable[[], str] = str, word: str = "evaluating", unit: str = "cases"
) -> Iterator[Advance]:
    """Show progress while the block runs.

    Args:
        total: how many there are; None if that isn't known.
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
        yield _lines(total, done, note, unit)


@contextmanager
def _bar(total: int | None, done: int, note: Callable[[], str], word: str) -> Iterator[Advance]:
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


def _lines(total: int | None, before: int, note: Callable[[], str], unit: str) -> Advance:
    done = before
    started = last = time.monotonic()

    def advance() -> None:
        nonlocal done, last
        done += 1
        now = time.monotonic()
        if now - last < EVERY:
            return
        last = now
        rate = (done - before) / (now - started)
        left = "" if total is None else f", about {(total - done) / rate:.0f} s left"
        of = "" if total is None else f" of {total}"
        further = f", {note()}" if note() else ""
        tell(f"{done}{of} {unit}, {rate:.1f} a second{left}{further}")
        sys.stderr.flush()

    return advance
