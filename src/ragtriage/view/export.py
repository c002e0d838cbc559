"""What can be taken away: the cases of a list as a file, and one case as a page of its own, with its texts or without.

Without texts there is a case's id, its tags and scores, and the names of its findings: all that there is where who
looks may not read texts.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Semaphore
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, HTMLResponse, Response

from ragtriage.core.case import Record
from ragtriage.core.display import one_line
from ragtriage.core.errors import RagtriageError
from ragtriage.core.verdicts import Score
from ragtriage.diagnosis.headline import KIND_WORDS, UNDETERMINED
from ragtriage.report.case_report import CaseReport, case_report
from ragtriage.report.templating import environment, page_parts
from ragtriage.runs.case_row import WHOLE, CaseHeading, CaseRow, Columns
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.export import ColumnKind, ExportedFields, ExportFormat, ExportRows, case_rows, export_file
from ragtriage.runs.run import Place
from ragtriage.runs.tally import Diagnosed
from ragtriage.view.case_index import CasePlaces
from ragtriage.view.filters import BadFilterError
from ragtriage.view.listing import listing_of, position_in, reading_of
from ragtriage.view.opened_runs import OpenedRun, OpenedRuns

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from starlette.requests import Request

NUMBERS = Columns(scores=True, headings=True, reasons=False)
NO_HEADING = CaseHeading(UNDETERMINED, UNDETERMINED, (), sure=False)
"""That of a case with which none was stored."""


def case_numbers(opened: OpenedRun, position: int) -> tuple[CaseReport, CaseHeading]:
    """A case without its texts, and how it is headed; why a score is undefined isn't told, since that may quote it."""
    config = opened.config
    if opened.index.readable:
        record = opened.record(position)
        heading = config.heading(record, config.assess(record))
    else:
        row = opened.row(position, NUMBERS)
        record, heading = Record(row.case(), {}, row.outcomes), row.heading or NO_HEADING
    record = replace(record, case=replace(record.case, query="", response=None, sources=None), steps={})
    shown = case_report(record, (), config)
    scores = tuple(replace(score, reason="") for score in shown.scores)
    return replace(shown, scores=scores, faults=(), reference=None), heading


def shown_case(opened: OpenedRun, position: int, *, texts: bool) -> dict[str, Any]:
    """What a page says of a case: all of it, with its record; or without texts its numbers, and how it is headed."""
    if not texts:
        case, heading = case_numbers(opened, position)
        return {"case": case, "kind": heading.kind, "heading": heading}
    record, config = opened.record(position), opened.config
    case = case_report(record, config.diagnose(record), config)
    return {"case": case, "kind": case.headline.kind, "record": record}


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


FORMATS: tuple[str, ...] = get_args(ExportFormat)
TYPES = {"jsonl": "application/x-ndjson", "csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
PATIENCE = 3600.0
"""Seconds that a file waits for a run that is being read: a page that says so would be taken for the file."""
MOST_AT_ONCE = 4
"""Files of lists that are made at once: each holds one of the threads that answer pages."""
NEAR = 100
"""Cases that are rather read than that what stands behind them is begun anew."""
WITHOUT = "there are only files without them (texts=0)"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class TooManyExportsError(RagtriageError):
    """Other files are being made, and one more would leave too few threads for pages."""


class Exports:
    """Files of what is looked at."""

    def __init__(self, runs: OpenedRuns) -> None:
        self._runs, self._free = runs, Semaphore(MOST_AT_ONCE)

    def cases(self, request: Request) -> Response:
        """The cases of a list in its order, as JSONL, CSV or Parquet; with `texts=0` without texts.

        Where no text may be read, only that can be had, with the rows of `number_rows`.
        """
        if not self._free.acquire(blocking=False):
            raise TooManyExportsError(f"{MOST_AT_ONCE} files are being made already: try again when one is there")
        try:
            return self._cases(request)
        finally:
            self._free.release()

    def _cases(self, request: Request) -> Response:
        form = request.path_params["form"]
        if form not in FORMATS:
            raise BadFilterError(f"export.{one_line(form, 20)}: there are {', '.join(FORMATS)}", "")
        listing = listing_of(self._runs, request, leaving_out="texts", patience=PATIENCE)
        opened, found = listing.opened, listing.found
        texts = _texts(request)
        if texts:
            self._runs.require_texts(opened.run, WITHOUT)
        fields = ExportedFields(opened.config, texts=texts, quotes=texts)
        rows = case_rows(lambda: _diagnosed(opened, found), fields)
        if not opened.index.readable:
            rows = number_rows(lambda: _rows(opened, found, NUMBERS), opened.config)
        descriptor, made = tempfile.mkstemp(prefix="ragtriage-", suffix=f".{form}")
        os.close(descriptor)
        path = Path(made)
        try:
            export_file(path, form, rows, raw=False)
        except BaseException:
            path.unlink()  # it may hold texts
            raise
        name = f"run-{_UNSAFE.sub('-', listing.reading.key)}.{form}"
        remove = BackgroundTask(path.unlink, missing_ok=True)
        return FileResponse(path, media_type=TYPES[form], filename=name, background=remove)

    def case(self, request: Request) -> Response:
        """One case as an HTML file that loads nothing, to be mailed or attached to a ticket.

        With `texts=0` it holds scores, tags and the names of findings, and nothing that quotes the case.
        """
        position = position_in(request.path_params["position"])
        reading = reading_of(self._runs, request)
        opened = self._runs.opened(reading.key, reading.thresholds)
        texts = _texts(request)
        if texts:
            self._runs.require_texts(opened.run, WITHOUT)
        shown = shown_case(opened, position, texts=texts)
        page = environment().get_template("case_alone.html.j2").render(
            n=1, texts=texts, run=opened.run.info, **shown,
            **page_parts(["marks.js"], "report.css"),
        )  # fmt: skip
        name = _UNSAFE.sub("-", shown["case"].id)[:80].strip("-") or "case"
        return HTMLResponse(page, headers={"content-disposition": f'attachment; filename="{name}.html"'})


def _texts(request: Request) -> bool:
    """Whether a file is to hold texts."""
    return request.query_params.get("texts") != "0"


def _diagnosed(opened: OpenedRun, places: CasePlaces) -> Iterator[Diagnosed]:
    for row in _rows(opened, places, WHOLE):
        record = row.record()
        yield record, opened.config.diagnose(record)


def _rows(opened: OpenedRun, places: CasePlaces, what: Columns) -> Iterator[CaseRow]:
    """The cases at some places of the list of all, in this order.

    They are read in the order of the run, where one in a folder costs the opening of its file and of the input; until
    their turn comes they lie in a temporary file without a name.
    """
    wanted = opened.index.positions[places]
    with closing(sqlite3.connect("", isolation_level=None)) as read:
        read.execute("CREATE TABLE rows (position INTEGER PRIMARY KEY, row BLOB)")
        read.execute("BEGIN")
        found = ((row.position, pickle.dumps(row)) for row in _in_order(opened.run.place, wanted, what))
        read.executemany("INSERT INTO rows VALUES (?, ?)", found)
        for position in wanted.tolist():
            for (row,) in read.execute("SELECT row FROM rows WHERE position = ?", (position,)):
                yield pickle.loads(row)  # noqa: S301  # as it was written above


def _in_order(place: Place, positions: NDArray[np.int64], what: Columns) -> Iterator[CaseRow]:
    ordered = np.sort(positions)
    for some in np.split(ordered, np.flatnonzero(np.diff(ordered) > NEAR) + 1):
        there = set(some.tolist())
        near = range(min(there), max(there) + 1) if there else range(0)
        yield from (row for row in place.read(what, near) if row.position in there)
