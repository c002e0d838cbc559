"""What a list's address says: which cases, in which order; and back."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from ragtriage.core.display import one_line
from ragtriage.core.errors import ConfigError
from ragtriage.core.validation import near_names
from ragtriage.diagnosis.headline import KIND_WORDS
from ragtriage.report.words import title_of
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.view.case_index import INPUT, WORST, ScoreRange, Selection

TAG = "tag."
"""What the name of a tag begins with in an address."""
READ_BY = ("threshold", "by")
"""Parts of an address that say how a run is read; they go along from page to page."""
PLACES = ("after", "before", "focus", "id")
"""Parts that say where on a page one is."""
LONGEST_SEARCH = 500
UNDEFINED = "undefined"


class BadFilterError(ConfigError):
    """A part of an address that can't be used; says which and what to write.

    `part` is its name, so that a page can offer the address without it.
    """

    def __init__(self, told: str, part: str) -> None:
        super().__init__(told)
        self.part = part


@dataclass(frozen=True, slots=True)
class Chip:
    """One filter as it is shown, and the address without it."""

    label: str
    without: str


def read_selection(given: Iterable[tuple[str, str]], config: EvaluationConfig) -> Selection:
    """The selection that the parts of an address name.

    Raises:
        BadFilterError: a part names something that the run doesn't have, or isn't a value of its kind.
    """
    metrics, rules = [m.name for m in config.metrics], [rule.name for rule in config.rules]
    flag = ("1", "0")
    plain: dict[str, Callable[[str], dict[str, Any]]] = {
        "rule": lambda value: {"rule": one_of("rule", value, rules)},
        "kind": lambda value: {"kind": one_of("kind", value, list(KIND_WORDS))},
        "component": lambda value: {"component": value},
        "sure": lambda value: {"sure": one_of("sure", value, flag) == "1"},
        "failed": lambda value: {"failed": one_of("failed", value, flag) == "1"},
        "q": lambda value: {"words": " ".join(value[:LONGEST_SEARCH].split())},
        "sort": lambda value: {
            "order": one_of("sort", value.removeprefix("-"), [WORST, INPUT, *metrics, *rules]),
            "descending": value.startswith("-"),
        },
    }
    found: dict[str, Any] = {}
    ranges, tags = [], []
    for name, value in given:
        if name in (*READ_BY, *PLACES) or not (value or name.startswith(TAG)):
            continue
        if name.startswith(TAG):
            tags.append((name.removeprefix(TAG), value))
        elif name in plain:
            found |= plain[name](value)
        elif name in metrics:
            ranges.append(read_range(name, value))
        else:
            near = near_names(name, [*metrics, *plain], 1)
            known = f"did you mean {near[0]}?" if near else f"there are {', '.join([*metrics, *plain])} and tag.NAME"
            raise BadFilterError(f"{one_line(name, 60)}={one_line(value, 60)} is no filter of this run: {known}", name)
    return Selection(**found, ranges=tuple(ranges), tags=tuple(tags))


def one_of(name: str, value: str, known: Sequence[str]) -> str:
    """A value that is one of those that are known; else a `BadFilterError`."""
    if value not in known:
        near = near_names(value, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        raise BadFilterError(f"{name}={one_line(value, 60)}: {hint}", name)
    return value


def read_range(metric: str, text: str) -> ScoreRange:
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


def address_parts(wanted: Selection) -> Iterator[tuple[str, str]]:
    """A selection as the parts of an address; undoes `read_selection`."""
    for name in ("rule", "component", "kind"):
        if value := getattr(wanted, name):
            yield name, value
    for name in ("sure", "failed"):
        if (flag := getattr(wanted, name)) is not None:
            yield name, "1" if flag else "0"
    for one in wanted.ranges:
        yield one.metric, range_text(one)
    for name, value in wanted.tags:
        yield TAG + name, value
    if wanted.words:
        yield "q", wanted.words
    if wanted.order != WORST:
        yield "sort", ("-" if wanted.descending else "") + wanted.order


def range_text(one: ScoreRange) -> str:
    """A range as it stands in an address."""
    if one.undefined:
        return UNDEFINED
    low, high = ("" if end is None else f"{end:g}" for end in (one.low, one.high))
    return low if low == high and not one.below else f"{low}..{'<' if one.below else ''}{high}"


def address(base: str, wanted: Selection, read_by: Mapping[str, str], **further: object) -> str:
    """The address of a page with a selection."""
    return with_query(base, [*address_parts(wanted), *read_by.items(), *further.items()])


def with_query(base: str, parts: Mapping[str, str] | Sequence[tuple[str, object]]) -> str:
    """An address with some parts behind it."""
    return f"{base}?{urlencode(parts)}" if parts else base


def chips(base: str, wanted: Selection, config: EvaluationConfig, read_by: Mapping[str, str]) -> list[Chip]:
    """The filters of a selection as they are shown, each with the address that leaves it out."""
    found = []

    def add(label: str, **changed: object) -> None:
        without = replace(wanted, **changed)  # type: ignore[arg-type]  # a field's own default
        found.append(Chip(label, address(base, without, read_by)))

    if wanted.rule:
        add(f"finding {wanted.rule.replace('_', ' ')}", rule="")
    if wanted.component:
        add(f"component {one_line(wanted.component, 60)}", component="")
    if wanted.kind:
        add(KIND_WORDS[wanted.kind], kind="")
    if wanted.sure is not None:
        add("sure" if wanted.sure else "not sure", sure=None)
    if wanted.failed is not None:
        add("a score failed" if wanted.failed else "no score failed", failed=None)
    for one in wanted.ranges:
        add(f"{title_of(one.metric, config.metrics)} {range_words(one)}", ranges=without_one(wanted.ranges, one))
    for tag in wanted.tags:
        add(f"{one_line(tag[0], 40)} = {one_line(tag[1], 60) or '(none)'}", tags=without_one(wanted.tags, tag))
    if wanted.words:
        add(f"“{one_line(wanted.words, 60)}”", words="")
    return found


def without_one(items: tuple[object, ...], one: object) -> tuple[object, ...]:
    """All but one of several."""
    return tuple(item for item in items if item != one)


def range_words(one: ScoreRange) -> str:
    """A range as it is shown."""
    if one.undefined:
        return UNDEFINED
    most = "below" if one.below else "≤"
    if one.low is None:
        return f"{most} {one.high:g}"
    if one.high is None:
        return f"≥ {one.low:g}"
    return f"{one.low:g}" if one.low == one.high else f"{one.low:g} to {'below ' if one.below else ''}{one.high:g}"
