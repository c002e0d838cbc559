"""Counting the records of several trials: scores, findings, and verdicts that differ between them."""

from __future__ import annotations

import heapq
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

import numpy as np

from ragtriage.core.case import Record
from ragtriage.core.display import settled
from ragtriage.core.errors import ConfigError
from ragtriage.core.metric import Better, Metric
from ragtriage.core.statistics import Flags
from ragtriage.core.steps import Relation, Unit
from ragtriage.core.verdicts import Cell, Component, Score, Undefined, Verdict, Verdicts
from ragtriage.diagnosis.findings import assess
from ragtriage.diagnosis.rules import COSTS, Costs, Rule, thresholds_with
from ragtriage.planning.relations import RELATIONS, UNITS
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.repeats.summary import (
    CaseRepeat,
    FindingRepeat,
    Grid,
    KindRepeat,
    MetricRepeat,
    RepeatSummary,
    smallest_difference,
)
from ragtriage.runs.run import Run, RunList


@dataclass
class _RuleColumn:
    """Where one rule is shown: the case and the trial."""

    case: array[int] = field(default_factory=lambda: array("q"))
    trial: array[int] = field(default_factory=lambda: array("q"))


class FindingCounts:
    """Counts the findings of several trials."""

    def __init__(
        self,
        rules: Sequence[Rule],
        thresholds: Mapping[str, float],
        metrics: Sequence[Metric],
        costs: Costs = COSTS,
    ) -> None:
        self._rules = tuple(rules)
        self._read = thresholds, self._rules, tuple(metrics), costs
        self._columns = {rule.name: _RuleColumn() for rule in self._rules}

    def add(self, case: int, trial: int, record: Record) -> None:
        """Count one record of one trial."""
        if not self._rules:
            return
        for name in {finding.rule for finding in assess(record, *self._read).findings}:
            self._columns[name].case.append(case)
            self._columns[name].trial.append(trial)

    def findings(self, there: Grid) -> Iterator[FindingRepeat]:
        """What was counted of each rule that is shown in a trial.

        `there` is 1 where a case was counted in a trial, else nan; shape (n_cases, n_trials).
        """
        if there.shape[1] < 2:
            return
        for rule in self._rules:
            column = self._columns[rule.name]
            if not column.case:
                continue
            shown = there * 0.0
            shown[np.array(column.case, dtype=np.intp), np.array(column.trial, dtype=np.intp)] = 1.0
            several = (~np.isnan(shown)).sum(axis=1) > 1
            differs = np.nanmax(shown, axis=1) != np.nanmin(shown, axis=1)
            yield FindingRepeat(
                rule.name,
                rule.kind,
                float(np.nansum(shown, axis=0).mean()),
                float(np.nansum(shown, axis=0).std(ddof=1)),
                float(differs[several].mean()) if several.any() else None,
            )


_BITS = {"yes": 1, "no": 2, "unknown": 4}
_FAILED = 8
_SEEN = 16
"""What a number grows by for each trial in which its component occurs; the bits below say what was found."""
_MARK = 64


@dataclass(slots=True)
class OccurrenceCounts:
    """In how many trials each verdict or component occurs, and what was found: one number each."""

    found: dict[int, int] = field(default_factory=dict)
    """Case and verdict or component → in how many trials it occurs, and what was found."""

    def count(self, case: int, item: object, cell: Cell = None) -> None:
        """Count one item of a case (a component, or a verdict on it) in one trial, with the verdict if there is one."""
        key = case << _MARK | (hash(item) & ((1 << _MARK) - 1))
        bit = 0 if cell is None else _BITS[cell.value] if isinstance(cell, Verdict) else _FAILED
        self.found[key] = (self.found.get(key, 0) + _SEEN) | bit

    def compared(self, trials: int) -> Iterator[tuple[int, bool]]:
        """(case, whether the verdict differs) for each item that occurs in all of several trials."""
        for key, found in self.found.items():
            if found // _SEEN == trials > 1:
                yield key >> _MARK, (found % _SEEN).bit_count() > 1


def component_keys(components: Sequence[Component]) -> Iterator[tuple[str, int | None, int]]:
    """What tells components apart between trials: text and source, and the order of those that share both."""
    before: Counter[tuple[str, int | None]] = Counter()
    for component in components:
        name = component.text, component.source
        yield *name, before[name]
        before[name] += 1


class StepFlips:
    """Counts the steps of records: verdicts by kind of question, and what texts were broken into."""

    def __init__(self) -> None:
        self._kinds: dict[str, OccurrenceCounts] = {}
        self._units: dict[str, OccurrenceCounts] = {}

    def add(self, case: int, record: Record) -> None:
        """Count one record of one trial."""
        for step, known in record.steps.items():
            if isinstance(known, Verdicts):
                seen = self._kinds.setdefault(step.partition("(")[0], OccurrenceCounts())
                for key, row in zip(component_keys(known.components), known.cells, strict=True):
                    for column, cell in enumerate(row):
                        if cell is not None:
                            seen.count(case, (step, key, column), cell)
            elif isinstance(known, tuple):
                seen = self._units.setdefault(step, OccurrenceCounts())
                for key in component_keys(known):
                    seen.count(case, key)

    def kinds(self, trials: int) -> tuple[KindRepeat, ...]:
        """Every kind of question that was asked, in the order of the vocabulary."""
        order = {kind: place for place, kind in enumerate(get_args(Relation)) if RELATIONS[kind].question}
        found = []
        for kind in sorted(self._kinds.keys() & order.keys(), key=order.__getitem__):
            differ = [changed for _, changed in self._kinds[kind].compared(trials)]
            found.append(KindRepeat(kind, len(differ), sum(differ) / len(differ) if differ else None))
        return tuple(found)

    def broken_up_alike(self, trials: int) -> bool:
        """Whether every trial found the same components, word for word, where a judge was asked for them."""
        asked = {unit for unit in get_args(Unit) if UNITS[unit].question and not UNITS[unit].replaces}
        seen = (found.found.values() for step, found in self._units.items() if step.partition("(")[0] in asked)
        return all(count // _SEEN == trials for counts in seen for count in counts)


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
    repeats = Repeats(config.metrics, config.thresholds, config.rules, config.costs)
    for number, trial in enumerate(trials):
        for record in trial.records():
            repeats.add(number, record)
    return repeats.summary()


@dataclass
class _MetricColumn:
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
        self._columns = {m.name: _MetricColumn() for m in self._metrics}
        self._steps = StepFlips()
        self._findings = FindingCounts(rules, self._thresholds, self._metrics, costs)
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
        kinds = self._steps.kinds(trials)
        metrics = tuple(self._metric(m) for m in self._metrics)
        findings = tuple(self._findings.findings(self._there()))
        return RepeatSummary(trials, len(self._cases), metrics, kinds, self._same(metrics, kinds), findings)

    def _there(self) -> Grid:
        """1 where a case was counted in a trial, else nan; shape (n_cases, n_trials)."""
        counted = [[known >> place & 1 for place in range(len(self._trials))] for known in self._counted]
        there = np.array(counted, dtype=np.float64).reshape(len(self._counted), len(self._trials))
        return np.where(there == 1.0, 1.0, np.nan)

    def _same(self, metrics: Sequence[MetricRepeat], kinds: Sequence[KindRepeat]) -> bool:
        whole = (1 << len(self._trials)) - 1
        return (
            len(self._trials) > 1
            and all(counted == whole for counted in self._counted)
            and not any(metric.failed for metric in metrics)
            and not any(kind.flips for kind in kinds)
            and self._steps.broken_up_alike(len(self._trials))
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
        order = heapq.nsmallest(WORST, unlike, key=lambda i: (-settled(float(spreads[i]), 3), -changed[i], ids[i]))
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
