"""One self-contained HTML file for a run.

Written in two passes over the cases, so that a run of any size fits: the first ranks them and keeps the rows of the
worst, the second keeps the HTML of the few hundred worst of all, each cut to a bounded size.
"""

import heapq
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ragtriage.core.display import one_line, plural, settled, told_apart
from ragtriage.diagnosis.headline import KIND_WORDS, Rank
from ragtriage.diagnosis.rules import is_bad
from ragtriage.report.case_report import ListedCase, case_report, listed_case
from ragtriage.report.judge_document import card_sections
from ragtriage.report.run_document import repeats_report
from ragtriage.report.run_report import MOST_REASONS, Header, MetricReport, RunReport
from ragtriage.report.templating import environment, page_parts, pages, shares, write_page
from ragtriage.report.words import LEVEL_SIGNS, SIGNS
from ragtriage.runs.tally import Diagnosed

FULL = 300
"""Cases that are shown in full."""
MOST_ROWS = 2_000
"""Cases that stand in the table, the worst of them."""
MOST_BYTES = 12_000_000
"""Of all full cases together; the rest stand as rows, so that the file stays under 20 MB."""
PLOT = (220, 54)
"""Width and height of a distribution plot, in its own units."""
GAP = 2
"""Between the bars of a plot."""
SHARES = ("failure", "quality", "doubt", "undetermined", "low-score", "waste", "right", "no-fault")
"""The order of the bar that shows how many cases are of which kind."""

Ranked = tuple[Rank, int, str, ListedCase]
"""A case's rank, its place in the input, its id and its row."""


@dataclass(frozen=True, slots=True)
class PageLinks:
    """Where the parts of the page lead: to its own cases, and nowhere else. The viewer's lead to lists of cases."""

    cases: Mapping[str, int]
    """Id → number of the cases that are shown in full."""

    def case(self, name: str) -> str:
        """The address of a case; empty, as the others, where there is none."""
        return f"#case-{self.cases[name]}" if name in self.cases else ""

    def bar(self, metric: MetricReport, at: int) -> str:  # noqa: ARG002  # as the viewer's
        """Of the cases in one part of a plot."""
        return ""

    undefined = reading = kind = slice = lambda self, _: ""  # noqa: ARG005  # as the viewer's


def write_run_page(path: Path, run: RunReport, cases: Callable[[], Iterable[Diagnosed]], full: int = FULL) -> None:
    """Write the report as one HTML file that loads nothing.

    `cases` is called twice and gives the same order each time. The `full` worst are shown in full, the others as rows
    of a table. An older file is replaced only when the new one is complete.
    """
    header = run.header
    kinds: Counter[str] = Counter()
    worst = heapq.nsmallest(MOST_ROWS, _ranked(cases(), header, kinds))
    names = [m.numbers.name for m in run.metrics]
    rules = list(dict.fromkeys(rule for _, _, _, row in worst for rule in row.rules))
    rows = sorted(
        (place, _as_array(row, at, names, rules, header.config.thresholds))
        for at, (_, place, _, row) in enumerate(worst, 1)
    )
    same, tables = repeats_report(run.repeats.summary, header.info.judge) if run.repeats else ("", ())
    columns = {
        "titles": [m.title for m in run.metrics],
        "thresholds": [[m.threshold, m.numbers.better == "lower"] for m in run.metrics],
        "kinds": dict(KIND_WORDS),
        "rules": [rule.replace("_", " ") for rule in rules],
        "signs": {"kinds": {kind: SIGNS[kind] for kind in KIND_WORDS}, **LEVEL_SIGNS},
    }
    stream = environment().get_template("page.html.j2").generate(
        run=run,
        header=header,
        ranked=kinds.total(),
        listed=len(worst),
        kinds=kinds,
        links=PageLinks({case: number for number, (_, _, case, _) in enumerate(worst[:full], 1)}),
        plot_size=PLOT,
        plot_of=plot_of,
        missing_scores_of=missing_scores_of,
        shares=shares(kinds, SHARES),
        repeats=run.repeats.summary if run.repeats else None,
        same=same,
        repeat_tables=tables,
        judge_sections=card_sections(header.judge_card) if header.judge_card else (),
        columns=_json(columns),
        rows=Markup(",\n").join(_json(row) for _, row in rows),
        full_cases=list(pages(_in_full(cases(), worst[:full], header), MOST_BYTES)),
        **page_parts(["report.js", "marks.js"], "report.css"),
    )  # fmt: skip
    write_page(path, stream)


def _ranked(cases: Iterable[Diagnosed], header: Header, kinds: Counter[str]) -> Iterator[Ranked]:
    for place, (record, findings) in enumerate(cases):
        row = listed_case(record, findings, header.config)
        kinds[row.kind] += 1
        yield row.rank, place, record.case.id, row


def _in_full(cases: Iterable[Diagnosed], worst: Sequence[Ranked], header: Header) -> Iterator[str]:
    template = environment().get_template("case.html.j2")
    numbers = {place: number for number, (_, place, _, _) in enumerate(worst, 1)}
    found = {}
    for place, (record, findings) in enumerate(cases):
        if n := numbers.get(place):
            case = case_report(record, findings, header.config)
            found[n] = template.render(n=n, row=worst[n - 1][3], case=case)
    yield from (found.pop(n) for n in sorted(found))


def plot_of(metric: MetricReport) -> dict[str, Any]:
    """The distribution of a metric's scores, in the plot's units: its `bars`, and where the `threshold` lies."""
    m, threshold = metric.numbers, metric.threshold
    bottom, top = m.range
    width, height = PLOT
    line = None if threshold is None else round((threshold - bottom) / (top - bottom) * width, 1)
    highest = max(m.bins, default=0)
    if not highest:
        return {"bars": (), "threshold": line}
    each, step = width / len(m.bins), (top - bottom) / len(m.bins)
    bars = []
    for i, count in enumerate(m.bins):
        tall = max(1.5, height * count / highest) if count else 0.0
        start, end = bottom + i * step, bottom + (i + 1) * step
        label = f"{start:.1f} to {end:.1f}: {plural(count, 'case')}"
        bad = is_bad((start + end) / 2, threshold, m.better)
        place = {"x": round(i * each + GAP / 2, 1), "y": round(height - tall, 1)}
        bars.append({**place, "width": each - GAP, "height": round(tall, 1), "bad": bad, "label": label})
    return {"bars": bars, "threshold": line}


def missing_scores_of(metric: MetricReport) -> list[str]:
    """Why scores of a metric are missing."""
    m = metric.numbers
    gaps = [f"{one_line(reason, 160)} ({count:,})" for reason, count in list(m.undefined.items())[:MOST_REASONS]]
    if len(m.undefined) > MOST_REASONS:
        gaps.append(f"{len(m.undefined) - MOST_REASONS} more reasons")
    if m.unknown:
        gaps.append(f"{plural(m.unknown, 'component')} left out: the judge could not tell")
    return gaps


def _exact(value: float, limit: float | None) -> float:
    """A score to three places, or as many more as show on which side of its threshold it lies."""
    return settled(value, max(3, len(told_apart(value, limit).partition(".")[2])))


def _as_array(
    row: ListedCase, number: int, names: Sequence[str], rules: Sequence[str], limits: Mapping[str, float]
) -> list[Any]:
    """A row as the script reads it: place, id, query, kind, component, about, reading, sure, findings, the scores."""
    scores = [None if (value := row.scores.get(name)) is None else _exact(value, limits.get(name)) for name in names]
    found = [rules.index(rule) for rule in row.rules]
    return [number, row.id, row.query, row.kind, row.component, row.about, row.reading, int(row.sure), found, *scores]


def _json(value: object) -> Markup:
    """JSON that can stand inside a script element: no `<` in it, and no lone surrogates."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))  # noqa: S704  # no <
