"""A run in the terminal.

Everything is laid out without lines and boxes, so that it reads the same in a log or a pipe; texts that came from
outside are `rich.text.Text`, which interprets no markup, and are harmless before they get there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rich.text import Text

from ragtriage.report.header import Header
from ragtriage.report.order import HEALTHY, Row, worst_first
from ragtriage.report.plain import one_line
from ragtriage.report.terminal_diagnosis import print_diagnosis
from ragtriage.report.terminal_style import KIND_STYLE, bar, heading, say, signs_of, table
from ragtriage.report.view import is_low, title_of
from ragtriage.report.words import KIND_WORDS, flagged_of, plural
from ragtriage.summary import MetricSummary, Summary

if TYPE_CHECKING:
    from rich.console import Console

MOST_REASONS = 8
"""Reasons for undefined scores that are listed for one metric."""


def print_summary(
    console: Console, header: Header, summary: Summary, slices: Mapping[str, Summary] | None = None
) -> None:
    """Print a run's metrics, diagnosis and waste.

    Args:
        console: where to; its width and colours decide the look.
        header: which run it is, and the thresholds that it was read with.
        summary: the run in numbers.
        slices: tag value → the numbers of its cases, shown as one more table.
    """
    signs = signs_of(console)
    _print_header(console, header, summary)
    if summary.cases == 0:
        console.print("No case was evaluated, so there is nothing to show yet.")
    else:
        _print_metrics(console, header, summary)
        print_diagnosis(console, summary)
        if slices:
            _print_slices(console, header, slices)
    if header.spent:
        console.print()
        say(console, Text(header.spent, style="dim"), 0)
    if summary.flagged:
        say(console, Text(flagged_of(summary), style="yellow"), 0)
    if header.rejected:
        console.print()
        console.print(Text(f"{plural(header.rejected, 'row')} of the input could not be used:", style="yellow"))
        for reason in header.rejections:
            say(console, Text(one_line(reason, 300)), 2, 2)
        rest = header.rejected - len(header.rejections)
        if rest > 0 and header.rejections:
            say(console, Text(f"and {rest:,} more", style="dim"))
    if header.partial(summary.cases):
        of = f" of {header.of:,}" if header.of is not None else ""
        console.print()
        console.print(Text(f"Not complete {signs.dash} {summary.cases:,}{of} cases so far ({header.state}).", "yellow"))


def print_cases(console: Console, rows: Iterable[Row], most: int | None = None) -> None:
    """Print one line a case, worst first.

    Args:
        console: where to.
        rows: from `row_of(record, findings)`, in any order.
        most: how many to print; all without it.
    """
    signs = signs_of(console)
    ordered = worst_first(rows)
    shown = ordered[:most]
    names = list(dict.fromkeys(name for row in shown for name in row.scores))
    widths = {name: max(4, len(short_title(name))) for name in names}
    longest = min(20, max((len(row.id) for row in shown), default=4))
    left = console.width - longest - sum(width + 1 for width in widths.values()) - 2
    grid = table(1)
    grid.add_column("case", no_wrap=True, width=max(4, longest), overflow="ellipsis")
    grid.add_column("finding", no_wrap=True, width=max(14, left), overflow="ellipsis")
    for name in names:
        grid.add_column(short_title(name), justify="right", no_wrap=True, width=widths[name])
    for row in shown:
        style = KIND_STYLE[row.kind]
        said = Text(f"{signs.kinds[row.kind]} ", style=style)
        said.append(KIND_WORDS[row.kind], style=style)
        said.append("" if row.sure else "?", style=style)
        if row.kind not in (HEALTHY, "undetermined"):
            said.append(f" {signs.dot} {row.component}")
        if row.reading and console.width >= WIDE:
            said.append(f": {row.reading}", style="dim")
        values = (row.scores.get(name) for name in names)
        grid.add_row(Text(row.id, style="bold"), said, *(signs.dash if v is None else f"{v:.2f}" for v in values))
    console.print(grid)
    _print_short_titles(console, names)
    if any(not row.sure and row.kind not in (HEALTHY, "undetermined") for row in shown):
        say(console, Text("?: not sure, a score lies near its threshold or on unsure verdicts", style="dim"), 0)
    if len(ordered) > len(shown):
        say(console, Text(f"{plural(len(ordered) - len(shown), 'more case')} not listed", style="dim"), 0)


WIDE = 130
"""From this width on, what a finding says is printed too."""
SHORT = {
    "source_precision": "src",
    "fact_precision": "fact",
    "source_query_coverage": "found",
    "response_precision": "point",
    "response_query_coverage": "cover",
    "self_distinctness": "once",
    "groundedness": "ground",
}
"""Column heads where seven metrics share a line."""


def short_title(name: str) -> str:
    """A metric's name in about five characters."""
    return SHORT.get(name, name[:6])


def _print_header(console: Console, header: Header, summary: Summary) -> None:
    signs = signs_of(console)
    facts = [f"Run {header.run}", header.input, f"judged by {header.judge}" if header.judge else "", header.created]
    facts.append(plural(summary.cases, "case"))
    line = Text(f" {signs.dot} ".join(one_line(fact, 120) for fact in facts if fact))
    line.stylize("bold", 0, len(facts[0]))
    say(console, line, 0, 2)
    console.print()


def _print_metrics(console: Console, header: Header, summary: Summary) -> None:
    signs = signs_of(console)
    wide = console.width >= 100
    grid = table()
    grid.add_column("metric", no_wrap=True)
    grid.add_column("mean", justify="right", no_wrap=True)
    grid.add_column("", no_wrap=True)
    grid.add_column("95 % interval" if wide else "95 %", no_wrap=True)
    grid.add_column("", no_wrap=True)
    grid.add_column("cases", justify="right", no_wrap=True)
    if any(m.undefined or m.failed for m in summary.metrics):
        grid.add_column("undefined" if wide else "undef.", justify="right", no_wrap=True)
    for m in summary.metrics:
        threshold = header.thresholds.get(m.name)
        low = is_low(m.mean, threshold, m.better)
        style = "bold yellow" if low else ""
        missing = sum(m.undefined.values()) + m.failed
        cells = [
            Text(one_line(m.title, 40), style=style),
            Text(signs.dash if m.mean is None else f"{m.mean:.2f}", style=style),
            Text(f"{signs.low} low" if low else "", style=style),
            Text("" if m.low is None or m.high is None else f"{m.low:.2f}{signs.dash}{m.high:.2f}"),
            bar(m.mean, 20 if wide else 10, signs, style or "cyan"),
            Text(f"{m.n:,}"),
            Text(f"{missing:,}" if missing else ""),
        ]
        grid.add_row(*cells[: len(grid.columns)])
    console.print(grid)
    _print_notes(console, header, summary)


def _print_notes(console: Console, header: Header, summary: Summary) -> None:
    """What the table's marks mean, and why scores are missing: one line a reason, with the metrics it meets."""
    signs = signs_of(console)
    low = [m for m in summary.metrics if is_low(m.mean, header.thresholds.get(m.name), m.better)]
    if low:
        limits = ", ".join(f"{m.title} {header.thresholds[m.name]:g}" for m in low)
        say(console, Text(f"{signs.low} low: beyond its threshold ({limits})", style="dim"), 0, 2)
    reasons: dict[str, list[str]] = {}
    for m in summary.metrics:
        for reason, count in m.undefined.items():
            reasons.setdefault(reason, []).append(f"{m.title} {count:,}")
    for reason, metrics in list(reasons.items())[:MOST_REASONS]:
        say(console, Text(f"Undefined, {one_line(reason, 160)}: {', '.join(metrics)}", style="dim"), 0, 2)
    if len(reasons) > MOST_REASONS:
        say(console, Text(f"Undefined for {len(reasons) - MOST_REASONS} more reasons", style="dim"), 0, 2)
    unknown = ", ".join(f"{m.title} {m.unknown:,}" for m in summary.metrics if m.unknown)
    if unknown:
        said = f"Components left out because the judge could not tell: {unknown}"
        say(console, Text(said, style="dim"), 0, 2)
    failed = ", ".join(f"{m.title} {plural(m.failed, 'case')}" for m in summary.metrics if m.failed)
    if failed:
        said = f"The judge failed: {failed}. The same command tries these again."
        say(console, Text(said, style="bold red"), 0, 2)


def _print_slices(console: Console, header: Header, slices: Mapping[str, Summary]) -> None:
    signs = signs_of(console)
    names = list(dict.fromkeys(m.name for summary in slices.values() for m in summary.metrics))
    grid = table()
    grid.add_column("slice", max_width=30, overflow="ellipsis", no_wrap=True)
    grid.add_column("cases", justify="right", no_wrap=True)
    for name in names:
        grid.add_column(title_of(name) if console.width >= WIDE else short_title(name), justify="right")
    for label, summary in slices.items():
        by_name = {m.name: m for m in summary.metrics}
        cells = [_slice_cell(by_name.get(name), header.thresholds.get(name), signs.low, signs.dash) for name in names]
        grid.add_row(Text(one_line(label, 60) or "(empty)"), Text(f"{summary.cases:,}"), *cells)
    heading(console, "By slice")
    console.print(grid)
    if console.width < WIDE:
        _print_short_titles(console, names)


def _print_short_titles(console: Console, names: Iterable[str]) -> None:
    words = "; ".join(f"{short_title(name)}: {title_of(name)}" for name in names)
    if words:
        say(console, Text(words, style="dim"), 0, 2)


def _slice_cell(m: MetricSummary | None, threshold: float | None, low: str, dash: str) -> Text:
    if m is None or m.mean is None:
        return Text(dash)
    is_bad = is_low(m.mean, threshold, m.better)
    return Text(f"{low if is_bad else ''}{m.mean:.2f}", style="bold yellow" if is_bad else "")
