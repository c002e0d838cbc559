"""How repeatable scores are: the same cases evaluated several times, each time a trial with answers of its own.

A judge that is a language model doesn't say the same twice, so a difference between two runs may be nothing but its
noise. "Automating Groundedness Evaluation in RAG Applications" (2025) gave up a metric for its "high variance between
runs", kept one whose five runs of 78 queries lay between 88 and 92 %, and compared the differences that changes of the
application made with that range. The same is told here in numbers: by the mean of a run, by case, and as the smallest
difference that can be told from chance.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from math import sqrt
from typing import Any

import numpy as np

from ragtriage.core.case import Record
from ragtriage.core.display import settled
from ragtriage.core.errors import ConfigError
from ragtriage.core.metric import Better, Metric
from ragtriage.core.statistics import REACH, Flags
from ragtriage.core.verdicts import Score, Undefined
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.run import Run, RunList

Grid = np.ndarray[Any, np.dtype[np.float64]]
"""Shape (n_cases, n_trials), or one row or column of it; nan where there is no score."""
CORRELATION = 0.5
"""How alike the same case's true scores in the two versions are. It can't be known from one version, and
lies in the middle between versions that have nothing in common and such as differ by the same amount everywhere."""


def smallest_difference(grid: Grid, weights: Grid) -> tuple[float, float] | None:
    """The smallest difference of means between two versions, and the least that it could be.

    Both versions answer the same n cases, are evaluated once each, and are compared case by case. A difference δ is
    seen with the stated power where δ = (z(1 − level/2) + z(power)) · √((ω² + σ_A² + σ_B²) / n): the power analysis of
    Miller, "Adding Error Bars to Evals: A Statistical Approach to Language Model Evaluations" (2024, arXiv:2411.00640),
    with one sample a case. σ² is the judge's noise: the mean over cases of the variance of a score over trials, taken
    as the same for both versions. ω² is the variance over cases of the difference of the true scores, 2 · (1 − ρ) · s²;
    s² is the variance of true scores over cases, that of a single trial's scores less σ², and ρ is `CORRELATION`.

    It assumes that cases are independent of each other, that the judge's noise on one case is independent of that on
    another, and enough cases for a mean to be normal (some twenty). With weights, n is Kish's (Σw)² / Σw².

    Both are in the metric's unit. The floor is for ω² = 0, a change that moves all cases alike: only the judge's noise
    hides it, and it is 0 for a judge that has none. None unless a case has two scores and a trial two cases, and where
    all scores are the same, so that nothing is known of their variance. The weights are above 0.
    """
    noise = _noise(grid, weights)
    spreads = [found for scores in grid.T if (found := _variance(scores, weights)) is not None]
    if noise is None or not spreads:
        return None
    total, size = (float(np.mean(column)) for column in zip(*spreads, strict=True))
    if total == 0 == noise:
        return None
    between = max(0.0, total - noise)
    apart = 2 * (1 - CORRELATION) * between
    return REACH * sqrt((apart + 2 * noise) / size), REACH * sqrt(2 * noise / size)


def _noise(grid: Grid, weights: Grid) -> float | None:
    """The mean over cases of the variance (n − 1) over trials; None if no case has two scores."""
    several = (~np.isnan(grid)).sum(axis=1) > 1
    if not several.any():
        return None
    return float(np.average(np.nanvar(grid[several], axis=1, ddof=1), weights=weights[several] / weights.max()))


def _variance(scores: Grid, weights: Grid) -> tuple[float, float] | None:
    """The variance (n − 1) of one trial's scores over cases, and their effective number; None with fewer than two."""
    there = ~np.isnan(scores)
    if there.sum() < 2:
        return None
    values, own = scores[there], weights[there] / weights.max()
    effective = float(own.sum() ** 2 / (own**2).sum())
    if effective <= 1:  # all the weight lies on one case
        return None
    spread = float(np.average((values - np.average(values, weights=own)) ** 2, weights=own))
    return spread * effective / (effective - 1), effective


@dataclass(frozen=True, slots=True)
class CaseRepeat:
    """One metric on one case over all trials."""

    case: str
    mean: float
    spread: float
    """Standard deviation over trials (n − 1)."""
    flipped: bool
    """Whether it is low in one trial and high in another."""


@dataclass(frozen=True, slots=True)
class MetricRepeat:
    """One metric over many cases and all trials."""

    name: str
    title: str
    better: Better
    mean: float | None
    """Mean over trials of the run's mean, which is weighted by the cases' weights; None without a score."""
    spread: float | None
    """Standard deviation (n − 1) over trials of the run's mean; None unless two trials have scores."""
    case_spread: float | None
    """Mean over cases of the standard deviation (n − 1) over trials; None unless a case has two scores."""
    flips: float | None
    """The share of cases that are low in one trial and high in another, in [0, 1], among those with two scores or more;
    None if there is none, or the metric has no threshold."""
    smallest: float | None
    """The smallest difference between two versions of an application that these cases can show; see
    `smallest_difference`."""
    floor: float | None
    """The same for a change that moves all cases alike, so that nothing but the judge's noise hides it."""
    cases: int
    undefined: int
    """Scores that are left out because they are undefined: pairs of a case and a trial."""
    failed: int
    worst: tuple[CaseRepeat, ...]
    """The cases that are least alike, the worst first; none that is the same in all trials."""


@dataclass(frozen=True, slots=True)
class RepeatSummary:
    """What a repeated evaluation amounts to."""

    trials: int
    cases: int
    metrics: tuple[MetricRepeat, ...]
    same: bool = False
    """Whether two trials or more are there, each with every case, no score failed, and none differs."""

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines: metrics by name."""
        metrics = {
            one.name: {k: v for k, v in asdict(one).items() if k not in ("name", "title")} for one in self.metrics
        }
        return {"trials": self.trials, "cases": self.cases, "same": self.same, "metrics": metrics}


WORST = 10


def trials_of(store: RunList, run: Run) -> list[Run]:
    """The trials of a repeated evaluation by its first run, in their order; that run alone for all others."""
    later = {info.trial: info.number for info in reversed(store.runs(everywhere=True)) if info.repeats == run.number}
    return [run, *(store.run(later[trial]) for trial in sorted(later))]


def repeats_of(trials: Iterable[Run], config: EvaluationConfig) -> RepeatSummary | None:
    """How far several runs of the same cases agree; None for a single one."""
    trials = list(trials)
    if len(trials) < 2:
        return None
    repeats = Repeats(config)
    for number, trial in enumerate(trials):
        for record in trial.records():
            repeats.add(number, record)
    return repeats.summary()


@dataclass
class _MetricColumn:
    """The scores of one metric, in the order in which they came."""

    case: array[int] = field(default_factory=lambda: array("q"))
    trial: array[int] = field(default_factory=lambda: array("q"))
    value: array[float] = field(default_factory=lambda: array("d"))
    undefined: int = 0
    failed: int = 0


class Repeats:
    """Counts the records of several trials as they come, in any order.

    Of a case nothing is held but its scores.
    """

    def __init__(self, config: EvaluationConfig) -> None:
        self._config = config
        self._columns = {m.name: _MetricColumn() for m in config.metrics}
        self._cases: dict[str, int] = {}
        self._weights = array("d")
        self._counted: list[int] = []
        self._trials: dict[int, int] = {}
        """Trial → its column; `_counted` holds a bit for each of a case's columns that was counted."""

    def add(self, trial: int, record: Record) -> None:
        """Count one record."""
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
                case Score(value=value):
                    column.case.append(case)
                    column.trial.append(place)
                    column.value.append(value)
                case Undefined(failed=True):
                    column.failed += 1
                case _:
                    column.undefined += 1

    def summary(self) -> RepeatSummary:
        """What was counted so far."""
        metrics = tuple(self._metric(m) for m in self._config.metrics)
        return RepeatSummary(len(self._trials), len(self._cases), metrics, self._same(metrics))

    def _same(self, metrics: Sequence[MetricRepeat]) -> bool:
        whole = (1 << len(self._trials)) - 1
        return (
            len(self._trials) > 1
            and all(counted == whole for counted in self._counted)
            and not any(metric.failed for metric in metrics)
            and all(
                np.isclose(grid, grid[:, :1], rtol=0, atol=1e-9, equal_nan=True).all()
                for grid in map(self._grid, self._columns.values())
            )
        )

    def _grid(self, column: _MetricColumn) -> Grid:
        grid = np.full((len(self._cases), len(self._trials)), np.nan)
        grid[np.array(column.case, dtype=np.intp), np.array(column.trial, dtype=np.intp)] = column.value
        return grid

    def _metric(self, metric: Metric) -> MetricRepeat:
        column = self._columns[metric.name]
        grid = self._grid(column)
        weights = np.array(self._weights)
        runs = [_mean(scores, weights) for scores in grid.T if not np.isnan(scores).all()]
        spreads = _spreads(grid)
        flipped = _flipped(grid, self._config.thresholds.get(metric.name), metric.better)
        smallest, floor = smallest_difference(grid, weights) or (None, None)
        several = ~np.isnan(spreads)
        return MetricRepeat(
            metric.name,
            metric.title,
            metric.better,
            float(np.mean(runs)) if runs else None,
            float(np.std(runs, ddof=1)) if len(runs) > 1 else None,
            float(np.mean(spreads[several])) if several.any() else None,
            float(np.mean(flipped[several])) if flipped is not None and several.any() else None,
            smallest,
            floor,
            int((~np.isnan(grid)).any(axis=1).sum()),
            column.undefined,
            column.failed,
            self._worst(grid, spreads, flipped),
        )

    def _worst(self, grid: Grid, spreads: Grid, flipped: Flags | None) -> tuple[CaseRepeat, ...]:
        """The cases that are least alike: by their spread, then by id."""
        ids = list(self._cases)
        unlike = [i for i in range(len(ids)) if spreads[i] > 0]
        order = heapq.nsmallest(WORST, unlike, key=lambda i: (-settled(float(spreads[i]), 3), ids[i]))
        return tuple(
            CaseRepeat(
                case=ids[i],
                mean=float(np.nanmean(grid[i])),
                spread=float(spreads[i]),
                flipped=bool(flipped is not None and flipped[i]),
            )
            for i in order
        )


def _mean(scores: Grid, weights: Grid) -> float:
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
