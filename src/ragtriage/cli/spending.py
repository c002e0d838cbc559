"""What a command's requests to models have taken so far.

A price that isn't known counts as nothing and must not look like nothing, so it is left out.
"""

from __future__ import annotations

from ragtriage.core.display import dollars, plural
from ragtriage.judges.budget import Ledger


def spending(ledger: Ledger, *, tokens: bool = False) -> str:
    """What a command has spent so far: `12 requests, $0.03`, or with tokens `12 requests, 3,400 tokens, $0.03`."""
    parts = [plural(ledger.requests, "request")]
    if tokens:
        parts.append(f"{ledger.tokens_in + ledger.tokens_out:,} tokens")
    if ledger.cost:
        parts.append(dollars(ledger.cost))
    return ", ".join(parts)
