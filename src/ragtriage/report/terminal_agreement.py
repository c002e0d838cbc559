"""How far a judge agrees with people, in the terminal, with what words and length alone get beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from ragtriage.report.plain import one_line
from ragtriage.report.terminal_style import heading, say, signs_of, table
from ragtriage.report.words import plural

if TYPE_CHECKING:
    from rich.console import Console

    from ragtriage.trust.agreement import Agreement
    from ragtriage.trust.measures import Featurized

_COUNTED = ("pair accuracy", "of about the same length", "shown in red, right", "faults shown in red")
"""Measures that say what they are a share of."""
_MEANINGS = {
    "AUC": "AUC: the chance that a row labelled 1 scores higher than one labelled 0; 0.5 is a coin",
    "balanced accuracy at the best cut": "best cut: the one that suits these rows best, which flatters",
    "balanced accuracy": "balanced accuracy, accuracy, kappa: of verdicts as they come; unknown counts as wrong",
    "shown in red, right": "shown in red: where the judge is sure of a fault",
    "pair accuracy": "pair accuracy: over pairs where people take a side; a tied score counts half",
}


def print_agreements(console: Console, found: Sequence[Agreement], judge: str, file: str) -> None:
    """Print a table for all rows, and one for each part of them."""
    say(
        console, Text(f"Does {one_line(judge, 60)} agree with the people of {one_line(file, 120)}?", style="bold"), 0, 2
    )
    for one in found:
        _print_one(console, one)
    shown = {name for one in found for name in one.judge}
    console.print()
    for name, meaning in _MEANINGS.items():
        if name in shown:
            say(console, Text(meaning, style="dim"), 0, 2)
    say(console, Text("in brackets: the 95 % interval, drawing groups of rows again (bootstrap)", style="dim"), 0, 2)


def _print_one(console: Console, one: Agreement) -> None:
    signs = signs_of(console)
    labels = "" if one.scale == "preference" else f", mean label {one.mean_label:.2f}"
    title = f"{one_line(one.name, 60)}: {plural(one.rows, 'row')} in {plural(one.groups, 'group')}{labels}"
    heading(console, title)
    grid = table()
    grid.add_column("", no_wrap=True)
    grid.add_column("judge", no_wrap=True)
    grid.add_column("words", justify="right", no_wrap=True)
    grid.add_column("length", justify="right", no_wrap=True)
    for name, measured in one.judge.items():
        bare = (other.get(name) for other in (one.overlap, one.length))
        counted = f" of {measured.n:,}" if name in _COUNTED else ""
        grid.add_row(Text(_short(name)), _interval(measured) + counted, *(_number(value) for value in bare))
    console.print(grid)
    for line in _sentences(one):
        say(console, Text(f"{signs.arrow} {line}"), 0, 2)


def _sentences(one: Agreement) -> list[str]:
    """What a reader has to know before believing the numbers."""
    by = "" if one.ahead.value is None else f"{one.main} {one.ahead.value:+.2f}"
    if one.ahead.low is not None and one.ahead.high is not None:
        by += f" [{one.ahead.low:+.2f}, {one.ahead.high:+.2f}]"
    said = {
        "yes": f"The judge beats word overlap: {by}.",
        "not shown": f"These rows don't show that the judge beats word overlap: {by}.",
        "no": f"The judge doesn't beat word overlap ({by}): here it has measured nothing that counting words doesn't.",
        "unknown": "There is no word overlap to compare the judge with: one kind of label only, or no such form.",
    }
    lines = [said[one.beats]]
    length, main = one.length.get(one.main), one.judge.get(one.main)
    if length and main and length.value is not None and main.value is not None and length.value >= main.value:
        lines.append("Length alone does as well: look at rows of about the same length.")
    if one.unsaid:
        have = "has" if one.unsaid == 1 else "have"
        lines.append(f"{plural(one.unsaid, 'row')} {have} no score and count{'s' * (one.unsaid == 1)} as wrong.")
        if one.reason:
            lines.append(f"Mostly because: {one_line(one.reason, 200)}")
    if one.unknown:
        lines.append(f"Of {plural(one.unknown, 'row')} the judge couldn't tell; they count as wrong.")
    if one.groups < 20:
        lines.append(f"Only {plural(one.groups, 'group')}: the intervals are rough, and too narrow.")
    return lines


def _short(name: str) -> str:
    return {"balanced accuracy at the best cut": "  at the best cut", "of about the same length": "  same length"}.get(
        name, name
    )


def _interval(measured: Featurized) -> str:
    if measured.value is None:
        return "undefined"
    ends = "" if measured.low is None or measured.high is None else f" [{measured.low:.2f}, {measured.high:.2f}]"
    return f"{measured.value:.2f}{ends}"


def _number(measured: Featurized | None) -> str:
    if measured is None:
        return ""
    return "undef." if measured.value is None else f"{measured.value:.2f}"
