"""Metrics that need optional data: which of them a file allows, by what its rows hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from ragtriage.core.case import Case
from ragtriage.text.citations.marks import find_marks


def _cites(case: Case) -> bool:
    ids = [source.id for source in case.sources]
    return bool(case.sources) and bool(find_marks(case.response or "", ids, case.citation_mark))


class OptionalData(NamedTuple):
    """Something that rows may hold beside query, sources and response."""

    words: str
    groups: tuple[str, ...]
    """The groups of metrics that need it."""
    present: Callable[[Case], bool]
    field: str = ""
    """The field of a file that shows it before a row is read; empty if none does."""
    default_group: str = ""
    """The group that is computed by default, as long as it costs nothing; empty for none."""
    asks_judge: bool = True
    """Whether that group asks a judge."""


OPTIONAL_DATA: tuple[OptionalData, ...] = (
    OptionalData(
        "a reference", ("generator", "reference"), lambda case: bool(case.reference), "reference", "reference"
    ),
    OptionalData("samples of the response", ("samples",), lambda case: bool(case.samples), "samples", "samples"),
    OptionalData(
        "ids of relevant sources",
        ("retrieval",),
        lambda case: case.relevant_ids is not None,
        "relevant_ids",
        "retrieval",
        asks_judge=False,
    ),
    OptionalData("responses with citation marks", ("citations",), _cites),
)
"""What only further metrics than THELMA's need."""


def optional_data_of(case: Case) -> Iterator[str]:
    """The words for all optional data that a case holds."""
    return (data.words for data in OPTIONAL_DATA if data.present(case))


def default_groups(fields: Collection[str], *, paid: bool) -> tuple[str, ...]:
    """The groups that are computed by default besides THELMA's, as the file has the fields for them.

    Args:
        fields: those that the file has.
        paid: whether the judge costs money; then only groups that ask no judge are computed.
    """
    return tuple(
        data.default_group
        for data in OPTIONAL_DATA
        if data.default_group and data.field in fields and not (paid and data.asks_judge)
    )


def metrics_note(rows: Mapping[str, str], computed: Sequence[str], names: Sequence[str]) -> str:
    """Which metrics are computed beside THELMA's, which further ones could be, and what to type; empty if none.

    Args:
        rows: words of `OPTIONAL_DATA` → how many rows have it, in words; none that no row has.
        computed: the groups that are computed, `thelma` first.
        names: the metrics of the others among them.
    """
    found = [data for data in OPTIONAL_DATA if rows.get(data.words) and not set(data.groups) <= set(computed)]
    counts = ", ".join(f"{data.words} ({rows[data.words]})" for data in found)
    groups = ",".join(dict.fromkeys((*computed, *(group for data in found for group in data.groups))))
    said = []
    if names:
        said.append(f"computed too, where a row has what they need: {', '.join(names)} (not with --metrics thelma)")
    if found:
        said.append(f"{'further' if names else 'more'} metrics can be computed of {counts}: --metrics {groups}")
    return "; ".join(said)
