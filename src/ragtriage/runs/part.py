"""A part of a run: what is committed as a whole, with a checksum and what it amounts to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ragtriage.core.amount import Amount


@dataclass(frozen=True, slots=True)
class Part:
    """One part that is done."""

    plan: str
    """The id of the part's plan; see `ragtriage.runs.manifest.PartPlan`."""
    name: str
    """What it is kept under; of two attempts at the same plan each has its own."""
    checksum: str
    """Of all that is kept of it: 32 hexadecimal digits of BLAKE2b."""
    rows: int
    """Of the input, whether they can be used or not."""
    lines: int
    """Of a part of a JSONL file; else 0."""
    cases: int
    failed: int
    """Cases of which a score failed."""
    rejected: int
    left: int = 0
    """Cases that weren't evaluated, as the judge was stopped."""
    forgotten: int = 0
    """Cases whose texts were deleted."""
    ends: bool = False
    """Whether nothing behind it could be read, though there is more."""
    probe: str = ""
    """Of the processor's arithmetic; empty where no embedded model judges."""
    host: str = ""
    seconds: float = 0.0
    """That a process worked on it."""
    spent: Amount = field(default_factory=Amount)
    """On this attempt."""
    counts: Mapping[str, Any] = field(default_factory=dict)
    """By the run's own criteria; see `ragtriage.runs.summary.Tally.counts`."""

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Part:
        """Undo `asdict`."""
        return cls(**{**told, "spent": Amount(**told["spent"])})
