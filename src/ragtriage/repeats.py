"""How repeatable scores are: the same cases evaluated several times, each time a trial with answers of its own.

A judge that is a language model doesn't say the same twice, so a difference between two runs may be nothing but its
noise. "Automating Groundedness Evaluation in RAG Applications" (2025) gave up a metric for its "high variance between
runs", kept one whose five runs of 78 queries lay between 88 and 92 %, and compared the differences that changes of the
application made with that range. The same is done here per metric: by the mean of a run, by case and by verdict.
"""

from __future__ import annotations

import heapq
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ragtriage.errors import ConfigError
from ragtriage.metric import Better, Metric
from ragtriage.record import Record
from ragtriage.thresholds import thresholds_with
from ragtriage.verdicts import Cell, Part, Score, Undefined, Verdict

WORST = 10
"""Cases that are listed for each metric."""
CONFIDENCE = 1.96
"""Standard errors on either side of an estimate that hold the truth 95 times of 100, for a normal distribution."""
_BITS = {"yes": 1, "no": 2, "unknown": 4}
_FAILED = 8
_SEEN = 16
"""What a verdict's number grows by for each trial in which its component occurs; the bits below say what was found."""
_MARK = 64

Grid = np.ndarray[Any, np.dtype[np.float64]]
"""Shape (n_cases, n_trials), or one row or column of it; nan where there is no score."""
Flags = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class CaseRepeat:
    """One metric on one case over all trials."""

    case: str
    mean: float
    spread: float
    """Standard deviation over trials (n − 1)."""
    flipped: bool
    """Whether it is low in one trial and high in another."""
    verdict_flips: int
    """How many of its component verdicts differ between trials."""


@dataclass(frozen=True, slots=True)
class MetricRepeat:
    """One metric over many cases and all trials."""

    name: str
    title: str
    mean: float | None
    """Mean over trials of the run's mean, which is weighted by the cases' weights; None without a score."""
    spread: float | None
    """Standard deviation (n − 1) over trials of the run's mean; None unless two trials have scores."""
    case_spread: float | None
    """Mean over cases of the standard deviation (n − 1) over trials; None unless a case has two scores."""
    flips: float | None
    """The share of cases that are low in one trial and high in another, in [0, 1], among those with two scores or more;
    None if there is none, or the metric has no threshold."""
    verdict_flips: float | None
    """The share of component verdicts that aren't the same in all trials, in [0, 1], among those whose component is
    found in all trials; None if there is none."""
    smallest: float | None
    """The smallest difference that this data set can see; see `Repeats`. None unless two cases have scores."""
    cases: int
    """How many cases have a score in some trial."""
    undefined: int
    """Scores that are left out because they are undefined: pairs of a case and a trial."""
    failed: int
    """Scores that are left out because the judge failed."""
    worst: tuple[CaseRepeat, ...]
    """The cases that are least alike, the worst first; none that is the same in all trials."""


@dataclass(frozen=True, slots=True)
class RepeatSummary:
    """What a repeated evaluation amounts to."""

    trials: int
    cases: int
    metrics: tuple[MetricRepeat, ...]

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines: metrics by name."""
        found = {m.name: asdict(m) for m in self.metrics}
        for numbers in found.values():
            del numbers["name"], numbers["title"]
        return {"trials": self.trials, "cases": self.cases, "metrics": found}


@dataclass
class _Column:
    """The scores of one metric, in the order in which they came, and its verdicts."""

    case: array[int] = field(default_factory=lambda: array("q"))
    trial: array[int] = field(default_factory=lambda: array("q"))
    value: array[float] = field(default_factory=lambda: array("d"))
    verdicts: dict[int, int] = field(default_factory=dict)
    """Case and component → in how many trials it occurs, and what was found."""
    undefined: int = 0
    failed: int = 0


class Repeats:
    """Counts the records of several trials as they come, in any order.

    Of a case nothing is held but its scores and the letters of its verdicts.

    The smallest difference that a data set of n cases can see is 1.96 · √2 · SE. SE² is the variance of a single score
    over cases (n − 1; the mean of the trials' variances) divided by n, so it holds both how cases differ and how the
    judge does. It assumes that cases are drawn independently, that the judge's noise on one case is independent of that
    on another, and that n is large enough for a mean to be normal; the difference is one between two runs, each of one
    trial, on cases of their own. Two runs of the *same* cases can be compared case by case, and see smaller ones. With
    weights, n is Kish's effective number (Σw)² / Σw².

    Args:
        metrics: those that were computed.
        thresholds: metric name → from which value on a score is high; the defaults if None.
    """

    def __init__(self, metrics: Sequence[Metric], thresholds: Mapping[str, float] | None = None) -> None:
        self._metrics = tuple(metrics)
        self._thresholds = thresholds_with({}) if thresholds is None else thresholds
        self._columns = {m.name: _Column() for m in self._metrics}
        self._cases: dict[str, int] = {}
        self._weights = array("d")
        self._counted: list[int] = []
        self._trials: dict[int, int] = {}
        """Trial → its column; `_counted` holds a bit for each of a case's columns that was counted."""

    def add(self, trial: int, record: Record) -> None:
        """Count one record.

        Args:
            trial: which repetition it belongs to, in any order.
            record: a case, at most once in a trial.

        Raises:
            ConfigError: the case was counted in this trial already.
        """
        case = self._cases.setdefault(record.case.id, len(self._cases))
        place = self._trials.setdefault(trial, len(self._trials))
        if case == len(self._weights):
            self._weights.append(record.case.weight)
            self._counted.append(0)
        if self._counted[case] >> place & 1:
            raise ConfigError(f"case {record.case.id!r} comes twice in trial {trial}: count each case once in a trial")
        self._counted[case] |= 1 << place
        for name, column in self._columns.items():
            match record.outcomes.get(name):
                case Score(value=value, parts=parts):
                    column.case.append(case)
                    column.trial.append(place)
                    column.value.append(value)
                    _count(column.verdicts, case, parts)
                case Undefined(failed=True):
                    column.failed += 1
                case _:
                    column.undefined += 1

    def summary(self) -> RepeatSummary:
        """What was counted so far."""
        return RepeatSummary(len(self._trials), len(self._cases), tuple(self._metric(m) for m in self._metrics))

    def _metric(self, metric: Metric) -> MetricRepeat:
        column = self._columns[metric.name]
        grid = np.full((len(self._cases), len(self._trials)), np.nan)
        grid[np.array(column.case, dtype=np.intp), np.array(column.trial, dtype=np.intp)] = column.value
        weights = np.array(self._weights)
        runs = [_mean(scores, weights) for scores in grid.T if not np.isnan(scores).all()]
        spreads = _spreads(grid)
        flipped = _flipped(grid, self._thresholds.get(metric.name), metric.better)
        changed, compared = self._verdict_flips(column)
        several = ~np.isnan(spreads)
        return MetricRepeat(
            metric.name,
            metric.title,
            float(np.mean(runs)) if runs else None,
            float(np.std(runs, ddof=1)) if len(runs) > 1 else None,
            float(np.mean(spreads[several])) if several.any() else None,
            float(np.mean(flipped[several])) if flipped is not None and several.any() else None,
            sum(changed.values()) / compared if compared else None,
            _smallest(grid, weights),
            int((~np.isnan(grid)).any(axis=1).sum()),
            column.undefined,
            column.failed,
            self._worst(grid, spreads, flipped, changed),
        )

    def _verdict_flips(self, column: _Column) -> tuple[Counter[int], int]:
        """Case → how many of its verdicts differ, and how many verdicts can be compared."""
        changed: Counter[int] = Counter()
        compared = 0
        for key, found in column.verdicts.items():
            if found // _SEEN == len(self._trials) > 1:
                compared += 1
                changed[key >> _MARK] += (found % _SEEN).bit_count() > 1
        return changed, compared

    def _worst(self, grid: Grid, spreads: Grid, flipped: Flags | None, changed: Counter[int]) -> tuple[CaseRepeat, ...]:
        """The cases that are least alike: by their spread, then by how many verdicts differ, then by id."""
        ids = list(self._cases)
        unlike = [i for i in range(len(ids)) if spreads[i] > 0 or changed[i]]  # both need two scores at least
        order = heapq.nsmallest(WORST, unlike, key=lambda i: (-round(float(spreads[i]), 9), -changed[i], ids[i]))
        return tuple(
            CaseRepeat(
                ids[i],
                float(np.nanmean(grid[i])),
                float(spreads[i]),
                bool(flipped is not None and flipped[i]),
                changed[i],
            )
            for i in order
        )


def _count(verdicts: dict[int, int], case: int, parts: Sequence[Part]) -> None:
    """Count the verdicts of one score; a text that comes twice in it is two components, told apart by their order."""
    before: Counter[tuple[str, int | None]] = Counter()
    for part in parts:
        name = part.component.text, part.component.source
        mark = hash((*name, before[name])) & ((1 << _MARK) - 1)
        before[name] += 1
        key = case << _MARK | mark
        verdicts[key] = (verdicts.get(key, 0) + _SEEN) | _bit(part.cell)


def _bit(cell: Cell) -> int:
    return _BITS[cell.value] if isinstance(cell, Verdict) else _FAILED


def _mean(scores: Grid, weights: Grid) -> float:
    """The weighted mean of those that are there."""
    there = ~np.isnan(scores)
    return float(np.average(scores[there], weights=weights[there] / weights.max()))


def _spreads(grid: Grid) -> Grid:
    """The standard deviation (n − 1) of each row; nan where it has fewer than two scores."""
    counts = (~np.isnan(grid)).sum(axis=1)
    found = np.full(len(grid), np.nan)
    several = counts > 1
    if several.any():
        found[several] = np.nanstd(grid[several], axis=1, ddof=1)
        same = np.nanmax(grid[several], axis=1) == np.nanmin(grid[several], axis=1)
        found[np.flatnonzero(several)[same]] = 0.0  # not what rounding leaves of it
    return found


def _flipped(grid: Grid, threshold: float | None, better: Better) -> Flags | None:
    """Whether each row has scores on both sides of the threshold; None without one."""
    if threshold is None:
        return None
    bad = grid < threshold - 1e-9 if better == "higher" else grid > threshold + 1e-9
    good = ~bad & ~np.isnan(grid)
    return np.asarray(bad.any(axis=1) & good.any(axis=1))


def _smallest(grid: Grid, weights: Grid) -> float | None:
    """See `Repeats`."""
    squares = [found for scores in grid.T if (found := _squared_error(scores, weights)) is not None]
    return CONFIDENCE * float(np.sqrt(2 * np.mean(squares))) if squares else None


def _squared_error(scores: Grid, weights: Grid) -> float | None:
    """The squared standard error of the mean of one trial; None with fewer than two scores."""
    there = ~np.isnan(scores)
    if there.sum() < 2:
        return None
    values, own = scores[there], weights[there] / weights.max()
    effective = own.sum() ** 2 / (own**2).sum()
    if effective <= 1:  # all the weight lies on one case
        return None
    variance = np.average((values - np.average(values, weights=own)) ** 2, weights=own)
    return float(variance * effective / (effective - 1) / effective)
