"""Which component to repair, from how the scores play together."""

from ragtriage.diagnosis.findings import NONE, UNDETERMINED, Evidence, Finding, declined, diagnose, headline
from ragtriage.diagnosis.rules import KINDS, RULES, Rule, needs_of

__all__ = [
    "KINDS",
    "NONE",
    "RULES",
    "UNDETERMINED",
    "Evidence",
    "Finding",
    "Rule",
    "declined",
    "diagnose",
    "headline",
    "needs_of",
]
