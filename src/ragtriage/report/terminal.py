"""A run in the terminal.

Everything is laid out without lines and boxes, so that it reads the same in a log or a pipe; texts that came from
outside are `rich.text.Text`, which interprets no markup, and are harmless before they get there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from ragtriage.core.metric import Metric
from ragtriage.diagnosis.thresholds import BAD, is_bad
from ragtriage.planning.requirements import REASONS
from ragtriage.report.header import Header
from ragtriage.report.order import HEALTHY, Row, worst_first
from ragtriage.report.plain import one_line
from ragtriage.report.terminal_diagnosis import print_diagnosis
from ragtriage.report.terminal_style import KIND_STYLE, bar, heading, say, signs_of, table
from ragtriage.report.view import better_of, title_of
from ragtriage.report.words import (
    KIND_WORDS,
    Signs,
    citing_of,
    corrected_of,
    flagged_of,
    level_mark,
    plural,
    titled,
    two_places,
)
from ragtriage.runs.summary import MetricSummary, Summary

if TYPE_CHECKING:
    from rich.console import Console

MOST_REASONS = 8
"""Reasons for undefined scores that are listed, beside what cases lack."""
MOST_TITLES = 3
"""Metrics that are named behind a reason; more are counted."""


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
        print_diagnosis(console, summary, header.rules)
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


def print_cases(console: Console, rows: Iterable[Row], most: int | None = None, metrics: Sequence[Metric] = ()) -> None:
    """Print one line a case, worst first.

    Args:
        console: where to.
        rows: from `row_of(record, findings)`, in any order.
        most: how many to print; all without it.
        metrics: say what those that aren't built in are called.
    """
    signs = signs_of(console)
    ordered = worst_first(rows)
    shown = ordered[:most]
    names = list(dict.fromkeys(name for row in shown for name in row.scores))
    heads = {name: _short_head(name, metrics, signs) for name in names}
    widths = {name: max(4, len(heads[name])) for name in names}
    longest = min(20, max((4, *(len(row.id) for row in shown))))
    room = console.width - longest - LEAST_FINDING - 2
    fitting = [name for place, name in enumerate(names) if sum(widths[n] + 1 for n in names[: place + 1]) <= room]
    names, unlisted = fitting or names[:1], names[len(fitting) or 1 :]
    widths = {name: widths[name] for name in names}
    left = console.width - longest - sum(width + 1 for width in widths.values()) - 2
    grid = table(1)
    grid.add_column("case", no_wrap=True, width=longest, overflow="ellipsis")
    grid.add_column("finding", no_wrap=True, width=max(LEAST_FINDING, left), overflow="ellipsis")
    for name in names:
        grid.add_column(heads[name], justify="right", no_wrap=True, width=widths[name])
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
        grid.add_row(Text(row.id, style="bold"), said, *(signs.dash if v is None else two_places(v) for v in values))
    console.print(grid)
    _print_short_titles(console, names, metrics)
    if any(not row.sure and row.kind not in (HEALTHY, "undetermined") for row in shown):
        say(console, Text("?: not sure, a score lies near its threshold or on unsure verdicts", style="dim"), 0)
    if unlisted:
        say(console, Text(f"{plural(len(unlisted), 'metric')} more than fit here; a report shows all", style="dim"), 0)
    if len(ordered) > len(shown):
        say(console, Text(f"{plural(len(ordered) - len(shown), 'more case')} not listed", style="dim"), 0)


BESIDE_BAR = 46
"""Characters that the other columns of the table of metrics take, but for the titles."""
LEAST_FINDING = 14
"""Characters of a finding that are shown, however many scores stand beside it."""
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
    "hallucination": "made up",
    "claim_relevancy": "topic",
    "query_similarity": "asked",
    "relevant_noise_sensitivity": "misled r",
    "irrelevant_noise_sensitivity": "misled i",
    "citation_groundedness": "carry",
    "citation_recall": "cited",
    "citation_precision": "apt",
    "answer_precision": "true",
    "answer_recall": "all true",
    "answer_f1": "F1",
    "context_recall": "held",
    "self_consistency": "same",
    "sample_agreement": "agree",
    "retrieval_precision": "P",
    "retrieval_recall": "R",
    "retrieval_mrr": "RR",
    "retrieval_ndcg": "nDCG",
    "ragas_faithfulness": "r.faith",
    "ragas_answer_relevance": "r.answer",
    "ragas_library_answer_relevance": "r.lib",
    "ragas_context_relevance": "r.context",
}
"""Column heads where many metrics share a line."""


def short_title(name: str) -> str:
    """A metric's name in a few characters; the value that it carries stays: `R(k=5)`."""
    base, bracket, value = name.partition("(")
    return SHORT.get(base, base[:8]) + bracket + value


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
    longest = max(len(titled(m.title, m.better, signs)) for m in summary.metrics)
    length = 20 if wide else min(10, max(4, console.width - longest - BESIDE_BAR))
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
        bad = is_bad(m.mean, threshold, m.better)
        style = "bold yellow" if bad else ""
        missing = sum(m.undefined.values()) + m.failed
        cells = [
            Text(one_line(titled(m.title, m.better, signs), 60), style=style),
            Text(signs.dash if m.mean is None else two_places(m.mean), style=style),
            Text(f"{level_mark(m.better, signs)} {BAD[m.better]}" if bad else "", style=style),
            Text("" if m.low is None or m.high is None else f"{two_places(m.low)}{signs.dash}{two_places(m.high)}"),
            bar(m.mean, m.range, length, signs, style or "cyan"),
            Text(f"{m.n:,}"),
            Text(f"{missing:,}" if missing else ""),
        ]
        grid.add_row(*cells[: len(grid.columns)])
    console.print(grid)
    _print_corrections(console, header, summary)
    _print_notes(console, header, summary)


def _print_corrections(console: Console, header: Header, summary: Summary) -> None:
    """Means as people's labels correct them, beside the raw ones."""
    dash = signs_of(console).dash
    for m in summary.metrics:
        if m.mean is not None and (found := header.corrections.get(m.name)):
            said = f"{m.title}: {two_places(m.mean)} ({corrected_of(found, dash)})"
            say(console, Text(said), 0, 2)


def _print_notes(console: Console, header: Header, summary: Summary) -> None:
    """What the table's marks mean, and why scores are missing: one line a reason, with the metrics it meets."""
    signs = signs_of(console)
    for better, level in BAD.items():
        own = (m for m in summary.metrics if m.better == better)
        bad = [m for m in own if is_bad(m.mean, header.thresholds.get(m.name), better)]
        if bad:
            limits = ", ".join(f"{m.title} {header.thresholds[m.name]:g}" for m in bad)
            said = f"{level_mark(better, signs)} {level}: beyond its threshold ({limits})"
            say(console, Text(said, style="dim"), 0, 2)
    if summary.citing:
        say(console, Text(f"{citing_of(summary)}: the citation metrics are about these", style="dim"), 0, 2)
    _print_reasons(console, summary)
    unknown = ", ".join(f"{m.title} {m.unknown:,}" for m in summary.metrics if m.unknown)
    if unknown:
        said = f"Components left out because the judge could not tell: {unknown}"
        say(console, Text(said, style="dim"), 0, 2)
    _print_failures(console, summary)


def _print_reasons(console: Console, summary: Summary) -> None:
    """Why scores are undefined, the reasons of most cases first; what cases lack is always said."""
    reasons: dict[str, list[tuple[str, int]]] = {}
    for m in summary.metrics:
        for reason, count in m.undefined.items():
            reasons.setdefault(reason, []).append((m.title, count))
    ordered = sorted(reasons.items(), key=lambda item: -max(count for _, count in item[1]))
    others = [reason for reason, _ in ordered if reason not in REASONS]
    left_out = set(others[MOST_REASONS:])
    for reason, metrics in ordered:
        if reason in left_out:
            continue
        said = ", ".join(f"{title} {count:,}" for title, count in metrics)
        if len(metrics) > MOST_TITLES:
            said = f"{len(metrics)} metrics, {plural(max(count for _, count in metrics), 'case')}"
        say(console, Text(f"Undefined, {one_line(reason, 160)}: {said}", style="dim"), 0, 2)
    if left_out:
        say(console, Text(f"Undefined for {plural(len(left_out), 'more reason')}", style="dim"), 0, 2)


def _print_failures(console: Console, summary: Summary) -> None:
    """Which scores failed and why, a line a cause."""
    causes: dict[str, list[str]] = {}
    for m in summary.metrics:
        if m.failed:
            causes.setdefault(m.cause, []).append(f"{m.title} {plural(m.failed, 'case')}")
    for cause, failed in causes.items():
        say(console, Text(f"Failed: {', '.join(failed)}: {one_line(cause, 200)}", style="bold red"), 0, 2)
    if causes:
        say(console, Text("The same command tries these again.", style="bold red"), 0, 2)


def _print_slices(console: Console, header: Header, slices: Mapping[str, Summary]) -> None:
    signs = signs_of(console)
    names = list(dict.fromkeys(m.name for summary in slices.values() for m in summary.metrics))
    grid = table()
    grid.add_column("slice", max_width=30, overflow="ellipsis", no_wrap=True)
    grid.add_column("cases", justify="right", no_wrap=True)
    for name in names:
        grid.add_column(_head(console, name, header.metrics), justify="right")
    for label, summary in slices.items():
        by_name = {m.name: m for m in summary.metrics}
        cells = [_slice_cell(by_name.get(name), header.thresholds.get(name), signs) for name in names]
        grid.add_row(Text(one_line(label, 60) or "(empty)"), Text(f"{summary.cases:,}"), *cells)
    heading(console, "By slice")
    console.print(grid)
    if console.width < WIDE:
        _print_short_titles(console, names, header.metrics)


def _head(console: Console, name: str, metrics: Sequence[Metric]) -> str:
    shown = title_of(name, metrics) if console.width >= WIDE else short_title(name)
    return titled(shown, better_of(name, metrics), signs_of(console))


def _short_head(name: str, metrics: Sequence[Metric], signs: Signs) -> str:
    """A head of the list of cases, with the arrow where there is one: words would take the room of scores."""
    arrow = signs.less if len(signs.less) == 1 else ""
    return titled(short_title(name), better_of(name, metrics), signs) if arrow else short_title(name)


def _print_short_titles(console: Console, names: Iterable[str], metrics: Sequence[Metric]) -> None:
    signs = signs_of(console)
    full = {name: titled(title_of(name, metrics), better_of(name, metrics), signs) for name in names}
    words = "; ".join(f"{short_title(name)}: {title}" for name, title in full.items())
    if words:
        say(console, Text(words, style="dim"), 0, 2)


def _slice_cell(m: MetricSummary | None, threshold: float | None, signs: Signs) -> Text:
    if m is None or m.mean is None:
        return Text(signs.dash)
    bad = is_bad(m.mean, threshold, m.better)
    return Text(f"{level_mark(m.better, signs) if bad else ''}{two_places(m.mean)}", style="bold yellow" if bad else "")
