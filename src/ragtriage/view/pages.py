"""What every address of the viewer shows, and why a score is what it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import numpy as np
from jinja2 import ChoiceLoader, Environment, PackageLoader
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from ragtriage import __version__
from ragtriage.core.case import Record
from ragtriage.core.display import one_line, sanitize
from ragtriage.core.errors import ConfigError, InputError, NotPermittedError, NotStoredError, RagtriageError
from ragtriage.core.verdicts import Part, Score, Verdict, bad_chance
from ragtriage.diagnosis.headline import KIND_WORDS
from ragtriage.diagnosis.rules import is_bad
from ragtriage.metrics import metric_named
from ragtriage.report.run_page import PLOT, SHARES, missing_scores_of, plot_of
from ragtriage.report.run_report import MetricReport
from ragtriage.report.templating import environment, shares
from ragtriage.report.words import full_title, level_sign, short_title, title_of, two_places
from ragtriage.runs.case_row import digest
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.metric_tally import BINS
from ragtriage.runs.run import RUNNING
from ragtriage.runs.tally import MAX_SLICES, NO_VALUE, OTHERS
from ragtriage.view.case_index import CaseIndex, CasePlaces, ColumnIndex, ListedRow
from ragtriage.view.export import TooManyExportsError, shown_case
from ragtriage.view.filters import TAG, BadFilterError, ScoreRange, Selection, address, run_filters, with_query
from ragtriage.view.history import history_of, run_before
from ragtriage.view.listing import listing_of, position_in, reading_of
from ragtriage.view.opened_runs import NoSuchCaseError, NotReadYetError, OpenedRun, OpenedRuns
from ragtriage.view.pair_index import ListedPair

if TYPE_CHECKING:
    from starlette.requests import Request

ROWS = 50
"""Cases on a page of a list."""
MOST_TAGS = 4
"""Tags that a list offers."""
MOST_CHOICES = 50
"""Values of a tag up to which a list offers them."""
RENEWED = 2
"""Seconds after which a page that waits for something asks again."""
ASSETS = {
    "view.css": ("text/css", ("report.css", "comparison.css", "view.css", "label.css")),
    "view.js": ("text/javascript", ("marks.js", "view.js", "label.js")),
}
"""Style and script → their type, and the files that they are put together of: the report's, then the viewer's own."""


@dataclass(frozen=True, slots=True)
class RunLinks:
    """Where the parts of a run's page lead."""

    key: str
    read_by: Mapping[str, str]
    rules: Mapping[str, str]
    """What a rule says → its name."""
    by: str | None
    sliced: Mapping[str, str] | None
    """What a slice by `by` is called → the value of the tag in an address; None while the cases are being read."""

    @property
    def cases(self) -> str:
        """The address of the list of cases."""
        return f"/runs/{quote(self.key)}/cases"

    def compared(self, before: int) -> str:
        """Its comparison with an earlier run."""
        return with_query(f"/compare/{before}/{quote(self.key)}", self.read_by)

    def case(self, name: str) -> str:
        """One case, by its id."""
        return with_query(self.cases, {"id": name, **self.read_by})

    def bar(self, metric: MetricReport, at: int) -> str:
        """The cases whose score lies in one part of the plot."""
        name, (bottom, top) = metric.numbers.name, metric.numbers.range
        low, high = (bottom + (top - bottom) * end / BINS for end in (at, at + 1))
        return self._list(ranges=(ScoreRange(name, low, high, below=at < BINS - 1),), order=name)

    def undefined(self, metric: MetricReport) -> str:
        """The cases that don't have a score."""
        return self._list(ranges=(ScoreRange(metric.numbers.name, undefined=True),))

    def reading(self, text: str) -> str:
        """The cases that a rule holds for, the likeliest first; empty where several rules say the same."""
        rule = self.rules.get(text)
        return self._list(rule=rule, order=rule) if rule else ""

    def kind(self, name: str) -> str:
        """The cases that are headed by one kind of finding."""
        return self._list(kind=name)

    def slice(self, value: str) -> str:
        """The cases with one value of the tag that is sliced by; empty where no filter finds just these."""
        wanted = self.sliced.get(value) if self.sliced else None
        return "" if wanted is None else self._list(tags=((self.by or "", wanted),))

    def _list(self, **wanted: Any) -> str:
        return address(self.cases, Selection(**wanted), self.read_by)


class Pages:
    """The pages of one viewer, of a store or folder that is shown as `where`.

    `by` is the tag that runs are sliced by where an address names none; `writing` says whether labels can be given.
    """

    def __init__(self, runs: OpenedRuns, where: str, by: str | None = None, *, writing: bool = False) -> None:
        self._runs, self._where, self._by = runs, where, by
        self.writing = writing
        self._templates = _templates()

    def runs(self, request: Request) -> Response:
        """The runs and their means, the newest first."""
        found = history_of(self._runs)
        return self.page(request, "runs.html.j2", found=found, where=self._where, waiting=found.waiting)

    def run(self, request: Request) -> Response:
        """One run as a whole."""
        reading = reading_of(self._runs, request)
        key, read_by, thresholds = reading.key, reading.by, reading.thresholds
        stored = self._runs.source.run(key)
        readable = self._runs.readable(stored)
        by = request.query_params.get("by") or (self._by if readable else None)
        run = self._runs.report(key, thresholds, by)
        config = self._runs.config(stored, thresholds)
        index = self._runs.opened(key, thresholds).index
        kinds = _kinds(index)
        links = RunLinks(key, read_by, _rules_by_reading(config), by, _sliced(index, by))
        return self.page(
            request, "run.html.j2", key=key, run=run, header=run.header, links=links, kinds=kinds,
            shares=shares(kinds, SHARES), plot_of=plot_of, plot_size=PLOT, missing_scores_of=missing_scores_of,
            repeats=None, repeat_tables=(), same="", judge_sections=(), by=by,
            before=run_before(self._runs, stored.info), readable=readable,
            live=run.header.info.state == RUNNING, writing=self.writing,
        )  # fmt: skip

    def cases(self, request: Request) -> Response:
        """A list of cases."""
        if wanted := request.query_params.get("id"):
            reading = reading_of(self._runs, request)
            return self._named_case(reading.key, wanted, reading.by)
        listing = listing_of(self._runs, request)
        opened, selection, found = listing.opened, listing.selection, listing.found
        key, read_by, index = listing.reading.key, listing.reading.by, opened.index
        start = start_of(index, found, request)
        places = found[start : start + ROWS]
        rows = index.rows([int(place) for place in places], selection.order)
        base, filters = f"/runs/{quote(key)}/cases", run_filters(opened.config)

        def to(wanted: Selection = selection, **further: object) -> str:
            return address(base, wanted, read_by, **further)

        return self.page(
            request, "cases.html.j2", key=key, opened=opened, index=index, rows=rows, total=len(found), start=start,
            selection=selection, chips=filters.chips(selection, to), heads=filters.heads(selection, to),
            read_by=read_by, counts=index.counts(found),
            **page_links(to, rows, start, len(found)),
            case=lambda row: address(f"{base}/{row.position}", selection, read_by),
            export=lambda form: address(f"/runs/{quote(key)}/export.{form}", selection, read_by),
            score=lambda row, name: _shown_score(row, name, opened), choices=_choices(index), tag=TAG,
            likely=selection.order if rows and rows[0].likely is not None else "",
            live=opened.busy, base=base, run_page=with_query(f"/runs/{quote(key)}", read_by),
            everything=to(Selection()),
        )  # fmt: skip

    def case(self, request: Request) -> Response:
        """One case in full, and its neighbours in the list that it was reached from."""
        reading = reading_of(self._runs, request)
        key, read_by = reading.key, reading.by
        position = position_in(request.path_params["position"])
        opened = self._runs.opened(key, reading.thresholds)
        selection = run_filters(opened.config).read(request.query_params.multi_items())
        readable = opened.index.readable
        shown = shown_case(opened, position, texts=readable)
        reasons = reasons_of(shown["record"], opened.config) if readable else ()
        base = f"/runs/{quote(key)}/cases"
        found = _listed(opened.index, selection)
        at, before, after = neighbours(opened.index, found, opened.index.place_of(position) if len(found) else None)

        def place(at: int | None) -> str:
            return "" if at is None else address(f"{base}/{at}", selection, read_by)

        alone = f"/runs/{quote(key)}/cases/{position}.html"
        return self.page(
            request, "case_page.html.j2", key=key, run=opened.run.info, n=position, position=position, **shown,
            reasons=reasons, readable=readable,
            run_page=with_query(f"/runs/{quote(key)}", read_by), back=address(base, selection, read_by),
            place=at, of=len(found), before=place(before), after=place(after),
            alone=address(alone, Selection(), read_by),
            alone_numbers=address(alone, Selection(), read_by, texts=0),
        )  # fmt: skip

    def help(self, request: Request) -> Response:
        """Keys, and what the words mean."""
        return self.page(request, "help.html.j2")

    def asset(self, request: Request) -> Response:
        """The script and the style."""
        name = request.path_params["name"]
        if name not in ASSETS:
            raise HTTPException(404)
        kind, parts = ASSETS[name]
        loader = self._templates.loader
        assert loader  # noqa: S101  # it has one
        texts = (loader.get_source(self._templates, part)[0].strip() for part in parts)
        return Response("\n".join(texts), media_type=kind)

    def state(self, request: Request) -> Response:
        """How far a run that is being written has come: what a page that shows it asks for."""
        info = self._runs.source.run(request.path_params["key"]).info
        return JSONResponse({"state": info.state, "done": info.done, "failed": info.failed, "rows": info.rows})

    def refused(self, request: Request, error: Exception) -> Response:
        """What is shown where a page can't be."""
        if isinstance(error, NotReadYetError):
            return self.page(request, "waiting.html.j2", error=error, waiting=True)
        if isinstance(error, HTTPException):
            return self.page(request, "error.html.j2", said="There is no such page.", status=404)
        statuses = {
            NotStoredError: 404, NotPermittedError: 403, ConfigError: 400, InputError: 400, TooManyExportsError: 503,
        }  # fmt: skip
        status = next((status for kind, status in statuses.items() if isinstance(error, kind)), 500)
        instead: list[tuple[str, str]] = []
        if isinstance(error, NotPermittedError) and "key" in request.path_params:
            instead = [(f"/runs/{quote(request.path_params['key'])}/cases", "the run’s cases by their numbers")]
        if isinstance(error, BadFilterError) and error.part:
            rest = [one for one in request.query_params.multi_items() if one[0] != error.part]
            path = quote(request.url.path)
            instead = [(f"{path}?{urlencode(rest)}", f"this list without {error.part}")] if rest else []
            instead.append((path, "this list without filters"))
        if isinstance(error, NoSuchCaseError) and error.nearest is not None:
            base = f"/runs/{quote(request.path_params['key'])}/cases/{error.nearest}"
            instead = [(base, f"the nearest, at {error.nearest:,}")]
        return self.page(request, "error.html.j2", said=str(error), status=status, instead=instead)

    def _named_case(self, key: str, name: str, read_by: Mapping[str, str]) -> Response:
        run = self._runs.source.run(key)
        at = run.place.position(digest(name))
        if at is None:
            run.record(name)  # says which ids are near
        return RedirectResponse(with_query(f"/runs/{quote(key)}/cases/{at}", read_by), 303)

    def page(self, request: Request, name: str, *, status: int = 200, waiting: bool = False, **found: Any) -> Response:
        """A page of a template, with what all of them know; one that is `waiting` asks again by itself."""
        theme = request.cookies.get("theme", "")
        text = self._templates.get_template(name).render(
            theme=theme if theme in ("dark", "light") else "",
            path=request.url.path,
            status=status,
            renewed=RENEWED if waiting else 0,
            version=__version__,
            kind_order=tuple(KIND_WORDS),
            **{"instead": (), **found},
        )
        return HTMLResponse(text, status)


def _templates() -> Environment:
    """The viewer's templates, scripts and styles, and behind them the report's."""
    report = environment()
    assert report.loader  # noqa: S101  # it has one
    found = report.overlay(loader=ChoiceLoader([PackageLoader("ragtriage.view", "templates"), report.loader]))
    found.globals |= {"two_places": two_places, "short_title": short_title, "title_of": title_of}
    return found


def answering(pages: Pages, page: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """A page that says what is wrong where something is."""

    def answer(request: Request) -> Response:
        try:
            return page(request)
        except (NotReadYetError, RagtriageError, HTTPException) as error:
            return pages.refused(request, error)

    return answer


def start_of(index: ColumnIndex, found: CasePlaces, request: Request) -> int:
    """Where the page of a list begins: behind, or before, the case at a position."""
    given = request.query_params
    for name in ("after", "before"):
        if name in given:
            try:
                place = index.place_of(position_in(given[name]))
            except NotStoredError as error:
                told = f"{name}={one_line(given[name], 20)}: write the position of a case"
                raise BadFilterError(told, name) from error
            at = place_in(found, place)
            if at is not None:
                return at + 1 if name == "after" else max(0, at - ROWS)
    return 0


def place_in(found: CasePlaces, place: int | None) -> int | None:
    """Where a place stands in a list, from 0; None if it isn't in it."""
    if place is None:
        return None
    at = (found == place).nonzero()[0]
    return int(at[0]) if len(at) else None


def neighbours(index: ColumnIndex, found: CasePlaces, place: int | None) -> tuple[int | None, int | None, int | None]:
    """Where a place stands in a list, from 0, and the positions of what is before and after it there."""
    at = place_in(found, place)
    if at is None:
        return None, None, None
    around = (found[near] if 0 <= near < len(found) else None for near in (at - 1, at + 1))
    before, after = (None if one is None else int(index.positions[one]) for one in around)
    return at, before, after


def _listed(index: CaseIndex, selection: Selection) -> CasePlaces:
    """The cases of a list; none where they aren't read yet, or not by what they are selected."""
    if index.ready.is_set() and not index.error:
        with suppress(KeyError):
            return index.select(selection)
    return np.empty(0, np.int32)


def page_links(
    to: Callable[..., str], rows: Sequence[ListedRow] | Sequence[ListedPair], start: int, total: int
) -> dict[str, Any]:
    """Where the pages of a list lead: `first`, `before` and `after`, each empty where there is none."""
    return {
        "first": to() if start else "",
        "before": to(before=rows[0].position) if start and rows else "",
        "after": to(after=rows[-1].position) if start + ROWS < total else "",
    }


def _kinds(index: CaseIndex) -> dict[str, int]:
    if not index.ready.wait(1.0) or index.error:
        return {}
    return index.counts(index.select(Selection()))["kind"]


def _sliced(index: CaseIndex, by: str | None) -> Mapping[str, str] | None:
    """What slices are called → the value by which the index finds their cases; without those that it can't tell apart.

    A slice is called by a value as Python writes it, the index knows it as JSON has it.
    """
    if by is None or not index.ready.is_set() or index.error:
        return None
    found: dict[str, list[str]] = {NO_VALUE: [""]}
    values = index.tags.get(by, ())
    for value in values:
        found.setdefault({"true": "True", "false": "False"}.get(value, value), []).append(value)
    if len(values) >= MAX_SLICES:  # it may be all later values together
        found.pop(OTHERS, None)
    return {called: same[0] for called, same in found.items() if len(same) == 1}


def _rules_by_reading(config: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for rule in config.rules:
        found[rule.reading] = "" if rule.reading in found else rule.name
    return found


def _shown_score(row: ListedRow, name: str, opened: OpenedRun) -> tuple[str, str]:
    """A score as a list shows it, and the sign of one on the wrong side of its threshold."""
    value, limit = row.scores[name], opened.config.thresholds.get(name)
    metric = metric_named(name, opened.config.metrics)
    if value is None:
        return "–", ""
    better = metric.better if metric else "higher"
    return two_places(value), level_sign(better) if is_bad(value, limit, better) else ""


def _choices(index: CaseIndex) -> dict[str, tuple[str, ...]]:
    """The values of the tags that a list offers; a form can't send one with control characters as it is."""
    few = ((name, values) for name, values in index.tags.items() if len(values) <= MOST_CHOICES)
    plain = ((name, tuple(v for v in values if v == sanitize(v))) for name, values in few if name == sanitize(name))
    return dict(islice(((name, values) for name, values in plain if values), MOST_TAGS))


MOST = 60
"""Components that are listed for one score."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One component of a score."""

    text: str
    counts: str
    """`for`, `against` or `left out`."""
    likely: str
    """How likely it speaks for the answer, `83 %`; empty where nobody can tell."""
    note: str


@dataclass(frozen=True, slots=True)
class ScoreReasons:
    """A score and its components."""

    title: str
    shown: str
    said: str
    """What was counted, in words, or why it is undefined."""
    reasons: tuple[Reason, ...]
    left_out: int


def reasons_of(record: Record, config: EvaluationConfig) -> list[ScoreReasons]:
    """What the scores of a case rest on."""
    found = []
    for name, outcome in record.outcomes.items():
        title = full_title(name, config.metrics)
        if not isinstance(outcome, Score):
            found.append(ScoreReasons(title, "", f"undefined: {one_line(outcome.reason, 200)}", (), 0))
            continue
        parts = outcome.parts
        said = f"{outcome.judged:,} judged" + (f", {outcome.unknown:,} left out" if outcome.unknown else "")
        reasons = tuple(map(_reason, parts[:MOST]))
        found.append(ScoreReasons(title, two_places(outcome.value), said, reasons, len(parts) - len(reasons)))
    return found


def _reason(part: Part) -> Reason:
    cell = part.cell
    counts = "left out" if part.good is None else "for" if part.good else "against"
    likely = "" if part.good is None or not isinstance(cell, Verdict) else f"{100 * (1 - bad_chance(part)):.0f} %"
    note = cell.explanation if isinstance(cell, Verdict) else getattr(cell, "cause", "")
    return Reason(one_line(part.component.text, 300), counts, likely, one_line(note, 300))
