"""A run as rows for other programs: what a row holds, and files of rows (JSONL, CSV, Parquet)."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TextIO

from ragtriage.core.case import Record
from ragtriage.core.display import sanitize
from ragtriage.core.errors import ConfigError, InputError, MissingExtraError
from ragtriage.core.files import atomic_path, atomic_write
from ragtriage.core.metric import Metric
from ragtriage.core.verdicts import Failure, Score, Undefined, Verdict
from ragtriage.diagnosis.findings import Evidence, Finding
from ragtriage.metrics.citations import CheckedSegment, checked_segments
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.tally import Diagnosed

EVIDENCE = ("metric", "text", "fault", "explanation", "sure")


@dataclass(frozen=True, slots=True)
class ExportedFields:
    """What is exported of each case."""

    config: EvaluationConfig
    texts: bool = False
    evidence: bool = False
    """Whether tables have a column with the evidence; JSON has it in its findings."""
    quotes: bool = True
    """Whether JSON has the evidence and the segments, which quote the texts."""


def json_row(record: Record, findings: Sequence[Finding], fields: ExportedFields) -> str:
    """One case as one line of JSON.

    Its keys: `id`, `tags`, `scores` {metric: number or null}, `undefined` {metric: reason}, `component`, `headline`
    (what is found, in a sentence), `findings`; with texts also `query`, `response` (null if there is none) and
    `sources`; where a response was checked by its citations also `segments`, each with what it `cites` and was
    `checked_against` (sources counted from 1, or "segments"), and what was said of all sources together (`elsewhere`).
    Without quotes there are no `segments`, and the findings have no `evidence`.
    """
    row: dict[str, Any] = {
        "id": record.case.id,
        "tags": dict(record.case.tags),
        **_texts(record, fields),
        "scores": _scores(record, fields.config.metrics),
        "undefined": {n: o.reason for n, o in record.outcomes.items() if isinstance(o, Undefined)},
        **_headline(record, findings, fields),
        "findings": [_finding(finding, fields) for finding in findings],
    }
    if fields.quotes and (segments := checked_segments(record)):
        row["segments"] = [_segment(checked) for checked in segments]
    return json.dumps(row, ensure_ascii=False, default=str)


def table_columns(fields: ExportedFields) -> list[str]:
    """The columns of a table, without the tags: see `table_row`."""
    texts = ["query", "response", "sources"] if fields.texts else []
    evidence = ["evidence"] if fields.evidence else []
    return ["id", *texts, *(m.name for m in fields.config.metrics), "component", "headline", "findings", *evidence]


def table_row(record: Record, findings: Sequence[Finding], fields: ExportedFields) -> dict[str, Any]:
    """One case as one row of a table, without its tags.

    Its columns: `id`, with texts `query`, `response` and `sources` (a list), one a metric under its name (None where
    undefined), `component`, `headline`, `findings` (the rules' names), with evidence `evidence` (a line for each
    piece).
    """
    row = {
        "id": record.case.id,
        **_texts(record, fields),
        **_scores(record, fields.config.metrics),
        **_headline(record, findings, fields),
        "findings": ";".join(finding.rule for finding in findings),
        "evidence": "\n".join(_evidence_line(finding, one) for finding in findings for one in finding.evidence),
    }
    return {name: row[name] for name in table_columns(fields)}


def _evidence_line(finding: Finding, evidence: Evidence) -> str:
    fault = evidence.fault if evidence.sure else f"perhaps {evidence.fault}"
    told = f"{finding.rule}: “{' '.join(evidence.text.split())}”: {fault}"
    return f"{told} ({evidence.explanation})" if evidence.explanation else told


def _headline(record: Record, findings: Sequence[Finding], fields: ExportedFields) -> dict[str, str]:
    head = fields.config.headline(record, findings)
    return {"component": head.component, "headline": str(head)}


def _texts(record: Record, fields: ExportedFields) -> dict[str, Any]:
    if not fields.texts:
        return {}
    case = record.case
    return {
        "query": case.query,
        "response": case.response,
        "sources": None if case.sources is None else [s.text for s in case.sources],
    }


def _finding(finding: Finding, fields: ExportedFields) -> dict[str, Any]:
    names = ("rule", "kind", "component", "reading", "probability", "sure", "doubt")
    evidence = [{name: getattr(one, name) for name in EVIDENCE} for one in finding.evidence]
    return {
        **{name: getattr(finding, name) for name in names},
        "scores": dict(finding.scores),
        **({"evidence": evidence} if fields.quotes else {}),
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


def _scores(record: Record, metrics: Sequence[Metric]) -> dict[str, float | None]:
    found = ((m.name, record.outcomes.get(m.name)) for m in metrics)
    return {name: outcome.value if isinstance(outcome, Score) else None for name, outcome in found}


ExportFormat = Literal["jsonl", "csv", "parquet"]
FORMATS: Mapping[str, ExportFormat] = {".jsonl": "jsonl", ".csv": "csv", ".parquet": "parquet"}
Cases = Callable[[], Iterable[Diagnosed]]
"""Gives the cases of a run with their findings, from the first one on at every call."""
FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n")
"""What a cell begins with that a spreadsheet would run as a formula (OWASP, "CSV Injection")."""
BATCH = 1000


def format_of(path: Path) -> ExportFormat:
    """The format that a file's ending names."""
    if (known := FORMATS.get(path.suffix)) is not None:
        return known
    raise ConfigError(f"{path.name!r}: name the file .jsonl, .csv or .parquet, or give --format")


ColumnKind = Literal["text", "number", "flag", "texts"]
"""What a column of a Parquet file holds: `texts` is a list of them."""


@dataclass(frozen=True, slots=True)
class ExportRows:
    """Rows to be exported, from the first one on at every call."""

    columns: Mapping[str, ColumnKind]
    """Of a table, without the tags: in CSV each tag has a column `tag.NAME`, in Parquet a map holds them."""
    lines: Callable[[], Iterator[str]]
    """Each as a line of JSON, without its end."""
    cells: Callable[[], Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]]
    """Each by these columns, and its tags."""


def case_rows(cases: Cases, fields: ExportedFields) -> ExportRows:
    """A row a case: see `json_row` and `table_row`."""
    kinds: dict[str, ColumnKind] = {"sources": "texts"}
    for m in fields.config.metrics:
        kinds[m.name] = "number"
    return ExportRows(
        {name: kinds.get(name, "text") for name in table_columns(fields)},
        lambda: (json_row(record, findings, fields) for record, findings in cases()),
        lambda: ((table_row(record, findings, fields), record.case.tags) for record, findings in cases()),
    )


def export_file(path: Path, format: ExportFormat, rows: ExportRows, *, raw: bool = False) -> int:  # noqa: A002  # as the flag is called
    """Write rows to a file, whole or not at all; `raw`: see `write_csv`. Returns how many were written."""
    try:
        if format == "parquet":
            return _write_parquet(path, rows)
        with atomic_write(path, errors="backslashreplace", newline="") as out:
            return write_jsonl(out, rows) if format == "jsonl" else write_csv(out, rows, raw=raw)
    except OSError as error:
        raise InputError(f"{path} can't be written: {error.strerror or error}") from error


def write_jsonl(out: TextIO, rows: ExportRows) -> int:
    """Write one line of JSON a row. Returns how many."""
    count = 0
    for count, row in enumerate(rows.lines(), 1):  # noqa: B007  # the last one is returned
        out.write(row + "\n")
    return count


def write_csv(out: TextIO, rows: ExportRows, *, raw: bool = False) -> int:
    """Write a table with a header. Returns how many rows there are.

    `out` must not translate the ends of lines. Unless `raw`, a cell that a spreadsheet would run as a formula begins
    with an apostrophe, and control characters are replaced.
    """
    cell = _plain if raw else _safe
    writer = csv.writer(out)
    tags = dict.fromkeys(name for _, own in rows.cells() for name in own)  # the head names every one
    writer.writerow(map(cell, [*rows.columns, *(f"tag.{name}" for name in tags)]))
    count = 0
    for count, (row, own) in enumerate(rows.cells(), 1):  # noqa: B007  # the last one is returned
        writer.writerow(map(cell, [*row.values(), *map(own.get, tags)]))
    return count


def _write_parquet(path: Path, rows: ExportRows) -> int:
    try:
        import pyarrow as pa  # noqa: PLC0415  # an extra
        import pyarrow.parquet as pq  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise MissingExtraError("Parquet files", "parquet") from error
    types = {"text": pa.string(), "number": pa.float64(), "flag": pa.bool_(), "texts": pa.list_(pa.string())}
    columns = [(name, types[kind]) for name, kind in rows.columns.items()]
    schema = pa.schema([*columns, ("tags", pa.map_(pa.string(), pa.string()))])
    values = ({**row, "tags": [(name, _text(value)) for name, value in own.items()]} for row, own in rows.cells())
    count = 0
    with atomic_path(path) as beside, pq.ParquetWriter(beside, schema) as writer:
        while batch := list(islice(values, BATCH)):
            writer.write_table(pa.Table.from_pylist(batch, schema))
            count += len(batch)
    return count


def _text(value: Any) -> str | None:
    return None if value is None else str(_plain(value))


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float | bool) else json.dumps(value, default=str)


def _safe(value: Any) -> Any:
    text = _plain(value)
    if not isinstance(text, str):
        return text
    return ("'" if text.startswith(FORMULA) else "") + sanitize(text)
