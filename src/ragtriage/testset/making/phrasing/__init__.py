"""Phrasings of query templates: by rule and by a language model, each verified under its linguistic criterion."""

from __future__ import annotations

from ragtriage.testset.making.phrasing.adding import Added, added, lacking
from ragtriage.testset.making.phrasing.criteria import CRITERIA, NAMES, Criterion, criteria_named
from ragtriage.testset.making.phrasing.rules import Phrased, Refused, phrase
from ragtriage.testset.making.phrasing.writing import phrase_with

__all__ = [
    "CRITERIA",
    "NAMES",
    "Added",
    "Criterion",
    "Phrased",
    "Refused",
    "added",
    "criteria_named",
    "lacking",
    "phrase",
    "phrase_with",
]
