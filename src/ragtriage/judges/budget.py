"""What asking models costs."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Amount:
    """Money, requests and tokens."""

    cost: float = 0.0
    """In US dollars."""
    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    def __sub__(self, other: Amount) -> Amount:
        return Amount(*(getattr(self, one.name) - getattr(other, one.name) for one in fields(self)))


NOTHING = Amount()
