"""A case without its texts: its id, tags and scores, and the names of its findings.

That is all there is where who looks may not read texts, and what a file without texts holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragtriage.core.case import Record
from ragtriage.core.verdicts import Score
from ragtriage.diagnosis.headline import KIND_WORDS, UNDETERMINED
from ragtriage.report.case_report import CaseReport, case_report
from ragtriage.runs.case_row import CaseHeading, CaseRow, Columns
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.export import ColumnKind
from ragtriage.view.opened_runs import OpenedRun

NUMBERS = Columns(scores=True, headings=True, reasons=False)
NO_HEADING = CaseHeading(UNDETERMINED, UNDETERMINED, (), sure=False)
"""That of a case with which none was stored."""


def case_numbers(opened: OpenedRun, position: int) -> tuple[CaseReport, CaseHeading]:
    """A case without its texts, and how it is headed; why a score is undefined isn't told, since that may quote it.

    Raises:
        NoSuchCaseError: there is none at this position.
    """
    config = opened.config
    if opened.index.readable:
        record = opened.record(position)
        heading = config.heading(record, config.assess(record))
    else:
        row = opened.row(position, NUMBERS)
        record, heading = Record(row.case(), {}, row.outcomes), row.heading or NO_HEADING
    record = replace(record, case=replace(record.case, query="", response=None, sources=None), steps={})
    shown = case_report(record, (), config.thresholds, config.metrics, config.rules)
    scores = tuple(replace(score, reason="") for score in shown.scores)
    return replace(shown, scores=scores, faults=(), reference=None), heading


@dataclass(frozen=True, slots=True)
class NumberRows:
    """The rows of an export where no text may be read; see `ragtriage.runs.export.Rows`.

    A row has the columns `id`, one a metric under its name (None where undefined), `component`, `kind`, `sure` and
    `findings` (the rules' names), and the tags; in JSON scores and tags are objects, and findings a list.
    """

    cases: Callable[[], Iterator[CaseRow]]
    config: EvaluationConfig

    def lines(self) -> Iterator[str]:
        """Each as a line of JSON."""
        for row in self.cases():
            told = {"id": row.id, "tags": dict(row.tags), "scores": self._scores(row), **_heading(row)}
            yield json.dumps(told, ensure_ascii=False, default=str)

    def heads(self) -> list[str]:
        """The cases are read for it, because it names every tag."""
        return [*self._columns(), *(f"tag.{name}" for name in self._tags())]

    def cells(self) -> Iterator[Sequence[Any]]:
        """The columns, then the tags."""
        tags = self._tags()
        for row in self.cases():
            yield [*self._row(row).values(), *(row.tags.get(name) for name in tags)]

    def columns(self) -> Mapping[str, ColumnKind]:
        """Texts but for the scores, `sure` and the tags."""
        return {**self._columns(), "tags": "tags"}

    def values(self) -> Iterator[Mapping[str, Any]]:
        """The columns, and the tags as texts."""
        for row in self.cases():
            tags = [(name, None if value is None else _text(value)) for name, value in row.tags.items()]
            yield {**self._row(row), "tags": tags}

    def _columns(self) -> dict[str, ColumnKind]:
        scores: dict[str, ColumnKind] = {m.name: "number" for m in self.config.metrics}
        return {"id": "text", **scores, "component": "text", "kind": "text", "sure": "flag", "findings": "text"}

    def _row(self, row: CaseRow) -> dict[str, Any]:
        heading = _heading(row)
        return {"id": row.id, **self._scores(row), **heading, "findings": ";".join(heading["findings"])}

    def _scores(self, row: CaseRow) -> dict[str, float | None]:
        found = ((m.name, row.outcomes.get(m.name)) for m in self.config.metrics)
        return {name: one.value if isinstance(one, Score) else None for name, one in found}

    def _tags(self) -> list[str]:
        return [*dict.fromkeys(name for row in self.cases() for name in row.tags)]


def _heading(row: CaseRow) -> dict[str, Any]:
    head = row.heading or NO_HEADING
    return {
        "component": head.component,
        "kind": KIND_WORDS.get(head.kind, head.kind),
        "sure": head.sure,
        "findings": list(head.rules),
    }


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str | int | float | bool) else json.dumps(value, default=str)
