"""What the nouns of databases are: persons or places; what stands on, in, at or by them; and what persons do."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from typing import Any, Literal

from ragtriage.testset.generation.schema import Table

Sort = Literal["person", "place", "thing"]

NOUNS: dict[str, Any] = tomllib.loads(files(__package__).joinpath("nouns.toml").read_text("utf-8"))
PERSONS, COMPANIES, PLACES, KINDS, _ENSEMBLES, _WORKS = (
    frozenset(NOUNS[name].split()) for name in ("persons", "companies", "places", "kinds", "ensembles", "works")
)
AGENTS: dict[str, str] = NOUNS["agents"]
WORKED_ON: dict[str, str] = NOUNS["worked_on"]
_PREPOSITIONS: dict[str, str] = {
    noun: preposition for preposition, nouns in NOUNS["prepositions"].items() for noun in nouns.split()
}
_OF_PERSONS = re.compile(
    r"(?:.* )?(?:(?:first|last|middle|given|family) name|surname|gender|sex|age|birth(?: ?da(?:te|y))?|born)"
)


def head_of(words: str) -> str:
    """The noun that a group of words is about: the last, or the one before "of" ("head of state" → "head")."""
    return (words.lower().partition(" of ")[0].split() or [""])[-1]


def is_person(words: str) -> bool:
    """Whether these words name a person in a role."""
    return head_of(words) in PERSONS


def may_be_person(words: str) -> bool:
    """Whether these words name a person, or a company that is spoken of like one ("Who is the client of …?")."""
    return is_person(words) or head_of(words) in COMPANIES


def sort_of(table: Table) -> Sort:
    """What a row of the table is."""
    calls = {column.words.lower() for column in table.columns if column.name in table.names}
    if is_person(table.words) or any(name.endswith(("first name", "last name", "surname")) for name in calls):
        return "person"
    if head_of(table.words) in COMPANIES and any(_OF_PERSONS.fullmatch(one.words.lower()) for one in table.columns):
        return "person"
    return "place" if head_of(table.words) in PLACES else "thing"


def preposition(words: str, belongs: Sort = "thing") -> str:
    """What stands before a noun where something belongs to it: "on" an album, "in" a department; "of" if unknown.

    Args:
        words: what it belongs to.
        belongs: what belongs to it.
    """
    noun = head_of(words)
    if noun in _ENSEMBLES:
        return "in" if belongs == "person" else "by"
    if noun in _WORKS and belongs == "person":
        return "in"
    return _PREPOSITIONS.get(noun, "of")
