"""Counting the records of several trials."""

from __future__ import annotations

import heapq
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ragtriage.core.errors import ConfigError
from ragtriage.core.metric import Better, Metric
from ragtriage.core.record import Record
from ragtriage.core.verdicts import Score, Undefined
from ragtriage.diagnosis import COSTS, Costs, Rule
from ragtriage.diagnosis.rules import thresholds_with
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.repeats.findings import FindingCounts
from ragtriage.runs.repeats.flips import OccurrenceCounts, StepFlips, component_keys
from ragtriage.runs.repeats.statistics import Grid, rank_agreement, smallest_difference
from ragtriage.runs.repeats.summary import CaseRepeat, KindRepeat, MetricRepeat, RepeatSummary, UnitRepeat
from ragtriage.store import Store, StoredRun

Flags = np.ndarray[Any, np.dtype[np.bool_]]

WORST = 10
"""Cases that are listed for each metric."""


def trials_of(store: Store, run: StoredRun) -> list[StoredRun]:
    """The trials of a repeated evaluation by its first run, in their order; that run alone for all others.

    Raises:
        StoreError: the store can't be read.
    """
    later = {info.trial: info.number for info in reversed(store.runs(everywhere=True)) if info.repeats == run.number}
    return [run, *(store.run(later[trial]) for trial in sorted(later))]


def repeats_of(trials: Iterable[StoredRun], config: EvaluationConfig) -> RepeatSummary | None:
    """How far several runs of the same cases agree; None for a single one.

    Raises:
        StoreError: a run can't be read.
    """
    trials = list(trials)
    if len(trials) < 2:
        return None
    repeats = Repeats(config.metrics, config.thresholds, config.rules, config.costs)
    for number, trial in enumerate(trials):
        for record in trial.records():
            repeats.add(number, record)
    return repeats.summary()


@dataclass
class _Column:
    """The scores of one metric, in the order in which they came, and its verdicts."""

    case: array[int] = field(default_factory=lambda: array("q"))
    trial: array[int] = field(default_factory=lambda: array("q"))
    value: array[float] = field(default_factory=lambda: array("d"))
    verdicts: OccurrenceCounts = field(default_factory=OccurrenceCounts)
    undefined: int = 0
    failed: int = 0


class Repeats:
    """Counts the records of several trials as they come, in any order.

    Of a case nothing is held but its scores and the letters of its verdicts.

    Args:
        metrics: those that were computed.
        thresholds: metric name → the value at which a score is just good enough; the defaults if None.
        rules: those whose findings are counted.
        costs: from which probability on a fault is shown.
    """

    def __init__(
        self,
        metrics: Sequence[Metric],
        thresholds: Mapping[str, float] | None = None,
        rules: Sequence[Rule] = (),
        costs: Costs = COSTS,
    ) -> None:
        self._metrics = tuple(metrics)
        self._thresholds = thresholds_with({}) if thresholds is None else thresholds
        self._columns = {m.name: _Column() for m in self._metrics}
        self._steps = StepFlips()
        self._findings = FindingCounts(rules, self._thresholds, self._metrics, costs)
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
        self._steps.add(case, record)
        self._findings.add(case, place, record)
        for name, column in self._columns.items():
            match record.outcomes.get(name):
                case Score(value=value, parts=parts):
                    column.case.append(case)
                    column.trial.append(place)
                    column.value.append(value)
                    for key, part in zip(component_keys([p.component for p in parts]), parts, strict=True):
                        column.verdicts.count(case, key, part.cell)
                case Undefined(failed=True):
                    column.failed += 1
                case _:
                    column.undefined += 1

    def summary(self) -> RepeatSummary:
        """What was counted so far."""
        trials = len(self._trials)
        kinds, units = self._steps.kinds(trials), self._steps.units(trials)
        metrics = tuple(self._metric(m) for m in self._metrics)
        findings = tuple(self._findings.findings(self._there()))
        return RepeatSummary(
            trials, len(self._cases), metrics, kinds, units, self._same(metrics, kinds, units), findings
        )

    def _there(self) -> Grid:
        """1 where a case was counted in a trial, else nan; shape (n_cases, n_trials)."""
        counted = [[known >> place & 1 for place in range(len(self._trials))] for known in self._counted]
        there = np.array(counted, dtype=np.float64).reshape(len(self._counted), len(self._trials))
        return np.where(there == 1.0, 1.0, np.nan)

    def _same(self, metrics: Sequence[MetricRepeat], kinds: Sequence[KindRepeat], units: Sequence[UnitRepeat]) -> bool:
        whole = (1 << len(self._trials)) - 1
        return (
            len(self._trials) > 1
            and all(counted == whole for counted in self._counted)
            and not any(metric.failed for metric in metrics)
            and not any(kind.flips for kind in kinds)
            and all(unit.kept == 1 for unit in units)
            and all(
                np.isclose(grid, grid[:, :1], rtol=0, atol=1e-9, equal_nan=True).all()
                for grid in map(self._grid, self._columns.values())
            )
        )

    def _grid(self, column: _Column) -> Grid:
        grid = np.full((len(self._cases), len(self._trials)), np.nan)
        grid[np.array(column.case, dtype=np.intp), np.array(column.trial, dtype=np.intp)] = column.value
        return grid

    def _metric(self, metric: Metric) -> MetricRepeat:
        column = self._columns[metric.name]
        grid = self._grid(column)
        weights = np.array(self._weights)
        runs = [_mean(scores, weights) for scores in grid.T if not np.isnan(scores).all()]
        spreads = _spreads(grid)
        flipped = _flipped(grid, self._thresholds.get(metric.name), metric.better)
        compared = list(column.verdicts.compared(len(self._trials)))
        changed = Counter(case for case, differs in compared if differs)
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
            changed.total() / len(compared) if compared else None,
            rank_agreement(grid),
            smallest,
            floor,
            int((~np.isnan(grid)).any(axis=1).sum()),
            column.undefined,
            column.failed,
            self._worst(grid, spreads, flipped, changed),
        )

    def _worst(self, grid: Grid, spreads: Grid, flipped: Flags | None, changed: Counter[int]) -> tuple[CaseRepeat, ...]:
        """The cases that are least alike: by their spread, then by how many verdicts differ, then by id."""
        ids = list(self._cases)
        unlike = [i for i in range(len(ids)) if spreads[i] > 0 or changed[i]]  # both need two scores at least
        order = heapq.nsmallest(WORST, unlike, key=lambda i: (-round(float(spreads[i]), 9), -changed[i], ids[i]))
        return tuple(
            CaseRepeat(
                case=ids[i],
                mean=float(np.nanmean(grid[i])),
                spread=float(spreads[i]),
                flipped=bool(flipped is not None and flipped[i]),
                verdict_flips=changed[i],
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
