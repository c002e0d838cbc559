"""Which component to repair, from how the scores play together."""

from ragtriage.diagnosis.findings import Assessment, Evidence, Finding, assess, decided_rules, declined, diagnose
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
from ragtriage.diagnosis.rules import COSTS, KINDS, RULES, Costs, Kind, Rule, most_telling, needs_of

__all__ = [
    "COSTS",
    "KINDS",
    "KIND_WORDS",
    "NONE",
    "RULES",
    "UNDETERMINED",
    "UNREAD",
    "Assessment",
    "Costs",
    "Evidence",
    "Finding",
    "Headline",
    "HeadlineKind",
    "Kind",
    "Rule",
    "any_applicable",
    "assess",
    "component_of",
    "decided_rules",
    "declined",
    "diagnose",
    "headline",
    "most_pressing",
    "most_telling",
    "needs_of",
]
