"""What came of phrasing, in the terminal: how many under each criterion, an example, and what was refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from ragtriage.report.plain import one_line
from ragtriage.report.terminal_style import say, table
from ragtriage.report.words import plural
from ragtriage.testset.generation.phrasing import Phrased, Refused
from ragtriage.testset.generation.query_templates import TextTemplate

if TYPE_CHECKING:
    from rich.console import Console

REASONS = 8
"""Reasons that are shown; all are counted."""
EXAMPLE = 110
"""Characters of an example."""


def print_phrasings(console: Console, texts: Sequence[TextTemplate]) -> None:
    """Print how many phrasings there are of each criterion, how long they are, and one of each.

    Args:
        console: where to.
        texts: all, in the order of the file.
    """
    by_criterion: dict[str, list[TextTemplate]] = {}
    for one in texts:
        by_criterion.setdefault(one.criterion, []).append(one)
    shown = table()
    shown.add_column("criterion")
    shown.add_column("phrasings", justify="right")
    shown.add_column("words", justify="right")
    shown.add_column("for example")
    for name, some in by_criterion.items():
        words = [one.measures["words"] for one in some if "words" in one.measures]
        mean = f"{sum(words) / len(words):.0f}" if words else "-"
        shown.add_row(one_line(name, 24), f"{len(some):,}", mean, Text(one_line(some[0].text, EXAMPLE)))
    console.print(shown)


def print_refused(console: Console, phrased: Phrased) -> None:
    """Print what was refused and what is missing, by reason, the most frequent first."""
    _print(console, "refused", "candidate", phrased.refused)
    _print(console, "missing", "place", phrased.without)


def _print(console: Console, head: str, noun: str, refused: Sequence[Refused]) -> None:
    if not refused:
        return
    say(console, Text(f"{head}: {plural(len(refused), noun)}", style="bold"), 0, 2)
    counted = Counter((one.criterion or "all criteria", one.reason.partition(" (")[0]) for one in refused)
    for (criterion, reason), count in counted.most_common(REASONS):
        say(console, Text(f"{count:,} × {one_line(criterion, 24)}: {one_line(reason, EXAMPLE)}"), 2, 4)
    if len(counted) > REASONS:
        say(console, Text(f"and {plural(len(counted) - REASONS, 'other reason')}"), 2, 4)
