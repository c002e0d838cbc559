"""Which component to repair, from how the scores play together."""

from ragtriage.diagnosis.findings import (
    NONE,
    UNDETERMINED,
    Evidence,
    Finding,
    any_applicable,
    declined,
    diagnose,
    headline,
)
from ragtriage.diagnosis.rules import KINDS, RULES, Rule, most_telling, needs_of

__all__ = [
    "KINDS",
    "NONE",
    "RULES",
    "UNDETERMINED",
    "Evidence",
    "Finding",
    "Rule",
    "any_applicable",
    "declined",
    "diagnose",
    "headline",
    "most_telling",
    "needs_of",
]
