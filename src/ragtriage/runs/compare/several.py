"""More than two runs beside each other, over the cases that all of them have; the last two are compared."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ragtriage.core.errors import InputError
from ragtriage.core.metric import Better
from ragtriage.core.statistics import Places
from ragtriage.diagnosis.rules import FindingKind, Rule
from ragtriage.runs.compare.changes import incomparable
from ragtriage.runs.compare.compare import CompareOptions, compare
from ragtriage.runs.compare.comparison import Comparison, SideHeader
from ragtriage.runs.compare.matched import Matched, match
from ragtriage.runs.compare.pairing import Pairing, pair_up
from ragtriage.runs.compare.sides import Side
from ragtriage.runs.metric_tally import weighted_interval


@dataclass(frozen=True, slots=True)
class MeanOfRun:
    """A metric's mean over the cases of one side that have the score, by the newest side's weights."""

    mean: float
    low: float
    """Ends of the 95 % interval by the choice of cases."""
    high: float
    cases: int


@dataclass(frozen=True, slots=True)
class MetricOfRuns:
    """One metric of all sides."""

    name: str
    title: str
    better: Better
    means: tuple[MeanOfRun | None, ...]
    """One a side; None where no case has the score, or it can't be held against the newest side's."""


@dataclass(frozen=True, slots=True)
class FindingOfRuns:
    """One rule of all sides."""

    rule: str
    kind: FindingKind
    counts: tuple[float | None, ...]
    """How many cases have it, one a side, of several trials their mean; None where findings aren't known."""


@dataclass(frozen=True, slots=True)
class SeveralRuns:
    """At least three sides."""

    sides: tuple[SideHeader, ...]
    """The oldest first."""
    cases: int
    """That all sides have."""
    metrics: tuple[MetricOfRuns, ...]
    findings: tuple[FindingOfRuns, ...]
    """Those that some case has."""
    last: Comparison
    """Of the last two."""
    notes: tuple[str, ...] = ()


def compare_several(
    sides: Sequence[Side], rules: Sequence[Rule], options: CompareOptions, notes: Sequence[str] = ()
) -> SeveralRuns:
    """Hold sides against each other, the oldest first, read with the same thresholds and rules."""
    last = compare(sides[-2], sides[-1], rules, options)
    newest = sides[-1]
    pairings = [pair_up(side.table, newest.table, options.pair) for side in sides]
    places = [_places(one, len(newest.table)) for one in pairings]
    everywhere = np.flatnonzero(np.all([own >= 0 for own in places], axis=0))
    if not len(everywhere):
        raise InputError("no case is in all of these runs: compare fewer of them")
    matched = [match(side, newest, pairing, None)[0] for side, pairing in zip(sides, pairings, strict=True)]
    at = [own[everywhere] for own in places]
    told = [*notes]
    metrics = tuple(_metrics(matched, at, everywhere, options, told))
    return SeveralRuns(
        tuple(side.header for side in sides),
        len(everywhere),
        metrics,
        tuple(_findings(sides, at, rules)),
        last,
        tuple(told),
    )


def _places(pairing: Pairing, newest: int) -> Places:
    """For every case of the newest side its place on a side; −1 where it has none."""
    found = np.full(newest, -1, np.int64)
    found[pairing.new] = pairing.base
    return found


def _metrics(
    matched: Sequence[Matched], at: Sequence[Places], newest: Places, options: CompareOptions, notes: list[str]
) -> Iterator[MetricOfRuns]:
    names: Collection[str] | None = options.metrics
    weight = matched[-1].new.table.weight[newest]
    for metric in matched[-1].new.metrics:
        if names is not None and metric.name not in names:
            continue
        means: list[MeanOfRun | None] = []
        for one, own in zip(matched, at, strict=True):
            side = one.base
            why = incomparable(side, one.new, metric.name, one.texts, across_judges=options.across_judges)
            if why:
                notes.append(f"{metric.title} of {side.header.name} is left out: {why[0]}")
                means.append(None)
                continue
            values = side.table.scores[metric.name][own]
            there = ~np.isnan(values)
            found = weighted_interval(values[there], weight[there]) if there.any() else None
            means.append(MeanOfRun(*found, int(there.sum())) if found else None)
        yield MetricOfRuns(metric.name, metric.title, metric.better, tuple(means))


def _findings(sides: Sequence[Side], at: Sequence[Places], rules: Sequence[Rule]) -> Iterator[FindingOfRuns]:
    for rule in rules:
        counts: list[float | None] = []
        for side, own in zip(sides, at, strict=True):
            holds = side.table.found.holds.get(rule.name) if side.table.found else None
            counts.append(None if holds is None else float(np.nansum(holds[own])))
        if any(counts):
            yield FindingOfRuns(rule.name, rule.kind, tuple(counts))
