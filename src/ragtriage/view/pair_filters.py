"""What the address of a list of pairs says: which pairs, in which order; and back."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ragtriage.core.display import one_line
from ragtriage.core.validation import near_names
from ragtriage.report.comparison_words import title_of_row
from ragtriage.runs.compare.comparison import MetricComparison
from ragtriage.view.case_index import INPUT
from ragtriage.view.filters import (
    LONGEST_SEARCH,
    PLACES,
    READ_BY,
    BadFilterError,
    Chip,
    one_of,
    range_text,
    range_words,
    read_range,
    with_query,
    without_one,
)
from ragtriage.view.pair_index import CHANGED, CHANGES, PairSelection

ACROSS = "across_judges"
COMPARED_BY = (ACROSS, *READ_BY)
"""Parts of an address that say how two runs are compared."""
CHANGE_WORDS: Mapping[str, str] = {
    "broken": "broken", "fixed": "fixed", "other": "other faults", "none": "as before",
}  # fmt: skip


def read_pairs(given: Iterable[tuple[str, str]], metrics: Sequence[MetricComparison]) -> PairSelection:
    """The selection that the parts of an address name.

    Raises:
        BadFilterError: a part names something that the comparison doesn't have, or isn't a value of its kind.
    """
    names = [row.name for row in metrics]
    plain: dict[str, Callable[[str], dict[str, Any]]] = {
        "change": lambda value: {"change": one_of("change", value, CHANGES)},
        "component": lambda value: {"component": value},
        "q": lambda value: {"words": " ".join(value[:LONGEST_SEARCH].split())},
        "sort": lambda value: {
            "order": one_of("sort", value.removeprefix("-"), [CHANGED, INPUT, *names]),
            "descending": value.startswith("-"),
        },
    }
    found: dict[str, Any] = {}
    ranges = []
    for name, value in given:
        if name in (*COMPARED_BY, *PLACES) or not value:
            continue
        if name in plain:
            found |= plain[name](value)
        elif name in names:
            ranges.append(read_range(name, value))
        else:
            near = near_names(name, [*names, *plain], 1)
            known = f"did you mean {near[0]}?" if near else f"there are {', '.join([*names, *plain])}"
            raise BadFilterError(
                f"{one_line(name, 60)}={one_line(value, 60)} is no filter of this comparison: {known}", name
            )
    return PairSelection(**found, ranges=tuple(ranges))


def _parts(wanted: PairSelection) -> Iterator[tuple[str, str]]:
    """A selection as the parts of an address; undoes `read_pairs`."""
    for name in ("change", "component"):
        if value := getattr(wanted, name):
            yield name, value
    for one in wanted.ranges:
        yield one.metric, range_text(one)
    if wanted.words:
        yield "q", wanted.words
    if wanted.order != CHANGED:
        yield "sort", ("-" if wanted.descending else "") + wanted.order


def pair_address(base: str, wanted: PairSelection, compared_by: Mapping[str, str], **further: object) -> str:
    """The address of a page with a selection of pairs."""
    return with_query(base, [*_parts(wanted), *compared_by.items(), *further.items()])


def pair_chips(
    base: str, wanted: PairSelection, metrics: Sequence[MetricComparison], compared_by: Mapping[str, str]
) -> list[Chip]:
    """The filters of a selection as they are shown, each with the address that leaves it out."""
    found = []

    def add(label: str, **changed: object) -> None:
        without = replace(wanted, **changed)  # type: ignore[arg-type]  # a field's own default
        found.append(Chip(label, pair_address(base, without, compared_by)))

    if wanted.change:
        add(CHANGE_WORDS[wanted.change], change="")
    if wanted.component:
        add(f"component {one_line(wanted.component, 60)}", component="")
    titles = {row.name: title_of_row(row) for row in metrics}
    for one in wanted.ranges:
        add(f"{titles[one.metric]}: difference {range_words(one)}", ranges=without_one(wanted.ranges, one))
    if wanted.words:
        add(f"“{one_line(wanted.words, 60)}”", words="")
    return found
