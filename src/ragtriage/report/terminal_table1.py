"""THELMA's table 1 in the terminal, the paper's figures beside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from ragtriage.report.plain import one_line
from ragtriage.report.terminal_pairs import outcome_of, share, with_interval
from ragtriage.report.terminal_style import say, table
from ragtriage.report.view import title_of
from ragtriage.trust.pairs.pair_files import SHORT
from ragtriage.trust.pairs.table1 import MODELS, PUBLISHED, RAGAS_FOR, Table1Row

if TYPE_CHECKING:
    from rich.console import Console

LENGTH_NOTE = (
    "Length alone separates most of these pairs, as the changes add or remove text. So the table says whether a metric "
    "moves the right way, as the paper's does; it doesn't rank judges."
)


def print_table1(console: Console, rows: Sequence[Table1Row], judge: str, data: str) -> None:
    """Print the table.

    Args:
        console: where to; its width and colours decide the look.
        rows: one a metric.
        judge: its name.
        data: where the pairs are from.
    """
    say(console, Text(f"Agreement in pairwise comparison by {judge}: {one_line(data, 120)}", style="bold"), 0, 2)
    grid = table(gap=1)
    for title in ("", "pairs", "ours", "RAGAs", "length", "words", "paper: THELMA", "paper: RAGAs"):
        grid.add_column(title, justify="left" if not title else "right", no_wrap=True)
    for row in rows:
        paper = PUBLISHED[row.short]
        grid.add_row(
            row.short,
            f"{row.ours.pairs:,}",
            with_interval(row.ours),
            share(row.ragas.agreement),
            share(row.length),
            share(row.overlap),
            " ".join(f"{value:.2f}" for value in paper["thelma"]),
            " ".join(f"{value:.2f}" for value in paper["ragas"]),
        )
    console.print(grid)
    for row in rows:
        said = outcome_of(row.ours)
        if said:
            why = f" ({row.ours.reason})" if row.ours.reason else ""
            say(console, Text(f"{row.short}: {said}{why}"), 0, 2)
    for reason, shorts in _missing(rows).items():
        say(console, Text(f"RAGAs for {', '.join(shorts)}: not computed: {reason}."), 0, 2)
    _print_notes(console, rows)


def _missing(rows: Sequence[Table1Row]) -> dict[str, list[str]]:
    """Why cells of RAGAs are empty → the metrics."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.ragas.agreement is None:
            reason = (row.ragas.reason or "").rstrip(".") or "no pair could be scored"
            found.setdefault(reason, []).append(row.short)
    return found


def _print_notes(console: Console, rows: Sequence[Table1Row]) -> None:
    console.print()
    meant = "; ".join(f"{row.short} {title_of(SHORT[row.short]).lower()}" for row in rows)
    say(console, Text(f"{meant}.", style="dim"), 0, 2)
    against = list(dict.fromkeys(RAGAS_FOR[SHORT[row.short]] for row in rows))
    notes = (
        "A pair agrees if its better version scores higher; a tie is no agreement. In brackets: 95 % intervals.",
        f"RAGAs: its definitions by the same judge ({', '.join(against)}).",
        "Length, words: what the length and the word overlap of the texts alone would have got.",
        f"Paper: THELMA, table 1, by {', '.join(MODELS)}, on pairs that weren't published.",
        LENGTH_NOTE,
    )
    for note in notes:
        say(console, Text(note, style="dim"), 0, 2)
