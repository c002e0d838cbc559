"""What requests to models took, in words and as JSON.

A price that isn't known counts as nothing and must not look like nothing, so it is left out.
"""

from __future__ import annotations

from typing import Any

from ragtriage.core.display import dollars, plural
from ragtriage.judges.llm.ledger import Ledger
from ragtriage.store import RunInfo


def spending(ledger: Ledger, *, tokens: bool = False) -> str:
    """What a command has spent so far: `12 requests, $0.03`, or with tokens `12 requests, 3,400 tokens, $0.03`."""
    parts = [plural(ledger.requests, "request")]
    if tokens:
        parts.append(f"{ledger.tokens_in + ledger.tokens_out:,} tokens")
    if ledger.cost:
        parts.append(dollars(ledger.cost))
    return ", ".join(parts)


def spent(info: RunInfo) -> str:
    """What a run took, for people; empty for one that sent no request."""
    if not info.requests:
        return ""
    tokens = f"{info.tokens_in:,} tokens in, {info.tokens_out:,} out"
    return f"{info.requests:,} requests · {tokens}" + (f" · {dollars(info.cost)}" if info.cost else "")


def spent_as_json(info: RunInfo) -> dict[str, Any]:
    """What a run took, for machines; nothing for one that sent no request."""
    if not info.requests:
        return {}
    return {
        "spent": {
            "requests": info.requests,
            "tokens_in": info.tokens_in,
            "tokens_out": info.tokens_out,
            "cost": info.cost or None,
        }
    }
