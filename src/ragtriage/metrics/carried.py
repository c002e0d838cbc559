"""Which further metrics a file allows, by what its rows carry beside query, sources and response."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from ragtriage.case import Case
from ragtriage.citations.marks import find_marks


def _cites(case: Case) -> bool:
    ids = frozenset(source.id for source in case.sources if source.id)
    return bool(case.sources) and bool(find_marks(case.response or "", ids, case.citation_mark))


class Carried(NamedTuple):
    """Something that rows may carry."""

    words: str
    groups: tuple[str, ...]
    """The groups of metrics that need it."""
    there: Callable[[Case], bool]


CARRIED: tuple[Carried, ...] = (
    Carried("a reference", ("generator", "reference"), lambda case: bool(case.reference)),
    Carried("samples of the response", ("samples",), lambda case: bool(case.samples)),
    Carried("ids of relevant sources", ("retrieval",), lambda case: case.relevant_ids is not None),
    Carried("responses with citation marks", ("citations",), _cites),
)
"""What the default metrics have no use for."""


def carried_by(case: Case) -> Iterator[str]:
    """The words for everything that a case carries."""
    return (carried.words for carried in CARRIED if carried.there(case))


def offer(rows: Mapping[str, int], base: str) -> str:
    """Which further metrics could be computed, and what to type for them; empty if none.

    Args:
        rows: words of `CARRIED` → how many rows carry it.
        base: the group that is computed.
    """
    found = [carried for carried in CARRIED if rows.get(carried.words)]
    if not found:
        return ""
    counts = ", ".join(f"{carried.words} ({rows[carried.words]:,})" for carried in found)
    groups = dict.fromkeys(group for carried in found for group in carried.groups)
    return f"rows carry {counts}: for the metrics that need it add --metrics {','.join((base, *groups))}"
