"""How repeatable scores are, in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from ragtriage.repeats import CaseRepeat, RepeatSummary
from ragtriage.report.plain import one_line
from ragtriage.report.terminal_style import heading, say, signs_of, table
from ragtriage.report.view import better_of
from ragtriage.report.words import plural, titled

if TYPE_CHECKING:
    from rich.console import Console

MOST_CASES = 10
"""Cases that are listed, over all metrics."""


def print_repeats(console: Console, summary: RepeatSummary, *, input: str = "", judge: str = "") -> None:  # noqa: A002  # as in Header
    """Print a repeated evaluation: a line a metric, then the cases that are least alike.

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
    _print_metrics(console, summary)
    _print_cases(console, summary)


def _print_metrics(console: Console, summary: RepeatSummary) -> None:
    dash = signs_of(console).dash
    grid = table()
    grid.add_column("metric", no_wrap=True)
    for name in ("mean", "spread", "in a case", "flips", "verdicts", "sees"):
        grid.add_column(name, justify="right", no_wrap=True)
    left_out = any(m.undefined or m.failed for m in summary.metrics)
    if left_out:
        grid.add_column("left out", justify="right", no_wrap=True)
    for m in summary.metrics:
        numbers = (_number(value, 2 if i == 0 else 3) for i, value in enumerate((m.mean, m.spread, m.case_spread)))
        shares = (_share(value) for value in (m.flips, m.verdict_flips))
        cells = [*numbers, *shares, _number(m.smallest, 3)]
        if left_out:
            cells.append(f"{m.undefined + m.failed:,}" if m.undefined or m.failed else "")
        title = titled(m.title, better_of(m.name), signs_of(console))
        grid.add_row(Text(one_line(title, 60)), *(Text(dash if cell is None else cell) for cell in cells))
    console.print(grid)
    for note in (
        "spread: of the run's mean over trials; in a case: of its score over trials (standard deviations)",
        "flips: cases that are low in one trial and high in another; verdicts: those that differ between trials",
        "sees: the smallest difference that can be told from chance, between two runs on cases of their own",
    ):
        say(console, Text(note, style="dim"), 0, 2)
    failed = ", ".join(f"{m.title} {m.failed:,}" for m in summary.metrics if m.failed)
    if failed:
        said = f"Scores left out because the judge failed: {failed}. The same command tries these again."
        say(console, Text(said, style="bold red"), 0, 2)


def _print_cases(console: Console, summary: RepeatSummary) -> None:
    found = [(m, case) for m in summary.metrics for case in m.worst]
    if not found:
        return
    found.sort(key=lambda pair: (-pair[1].spread, -pair[1].verdict_flips))  # stable: metrics keep their order
    longest = min(30, max(len(case.case) for _, case in found[:MOST_CASES]))
    heading(console, "Least alike")
    grid = table()
    grid.add_column("case", no_wrap=True, width=max(4, longest), overflow="ellipsis")
    grid.add_column("metric", no_wrap=True)
    grid.add_column("mean", justify="right", no_wrap=True)
    grid.add_column("spread", justify="right", no_wrap=True)
    grid.add_column("", no_wrap=True)
    for metric, case in found[:MOST_CASES]:
        grid.add_row(
            Text(one_line(case.case, 60), style="bold"),
            Text(one_line(metric.title, 40)),
            Text(f"{case.mean:.2f}"),
            Text(f"{case.spread:.3f}"),
            Text(_what_flips(case), style="dim"),
        )
    console.print(grid)


def _what_flips(case: CaseRepeat) -> str:
    said = ["flips"] if case.flipped else []
    if case.verdict_flips:
        said.append(f"{plural(case.verdict_flips, 'verdict')} differ{'s' if case.verdict_flips == 1 else ''}")
    return ", ".join(said)


def _number(value: float | None, digits: int) -> str | None:
    return None if value is None else f"{value:.{digits}f}"


def _share(value: float | None) -> str | None:
    return None if value is None else f"{100 * value:.1f} %"
