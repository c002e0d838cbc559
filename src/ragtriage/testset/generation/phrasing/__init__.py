"""Phrasings of query templates: by rule, and the linguistic criteria under which all are verified."""

from ragtriage.testset.generation.phrasing.criteria import CRITERIA, NAMES, Criterion, criteria_named
from ragtriage.testset.generation.phrasing.rule_phrasing import PhrasingResult, RefusedPhrasing, added, lacking, phrase

__all__ = [
    "CRITERIA",
    "NAMES",
    "Criterion",
    "PhrasingResult",
    "RefusedPhrasing",
    "added",
    "criteria_named",
    "lacking",
    "phrase",
]
