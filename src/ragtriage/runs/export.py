"""A run as rows for other programs: JSONL, CSV or Parquet, one row a case."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from ragtriage.core.errors import ConfigError, InputError, MissingExtraError
from ragtriage.core.record import Record
from ragtriage.core.verdicts import Failure, Score, Undefined, Verdict
from ragtriage.diagnosis import Finding, Rule, headline
from ragtriage.diagnosis.citations import CheckedSegment, checked_segments
from ragtriage.runs.tally import Diagnosed

EVIDENCE = ("metric", "text", "fault", "explanation", "sure")
BATCH = 1000
"""Rows written together to a Parquet file."""


def export_cases(path: Path, metrics: Sequence[str], rules: Sequence[Rule], cases: Iterable[Diagnosed]) -> int:
    """Write one row a case; the format follows the file's ending.

    JSONL: `id`, `tags`, `scores` {metric: number or null}, `undefined` {metric: reason}, `component`, `findings`; where
    a response was checked by its citations also `segments`, each with what it `cites` and was `checked_against`
    (sources counted from 1, or "segments"), and what was said of all sources together (`elsewhere`).
    CSV and Parquet: `id`, a column a metric under its name (empty where undefined), `component`, `findings` (the
    rules' names); CSV has a column `tag.NAME` for every tag, Parquet one map column `tags`.

    Returns:
        How many rows were written.

    Raises:
        ConfigError: the ending names no format that is known.
        InputError: the file can't be written.
        MissingExtraError: Parquet without its extra.
    """
    writers = {".jsonl": _jsonl, ".csv": _csv, ".parquet": _parquet}
    if path.suffix not in writers:
        raise ConfigError(f"{path.name!r}: name the file .jsonl, .csv or .parquet, so that its format is known")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return writers[path.suffix](path, metrics, rules, cases)
    except OSError as error:
        raise InputError(f"{path} can't be written: {error.strerror or error}") from error


def _jsonl(path: Path, metrics: Sequence[str], rules: Sequence[Rule], cases: Iterable[Diagnosed]) -> int:
    count = 0
    with path.open("w", encoding="utf-8") as out:
        for record, findings in cases:
            out.write(json_row(record, findings, metrics, rules) + "\n")
            count += 1
    return count


def json_row(record: Record, findings: Sequence[Finding], metrics: Sequence[str], rules: Sequence[Rule]) -> str:
    """One case as one line of JSON: see `export_cases`."""
    row: dict[str, Any] = {
        "id": record.case.id,
        "tags": dict(record.case.tags),
        "scores": _scores(record, metrics),
        "undefined": {n: o.reason for n, o in record.outcomes.items() if isinstance(o, Undefined)},
        "component": headline(record, findings, rules),
        "findings": [_finding(finding) for finding in findings],
    }
    if segments := checked_segments(record):
        row["segments"] = [_segment(checked) for checked in segments]
    return json.dumps(row, ensure_ascii=False, default=str)


def _finding(finding: Finding) -> dict[str, Any]:
    names = ("rule", "kind", "component", "reading", "sure", "doubt")
    return {
        **{name: getattr(finding, name) for name in names},
        "scores": dict(finding.scores),
        "evidence": [{name: getattr(one, name) for name in EVIDENCE} for one in finding.evidence],
    }


def _segment(checked: CheckedSegment) -> dict[str, Any]:
    segment, cell = checked.segment, checked.cell
    judged = cell if isinstance(cell, Verdict) else None
    return {
        "text": segment.text,
        "span": segment.span,
        "remark": segment.remark,
        "cites": [{"name": c.name, "sources": [at + 1 for at in c.sources]} for c in segment.citations],
        "verdict": judged.value if judged else None,
        "kind": checked.kind or None,
        "checked_against": _against(checked),
        "elsewhere": _elsewhere(checked),
        "sure": judged.sure if judged else None,
        "explanation": cell.cause if isinstance(cell, Failure) else judged.explanation if judged else "",
    }


def _against(checked: CheckedSegment) -> str | list[int] | None:
    """The sources, from 1; "segments" for the true ones of the response; None where it wasn't held against anything."""
    cited = checked.segment.citations
    if checked.segment.remark or checked.cell is None or any(not c.sources for c in cited):
        return None
    return sorted({at + 1 for c in cited for at in c.sources}) or "segments"


def _elsewhere(checked: CheckedSegment) -> dict[str, Any] | None:
    """What was said of all sources together, and which of them supports it (None where that isn't known)."""
    if not isinstance(checked.elsewhere, Verdict):
        return None
    source = None if checked.supported_by is None else checked.supported_by + 1
    return {"verdict": checked.elsewhere.value, "source": source, "explanation": checked.elsewhere.explanation}


def _scores(record: Record, metrics: Sequence[str]) -> dict[str, float | None]:
    found = ((name, record.outcomes.get(name)) for name in metrics)
    return {name: outcome.value if isinstance(outcome, Score) else None for name, outcome in found}


def _flat(metrics: Sequence[str], rules: Sequence[Rule], cases: Iterable[Diagnosed]) -> Iterator[dict[str, Any]]:
    for record, findings in cases:
        yield {
            "id": record.case.id,
            **_scores(record, metrics),
            "component": headline(record, findings, rules),
            "findings": ";".join(finding.rule for finding in findings),
            **{f"tag.{name}": _cell(value) for name, value in record.case.tags.items()},
        }


def _cell(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float | bool) else json.dumps(value, default=str)


def _csv(path: Path, metrics: Sequence[str], rules: Sequence[Rule], cases: Iterable[Diagnosed]) -> int:
    # the tags' names must stand in the header, so the rows are held: numbers and names, no texts of the cases
    rows = list(_flat(metrics, rules, cases))
    names = dict.fromkeys(["id", *metrics, "component", "findings", *(name for row in rows for name in row)])
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, list(names))
        writer.writeheader()
        writer.writerows(rows)
    return len(rows)


def _parquet(path: Path, metrics: Sequence[str], rules: Sequence[Rule], cases: Iterable[Diagnosed]) -> int:
    try:
        import pyarrow as pa  # noqa: PLC0415  # an extra
        import pyarrow.parquet as pq  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise MissingExtraError("Parquet files", "parquet") from error
    tags = pa.map_(pa.string(), pa.string())
    columns = [("id", pa.string()), *((name, pa.float64()) for name in metrics)]
    schema = pa.schema([*columns, ("component", pa.string()), ("findings", pa.string()), ("tags", tags)])
    count = 0
    flat = _flat(metrics, rules, cases)
    with pq.ParquetWriter(path, schema) as writer:
        while rows := list(islice(flat, BATCH)):
            for row in rows:
                mine = [(name.removeprefix("tag."), row.pop(name)) for name in list(row) if name.startswith("tag.")]
                row["tags"] = [(name, None if value is None else str(value)) for name, value in mine]
            writer.write_table(pa.Table.from_pylist(rows, schema))
            count += len(rows)
    return count
