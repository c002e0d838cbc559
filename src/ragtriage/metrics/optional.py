"""Which further metrics a file allows, by what its rows carry beside query, sources and response."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from ragtriage.core.case import Case
from ragtriage.text.citations.marks import find_marks


def _cites(case: Case) -> bool:
    ids = [source.id for source in case.sources]
    return bool(case.sources) and bool(find_marks(case.response or "", ids, case.citation_mark))


class Carried(NamedTuple):
    """Something that rows may carry."""

    words: str
    groups: tuple[str, ...]
    """The groups of metrics that need it."""
    there: Callable[[Case], bool]
    field: str = ""
    """The field of a file that shows it before a row is read; empty if none does."""
    unasked: str = ""
    """The group that is computed where nobody names metrics, as long as it costs nothing; empty for none."""
    asks: bool = True
    """Whether that group asks a judge."""


CARRIED: tuple[Carried, ...] = (
    Carried("a reference", ("generator", "reference"), lambda case: bool(case.reference), "reference", "reference"),
    Carried("samples of the response", ("samples",), lambda case: bool(case.samples), "samples", "samples"),
    Carried(
        "ids of relevant sources",
        ("retrieval",),
        lambda case: case.relevant_ids is not None,
        "relevant_ids",
        "retrieval",
        asks=False,
    ),
    Carried("responses with citation marks", ("citations",), _cites),
)
"""What THELMA's metrics have no use for."""


def carried_by(case: Case) -> Iterator[str]:
    """The words for everything that a case carries."""
    return (carried.words for carried in CARRIED if carried.there(case))


def groups_unasked(fields: Collection[str], *, paid: bool) -> tuple[str, ...]:
    """The groups that are computed beside THELMA's where nobody names metrics, as the file has the fields for them.

    Args:
        fields: those that the file has.
        paid: whether the judge costs money; then only groups that ask no judge are computed.
    """
    return tuple(c.unasked for c in CARRIED if c.unasked and c.field in fields and not (paid and c.asks))


def offer(rows: Mapping[str, int], computed: Sequence[str]) -> str:
    """Which further metrics could be computed, and what to type for them; empty if none.

    Args:
        rows: words of `CARRIED` → how many rows carry it.
        computed: the groups that are computed.
    """
    found = [c for c in CARRIED if rows.get(c.words) and not set(c.groups) <= set(computed)]
    if not found:
        return ""
    counts = ", ".join(f"{c.words} ({rows[c.words]:,})" for c in found)
    groups = dict.fromkeys((*computed, *(group for c in found for group in c.groups)))
    return f"rows carry {counts}: for the metrics that need it add --metrics {','.join(groups)}"
