"""What an address asks for: which run, read how, and which of its cases in which order."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragtriage.config import named_numbers
from ragtriage.core.display import one_line
from ragtriage.core.errors import ConfigError, NotStoredError
from ragtriage.view.case_index import CaseIndex, CasePlaces
from ragtriage.view.filters import READ_BY, TAG, BadFilterError, Selection, run_filters
from ragtriage.view.opened_runs import PATIENCE, OpenedRun, OpenedRuns

if TYPE_CHECKING:
    from starlette.requests import Request

MOST_DIGITS = 18
"""Of a position: no store and no file holds a larger one."""


@dataclass(frozen=True, slots=True)
class RunReading:
    """How an address says that a run is read."""

    key: str
    """What stands for the run in an address."""
    by: Mapping[str, str]
    """The parts of the address that say it; they go along from page to page."""
    thresholds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Listing:
    """The cases that an address asks for."""

    reading: RunReading
    opened: OpenedRun
    selection: Selection
    found: CasePlaces


def reading_of(runs: OpenedRuns, request: Request) -> RunReading:
    """How the run of an address is read."""
    key = request.path_params["key"]
    by = {name: value for name in READ_BY if (value := request.query_params.get(name))}
    return RunReading(key, by, thresholds_in(request, runs.source.run(key).info.metrics))


def thresholds_in(request: Request, metrics: Collection[str]) -> Mapping[str, float]:
    """The thresholds that an address names, of a run with these metrics; else a `BadFilterError`."""
    text = request.query_params.get("threshold", "")
    given = [part.replace(":", "=", 1) for part in text.split(",") if part]
    try:
        return dict(named_numbers(given, "threshold", metrics)) if given else {}
    except ConfigError as error:
        raise BadFilterError(str(error).removeprefix("the command line: "), "threshold") from error


def listing_of(runs: OpenedRuns, request: Request, *, leaving_out: str = "", patience: float = PATIENCE) -> Listing:
    """The cases of a list, less `leaving_out`: a part of the address that says something else.

    `patience` is how many seconds a run that isn't read yet is waited for.
    """
    reading = reading_of(runs, request)
    config = runs.config(runs.source.run(reading.key), reading.thresholds)
    parts = [(name, value) for name, value in request.query_params.multi_items() if name != leaving_out]
    selection = run_filters(config).read(parts)
    likely = selection.order in {rule.name for rule in config.rules}
    words = bool(selection.words)
    opened = runs.ready(reading.key, reading.thresholds, likely=likely, words=words, patience=patience)
    _require_tags(selection, opened.index)
    return Listing(reading, opened, selection, opened.index.select(selection))


def _require_tags(selection: Selection, index: CaseIndex) -> None:
    for name, _ in selection.tags:
        part = TAG + name
        if name in index.unfiltered_tags:
            raise BadFilterError(
                f"{one_line(part, 60)}: the tag has too many values to be filtered by; search for one instead", part
            )
        if name not in index.tags:
            known = ", ".join(index.tags) or "none"
            raise BadFilterError(f"{one_line(part, 60)}: no case of the run has this tag; there are {known}", part)


def position_in(text: str) -> int:
    """A position as an address has it; a NotStoredError if it is none."""
    if not (text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS):
        raise NotStoredError(f"{one_line(text, 40)!r} is no position of a case: open a case from the list")
    return int(text)
