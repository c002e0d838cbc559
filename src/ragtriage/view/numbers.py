"""A case without its texts: its id, tags and scores, and the names of its findings.

That is all there is where who looks may not read texts, and what a file without texts holds.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ragtriage.core.case import Record
from ragtriage.core.verdicts import Score
from ragtriage.diagnosis.headline import KIND_WORDS, UNDETERMINED
from ragtriage.report.case_report import CaseReport, case_report
from ragtriage.runs.case_row import CaseHeading, CaseRow, Columns
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.export import ColumnKind, ExportRows
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


def number_rows(cases: Callable[[], Iterator[CaseRow]], config: EvaluationConfig) -> ExportRows:
    """The rows of an export where no text may be read.

    A row has the columns `id`, one a metric under its name (None where undefined), `component`, `kind`, `sure` and
    `findings` (the rules' names), and the tags; in JSON scores and tags are objects, and findings a list.
    """
    scored: dict[str, ColumnKind] = {m.name: "number" for m in config.metrics}

    def scores(row: CaseRow) -> dict[str, float | None]:
        found = ((name, row.outcomes.get(name)) for name in scored)
        return {name: one.value if isinstance(one, Score) else None for name, one in found}

    def lines() -> Iterator[str]:
        for row in cases():
            told = {"id": row.id, "tags": dict(row.tags), "scores": scores(row), **_heading(row)}
            yield json.dumps(told, ensure_ascii=False, default=str)

    def cells() -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
        for row in cases():
            heading = _heading(row)
            yield {"id": row.id, **scores(row), **heading, "findings": ";".join(heading["findings"])}, row.tags

    columns: dict[str, ColumnKind] = {"component": "text", "kind": "text", "sure": "flag", "findings": "text"}
    return ExportRows({"id": "text", **scored, **columns}, lines, cells)


def _heading(row: CaseRow) -> dict[str, Any]:
    head = row.heading or NO_HEADING
    return {
        "component": head.component,
        "kind": KIND_WORDS.get(head.kind, head.kind),
        "sure": head.sure,
        "findings": list(head.rules),
    }
