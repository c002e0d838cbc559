"""The cases of one run as columns, so that any filter in any order is a matter of milliseconds.

It is read once, from wherever the run is kept, and lives only as long as the viewer: numbers in memory, ids and the
beginnings of queries in a temporary file that has no name, so that nothing is left behind.
"""

from __future__ import annotations

import sqlite3
import threading
from array import array
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragtriage.core.display import one_line
from ragtriage.core.verdicts import Score
from ragtriage.diagnosis.headline import KIND_WORDS
from ragtriage.runs.case_row import COPIED, CaseHeading, CaseRow, Columns
from ragtriage.runs.compare.case_table import tag_text
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.run import Run

MICRO = 1_000_000
"""Scores are kept in millionths: as exact as they are shown, in half the memory."""
UNDEFINED = np.iinfo(np.int32).min
"""Stands for a score that there isn't."""
MOST_RULES = 64
MOST_TAGS = 32
MOST_VALUES = 10_000
"""Values of a tag that can be filtered by; a tag with more, such as a session, can't."""
MOST_ORDERS = 12
"""Orders that are remembered."""
KINDS = tuple(KIND_WORDS)
WORST, INPUT = "worst", "input"
"""Orders beside those by a score and by a probability: the most pressing kind first, sure ones before; as in the
input."""

Places = NDArray[np.int32]
"""Rows of the index, from 0; not the positions in the run, of which some may be missing."""
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ScoreRange:
    """Which scores of a metric are wanted."""

    metric: str
    low: float | None = None
    high: float | None = None
    below: bool = False
    """Whether `high` itself isn't wanted."""
    undefined: bool = False
    """Whether those without a score are wanted, and no others."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which cases are wanted, in which order."""

    rule: str = ""
    component: str = ""
    kind: str = ""
    sure: bool | None = None
    failed: bool | None = None
    ranges: tuple[ScoreRange, ...] = ()
    tags: tuple[tuple[str, str], ...] = ()
    """Tag and value; an empty value: those without the tag."""
    words: str = ""
    """Each of them stands in the id, the query or the response."""
    order: str = WORST
    """`worst`, `input`, a metric's name, or a rule's."""
    descending: bool = False
    """Of a score: the highest first. A rule's likeliest always come first."""


@dataclass(frozen=True, slots=True)
class ListedRow:
    """One case in a list."""

    place: int
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


@dataclass
class _Gathered:
    """Columns while they are read."""

    metrics: Sequence[str]
    rules: Sequence[str]
    positions: array[int] = field(default_factory=lambda: array("q"))
    kinds: array[int] = field(default_factory=lambda: array("B"))
    components: array[int] = field(default_factory=lambda: array("H"))
    first_rules: array[int] = field(default_factory=lambda: array("B"))
    sure: array[int] = field(default_factory=lambda: array("B"))
    failed: array[int] = field(default_factory=lambda: array("B"))
    found: array[int] = field(default_factory=lambda: array("Q"))

    def __post_init__(self) -> None:
        self.scores = {name: array("i") for name in self.metrics}
        self.likely = {name: array("B") for name in self.rules}
        self.component_codes: dict[str, int] = {}
        self.tags: dict[str, array[int]] = {}
        self.tag_codes: dict[str, dict[str, int]] = {}
        self._rule_places = {name: at for at, name in enumerate(self.rules)}

    def add(self, row: CaseRow, head: CaseHeading | None, likely: Mapping[str, float] | None) -> None:
        """One case; `likely` are the probabilities of the rules, where they were computed."""
        self._add_tags(row.tags, len(self.positions))
        self.positions.append(row.position)
        self.kinds.append(KINDS.index(head.kind) if head else KINDS.index("undetermined"))
        component = head.component if head else "undetermined"
        self.components.append(self.component_codes.setdefault(component, len(self.component_codes)))
        self.sure.append(bool(head and head.sure))
        places = [at for rule in (head.rules if head else ()) if (at := self._rule_places.get(rule)) is not None]
        self.first_rules.append(places[0] if places else MOST_RULES)
        self.found.append(sum({1 << at for at in places}))
        self.failed.append(any(getattr(outcome, "failed", False) for outcome in row.outcomes.values()))
        for name, column in self.scores.items():
            outcome = row.outcomes.get(name)
            column.append(round(outcome.value * MICRO) if isinstance(outcome, Score) else UNDEFINED)
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


class CaseIndex:
    """One run's cases as columns; made by `read`, in a thread of its own, and asked only when `ready` is set.

    Args:
        run: whose cases.
        config: the thresholds and rules by which they are read.
        assessed: whether every case is read whole, so that the probability of every rule is known, and any thresholds
            can be used; else the headings that are stored with the run are taken.

    Attributes:
        count: cases read so far.
        error: what went wrong; None while nothing has.
    """

    def __init__(self, run: Run, config: EvaluationConfig, *, assessed: bool) -> None:
        self.run, self.config, self.assessed = run, config, assessed
        self.metrics = tuple(m.name for m in config.metrics)
        self.rules = tuple(rule.name for rule in config.rules)[:MOST_RULES]
        self.count = 0
        self.error: Exception | None = None
        self.ready = threading.Event()
        self.cancelled = False
        self._texts = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._lock = threading.Lock()
        self._orders: OrderedDict[tuple[str, bool], Places] = OrderedDict()
        self._selected: OrderedDict[Selection, Places] = OrderedDict()
        self._searchable = False

    def read(self) -> None:
        """Read the run; never raises, see `error`."""
        try:
            self._read()
        except Exception as error:  # noqa: BLE001  # it is shown by whoever waits for the index
            self.error = error
        self.ready.set()

    def _read(self) -> None:
        gathered = _Gathered(self.metrics, self.rules if self.assessed else ())
        columns = COPIED if self.assessed else Columns(scores=True, headings=True, texts=("query",))
        self._texts.execute("CREATE TABLE heads (place INTEGER PRIMARY KEY, id TEXT, query TEXT)")
        heads: list[tuple[int, str, str]] = []
        for place, row in enumerate(self.run.place.read(columns)):
            if self.cancelled:
                return
            heading, likely = row.heading, None
            if self.assessed:
                record = row.record()
                assessed = self.config.assess(record)
                heading, likely = self.config.heading(record, assessed), assessed.probabilities
            gathered.add(row, heading, likely)
            heads.append((place, one_line(row.id, 200), one_line(query_of(row), 140)))
            if len(heads) == 10_000:
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
        self._kinds, self._sure = np.frombuffer(found.kinds, np.uint8), np.frombuffer(found.sure, np.bool_)
        self._components = np.frombuffer(found.components, np.uint16)
        self.components = tuple(found.component_codes)
        self._first_rules, self._failed = (
            np.frombuffer(found.first_rules, np.uint8),
            np.frombuffer(found.failed, np.bool_),
        )
        self._found = np.frombuffer(found.found, np.uint64)
        self._scores = {name: np.frombuffer(column, np.int32) for name, column in found.scores.items()}
        self._likely = {name: np.frombuffer(column, np.uint8) for name, column in found.likely.items()}
        self.tags: dict[str, tuple[str, ...]] = {}
        self._tags: dict[str, NDArray[np.uint16]] = {}
        for name, column in found.tags.items():
            codes = found.tag_codes[name]
            if len(codes) <= MOST_VALUES:
                column.extend([0] * (len(self.positions) - len(column)))
                self.tags[name], self._tags[name] = tuple(codes), np.frombuffer(column, np.uint16)
        self.unfiltered_tags = tuple(name for name in found.tags if name not in self.tags)

    def __len__(self) -> int:
        return len(self.positions)

    def select(self, wanted: Selection) -> Places:
        """The places of the wanted cases, in the wanted order.

        Raises:
            KeyError: a metric, a rule or a tag that the index doesn't have.
        """
        with self._lock:
            known = self._selected.get(wanted)
            if known is None:
                order = self._order(wanted.order, descending=wanted.descending)
                mask = self._mask(wanted)
                known = order if mask is None else order[mask[order]]
                _remember(self._selected, wanted, known)
            return known

    def _mask(self, wanted: Selection) -> Mask | None:
        masks = list(self._masks(wanted))
        return np.logical_and.reduce(masks) if masks else None

    def _masks(self, wanted: Selection) -> Iterator[Mask]:
        if wanted.rule:
            yield (self._found & np.uint64(1 << self.rules.index(wanted.rule))) != 0
        if wanted.component:
            known = self.components.index(wanted.component) if wanted.component in self.components else -1
            yield self._components == known
        if wanted.kind:
            yield self._kinds == KINDS.index(wanted.kind)
        if wanted.sure is not None:
            yield self._sure == wanted.sure
        if wanted.failed is not None:
            yield self._failed == wanted.failed
        for one in wanted.ranges:
            yield from self._in_range(one)
        for name, value in wanted.tags:
            codes = self._tags[name]
            values = self.tags[name]
            yield codes == (0 if not value else values.index(value) + 1 if value in values else len(values) + 1)
        if wanted.words:
            yield self._with_words(wanted.words)

    def _in_range(self, wanted: ScoreRange) -> Iterator[Mask]:
        values = self._scores[wanted.metric]
        yield (values == UNDEFINED) == wanted.undefined
        if wanted.low is not None:
            yield values >= round(wanted.low * MICRO)
        if wanted.high is not None:
            most = round(wanted.high * MICRO)
            yield values < most if wanted.below else values <= most

    def _order(self, name: str, *, descending: bool) -> Places:
        if name == INPUT:
            return np.arange(len(self), dtype=np.int32)
        known = self._orders.get((name, descending))
        if known is None:
            known = np.argsort(self._key(name, descending=descending), kind="stable").astype(np.int32)
            _remember(self._orders, (name, descending), known)
        return known

    def _key(self, name: str, *, descending: bool) -> NDArray[Any]:
        if name == WORST:
            worst: NDArray[Any] = self._kinds * np.uint8(2) + ~self._sure
            return worst
        if name in self._likely:
            return 100 - self._likely[name]
        if name in self.rules:  # its probability isn't known: those where it is shown, the sure ones first
            held = (self._found & np.uint64(1 << self.rules.index(name))) != 0
            held_first: NDArray[Any] = ~held * np.uint8(2) + ~self._sure
            return held_first
        values = self._scores[name]
        last = np.iinfo(np.int32).max
        key: NDArray[Any] = np.where(values == UNDEFINED, last, -values if descending else values)
        return key

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
        scores = {metric: _score(column[place]) for metric, column in self._scores.items()}
        rule = int(self._first_rules[place])
        likely = self._likely.get(order)
        return ListedRow(
            place,
            int(self.positions[place]),
            name,
            query,
            KINDS[self._kinds[place]],
            self.components[self._components[place]],
            bool(self._sure[place]),
            self.rules[rule] if rule < len(self.rules) else "",
            scores,
            None if likely is None else float(likely[place]) / 100,
        )

    def place_of(self, position: int) -> int | None:
        """Where the case at a position of the run stands; None if there is none."""
        at = int(np.searchsorted(self.positions, position))
        return at if at < len(self) and self.positions[at] == position else None

    def counts(self, places: Places) -> dict[str, Counter[str]]:
        """How many of some cases are of which kind and component, and have which finding."""
        bits = self._found[places]
        rules = {name: int(((bits >> np.uint64(at)) & np.uint64(1)).sum()) for at, name in enumerate(self.rules)}
        return {
            "kind": _counted(KINDS, self._kinds[places]),
            "component": _counted(self.components, self._components[places]),
            "rule": Counter(rules),
        }

    def _with_words(self, words: str) -> Mask:
        """The cases in which every word stands; the first search makes the index of words."""
        if not self._searchable:
            self._make_searchable()
        mask = np.ones(len(self), np.bool_)
        for word in words.split():
            if len(word) >= 3:  # what the index of three letters each can find
                found = self._texts.execute("SELECT rowid FROM words WHERE words MATCH ?", (_phrase(word),))
            else:
                like = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
                query = "SELECT rowid FROM words WHERE text LIKE ? ESCAPE '\\'"
                found = self._texts.execute(query, (f"%{like}%",))
            own = np.zeros(len(self), np.bool_)
            own[np.fromiter((place for (place,) in found), np.int64)] = True
            mask &= own
        return mask

    def _make_searchable(self) -> None:
        self._texts.execute("CREATE VIRTUAL TABLE words USING fts5(text, tokenize='trigram')")
        self._texts.execute("BEGIN")
        columns = Columns(texts=("query", "response"))
        places = {int(position): place for place, position in enumerate(self.positions)}
        rows = (
            (places[row.position], _searched(row)) for row in self.run.place.read(columns) if row.position in places
        )
        self._texts.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", rows)
        self._texts.execute("COMMIT")
        self._searchable = True

    def close(self) -> None:
        """Let go of its texts."""
        self.cancelled = True
        with self._lock:
            self._texts.close()


def query_of(row: CaseRow) -> str:
    """A case's query; empty where it was deleted."""
    return next((one.text or "" for one in row.texts if one.role == "query"), "")


def _searched(row: CaseRow) -> str:
    texts = (one.text for one in row.texts if one.role in ("query", "response") and one.text)
    return "\n".join(one_line(text, 20_000) for text in (row.id, *texts))


def _phrase(word: str) -> str:
    """A word as FTS5 takes it literally."""
    return '"' + word.replace('"', '""') + '"'


def _score(value: np.int32) -> float | None:
    return None if value == UNDEFINED else float(value) / MICRO


def _counted(names: Sequence[str], codes: NDArray[Any]) -> Counter[str]:
    return Counter(
        {name: int(count) for name, count in zip(names, np.bincount(codes, minlength=len(names)), strict=True)}
    )


def _remember(known: OrderedDict[Any, Places], key: Any, value: Places) -> None:
    known[key] = value
    while len(known) > MOST_ORDERS:
        known.popitem(last=False)
