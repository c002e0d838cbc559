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
from ragtriage.diagnosis import Finding, any_reads
from ragtriage.report.header import Header
from ragtriage.report.judge_card import sections_of
from ragtriage.report.order import UNREAD, Rank, Row, healthy_cases, row_of
from ragtriage.report.page import cards_of, groups_of, shares_of, slices_of
from ragtriage.report.repetition import repetition_of
from ragtriage.report.templating import asset, environment, policy
from ragtriage.report.view import case_view, title_of
from ragtriage.report.words import KIND_WORDS, SIGNS, titled
from ragtriage.runs.repeats import RepeatSummary
from ragtriage.runs.summary import Summary

FULL = 300
"""Cases that are shown in full."""
MOST_ROWS = 10_000
"""Cases that stand in the table, the worst of them."""
MOST_BYTES = 12_000_000
"""Of all full cases together; the rest stand as rows, so that the file stays under 20 MB."""

Cases = Callable[[], Iterable[tuple[Record, tuple[Finding, ...]]]]
"""Gives the cases with their findings, in the same order each time it is called."""


def write_report(
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
    survey = _survey(cases(), full, header)
    body = _Body(header, survey)
    part = path.with_name(path.name + ".part")
    try:
        with part.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
            for chunk in _page(header, summary, slices, survey, body, cases, repeats):
                file.write(chunk)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@dataclass
class _Survey:
    """What the first pass found out."""

    cases: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    listed: dict[int, int] = field(default_factory=dict)
    """Place in the input → place among the worst, from 0."""
    full: int = 0
    """How many of those are shown in full."""
    anchors: dict[str, int] = field(default_factory=dict)
    """Id → number of its full case, from 1."""


def _survey(cases: Iterable[tuple[Record, tuple[Finding, ...]]], full: int, header: Header) -> _Survey:
    survey = _Survey()

    def ranked() -> Iterator[tuple[Rank, int, str]]:
        for place, (record, findings) in enumerate(cases):
            row = row_of(record, findings, header.rules, header.thresholds, header.metrics)
            survey.cases += 1
            survey.kinds[row.kind] += 1
            yield row.rank, place, record.case.id

    worst = heapq.nsmallest(MOST_ROWS, ranked())
    survey.listed = {place: i for i, (_, place, _) in enumerate(worst)}
    survey.full = min(full, len(worst))
    survey.anchors = {case: i + 1 for i, (_, _, case) in enumerate(worst[: survey.full])}
    return survey


class _Body:
    """The second pass: rows as they come, full cases kept until all rows are written."""

    def __init__(self, header: Header, survey: _Survey) -> None:
        self._header = header
        self._survey = survey
        self._template = environment().get_template("case.html.j2")
        self._full: dict[int, str] = {}
        self.shown = survey.full

    def rows(self, cases: Iterable[tuple[Record, tuple[Finding, ...]]], names: list[str]) -> Iterator[Markup]:
        """One JSON array a case."""
        before = ""
        for place, (record, findings) in enumerate(cases):
            at = self._survey.listed.get(place)
            if at is None:
                continue
            header = self._header
            row = row_of(record, findings, header.rules, header.thresholds, header.metrics)
            if at < self._survey.full:
                view = case_view(record, findings, header.thresholds, header.metrics)
                self._full[at] = self._template.render(n=at + 1, row=row, case=view)
            yield Markup(before + _json(_as_array(row, at, names)))  # noqa: S704  # _json escapes <
            before = ",\n"

    def cases(self) -> Iterator[Markup]:
        """The full cases, worst first, until the file is large enough."""
        size = 0
        self.shown = 0
        for at in sorted(self._full):
            html = self._full.pop(at)
            size += len(html.encode("utf-8", "replace"))
            if size > MOST_BYTES:
                return
            self.shown = at + 1
            yield Markup(html)  # noqa: S704  # rendered by the template, which escapes


def _page(
    header: Header,
    summary: Summary,
    slices: Mapping[str, Summary] | None,
    survey: _Survey,
    body: _Body,
    cases: Cases,
    repeats: RepeatSummary | None,
) -> Iterator[str]:
    script, style = asset("report.js"), asset("report.css")
    names = [m.name for m in summary.metrics]
    thresholds = [[header.thresholds.get(m.name), m.better == "lower"] for m in summary.metrics]
    repair, waste = groups_of(summary, survey.anchors)
    titles, slice_rows = slices_of(slices, header) if slices else ([], [])
    columns = {
        "titles": [titled(title_of(m.name, header.metrics), m.better, SIGNS) for m in summary.metrics],
        "thresholds": thresholds,
        "kinds": dict(KIND_WORDS),
    }
    signs = {"kinds": dict(SIGNS.kinds), "low": SIGNS.low, "high": SIGNS.high}
    page = environment().get_template("page.html.j2")
    stream = page.generate(
        header=header,
        summary=summary,
        survey=survey,
        body=body,
        cards=cards_of(summary, header),
        shares=shares_of(survey.kinds),
        healthy=healthy_cases(summary),
        unread="" if any_reads(header.rules, names) else UNREAD.capitalize(),
        wasteful=survey.kinds["waste"],
        repair=repair,
        waste=waste,
        slice_titles=titles,
        slice_rows=slice_rows,
        repeats=repetition_of(repeats, header.judge) if repeats else None,
        judge_sections=sections_of(header.judge_card) if header.judge_card else (),
        columns=Markup(_json(columns | {"signs": signs})),  # noqa: S704  # _json escapes <
        rows=body.rows(cases(), names),
        full_cases=body.cases(),
        script=Markup(script),  # noqa: S704  # our own file
        style=Markup(style),  # noqa: S704  # our own file
        policy=policy(script, style),
    )
    yield from stream


def _as_array(row: Row, at: int, names: list[str]) -> list[Any]:
    """A row as the script reads it: place, id, query, kind, component, reading, sure, then the scores."""
    scores = [None if (value := row.scores.get(name)) is None else round(value, 3) for name in names]
    return [at + 1, row.id, row.query, row.kind, row.component, row.reading, int(row.sure), *scores]


def _json(value: object) -> str:
    """JSON that can stand inside a script element: no `<` in it, and no lone surrogates."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
