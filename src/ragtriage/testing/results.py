"""What the tests of one process looked at, in values that travel with their reports to the process that sums up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragtriage.core.case import Record
from ragtriage.core.display import one_line
from ragtriage.core.metric import Metric
from ragtriage.core.verdicts import Score
from ragtriage.diagnosis.findings import Finding
from ragtriage.diagnosis.rules import is_bad
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.testing.judging import Judged

FAILED = "failed: "
"""What stands before the reason where the judge failed: see `Undefined`."""
LONGEST_REASON = 200
"""Characters of why a score is undefined."""


class Results:
    """Gathers what is told of each test, and gives it away with the test's report."""

    def __init__(self) -> None:
        self._cases: dict[tuple[str, str], dict[str, Any]] = {}
        self._told: list[dict[str, Any]] = []

    def looked_at(self, name: str, record: Record, config: EvaluationConfig) -> tuple[Finding, ...]:
        """A test uses a record; returns its findings.

        Args:
            name: of the list that the case is in.
            record: with every metric that was computed.
            config: its metrics, thresholds and rules.
        """
        findings = config.diagnose(record)
        self._cases[name, record.case.id] = {
            "list": name,
            "id": record.case.id,
            "weight": record.case.weight,
            "scores": {m.name: _value(record, m) for m in config.metrics},
            "titles": {m.name: m.title for m in config.metrics},
            "low": low_scores(record, config),
            "findings": list(dict.fromkeys(finding.rule for finding in findings)),
        }
        return findings

    def judged(self, name: str, judged: Judged) -> None:
        """The cases of a list were judged, or read."""
        counts = {one: getattr(judged, one) for one in ("cases", "answers", "remembered", "seconds", "cost")}
        self._told.append({"list": name, "run": judged.number, **counts})
        if judged.stopped and judged.answers:  # not each process that finds nothing left to spend
            self.note(judged.stopped)

    def whole(self, name: str, numbers: dict[str, Any]) -> None:
        """A test uses the run of a whole list, in numbers; see `ragtriage.testing.judged_run`."""
        self._told.append({"list": name, "whole": numbers})

    def wrote(self, path: Path) -> None:
        """A file that is to be deleted when the session ends."""
        self._told.append({"file": str(path)})

    def note(self, sentence: str) -> None:
        """Something else that the summary is to say."""
        self._told.append({"note": sentence})

    def properties(self) -> Iterator[tuple[str, Any]]:
        """The scores of the cases that were looked at, as a test's user properties."""
        for case in self._cases.values():
            for name, value in case["scores"].items():
                yield f"ragtriage.{name}", value
            yield "ragtriage.findings", ", ".join(case["findings"])

    def taken(self) -> dict[str, Any] | None:
        """What was gathered since the last time, in basic types; None if there is nothing."""
        cases, told = list(self._cases.values()), self._told
        self._cases, self._told = {}, []
        return {"cases": cases, "told": told} if cases or told else None


def _value(record: Record, metric: Metric) -> float | str:
    """A score with six decimals, or why there is none."""
    outcome = record.outcomes.get(metric.name)
    return round(outcome.value, 6) if isinstance(outcome, Score) else one_line(str(outcome), LONGEST_REASON)


def low_scores(record: Record, config: EvaluationConfig) -> list[str]:
    """The names of the metrics whose scores lie on the bad side of their thresholds."""
    scores = [(m, record.outcomes.get(m.name)) for m in config.metrics]
    return [
        m.name
        for m, found in scores
        if isinstance(found, Score) and is_bad(found.value, config.thresholds.get(m.name), m.better)
    ]
