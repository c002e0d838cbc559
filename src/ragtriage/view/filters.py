"""What a list's address says: which cases or pairs, in which order; and back."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from ragtriage.core.display import one_line
from ragtriage.core.errors import ConfigError
from ragtriage.core.validation import near_names
from ragtriage.diagnosis.headline import KIND_WORDS
from ragtriage.report.comparison_words import title_of_row
from ragtriage.report.words import title_of
from ragtriage.runs.compare.comparison import MetricComparison
from ragtriage.runs.evaluation_config import EvaluationConfig

TAG = "tag."
"""What the name of a tag begins with in an address."""
READ_BY = ("threshold", "by")
"""Parts of an address that say how runs are read; they are no filters, and go along from page to page."""
PLACES = ("after", "before", "focus", "id")
"""Parts that say where on a page one is."""
LONGEST_SEARCH = 500
UNDEFINED = "undefined"
OWN, INPUT = "", "input"
"""Orders of every list: its own, which comes first in its `Filters`; as in the input."""
CHANGE_WORDS: Mapping[str, str] = {
    "broken": "broken", "fixed": "fixed", "other": "other faults", "none": "as before",
}  # fmt: skip
"""What became of a pair's faults, in the order in which pairs are listed; see `FaultChanges`."""


class BadFilterError(ConfigError):
    """A part of an address that can't be used; says which and what to write.

    `part` is its name, so that a page can offer the address without it.
    """

    def __init__(self, told: str, part: str) -> None:
        super().__init__(told)
        self.part = part


@dataclass(frozen=True, slots=True)
class ScoreRange:
    """Which scores of a metric, or differences of its scores, are wanted."""

    metric: str
    low: float | None = None
    high: float | None = None
    below: bool = False
    """Whether `high` itself isn't wanted."""
    undefined: bool = False
    """Whether those without a score are wanted, and no others."""

    @property
    def text(self) -> str:
        """As it stands in an address."""
        if self.undefined:
            return UNDEFINED
        low, high = ("" if end is None else f"{end:g}" for end in (self.low, self.high))
        return low if low == high and not self.below else f"{low}..{'<' if self.below else ''}{high}"

    @property
    def words(self) -> str:
        """As it is shown."""
        if self.undefined:
            return UNDEFINED
        most = "below" if self.below else "≤"
        if self.low is None:
            return f"{most} {self.high:g}"
        if self.high is None:
            return f"≥ {self.low:g}"
        below = "below " if self.below else ""
        return f"{self.low:g}" if self.low == self.high else f"{self.low:g} to {below}{self.high:g}"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which cases, or pairs, are wanted, in which order."""

    change: str = ""
    """Of a pair: a key of `CHANGE_WORDS`."""
    rule: str = ""
    component: str = ""
    """Of a pair: under which the case is counted on the new side."""
    kind: str = ""
    sure: bool | None = None
    ranges: tuple[ScoreRange, ...] = ()
    """Of a pair: of the differences new − base."""
    tags: tuple[tuple[str, str], ...] = ()
    """Tag and value; an empty value: those without the tag."""
    words: str = ""
    """Each of them stands in the id, the query or the response."""
    order: str = OWN
    """`OWN`, `INPUT`, a metric's name, or a rule's."""
    descending: bool = False
    """Of a score or a difference: the highest first. A rule's likeliest always come first."""


@dataclass(frozen=True, slots=True)
class Chip:
    """One filter as it is shown, and the address without it."""

    label: str
    without: str


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column of numbers: what a click on it orders by, the worst first."""

    name: str
    to: str
    sort: str
    """As HTML says how the list is ordered by it now; empty if it isn't."""
    title: str


@dataclass(frozen=True, slots=True)
class Filters:
    """What one list can be filtered and ordered by."""

    of: str
    """What is listed: a run or a comparison."""
    choices: Mapping[str, Mapping[str, str] | None]
    """Name in an address, a field of `Selection` → each of its values → how it is told; None where any value does."""
    titles: Mapping[str, str]
    """Of the metrics whose numbers are listed, by their names."""
    lower: Collection[str]
    """The metrics of which less is better."""
    orders: Sequence[str]
    """Beside those by a metric; the list's own comes first."""
    tags: bool = True
    between: str = " "
    """What stands between a metric's title and a range."""

    def read(self, given: Iterable[tuple[str, str]]) -> Selection:
        """The selection that the parts of an address name."""
        known = [*self.titles, *self.choices, "q", "sort"]
        found: dict[str, Any] = {}
        ranges, tags = [], []
        for name, value in given:
            tag = self.tags and name.startswith(TAG)
            if name in (*READ_BY, *PLACES) or not (value or tag):
                continue
            if tag:
                tags.append((name.removeprefix(TAG), value))
            elif name in self.choices:
                words = self.choices[name]
                one = value if words is None else _one_of(name, value, list(words))
                found[name] = one == "1" if name == "sure" else one
            elif name == "q":
                found["words"] = " ".join(value[:LONGEST_SEARCH].split())
            elif name == "sort":
                order = _one_of(name, value.removeprefix("-"), [*self.orders, *self.titles])
                own = order == self.orders[0]
                found |= {"order": OWN if own else order, "descending": value.startswith("-") and not own}
            elif name in self.titles:
                ranges.append(_read_range(name, value))
            else:
                told = f"{one_line(name, 60)}={one_line(value, 60)} is no filter of this {self.of}"
                raise BadFilterError(f"{told}: {_hint(name, known)}{' and tag.NAME' if self.tags else ''}", name)
        return Selection(**found, ranges=tuple(ranges), tags=tuple(tags))

    def chips(self, wanted: Selection, to: Callable[[Selection], str]) -> list[Chip]:
        """The filters of a selection as they are shown, each with the address that leaves it out."""
        found = []

        def add(label: str, field: str, rest: object = None) -> None:
            changed: dict[str, Any] = {field: getattr(Selection(), field) if rest is None else rest}
            found.append(Chip(label, to(replace(wanted, **changed))))

        for name, words in self.choices.items():
            if value := _text(getattr(wanted, name)):
                add(f"{name} {one_line(value, 60)}" if words is None else words[value], name)
        for one in wanted.ranges:
            label = f"{self.titles[one.metric]}{self.between}{one.words}"
            add(label, "ranges", _without(wanted.ranges, one))
        for tag in wanted.tags:
            label = f"{one_line(tag[0], 40)} = {one_line(tag[1], 60) or '(none)'}"
            add(label, "tags", _without(wanted.tags, tag))
        if wanted.words:
            add(f"“{one_line(wanted.words, 60)}”", "words")
        return found

    def heads(self, wanted: Selection, to: Callable[[Selection], str]) -> Iterator[Head]:
        """The heads of the metrics' columns."""
        for name, title in self.titles.items():
            own = wanted.order == name
            down = not wanted.descending if own else name in self.lower
            sort = ("descending" if wanted.descending else "ascending") if own else ""
            yield Head(name, to(replace(wanted, order=name, descending=down)), sort, title)


def run_filters(config: EvaluationConfig) -> Filters:
    """What the cases of a run can be filtered by."""
    rules = {rule.name: f"finding {rule.name.replace('_', ' ')}" for rule in config.rules}
    titles = {m.name: title_of(m.name, config.metrics) for m in config.metrics}
    lower = {m.name for m in config.metrics if m.better == "lower"}
    choices: dict[str, Mapping[str, str] | None] = {
        "rule": rules, "component": None, "kind": KIND_WORDS, "sure": {"1": "sure", "0": "not sure"},
    }  # fmt: skip
    return Filters("run", choices, titles, lower, ("worst", INPUT, *rules))


def pair_filters(metrics: Sequence[MetricComparison]) -> Filters:
    """What the pairs of a comparison can be filtered by."""
    titles = {row.name: title_of_row(row) for row in metrics}
    lower = {row.name for row in metrics if row.direction < 0}
    return Filters(
        "comparison", {"change": CHANGE_WORDS, "component": None}, titles, lower, ("changed", INPUT),
        tags=False, between=": difference ",
    )  # fmt: skip


def _hint(value: str, known: Sequence[str]) -> str:
    near = near_names(value, known, 1)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"


def _one_of(name: str, value: str, known: Sequence[str]) -> str:
    if value not in known:
        raise BadFilterError(f"{name}={one_line(value, 60)}: {_hint(value, known)}", name)
    return value


def _read_range(metric: str, text: str) -> ScoreRange:
    """Read `0.2..0.5`, `..0.5`, `0.4..<0.5` (0.5 itself isn't wanted), `0.5` or `undefined`."""
    if text == UNDEFINED:
        return ScoreRange(metric, undefined=True)
    low, dots, high = text.partition("..")
    below = high.startswith("<")
    try:
        ends = [float(end) if end else None for end in (low, (high if dots else low).removeprefix("<"))]
    except ValueError:
        ends = [None, None]
    if ends == [None, None] or any(end is not None and not math.isfinite(end) for end in ends):
        raise BadFilterError(
            f"{metric}={one_line(text, 60)}: write a range such as ..0.5, 0.5.., 0.2..0.5, or undefined", metric
        )
    return ScoreRange(metric, ends[0], ends[1], below)


def _text(value: str | bool | None) -> str:  # noqa: FBT001  # what a field of a selection is
    """A choice as it stands in an address."""
    return value if isinstance(value, str) else "" if value is None else "1" if value else "0"


def _without(items: tuple[object, ...], one: object) -> tuple[object, ...]:
    return tuple(item for item in items if item != one)


def address(base: str, wanted: Selection, kept: Mapping[str, str], **further: object) -> str:
    """The address of a page with a selection; undoes `Filters.read`."""
    parts = [(name, _text(getattr(wanted, name))) for name in ("change", "rule", "component", "kind", "sure")]
    found = [
        *((name, value) for name, value in parts if value),
        *((one.metric, one.text) for one in wanted.ranges),
        *((TAG + name, value) for name, value in wanted.tags),
    ]
    if wanted.words:
        found.append(("q", wanted.words))
    if wanted.order != OWN:
        found.append(("sort", ("-" if wanted.descending else "") + wanted.order))
    return with_query(base, [*found, *kept.items(), *further.items()])


def with_query(base: str, parts: Mapping[str, str] | Sequence[tuple[str, object]]) -> str:
    """An address with some parts behind it."""
    return f"{base}?{urlencode(parts)}" if parts else base
