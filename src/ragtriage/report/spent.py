"""What a run's requests to models took, in words and as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ragtriage.core.display import dollars
from ragtriage.runs.place import RunInfo


@dataclass(frozen=True, slots=True)
class Spent:
    """What requests to models took."""

    requests: int = 0
    """Repeated ones included."""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    """In US dollars; 0 where no price is known."""

    def __str__(self) -> str:
        """For people; empty if no request was sent."""
        if not self.requests:
            return ""
        tokens = f"{self.tokens_in:,} tokens in, {self.tokens_out:,} out"
        return f"{self.requests:,} requests · {tokens}" + (f" · {dollars(self.cost)}" if self.cost else "")

    def as_json(self) -> dict[str, Any]:
        """For machines: `{"spent": {...}}`, with a null for an unknown price; nothing if no request was sent."""
        return {"spent": {**asdict(self), "cost": self.cost or None}} if self.requests else {}


NOTHING = Spent()


def spent_on(info: RunInfo) -> Spent:
    """What a run took, over all continuations."""
    return Spent(info.requests, info.tokens_in, info.tokens_out, info.cost)
