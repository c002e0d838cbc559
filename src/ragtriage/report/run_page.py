"""One self-contained HTML file for a run.

Written in two passes over the cases, so that a run of any size fits: the first ranks them and keeps a few numbers for
each, the second writes a row for every case and keeps the HTML of the few hundred worst, each cut to a bounded size.
"""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ragtriage.core.record import Record
from ragtriage.diagnosis import Finding
from ragtriage.diagnosis.thresholds import is_bad
from ragtriage.report.case_report import case_report
from ragtriage.report.case_rows import CaseRow, Rank, case_row
from ragtriage.report.judge_card import card_sections
from ragtriage.report.repeats_document import repeats_report
from ragtriage.report.run_report import MOST_REASONS, Header, MetricReport, RunReport, run_report
from ragtriage.report.sanitize import one_line
from ragtriage.report.templating import environment, page_parts, pages, shares, write_page
from ragtriage.report.words import KIND_WORDS, LEVEL_SIGNS, SIGNS, plural
from ragtriage.runs.repeats import RepeatSummary
from ragtriage.runs.summary import Summary

FULL = 300
"""Cases that are shown in full."""
MOST_ROWS = 10_000
"""Cases that stand in the table, the worst of them."""
MOST_BYTES = 12_000_000
"""Of all full cases together; the rest stand as rows, so that the file stays under 20 MB."""
PLOT = (220, 54)
"""Width and height of a distribution plot, in its own units."""
GAP = 2
"""Between the bars of a plot."""
SHARES = ("failure", "quality", "doubt", "undetermined", "waste", "right", "healthy")
"""The order of the bar that shows how many cases are of which kind."""

Cases = Callable[[], Iterable[tuple[Record, tuple[Finding, ...]]]]
"""Gives the cases with their findings, in the same order each time it is called."""


def write_run_page(
    path: Path,
    header: Header,
    summary: Summary,
    cases: Cases,
    slices: Mapping[str, Summary] | None = None,
    full: int = FULL,
    *,
    repeats: RepeatSummary | None = None,
) -> None:
    """Write the report as one HTML file that loads nothing.

    Args:
        path: where to; an older file is replaced only when the new one is complete.
        header: which run it is, and the thresholds that it was read with.
        summary: the run in numbers.
        cases: called twice.
        slices: tag value → the numbers of its cases.
        full: how many of the worst cases are shown in full; the others are rows of a table.
        repeats: how far several trials of it agree.

    Raises:
        OSError: the file can't be written.
    """
    ranking = _rank(cases(), full, header)
    write_page(path, _page(run_report(header, summary, slices), ranking, cases, repeats))


@dataclass
class _Ranking:
    """What the first pass found out."""

    cases: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    listed: dict[int, int] = field(default_factory=dict)
    """VerdictReport in the input → place among the worst, from 0."""
    full: int = 0
    """How many of those are shown in full."""
    anchors: dict[str, int] = field(default_factory=dict)
    """Id → number of its full case, from 1."""


def _rank(cases: Iterable[tuple[Record, tuple[Finding, ...]]], full: int, header: Header) -> _Ranking:
    ranking = _Ranking()

    def ranked() -> Iterator[tuple[Rank, int, str]]:
        for place, (record, findings) in enumerate(cases):
            row = case_row(record, findings, header.rules, header.thresholds, header.metrics)
            ranking.cases += 1
            ranking.kinds[row.kind] += 1
            yield row.rank, place, record.case.id

    worst = heapq.nsmallest(MOST_ROWS, ranked())
    ranking.listed = {place: i for i, (_, place, _) in enumerate(worst)}
    ranking.full = min(full, len(worst))
    ranking.anchors = {case: i + 1 for i, (_, _, case) in enumerate(worst[: ranking.full])}
    return ranking


class _Body:
    """The second pass: rows as they come, full cases kept until all rows are written."""

    def __init__(self, header: Header, ranking: _Ranking) -> None:
        self._header = header
        self._ranking = ranking
        self._template = environment().get_template("case.html.j2")
        self._full: dict[int, str] = {}
        self.shown = ranking.full

    def rows(self, cases: Iterable[tuple[Record, tuple[Finding, ...]]], names: list[str]) -> Iterator[Markup]:
        """One JSON array a case."""
        before, header = "", self._header
        for place, (record, findings) in enumerate(cases):
            at = self._ranking.listed.get(place)
            if at is None:
                continue
            row = case_row(record, findings, header.rules, header.thresholds, header.metrics)
            if at < self._ranking.full:
                case = case_report(record, findings, header.thresholds, header.metrics)
                self._full[at] = self._template.render(n=at + 1, row=row, case=case)
            yield Markup(before + _json(_as_array(row, at, names)))  # noqa: S704  # _json escapes <
            before = ",\n"

    def cases(self) -> Iterator[Markup]:
        """The full cases, worst first, until the file is large enough."""
        self.shown = 0
        for html in pages((self._full.pop(at) for at in sorted(self._full)), MOST_BYTES):
            self.shown += 1
            yield html


def _page(run: RunReport, ranking: _Ranking, cases: Cases, repeats: RepeatSummary | None) -> Iterator[str]:
    header, names = run.header, [m.numbers.name for m in run.metrics]
    body = _Body(header, ranking)
    columns = {
        "titles": [m.title for m in run.metrics],
        "thresholds": [[m.threshold, m.numbers.better == "lower"] for m in run.metrics],
        "kinds": dict(KIND_WORDS),
        "signs": {"kinds": {kind: SIGNS[kind] for kind in KIND_WORDS}, **LEVEL_SIGNS},
    }
    yield from environment().get_template("page.html.j2").generate(
        run=run,
        header=header,
        ranking=ranking,
        body=body,
        plot_size=PLOT,
        plot_of=plot_of,
        gaps_of=gaps_of,
        shares=shares(ranking.kinds, SHARES),
        repeats=repeats_report(repeats, header.judge) if repeats else None,
        judge_sections=card_sections(header.judge_card) if header.judge_card else (),
        columns=Markup(_json(columns)),  # noqa: S704  # _json escapes <
        rows=body.rows(cases(), names),
        full_cases=body.cases(),
        **page_parts("report.js", "report.css"),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class PlotBar:
    """One bar of a distribution plot, in the plot's units."""

    x: float
    y: float
    width: float
    height: float
    bad: bool
    """Whether it lies on the wrong side of the threshold."""
    label: str


@dataclass(frozen=True, slots=True)
class Plot:
    """How many cases have which score."""

    bars: tuple[PlotBar, ...]
    threshold: float | None
    """Where the threshold lies."""


def plot_of(metric: MetricReport) -> Plot:
    """The distribution of a metric's scores."""
    m, threshold = metric.numbers, metric.threshold
    bottom, top = m.range
    width, height = PLOT
    line = None if threshold is None else round((threshold - bottom) / (top - bottom) * width, 1)
    highest = max(m.bins, default=0)
    if not highest:
        return Plot((), line)
    each, step = width / len(m.bins), (top - bottom) / len(m.bins)
    bars = []
    for i, count in enumerate(m.bins):
        tall = max(1.5, height * count / highest) if count else 0.0
        start, end = bottom + i * step, bottom + (i + 1) * step
        label = f"{start:.1f} to {end:.1f}: {plural(count, 'case')}"
        bad = is_bad((start + end) / 2, threshold, m.better)
        x, y = round(i * each + GAP / 2, 1), round(height - tall, 1)
        bars.append(PlotBar(x, y, each - GAP, round(tall, 1), bad, label))
    return Plot(tuple(bars), line)


def gaps_of(metric: MetricReport) -> list[str]:
    """Why scores of a metric are missing."""
    m = metric.numbers
    gaps = [f"{one_line(reason, 160)} ({count:,})" for reason, count in list(m.undefined.items())[:MOST_REASONS]]
    if len(m.undefined) > MOST_REASONS:
        gaps.append(f"{len(m.undefined) - MOST_REASONS} more reasons")
    if m.unknown:
        gaps.append(f"{plural(m.unknown, 'component')} left out: the judge could not tell")
    return gaps


def _as_array(row: CaseRow, at: int, names: list[str]) -> list[Any]:
    """A row as the script reads it: place, id, query, kind, component, reading, sure, then the scores."""
    scores = [None if (value := row.scores.get(name)) is None else round(value, 3) for name in names]
    return [at + 1, row.id, row.query, row.kind, row.component, row.reading, int(row.sure), *scores]


def _json(value: object) -> str:
    """JSON that can stand inside a script element: no `<` in it, and no lone surrogates."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
