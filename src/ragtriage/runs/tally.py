"""What records amount to under given thresholds and rules: the whole, and slices by a tag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragtriage.core.case import Case
from ragtriage.core.metric import Metric
from ragtriage.core.record import Record
from ragtriage.diagnosis import RULES, Finding, Rule
from ragtriage.runs.summary import Summary, Tally

MOST = 50
"""Slices that are kept apart; what comes after them is counted together."""
OTHERS = "others"


@dataclass(frozen=True, slots=True)
class Criteria:
    """By what records are judged good or bad; changing them costs nothing."""

    metrics: tuple[Metric, ...]
    thresholds: Mapping[str, float]
    rules: Sequence[Rule] = RULES


class Assessment:
    """Counts records as they come, as a whole and by the values of a tag."""

    def __init__(self, criteria: Criteria, by: str | None = None) -> None:
        self._criteria = criteria
        self._by = by
        self._whole = self._tally()
        self._slices: dict[str, Tally] = {}

    def add(self, record: Record) -> tuple[Finding, ...]:
        """Count one record and return its findings."""
        if self._by is not None:
            label = _label(record.case, self._by)
            if label not in self._slices and len(self._slices) >= MOST:
                label = OTHERS
            self._slices.setdefault(label, self._tally()).add(record)
        return self._whole.add(record)

    def summary(self) -> Summary:
        """All records."""
        return self._whole.summary()

    def slices(self) -> dict[str, Summary] | None:
        """A summary for each value of the tag, the largest first; None if no tag was given."""
        if self._by is None:
            return None
        found = {label: tally.summary() for label, tally in self._slices.items()}
        return dict(sorted(found.items(), key=lambda item: -item[1].cases))

    def _tally(self) -> Tally:
        return Tally(self._criteria.metrics, self._criteria.thresholds, self._criteria.rules)


def _label(case: Case, tag: str) -> str:
    value = case.tags.get(tag)
    return "(none)" if value is None or value == "" else str(value)
