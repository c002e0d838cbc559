"""What was found for one question: the probability of yes, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scored:
    """What was found for one question."""

    probability: float
    """Of yes, in (0, 1)."""
    quote: str = ""
    """What it rests on most: the closest passage, sentence or true answer."""
    missing: tuple[str, ...] = ()
    """Numbers, names and words of the claim that stand nowhere in the evidence."""
    foreign: tuple[str, ...] = ()
    """Numbers, names, months and days of the claim that nothing in the evidence or the query accounts for."""
    derived: bool = False
    """Whether the claim states a date or number that the response works out rightly, and that stands nowhere."""
    denied: str = ""
    """A sentence of the evidence that contradicts the claim in one detail."""
    cosine: float | None = None
    """Similarity only: with the closest of the others, in [-1, 1]."""
    table: bool = False
    """Whether the evidence is mostly rows and fields, or the claim is code: both are read less well."""
    lean: float = 0.0
    """Log odds by which the probability leans to yes on purpose."""
