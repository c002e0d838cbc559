"""What the rules found on the cases of a run, as columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ragtriage.core.record import Record
from ragtriage.diagnosis import Finding, Rule, decided_rules, headline, most_pressing
from ragtriage.diagnosis.headline import NONE, UNDETERMINED
from ragtriage.runs.compare.case_table import FoundColumns
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.store import StoredRun


@dataclass(frozen=True, slots=True)
class FoundOnCase:
    """What the rules found on one case, by their places among all rules."""

    holds: tuple[tuple[int, bool], ...]
    """The rules that hold, each with whether that is sure."""
    undecided: tuple[int, ...]
    """The rules of which it can't be told."""
    component: str
    heading: str


@dataclass(slots=True)
class FoundRows:
    """Gathers what was found, a case at a time."""

    rules: Sequence[Rule]
    cases: list[FoundOnCase] = field(default_factory=list)
    _places: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._places = {rule.name: place for place, rule in enumerate(self.rules)}

    def add(self, record: Record, findings: Sequence[Finding], config: EvaluationConfig) -> None:
        """Take one case in."""
        held = {finding.rule: finding.sure for finding in findings}
        known = decided_rules(record, self.rules)
        component = headline(record, findings, config.thresholds, self.rules, config.metrics).component
        self.cases.append(
            FoundOnCase(
                tuple((self._places[name], sure) for name, sure in held.items()),
                tuple(at for name, at in self._places.items() if name not in known and name not in held),
                component,
                _heading(findings, component),
            )
        )

    def columns(self) -> FoundColumns:
        """All cases so far."""
        return found_columns([rule.name for rule in self.rules], self.cases)


def found_columns(rules: Sequence[str], cases: Iterable[FoundOnCase]) -> FoundColumns:
    """The columns of what was found.

    Args:
        rules: their names, by the places that the cases name.
        cases: in the order of the input.
    """
    rows = list(cases)
    holds, sure = np.zeros((len(rows), len(rules))), np.zeros((len(rows), len(rules)))
    for place, row in enumerate(rows):
        for rule, certain in row.holds:
            holds[place, rule] = 1.0
            sure[place, rule] = float(certain)
        for rule in row.undecided:
            holds[place, rule] = sure[place, rule] = np.nan
    return FoundColumns(
        {name: holds[:, at] for at, name in enumerate(rules)},
        {name: sure[:, at] for at, name in enumerate(rules)},
        [row.component for row in rows],
        [row.heading for row in rows],
    )


def read_found(run: StoredRun, config: EvaluationConfig) -> FoundColumns:
    """Diagnose a stored run; the longest part of a comparison, as the verdicts of every case are read.

    Args:
        run: the run.
        config: its metrics, with the thresholds and rules that both sides are read with.

    Raises:
        StoreError: the run can't be read.
    """
    rows = FoundRows(config.rules)
    for record in run.records():
        rows.add(record, config.diagnose(record), config)
    return rows.columns()


def _heading(findings: Sequence[Finding], component: str) -> str:
    """The rule by which a case is headed; its component where nothing is to be repaired, or nothing can be told."""
    if component in (NONE, UNDETERMINED) or not findings:
        return component
    return most_pressing(findings).rule
