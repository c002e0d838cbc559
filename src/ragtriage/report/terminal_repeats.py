"""How repeatable scores are, in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from ragtriage.report.plain import one_line
from ragtriage.report.repetition import NOTHING, Table, repetition_of
from ragtriage.report.terminal_style import heading, say, signs_of, table
from ragtriage.report.words import plural
from ragtriage.runs.repeats import RepeatSummary

if TYPE_CHECKING:
    from rich.console import Console

WIDEST_NAME = 40
NARROWEST_NAME = 8
"""Columns that a case's id or a metric's title gets, at most and at least."""
GAP = 2


def print_repeats(console: Console, summary: RepeatSummary, *, input: str = "", judge: str = "") -> None:  # noqa: A002  # as in Header
    """Print a repeated evaluation: a line a metric, the verdicts by kind, the cases that are least alike.

    Args:
        console: where to; its width and colours decide the look.
        summary: from `Repeats`.
        input: what was evaluated: a file's name.
        judge: who judged.
    """
    signs = signs_of(console)
    facts = [f"{plural(summary.trials, 'trial')} of {plural(summary.cases, 'case')}", one_line(input, 120)]
    facts.append(f"judged by {one_line(judge, 120)}" if judge else "")
    line = Text(f" {signs.dot} ".join(fact for fact in facts if fact))
    line.stylize("bold", 0, len(facts[0]))
    say(console, line, 0, 2)
    console.print()
    if summary.cases == 0:
        say(console, Text("No case was evaluated, so there is nothing to show yet."), 0)
        return
    view = repetition_of(summary, judge, signs)
    if view.same:
        say(console, Text(view.same, style="bold"), 0, 2)
        console.print()
    for shown in view.tables:
        _print_table(console, shown)
    if view.failed:
        said = f"Scores left out because they failed: {view.failed}. The same command tries these again."
        say(console, Text(said, style="bold red"), 0, 2)


def _print_table(console: Console, shown: Table) -> None:
    dash = signs_of(console).dash
    if shown.title:
        heading(console, shown.title)
    widths = [max(len(head), *(len(row[i]) for row in shown.rows)) for i, head in enumerate(shown.heads)]
    # where the console is narrow the names are cut, never a number
    left = console.width - sum(width + GAP for width in widths[1:])
    widths[0] = min(widths[0], WIDEST_NAME, max(NARROWEST_NAME, left))
    grid = table(GAP)
    for head, width, number in zip(shown.heads, widths, shown.numbers, strict=True):
        grid.add_column(head, justify="right" if number else "left", no_wrap=True, width=width, overflow="ellipsis")
    for row in shown.rows:
        grid.add_row(*(Text(dash if cell == NOTHING else cell) for cell in row))
    console.print(grid)
    for note in shown.notes:
        say(console, Text(note, style="dim"), 0, 2)
