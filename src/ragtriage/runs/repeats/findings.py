"""How far the trials agree on findings: on those that are shown, and on how many cases are expected to have them."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ragtriage.core.metric import Metric
from ragtriage.core.record import Record
from ragtriage.diagnosis import COSTS, Costs, Rule, assess
from ragtriage.runs.expected import ExpectedCount
from ragtriage.runs.repeats.statistics import Grid
from ragtriage.runs.repeats.summary import FindingRepeat


@dataclass
class _Column:
    """Where one rule may hold: the case, the trial, whether it is shown there, and its probability."""

    case: array[int] = field(default_factory=lambda: array("q"))
    trial: array[int] = field(default_factory=lambda: array("q"))
    shown: array[float] = field(default_factory=lambda: array("d"))
    likely: array[float] = field(default_factory=lambda: array("d"))


class FindingCounts:
    """Counts the findings of several trials.

    Args:
        rules: those that the records are read with; none if empty.
        thresholds: metric name → the value at which a score is just good enough.
        metrics: where those stand that aren't built in.
        costs: from which probability on a fault is shown.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        thresholds: Mapping[str, float],
        metrics: Sequence[Metric],
        costs: Costs = COSTS,
    ) -> None:
        self._rules = tuple(rules)
        self._read = thresholds, self._rules, tuple(metrics), costs
        self._columns = {rule.name: _Column() for rule in self._rules}

    def add(self, case: int, trial: int, record: Record) -> None:
        """Count one record of one trial."""
        if not self._rules:
            return
        assessed = assess(record, *self._read)
        shown = {finding.rule for finding in assessed.findings}
        for name in shown | assessed.probabilities.keys():
            column = self._columns[name]
            column.case.append(case)
            column.trial.append(trial)
            column.shown.append(float(name in shown))
            column.likely.append(assessed.probabilities.get(name, 0.0))

    def findings(self, there: Grid) -> Iterator[FindingRepeat]:
        """What was counted of each rule that is shown in a trial or expected of at least one case.

        Args:
            there: shape (n_cases, n_trials), 1 where a case was counted in a trial, else nan.
        """
        if there.shape[1] < 2:
            return
        for rule in self._rules:
            column = self._columns[rule.name]
            at = np.array(column.case, dtype=np.intp), np.array(column.trial, dtype=np.intp)
            shown, likely = there * 0.0, there * 0.0
            shown[at], likely[at] = column.shown, column.likely
            doubtful = rule.kind != "doubt" and any(0.0 < p < 1.0 for p in column.likely)
            mean = np.nanmean(likely, axis=1)
            expected = ExpectedCount.of(float(mean.sum()), float((mean * (1.0 - mean)).sum()), len(mean))
            if not np.nansum(shown) and not (doubtful and round(expected.low) > 0):
                continue
            several = (~np.isnan(shown)).sum(axis=1) > 1
            differs = np.nanmax(shown, axis=1) != np.nanmin(shown, axis=1)
            yield FindingRepeat(
                rule.name,
                rule.kind,
                float(np.nansum(shown, axis=0).mean()),
                float(np.nansum(shown, axis=0).std(ddof=1)),
                float(differs[several].mean()) if several.any() else None,
                expected if doubtful else None,
                float(np.nansum(likely, axis=0).std(ddof=1)) if doubtful else None,
            )
