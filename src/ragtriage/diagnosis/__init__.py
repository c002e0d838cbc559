"""Which component to repair, from how the scores play together."""

from ragtriage.diagnosis.findings import Evidence, Finding, decided_rules, declined, diagnose
from ragtriage.diagnosis.headline import (
    KIND_WORDS,
    NONE,
    UNDETERMINED,
    UNREAD,
    Headline,
    HeadlineKind,
    any_applicable,
    component_of,
    headline,
    most_pressing,
)
from ragtriage.diagnosis.rules import KINDS, RULES, Rule, most_telling, needs_of

__all__ = [
    "KINDS",
    "KIND_WORDS",
    "NONE",
    "RULES",
    "UNDETERMINED",
    "UNREAD",
    "Evidence",
    "Finding",
    "Headline",
    "HeadlineKind",
    "Rule",
    "any_applicable",
    "component_of",
    "decided_rules",
    "declined",
    "diagnose",
    "headline",
    "most_pressing",
    "most_telling",
    "needs_of",
]
