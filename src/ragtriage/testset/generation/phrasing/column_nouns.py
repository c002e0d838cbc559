"""Columns that are called by a verb ("founded", "born"): the noun for when that happened."""

from __future__ import annotations

import re

from ragtriage.testset.generation.schema import ColumnType

_HOLDING: tuple[ColumnType, ...] = ("date", "datetime", "time", "text")
_BASES = frozenset("open close start begin end join leave from to".split())
"""Words for a moment that are no participle."""
_NOUNS = {
    "born": "date of birth", "died": "date of death", "founded": "founding date", "established": "founding date",
    "released": "release date", "published": "publication date", "launched": "launch date",
    "built": "construction date",
    "constructed": "construction date", "completed": "completion date", "created": "creation date",
    "updated": "date of the last update", "last updated": "date of the last update",
    "modified": "date of the last change", "last modified": "date of the last change", "sold": "sale date",
    "shipped": "shipping date", "delivered": "delivery date", "ordered": "order date", "placed": "order date",
    "purchased": "purchase date", "bought": "purchase date", "issued": "issue date", "paid": "payment date",
    "enrolled": "enrolment date", "enroled": "enrolment date", "registered": "registration date",
    "first registered": "date of the first registration", "elected": "date of the election", "hired": "hire date",
    "employed": "date of employment", "joined": "joining date", "join": "joining date", "left": "leaving date",
    "leave": "leaving date", "graduated": "graduation date", "retired": "retirement date", "opened": "opening date",
    "open": "opening date", "closed": "closing date", "close": "closing date", "started": "start date",
    "begin": "start date", "from": "start date", "ended": "end date", "to": "end date",
    "cancelled": "cancellation date",
    "canceled": "cancellation date", "signed": "date of signature", "approved": "approval date",
    "departed": "departure date", "arrived": "arrival date", "expired": "expiry date",
}  # fmt: skip
_AROUND = re.compile(
    r"(?:(?:date|time|day|year) (?:(?:it|they|he|she) )?(?:was |were )?)?(?P<verb>.+?)"
    r"(?: (?:date|day|time|year|at|on))?"
)


def happened(words: str) -> str:
    """The verb that a column is called by: "founded" of "date founded" and of "founded on"; empty if none is known."""
    small = words.lower()
    around = _AROUND.fullmatch(small)
    verb = around["verb"] if around else ""
    return verb if verb in _NOUNS and (verb == small or verb not in _BASES) else ""


def noun_of(words: str, column: ColumnType, table: str) -> str:
    """The words of a column as a noun: "founding date" for "founded".

    Args:
        words: what the column is called.
        column: what it holds; if it is neither a moment nor a text, the words stay what they are.
        table: what its row is called; an order's order date is its date.
    """
    verb = happened(words)
    if not verb or column not in _HOLDING or "year" in words.lower().split() or (column == "text" and verb in _BASES):
        return words
    return _NOUNS[verb].removeprefix(f"{table.lower().split()[-1]} ")


def year_of(words: str, column: ColumnType) -> str:
    """The words of a column of whole numbers that is called by a participle alone: "year founded" for "founded"."""
    return f"year {words}" if column == "integer" and is_done(words) else words


def is_done(words: str) -> bool:
    """Whether a day can stand behind the words: "placed on", "born on"; not "open on"."""
    return words.lower() in _NOUNS and words.lower() not in _BASES
