"""What the HTML report shows of a run as a whole: cards with distributions, diagnosis, slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragtriage.diagnosis import KINDS
from ragtriage.diagnosis.thresholds import BAD, is_bad
from ragtriage.metrics import CITATIONS
from ragtriage.report.header import Header
from ragtriage.report.plain import one_line
from ragtriage.report.view import better_of, title_of
from ragtriage.report.words import SIGNS, citing_of, corrected_of, level_mark, plural, titled, two_places
from ragtriage.runs.summary import Group, MetricSummary, Summary

PLOT = (220, 54)
"""Width and height of a distribution plot, in its own units."""
GAP = 2
MOST_REASONS = 8
ABOUT_CITATIONS = frozenset(metric.name for metric in CITATIONS)
SHARES: tuple[str, ...] = ("failure", "quality", "doubt", "undetermined", "waste", "right", "healthy")
"""The order of the bar that shows how many cases are how."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a distribution plot, in the plot's units."""

    x: float
    y: float
    width: float
    height: float
    bad: bool
    """Whether it lies on the wrong side of the threshold."""
    label: str


@dataclass(frozen=True, slots=True)
class Card:
    """One metric over all cases."""

    name: str
    title: str
    about: str
    mean: str
    interval: str
    corrected: str
    """The mean as people's labels correct it; empty without labels."""
    bad: str
    """The sign and word of a mean on the wrong side of the threshold; empty for another."""
    threshold: str
    line: float | None
    """Where the threshold lies in the plot."""
    bars: tuple[Bar, ...]
    ends: tuple[str, str]
    """What the plot's axis begins and ends with."""
    cases: str
    beside: str
    """What is to be known beside the mean; empty if nothing is."""
    gaps: tuple[str, ...]
    """Reasons for undefined scores and unknown components, each with its count."""
    failed: str


@dataclass(frozen=True, slots=True)
class Share:
    """One part of the bar that shows how many cases are how."""

    kind: str
    cases: int
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class GroupView:
    """All findings of one kind on one component."""

    group: Group
    worst: tuple[tuple[str, int | None], ...]
    """Ids, each with the number of its full case where it is shown in full."""


@dataclass(frozen=True, slots=True)
class SliceRow:
    """One slice: its cases, and for each metric the mean and, if it is bad, the sign and word that say so."""

    label: str
    cases: int
    cells: tuple[tuple[str, str], ...]


def cards_of(summary: Summary, header: Header) -> tuple[Card, ...]:
    """One card a metric."""
    return tuple(_card(m, header, summary) for m in summary.metrics)


def shares_of(kinds: Mapping[str, int]) -> tuple[Share, ...]:
    """How many cases are how, as parts of a bar 100 wide."""
    total = sum(kinds.values()) or 1
    found, at = [], 0.0
    for kind in SHARES:
        if kinds.get(kind):
            width = 100 * kinds[kind] / total
            found.append(Share(kind, kinds[kind], round(at, 3), round(width, 3)))
            at += width
    return tuple(found)


def groups_of(summary: Summary, anchors: Mapping[str, int]) -> tuple[list[GroupView], list[GroupView]]:
    """What to repair, and apart from it what is wasted."""
    found = [GroupView(g, tuple((one_line(case, 80), anchors.get(case)) for case in g.worst)) for g in summary.groups]
    found.sort(key=lambda view: KINDS.index(view.group.kind) if view.group.kind in KINDS else len(KINDS))
    return [v for v in found if v.group.kind != "waste"], [v for v in found if v.group.kind == "waste"]


def slices_of(slices: Mapping[str, Summary], header: Header) -> tuple[list[str], list[SliceRow]]:
    """The titles of the metrics, and one row a slice."""
    names = list(dict.fromkeys(m.name for summary in slices.values() for m in summary.metrics))
    return [titled(title_of(name, header.metrics), better_of(name, header.metrics), SIGNS) for name in names], [
        SliceRow(one_line(label, 80) or "(empty)", summary.cases, _cells(summary, names, header.thresholds))
        for label, summary in slices.items()
    ]


def _cells(summary: Summary, names: Sequence[str], thresholds: Mapping[str, float]) -> tuple[tuple[str, str], ...]:
    by_name = {m.name: m for m in summary.metrics}
    found = []
    for name in names:
        m = by_name.get(name)
        if m is None or m.mean is None:
            found.append(("–", ""))
        else:
            found.append((two_places(m.mean), _bad(m, thresholds.get(name))))
    return tuple(found)


def _bad(m: MetricSummary, threshold: float | None) -> str:
    return f"{level_mark(m.better, SIGNS)} {BAD[m.better]}" if is_bad(m.mean, threshold, m.better) else ""


def _card(m: MetricSummary, header: Header, summary: Summary) -> Card:
    bottom, top = m.range
    threshold, correction = header.thresholds.get(m.name), header.corrections.get(m.name)
    gaps = [f"{one_line(reason, 160)} ({count:,})" for reason, count in list(m.undefined.items())[:MOST_REASONS]]
    if len(m.undefined) > MOST_REASONS:
        gaps.append(f"{len(m.undefined) - MOST_REASONS} more reasons")
    if m.unknown:
        gaps.append(f"{plural(m.unknown, 'component')} left out: the judge could not tell")
    line = None if threshold is None else round((threshold - bottom) / (top - bottom) * PLOT[0], 1)
    undefined = sum(m.undefined.values())
    return Card(
        m.name,
        titled(m.title, m.better, SIGNS),
        m.about,
        "–" if m.mean is None else two_places(m.mean),
        "" if m.low is None or m.high is None else f"{two_places(m.low)} – {two_places(m.high)}",
        corrected_of(correction) if correction and m.mean is not None else "",
        _bad(m, threshold),
        "" if threshold is None else f"{threshold:g}",
        line,
        _bars(m, bottom, top, threshold),
        (f"{bottom:g}", f"{top:g}"),
        f"{m.n:,} of {plural(summary.cases, 'case')}" + (f", {undefined:,} undefined" if undefined else ""),
        citing_of(summary) if m.name in ABOUT_CITATIONS else "",
        tuple(gaps),
        f"failed on {plural(m.failed, 'case')}: {one_line(m.cause, 200)}" if m.failed else "",
    )


def _bars(m: MetricSummary, bottom: float, top: float, threshold: float | None) -> tuple[Bar, ...]:
    highest = max(m.bins, default=0)
    if not highest:
        return ()
    width, height = PLOT
    each, step = width / len(m.bins), (top - bottom) / len(m.bins)
    found = []
    for i, count in enumerate(m.bins):
        tall = max(1.5, height * count / highest) if count else 0.0
        start, end = bottom + i * step, bottom + (i + 1) * step
        label = f"{start:.1f} to {end:.1f}: {plural(count, 'case')}"
        bad = is_bad((start + end) / 2, threshold, m.better)
        found.append(Bar(round(i * each + GAP / 2, 1), round(height - tall, 1), each - GAP, round(tall, 1), bad, label))
    return tuple(found)
