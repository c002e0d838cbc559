"""From verdicts to a number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ragtriage.verdicts import Cell, Component, Failure, Outcome, Part, Score, Undefined, Verdict


def parts(components: Sequence[Component], cells: Sequence[Cell], good: Literal["yes", "no"]) -> tuple[Part, ...]:
    """Pair every component with its deciding cell; shapes: both (n,)."""

    def speaks_for(cell: Cell) -> bool | None:
        if isinstance(cell, Verdict) and cell.value != "unknown":
            return cell.value == good
        return None

    return tuple(Part(unit, cell, speaks_for(cell)) for unit, cell in zip(components, cells, strict=True))


def failure_of(cells: Sequence[Cell]) -> Undefined | None:
    """Undefined if the judge failed on one of the cells, with the first cause."""
    causes = [cell.cause for cell in cells if isinstance(cell, Failure)]
    if not causes:
        return None
    return Undefined(f"the judge failed on {len(causes)} of {len(cells)}: {causes[0]}", failed=True)


def share(components: Sequence[Component], cells: Sequence[Cell], good: Literal["yes", "no"] = "yes") -> Outcome:
    """The share of components whose verdict is `good`, in [0, 1].

    Unknown verdicts leave numerator and denominator. Undefined if the judge failed on a component, or if no verdict is
    left.

    Args:
        components: shape (n,), n ≥ 1.
        cells: shape (n,): the deciding verdict of each.
        good: the verdict that speaks for the answer.
    """
    failed = failure_of(cells)
    if failed:
        return failed
    judged = parts(components, cells, good)
    known = [part.good for part in judged if part.good is not None]
    if not known:
        return Undefined(f"the judge could not tell for any of {len(cells)}")
    return Score(sum(known) / len(known), len(known), len(cells) - len(known), judged)
