"""Two runs of a store compared: as a whole, as a list of pairs, and a pair with both sides beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response

from ragtriage.core.case import Record
from ragtriage.core.display import one_line
from ragtriage.core.errors import ConfigError, NotStoredError
from ragtriage.report.case_report import CaseReport, ScoreReport, case_report
from ragtriage.report.comparison_page import MOST_TEXT, comparison_parts, quotes_of, word_diff
from ragtriage.report.comparison_words import FaultKind, title_of_row
from ragtriage.report.words import full_title
from ragtriage.runs.case_row import digest
from ragtriage.runs.codec import DELETED
from ragtriage.runs.compare.compare import (
    Chosen,
    CompareOptions,
    choose_side,
    compare,
    open_sides,
)
from ragtriage.runs.compare.comparison import Comparison, MetricComparison, SideHeader
from ragtriage.runs.compare.matched import match
from ragtriage.runs.compare.sides import pair_up
from ragtriage.runs.evaluation_config import EvaluationConfig, config_of
from ragtriage.runs.run import Run
from ragtriage.view.case_index import CasePlaces
from ragtriage.view.filters import (
    CHANGE_WORDS,
    INPUT,
    OWN,
    READ_BY,
    Selection,
    address,
    pair_filters,
    with_query,
)
from ragtriage.view.listing import thresholds_in
from ragtriage.view.opened_runs import PATIENCE, OpenedRuns, version_of
from ragtriage.view.pages import ROWS, Pages, neighbours, page_links, start_of
from ragtriage.view.pair_index import CHANGES, ListedPair, PairIndex, ShownDifference, shown_difference

if TYPE_CHECKING:
    from starlette.requests import Request


@dataclass(frozen=True, slots=True)
class ComparedRuns:
    """Two runs as they were compared."""

    base: Run
    """The first one of the old side, whose cases are shown."""
    new: Run
    config: EvaluationConfig
    """By which both are read."""
    found: Comparison
    parts: Mapping[str, Any]
    """What the sections of the comparison show."""
    tags: tuple[str, ...]
    """Those that the new side's cases have."""
    pairs: PairIndex


@dataclass(frozen=True, slots=True)
class ComparisonLinks:
    """Where the parts of a comparison lead."""

    at: str
    """Its own address."""
    read_by: Mapping[str, str]

    @property
    def whole(self) -> str:
        """The comparison as a whole."""
        return with_query(self.at, self.read_by)

    def pairs(self, wanted: Selection = Selection(), **further: object) -> str:  # noqa: B008  # it is frozen
        """A list of its pairs."""
        return address(f"{self.at}/cases", wanted, self.read_by, **further)

    def pair(self, position: int, wanted: Selection) -> str:
        """A pair by its case's position in the new run, reached from a list."""
        return address(f"{self.at}/cases/{position}", wanted, self.read_by)

    def run(self, side: SideHeader) -> str:
        """The first run of a side."""
        return self.read_alike(f"/runs/{side.runs[0]}")

    def read_alike(self, address: str) -> str:
        """The address of a page of one run, which is to be read as it is here."""
        return with_query(address, self.read_by)

    def metric(self, row: MetricComparison) -> str:
        """The pairs by the difference of a metric that is compared, the worst first."""
        return self.pairs(Selection(order=row.name, descending=row.direction < 0))

    def faults(self, kind: FaultKind) -> str:
        """The pairs whose faults changed in one way."""
        return self.pairs(Selection(change=kind))

    def case(self, name: str) -> str:
        """The pair with a case of the new side, by its id."""
        return self.pairs(id=name)


class Comparisons:
    """The pages of comparisons."""

    def __init__(self, runs: OpenedRuns, pages: Pages) -> None:
        self._runs, self._pages = runs, pages

    def comparison(self, request: Request) -> Response:
        """What `ragtriage compare` says."""
        compared = self._compared(request)
        return self._page(
            request, "compare.html.j2", compared, tags=compared.tags, by=_read_by(request).get("by", ""),
            **compared.parts,
        )  # fmt: skip

    def cases(self, request: Request) -> Response:
        """A list of the pairs."""
        compared, links = self._compared(request), _links(request)
        if name := request.query_params.get("id"):
            return self._named_pair(compared, links, name)
        index, filters = compared.pairs, pair_filters(compared.pairs.metrics)
        selection, found = self._selected(request, compared)
        start = start_of(index, found, request)
        rows = index.rows([int(place) for place in found[start : start + ROWS]])
        return self._page(
            request, "compare_cases.html.j2", compared, index=index, rows=rows, total=len(found), start=start,
            texts=self._texts(compared, rows), selection=selection, counts=index.counts(found),
            heads=filters.heads(selection, links.pairs), chips=filters.chips(selection, links.pairs),
            ranges={one.metric: one.text for one in selection.ranges}, changes=CHANGES, title_of_row=title_of_row,
            by_change=replace(selection, order=OWN),
            **page_links(partial(links.pairs, selection), rows, start, len(found)),
        )  # fmt: skip

    def case(self, request: Request) -> Response:
        """Both sides of a pair, and its neighbours in the list that it was reached from."""
        compared, links = self._compared(request), _links(request)
        index, position = compared.pairs, int(request.path_params["position"])
        place = index.place_of(position)
        if place is None:
            raise NotStoredError(
                f"{compared.new.info.called} has no case at {position:,} that has a pair in {compared.base.info.called}"
            )
        selection, found = self._selected(request, compared)
        at, before, after = neighbours(index, found, place)
        pair = index.rows([place])[0]
        base = _side(compared.base, pair.base_position, _read_like(compared.base, compared.config))
        new = _side(compared.new, pair.position, compared.config)

        def near(position: int | None) -> str:
            return "" if position is None else links.pair(position, selection)

        return self._page(
            request, "compare_case.html.j2", compared, pair=pair, sides=(base, new),
            words=_word_diff(base.record, new.record), cut=MOST_TEXT, scores=_score_rows(base, new, index.metrics),
            sources=_sources(base.record, new.record), back=links.pairs(selection), place=at, of=len(found),
            before=near(before), after=near(after),
        )  # fmt: skip

    def _page(self, request: Request, name: str, compared: ComparedRuns, **shown: Any) -> Response:
        shown |= {"compared": compared, "links": _links(request), "change_words": CHANGE_WORDS}
        return self._pages.page(request, name, **shown)

    def _compared(self, request: Request) -> ComparedRuns:
        """The comparison that an address names."""
        store = self._runs.source.store
        if store is None:
            only = self._runs.source.runs()[0].called
            raise ConfigError(
                f"two runs of a store can be compared, and only {only} is looked at: start `ragtriage view` with the "
                "store that holds both, or compare files with `ragtriage compare`"
            )
        base, new = (choose_side(store, str(self._runs.source.run(key).number)) for key in _keys(request))
        for run in (*base.runs, *new.runs):
            self._runs.require_texts(run, "it can't be compared")
        options = CompareOptions(by=_read_by(request).get("by"))
        numbers = tuple(tuple(run.number for run in side.runs) for side in (base, new))
        version = " ".join(version_of(run) for side in (base, new) for run in side.runs)
        thresholds = thresholds_in(request, new.runs[0].info.metrics)
        config = self._runs.config(new.runs[0], thresholds)
        what = "comparison", numbers, options.by, tuple(sorted(thresholds.items()))
        compared: ComparedRuns = self._runs.result(
            what, version, lambda: _compare(base, new, config, options), PATIENCE, lambda found: found.pairs.nbytes
        )
        return compared

    def _selected(self, request: Request, compared: ComparedRuns) -> tuple[Selection, CasePlaces]:
        selection = pair_filters(compared.pairs.metrics).read(request.query_params.multi_items())
        found = None
        if selection.words:
            index = self._runs.ready(self._key(compared.new), words=True).index
            found = index.positions[index.select(Selection(words=selection.words, order=INPUT))]
        return selection, compared.pairs.select(selection, found)

    def _texts(self, compared: ComparedRuns, rows: Sequence[ListedPair]) -> dict[int, tuple[str, str]]:
        """Position in the new run → the id and the beginning of the query."""
        index = self._runs.ready(self._key(compared.new)).index
        places = [place for row in rows if (place := index.place_of(row.position)) is not None]
        return {row.position: (row.id, row.query) for row in index.rows(places)}

    def _key(self, run: Run) -> str:
        return self._runs.source.key(run.info)

    def _named_pair(self, compared: ComparedRuns, links: ComparisonLinks, name: str) -> Response:
        at = compared.new.place.position(digest(name))
        if at is None:
            compared.new.record(name)  # says which ids are near
            raise NotStoredError(f"{compared.new.info.called} has no such case any more")
        return RedirectResponse(links.pair(at, Selection()), 303)


def _keys(request: Request) -> tuple[str, str]:
    return request.path_params["base"], request.path_params["new"]


def _read_by(request: Request) -> dict[str, str]:
    return {name: value for name in READ_BY if (value := request.query_params.get(name))}


def _links(request: Request) -> ComparisonLinks:
    return ComparisonLinks("/compare/" + "/".join(map(quote, _keys(request))), _read_by(request))


def _compare(base: Chosen, new: Chosen, config: EvaluationConfig, options: CompareOptions) -> ComparedRuns:
    (old, now), notes = open_sides((base, new), config, options, findings=True)
    found = compare(old, now, config.rules, options)
    found = replace(found, notes=(*notes, *found.notes))
    matched, _ = match(old, now, pair_up(old.table, now.table, options.pair), options.cluster)
    pairs = PairIndex(matched, found, config.rules, base.runs[0], new.runs[0])
    tags = tuple(sorted(now.table.tags))
    parts = comparison_parts(found, quotes_of(found, base, new))
    return ComparedRuns(base.runs[0], new.runs[0], config, found, parts, tags, pairs)


def _read_like(run: Run, config: EvaluationConfig) -> EvaluationConfig:
    """A run's own metrics, read with the thresholds and rules of the other side."""
    return replace(config_of(run.info), thresholds=config.thresholds, rules=config.rules)


@dataclass(frozen=True, slots=True)
class PairSide:
    """One case of a pair as it is shown."""

    run: Run
    record: Record
    case: CaseReport
    position: int

    @property
    def address(self) -> str:
        """That of the case in its own run."""
        return f"/runs/{self.run.number}/cases/{self.position}"


def _side(run: Run, position: int, config: EvaluationConfig) -> PairSide:
    record = next(run.records(range(position, position + 1)), None)
    if record is None:
        raise NotStoredError(f"{run.info.called} has no case at {position:,} any more")
    return PairSide(run, record, case_report(record, config.diagnose(record), config), position)


Pieces = list[tuple[str, bool]]


def _word_diff(base: Record, new: Record) -> tuple[Pieces, Pieces]:
    """Both responses in pieces, each with whether the other lacks it; nothing is marked where one isn't there."""
    texts = base.case.response, new.case.response
    if DELETED in texts or None in texts:
        old, now = ([(text or "", False)] for text in texts)
        return old, now
    return word_diff(*texts)


@dataclass(frozen=True, slots=True)
class ScoreOfBoth:
    """One metric of both sides."""

    title: str
    base: ScoreReport | None
    new: ScoreReport | None
    difference: ShownDifference | None
    """None where the metric can't be compared."""


def _score_rows(base: PairSide, new: PairSide, metrics: Sequence[MetricComparison]) -> Iterator[ScoreOfBoth]:
    compared = {row.name: row for row in metrics}
    before, after = ({score.name: score for score in side.case.scores} for side in (base, new))
    for name in dict.fromkeys((*after, *before)):
        one, other = before.get(name), after.get(name)
        both = one and other and one.value is not None and other.value is not None
        value = (other.value or 0.0) - (one.value or 0.0) if both and one and other else None
        difference = shown_difference(value, compared[name].direction) if name in compared else None
        yield ScoreOfBoth(full_title(name, new.case.metrics or base.case.metrics), one, other, difference)


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One source of a pair, and at which place it stands on each side, from 1; None where it doesn't."""

    name: str
    base: int | None
    new: int | None


def _sources(base: Record, new: Record) -> list[SourceRow]:
    """New's sources in their order, then those that only the base side has; told apart by their texts."""
    rows: list[SourceRow] = []
    left: dict[str, list[int]] = {}
    for number, source in enumerate(base.case.known_sources, 1):
        left.setdefault(source.text, []).append(number)
    for number, source in enumerate(new.case.known_sources, 1):
        same = left.get(source.text)
        rows.append(SourceRow(_source_name(source.id, source.text), same.pop(0) if same else None, number))
    for number in sorted(number for numbers in left.values() for number in numbers):
        source = base.case.known_sources[number - 1]
        rows.append(SourceRow(_source_name(source.id, source.text), number, None))
    return rows


def _source_name(name: str | None, text: str) -> str:
    return one_line(name or text, 80)
