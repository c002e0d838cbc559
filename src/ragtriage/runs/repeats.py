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
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any

import numpy as np

from ragtriage.core.display import settled
from ragtriage.core.metric import Better, Metric
from ragtriage.core.statistics import REACH, Flags
from ragtriage.core.verdicts import Score, Undefined
from ragtriage.runs.case_row import CaseRow
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.run import Run, RunList

Grid = np.ndarray[Any, np.dtype[np.float64]]
"""Shape (n_cases, n_trials), or one row or column of it; nan where there is no score."""
CORRELATION = 0.5
"""How alike the same case's true scores in the two versions are. It can't be known from one version, and
lies in the middle between versions that have nothing in common and such as differ by the same amount everywhere."""


def smallest_difference(grid: Grid, weights: Grid) -> float | None:
    """The smallest difference of means between two versions, in the metric's unit.

    Both versions answer the same n cases, are evaluated once each, and are compared case by case. A difference δ is
    seen with the stated power where δ = (z(1 − level/2) + z(power)) · √((ω² + σ_A² + σ_B²) / n): the power analysis of
    Miller, "Adding Error Bars to Evals: A Statistical Approach to Language Model Evaluations" (2024, arXiv:2411.00640),
    with one sample a case. σ² is the judge's noise: the mean over cases of the variance of a score over trials, taken
    as the same for both versions. ω² is the variance over cases of the difference of the true scores, 2 · (1 − ρ) · s²;
    s² is the variance of true scores over cases, that of a single trial's scores less σ², and ρ is `CORRELATION`.

    It assumes that cases are independent of each other, that the judge's noise on one case is independent of that on
    another, and enough cases for a mean to be normal (some twenty). With weights, n is Kish's (Σw)² / Σw².

    None unless a case has two scores and a trial two cases, and where all scores are the same, so that nothing is known
    of their variance. The weights are above 0.
    """
    noise = _noise(grid, weights)
    spreads = [found for scores in grid.T if (found := _variance(scores, weights)) is not None]
    if noise is None or not spreads:
        return None
    total, size = (float(np.mean(column)) for column in zip(*spreads, strict=True))
    if total == 0 == noise:
        return None
    between = max(0.0, total - noise)
    return REACH * sqrt((2 * (1 - CORRELATION) * between + 2 * noise) / size)


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


def repeats_of(trials: Sequence[Run], config: EvaluationConfig) -> RepeatSummary | None:
    """How far several runs of the same cases agree; None for a single one."""
    return repeat_summary([trial.rows() for trial in trials], config) if len(trials) > 1 else None


def repeat_summary(trials: Iterable[Iterable[CaseRow]], config: EvaluationConfig) -> RepeatSummary:
    """How far trials agree; of a case nothing is held but its scores."""
    places: dict[str, int] = {}
    weights = array("d")
    read: list[tuple[array[int], dict[str, array[float]]]] = []
    failed, undefined = Counter[str](), Counter[str]()
    for rows in trials:
        at, columns = array("q"), {m.name: array("d") for m in config.metrics}
        for row in rows:
            if row.id not in places:
                places[row.id] = len(places)
                weights.append(row.weight)
            at.append(places[row.id])
            for name, column in columns.items():
                value = np.nan
                match row.outcomes.get(name):
                    case Score(value=value):
                        pass
                    case Undefined(failed=True):
                        failed[name] += 1
                    case _:
                        undefined[name] += 1
                column.append(value)
        read.append((at, columns))

    def grid(name: str) -> Grid:
        found = np.full((len(places), len(read)), np.nan)
        for trial, (at, columns) in enumerate(read):
            found[np.array(at, np.intp), trial] = columns[name]
        return found

    grids = {m.name: grid(m.name) for m in config.metrics}
    whole = len(read) > 1 and all(len(at) == len(places) for at, _ in read) and not failed
    return RepeatSummary(
        len(read),
        len(places),
        tuple(
            _metric(m, grids[m.name], np.array(weights), list(places), config.thresholds.get(m.name),
                    undefined[m.name], failed[m.name])
            for m in config.metrics
        ),
        whole and all(np.isclose(one, one[:, :1], rtol=0, atol=1e-9, equal_nan=True).all() for one in grids.values()),
    )  # fmt: skip


def _metric(  # what was found of it, and by what it is read
    metric: Metric, grid: Grid, weights: Grid, ids: Sequence[str], threshold: float | None, undefined: int, failed: int
) -> MetricRepeat:
    runs = [_mean(scores, weights) for scores in grid.T if not np.isnan(scores).all()]
    spreads = _spreads(grid)
    flipped = _flipped(grid, threshold, metric.better)
    several = ~np.isnan(spreads)
    return MetricRepeat(
        metric.name,
        metric.title,
        metric.better,
        float(np.mean(runs)) if runs else None,
        float(np.std(runs, ddof=1)) if len(runs) > 1 else None,
        float(np.mean(spreads[several])) if several.any() else None,
        float(np.mean(flipped[several])) if flipped is not None and several.any() else None,
        smallest_difference(grid, weights),
        int((~np.isnan(grid)).any(axis=1).sum()),
        undefined,
        failed,
        _worst(grid, spreads, flipped, ids),
    )


def _worst(grid: Grid, spreads: Grid, flipped: Flags | None, ids: Sequence[str]) -> tuple[CaseRepeat, ...]:
    """The cases that are least alike: by their spread, then by id."""
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
