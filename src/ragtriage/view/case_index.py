"""The cases of one run as columns, so that any filter in any order is a matter of milliseconds.

It is read once, from wherever the run is kept, and lives only as long as the viewer: numbers in memory, ids and the
beginnings of queries in a temporary file that has no name, so that nothing is left behind.
"""

from __future__ import annotations

import sqlite3
import threading
from array import array
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragtriage.core.display import one_line
from ragtriage.diagnosis.headline import KIND_WORDS, UNDETERMINED
from ragtriage.runs.case_row import WHOLE, CaseHeading, CaseRow, Columns
from ragtriage.runs.compare.case_table import tag_text
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.run import Run
from ragtriage.view.filters import INPUT, OWN, ScoreRange, Selection
from ragtriage.view.word_index import ChangedError, WordIndex

MICRO = 1_000_000
"""Scores are kept in millionths: as exact as they are shown, in half the memory."""
UNDEFINED = np.iinfo(np.int32).min
"""Stands for a score that there isn't."""
_LAST = int(np.iinfo(np.int32).max)
PORTION = 10_000
"""Rows that are put away together."""
MOST_TAGS = 32
MOST_VALUES = 10_000
"""Values of a tag that can be filtered by; a tag with more, such as a session, can't."""
MOST_REMEMBERED = 8_000_000
"""Bytes of orders, and of selections, that are remembered: of a million cases two of each."""
KINDS = tuple(KIND_WORDS)
NOT_READABLE = "[not readable]"
"""Stands for a text that who looks may not read."""

CasePlaces = NDArray[np.int32]
"""Rows of the index, from 0; not the positions in the run, of which some may be missing."""
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ListedRow:
    """One case in a list."""

    position: int
    id: str
    query: str
    kind: str
    component: str
    sure: bool
    rule: str
    """That of its most pressing finding; empty if it has none."""
    scores: Mapping[str, float | None]
    likely: float | None
    """How likely the rule holds by which the list is ordered; None in another order."""


@dataclass(frozen=True, slots=True)
class _Head:
    """What many cases have in common: how they are headed."""

    kind: int
    component: str
    sure: bool
    rules: tuple[int, ...]


@dataclass
class _Gathered:
    """Columns while they are read."""

    rules: Sequence[str]
    assessed: bool
    positions: array[int] = field(default_factory=lambda: array("q"))
    heads: array[int] = field(default_factory=lambda: array("I"))
    head_codes: dict[_Head, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.likely = {name: array("B") for name in (self.rules if self.assessed else ())}
        self.tags: dict[str, array[int]] = {}
        self.tag_codes: dict[str, dict[str, int]] = {}
        self._rule_places = {name: at for at, name in enumerate(self.rules)}

    def add(self, row: CaseRow, head: CaseHeading | None, likely: Mapping[str, float] | None) -> None:
        """One case; `likely` are the probabilities of the rules, where they were computed."""
        self._add_tags(row.tags, len(self.positions))
        self.positions.append(row.position)
        places = tuple(at for rule in (head.rules if head else ()) if (at := self._rule_places.get(rule)) is not None)
        own = _Head(
            KINDS.index(head.kind if head else UNDETERMINED),
            head.component if head else UNDETERMINED,
            bool(head and head.sure),
            places,
        )
        self.heads.append(self.head_codes.setdefault(own, len(self.head_codes)))
        if likely is not None:
            for name, column in self.likely.items():
                column.append(round(100 * likely.get(name, 0.0)))

    def _add_tags(self, tags: Mapping[str, Any], at: int) -> None:
        for name, value in tags.items():
            text = tag_text(value)
            if text is None or (name not in self.tags and len(self.tags) >= MOST_TAGS):
                continue
            codes = self.tag_codes.setdefault(name, {})
            column = self.tags.setdefault(name, array("H"))
            if len(codes) > MOST_VALUES:
                continue
            column.extend([0] * (at - len(column)))
            column.append(codes.setdefault(text, len(codes) + 1))


class ColumnIndex:
    """Rows of a list as columns: their positions in a run, ascending, and numbers in millionths by the metrics' names.

    What is the list's own order, and which masks a selection means, is for those that inherit to say.
    """

    positions: NDArray[np.int64]
    numbers: dict[str, NDArray[np.int32]]

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._orders: OrderedDict[tuple[str, bool], CasePlaces] = OrderedDict()

    def __len__(self) -> int:
        return len(self.positions)

    def place_of(self, position: int) -> int | None:
        """Where what stands at a position of the run is; None if there is nothing."""
        at = int(np.searchsorted(self.positions, position))
        return at if at < len(self) and self.positions[at] == position else None

    def ordered(self, wanted: Selection, masks: Iterable[Mask]) -> CasePlaces:
        """The places for which all masks hold and whose numbers lie in the wanted ranges, in the wanted order."""
        order = self._order(wanted.order, descending=wanted.descending)
        all_masks = [*masks, *(mask for one in wanted.ranges for mask in in_range(self.numbers[one.metric], one))]
        return order[np.logical_and.reduce(all_masks)[order]] if all_masks else order

    def _order(self, name: str, *, descending: bool) -> CasePlaces:
        if name == INPUT:
            return np.arange(len(self), dtype=np.int32)
        known = self._orders.get((name, descending))
        if known is None:
            known = np.argsort(self._key(name, descending=descending), kind="stable").astype(np.int32)
            _remember(self._orders, (name, descending), known)
        return known

    def _key(self, name: str, *, descending: bool) -> NDArray[Any]:
        values = self.numbers[name]
        return np.where(values == UNDEFINED, np.int32(_LAST), -values if descending else values)


class CaseIndex(ColumnIndex):
    """One run's cases as columns; made by `read`, in a thread of its own, and asked only when `ready` is set.

    With `assessed` every case is read whole, so that the probability of every rule is known and any thresholds can be
    used; else, and where texts aren't `readable`, the headings that are stored with the run are taken. `count` says how
    many cases are read so far, `error` what went wrong.
    """

    def __init__(self, run: Run, config: EvaluationConfig, *, assessed: bool, readable: bool = True) -> None:
        super().__init__()
        self.run, self.config, self.assessed, self.readable = run, config, assessed, readable
        self.metrics = tuple(m.name for m in config.metrics)
        self.rules = tuple(rule.name for rule in config.rules)
        self.count = 0
        self.error: Exception | None = None
        self.ready = threading.Event()
        self.cancelled = False
        self._texts = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._selected: OrderedDict[Selection, CasePlaces] = OrderedDict()
        self.words: WordIndex | None = None
        """Once somebody searches."""

    def with_words(self) -> tuple[WordIndex, bool]:
        """The index of its words, and whether it is new, so that the caller has to have it read."""
        with self._lock:
            new = self.words is None
            self.words = self.words or WordIndex(self.run, self.place_of, len(self))
            return self.words, new

    def read(self) -> None:
        """Read the run; never raises, see `error`."""
        try:
            self._read()
        except Exception as error:  # noqa: BLE001  # it is shown by whoever waits for the index
            self.error = error
        self.ready.set()

    def _read(self) -> None:
        gathered = _Gathered(self.rules, self.assessed)
        columns = (
            WHOLE
            if self.assessed
            else Columns(headings=True, texts=("query",) if self.readable else None, digests=False)
        )
        self._texts.execute("CREATE TABLE heads (place INTEGER PRIMARY KEY, id TEXT, query TEXT)")
        heads: list[tuple[int, str, str]] = []
        for place, row in enumerate(self.run.place.read(columns)):
            if self.cancelled:
                raise ChangedError
            heading, likely = row.heading, None
            if self.assessed:
                record = row.record()
                assessed = self.config.assess(record)
                heading, likely = self.config.heading(record, assessed), assessed.probabilities
            gathered.add(row, heading, likely)
            query = query_of(row) if self.readable else NOT_READABLE
            heads.append((place, one_line(row.id, 200), one_line(query, 140)))
            if len(heads) == PORTION:
                self._keep(heads)
            self.count = place + 1
        self._keep(heads)
        self._take(gathered)

    def _keep(self, heads: list[tuple[int, str, str]]) -> None:
        self._texts.execute("BEGIN")
        self._texts.executemany("INSERT INTO heads VALUES (?, ?, ?)", heads)
        self._texts.execute("COMMIT")
        heads.clear()

    def _take(self, found: _Gathered) -> None:
        self.positions = np.frombuffer(found.positions, np.int64)
        self._heads = np.frombuffer(found.heads, np.uint32)
        self._head_values = tuple(found.head_codes)
        self.components = tuple(dict.fromkeys(head.component for head in self._head_values))
        self.numbers = {name: self._read_scores(name) for name in self.metrics}
        self._likely = {name: np.frombuffer(column, np.uint8) for name, column in found.likely.items()}
        self.tags: dict[str, tuple[str, ...]] = {}
        self._tags: dict[str, NDArray[np.uint16]] = {}
        for name, column in found.tags.items():
            codes = found.tag_codes[name]
            if len(codes) <= MOST_VALUES:
                column.extend([0] * (len(self.positions) - len(column)))
                self.tags[name], self._tags[name] = tuple(codes), np.frombuffer(column, np.uint16)
        self.unfiltered_tags = tuple(name for name in found.tags if name not in self.tags)

    def _read_scores(self, metric: str) -> NDArray[np.int32]:
        """A metric's scores in millionths, read by themselves."""
        column = np.full(len(self.positions), UNDEFINED, np.int32)
        scores = iter(self.run.place.scores(metric))
        while some := list(islice(scores, PORTION)):
            if self.cancelled:
                raise ChangedError
            positions = np.array([position for position, _, _ in some], np.int64)
            at = np.minimum(np.searchsorted(self.positions, positions), max(0, len(self) - 1))
            listed = self.positions[at] == positions if len(self) else np.zeros(len(some), np.bool_)
            values = np.array([np.nan if value is None else value for _, value, _ in some], np.float64)
            known = listed & ~np.isnan(values)
            column[at[known]] = np.rint(values[known] * MICRO)
        return column

    def select(self, wanted: Selection) -> CasePlaces:
        """The places of the wanted cases, in the wanted order.

        Raises:
            KeyError: a metric, a rule or a tag that the index doesn't have, or words before `words` is ready.
        """
        with self._lock:
            known = self._selected.get(wanted)
            if known is None:
                known = self.ordered(wanted, self._masks(wanted))
                _remember(self._selected, wanted, known)
            return known

    def _masks(self, wanted: Selection) -> Iterator[Mask]:
        if wanted.rule:
            rule = self.rules.index(wanted.rule)
            yield self._by_head(lambda head: rule in head.rules)
        if wanted.component:
            yield self._by_head(lambda head: head.component == wanted.component)
        if wanted.kind:
            kind = KINDS.index(wanted.kind)
            yield self._by_head(lambda head: head.kind == kind)
        if wanted.sure is not None:
            yield self._by_head(lambda head: head.sure == wanted.sure)
        for name, value in wanted.tags:
            codes = self._tags[name]
            values = self.tags[name]
            yield codes == (0 if not value else values.index(value) + 1 if value in values else len(values) + 1)
        if wanted.words:
            if self.words is None or not self.words.ready.is_set():
                raise KeyError(wanted.words)
            yield self.words.find(wanted.words)

    def _by_head(self, fits: Callable[[_Head], bool]) -> Mask:
        """Which cases are headed in a way that fits."""
        table = np.fromiter(map(fits, self._head_values), np.bool_, len(self._head_values))
        return table[self._heads]

    def _key(self, name: str, *, descending: bool) -> NDArray[Any]:
        if name == OWN:  # the most pressing kind first, sure ones before
            return self._key_by_head(lambda head: 2 * head.kind + (not head.sure))
        if name in self._likely:
            return np.uint8(100) - self._likely[name]
        if name in self.rules:  # its probability isn't known: those where it is shown, the sure ones first
            rule = self.rules.index(name)
            return self._key_by_head(lambda head: 2 * (rule not in head.rules) + (not head.sure))
        return super()._key(name, descending=descending)

    def _key_by_head(self, key: Callable[[_Head], int]) -> NDArray[np.uint8]:
        table = np.fromiter(map(key, self._head_values), np.uint8, len(self._head_values))
        return table[self._heads]

    def rows(self, places: Sequence[int], order: str = "") -> list[ListedRow]:
        """Some cases as they are listed."""
        marks = ",".join("?" * len(places))
        query = f"SELECT place, id, query FROM heads WHERE place IN ({marks})"  # noqa: S608  # only question marks
        with self._lock:
            heads = {
                place: (name, query) for place, name, query in self._texts.execute(query, [int(p) for p in places])
            }
        return [self._row(int(place), *heads[int(place)], order) for place in places]

    def _row(self, place: int, name: str, query: str, order: str) -> ListedRow:
        scores = {metric: shown_number(column[place]) for metric, column in self.numbers.items()}
        head = self._head_values[self._heads[place]]
        likely = self._likely.get(order)
        return ListedRow(
            int(self.positions[place]),
            name,
            query,
            KINDS[head.kind],
            head.component,
            head.sure,
            self.rules[head.rules[0]] if head.rules else "",
            scores,
            None if likely is None else float(likely[place]) / 100,
        )

    def nearest(self, position: int) -> int | None:
        """The position of the case that stands nearest to one; None if there is no case."""
        if not len(self):
            return None
        at = min(int(np.searchsorted(self.positions, position)), len(self) - 1)
        return min((int(self.positions[i]) for i in {max(0, at - 1), at}), key=lambda one: abs(one - position))

    def counts(self, places: CasePlaces) -> dict[str, Counter[str]]:
        """How many of some cases are of which kind and component, and have which finding."""
        found: dict[str, Counter[str]] = {"kind": Counter(), "component": Counter(), "rule": Counter()}
        for head, count in zip(self._head_values, np.bincount(self._heads[places]).tolist(), strict=False):
            found["kind"][KINDS[head.kind]] += count
            found["component"][head.component] += count
            found["rule"].update(dict.fromkeys((self.rules[at] for at in head.rules), count))
        return found

    def close(self) -> None:
        """Stop reading. Whoever is looking at the index still may; its texts go with the last of them."""
        self.cancelled = True
        if self.words:
            self.words.cancelled = True


def in_range(values: NDArray[np.int32], wanted: ScoreRange) -> Iterator[Mask]:
    """Which of some values, in millionths or `UNDEFINED`, lie in a range: those for which all of these masks hold."""
    yield (values == UNDEFINED) == wanted.undefined
    if wanted.low is not None:
        yield values >= _micro(wanted.low)
    if wanted.high is not None:
        most = _micro(wanted.high)
        yield values < most if wanted.below else values <= most


def query_of(row: CaseRow) -> str:
    """A case's query; empty where it was deleted."""
    return next((one.text or "" for one in row.texts if one.role == "query"), "")


def shown_number(value: np.int32) -> float | None:
    """A number that is kept in millionths; None where it is undefined."""
    return None if value == UNDEFINED else float(value) / MICRO


def _micro(value: float) -> int:
    """A score in millionths; what is larger than any score is the largest there is."""
    return round(max(-_LAST, min(_LAST, value * MICRO)))


def _remember(known: OrderedDict[Any, CasePlaces], key: Any, value: CasePlaces) -> None:
    """Keep what was found, as much as there is room for; the newest always stays."""
    known[key] = value
    room = MOST_REMEMBERED - sum(one.nbytes for one in known.values())
    while room < 0 and len(known) > 1:
        room += known.popitem(last=False)[1].nbytes
