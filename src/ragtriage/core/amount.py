"""What requests to language models take: money, requests and tokens."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from ragtriage.core.display import dollars, plural


@dataclass(frozen=True, slots=True)
class Amount:
    """Money, requests and tokens."""

    cost: float = 0.0
    """In US dollars; 0 where no price is known."""
    requests: int = 0
    """That were paid for, repeated ones included."""
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    def __sub__(self, other: Amount) -> Amount:
        return Amount(*(getattr(self, one.name) - getattr(other, one.name) for one in fields(self)))

    def __str__(self) -> str:
        """For people; empty if no request was sent."""
        if not self.requests:
            return ""
        tokens = f"{self.tokens_in:,} tokens in, {self.tokens_out:,} out"
        return f"{plural(self.requests, 'request')} · {tokens}" + (f" · {dollars(self.cost)}" if self.cost else "")

    def as_json(self) -> dict[str, Any]:
        """For machines: `{"spent": {...}}`, with a null for an unknown price; nothing if no request was sent."""
        if not self.requests:
            return {}
        names = ("requests", "tokens_in", "tokens_out")
        return {"spent": {name: getattr(self, name) for name in names} | {"cost": self.cost or None}}


NOTHING = Amount()
