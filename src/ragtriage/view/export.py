"""What can be taken away: the cases of a list as a file, and one case as a page of its own."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from starlette.background import BackgroundTask
from starlette.responses import FileResponse, HTMLResponse, Response

from ragtriage.core.display import one_line
from ragtriage.report.case_report import case_report, legend_of, listed_case, looks_of
from ragtriage.report.templating import environment, page_parts
from ragtriage.runs.case_row import CaseRow
from ragtriage.runs.export import ExportedFields, ExportFormat, case_rows, export_file
from ragtriage.runs.tally import Diagnosed
from ragtriage.view.case_index import CasePlaces
from ragtriage.view.filters import BadFilterError
from ragtriage.view.listing import listing_of, position_in, reading_of
from ragtriage.view.numbers import NUMBERS, case_numbers, number_rows
from ragtriage.view.opened_runs import OpenedRun, OpenedRuns

if TYPE_CHECKING:
    from starlette.requests import Request

FORMATS: tuple[str, ...] = get_args(ExportFormat)
TYPES = {"jsonl": "application/x-ndjson", "csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
PATIENCE = 3600.0
"""Seconds that a file waits for a run that is being read: a page that says so would be taken for the file."""
WITHOUT = "there are only files without them (texts=0)"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class Exports:
    """Files of what is looked at."""

    def __init__(self, runs: OpenedRuns) -> None:
        self._runs = runs

    def cases(self, request: Request) -> Response:
        """The cases of a list in its order, as JSONL, CSV or Parquet; with `texts=0` without texts.

        Where no text may be read, only that can be had, with the rows of `number_rows`.
        """
        form = request.path_params["form"]
        if form not in FORMATS:
            raise BadFilterError(f"export.{one_line(form, 20)}: there are {', '.join(FORMATS)}", "")
        listing = listing_of(self._runs, request, leaving_out="texts", patience=PATIENCE)
        opened, found = listing.opened, listing.found
        limits = opened.config.metrics, opened.config.thresholds, opened.config.rules
        texts = _texts(request)
        if texts:
            self._runs.require_texts(opened.run, WITHOUT)
        fields = ExportedFields(*limits, texts=texts, quotes=texts)
        rows = case_rows(lambda: _diagnosed(opened, found), fields)
        if not opened.index.readable:
            rows = number_rows(lambda: _numbers(opened, found), opened.config)
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
        shown: dict[str, Any] = {"texts": _texts(request)}
        if shown["texts"]:
            self._runs.require_texts(opened.run, WITHOUT)
            record, config = opened.record(position), opened.config
            findings = config.diagnose(record)
            shown["case"] = case_report(record, findings, config.thresholds, config.metrics, config.rules)
            shown["row"] = listed_case(record, findings, config.rules, config.thresholds, config.metrics)
        else:
            shown["case"], shown["row"] = case_numbers(opened, position)
        page = environment().get_template("case_alone.html.j2").render(
            n=1, run=opened.run.info, looks_of=looks_of, legend_of=legend_of, **shown,
            **page_parts(["marks.js"], "report.css"),
        )  # fmt: skip
        name = _UNSAFE.sub("-", shown["case"].id)[:80].strip("-") or "case"
        return HTMLResponse(page, headers={"content-disposition": f'attachment; filename="{name}.html"'})


def _texts(request: Request) -> bool:
    """Whether a file is to hold texts."""
    return request.query_params.get("texts") != "0"


def _numbers(opened: OpenedRun, places: CasePlaces) -> Iterator[CaseRow]:
    return (opened.row(int(opened.index.positions[place]), NUMBERS) for place in places)


def _diagnosed(opened: OpenedRun, places: CasePlaces) -> Iterator[Diagnosed]:
    for place in places:
        position = int(opened.index.positions[place])
        for record in opened.run.records(range(position, position + 1)):
            yield record, opened.config.diagnose(record)
