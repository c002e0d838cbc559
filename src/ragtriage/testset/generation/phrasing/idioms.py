"""How people ask for what a column holds, where "What is the … of …?" isn't how they ask: the table `idioms.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal, get_args

from ragtriage.testset.generation.english import capital
from ragtriage.testset.generation.phrasing.nouns import Sort
from ragtriage.testset.generation.schema import ColumnType

About = Literal["time", "person", "place", "amount", "thing"]
TIMES: tuple[ColumnType, ...] = ("date", "datetime", "time")


@dataclass(frozen=True, slots=True)
class Wording:
    """One way of asking, before any style."""

    direct: str
    """Without its question mark: "When was Ann hired"."""
    embedded: str
    """Behind "I wonder": "when Ann was hired"."""
    noun: str
    """What is asked for: "Ann's hire date"; empty where no noun says it (yes or no)."""
    keys: str
    """For a search box: "Ann hire date"."""
    about: About

    @property
    def trailing(self) -> bool:
        """Whether the clause ends with a verb far behind its subject: "what the length of the track Blue is"."""
        about = self.embedded.startswith("what ") or (self.embedded.startswith("who ") and " whose " in self.embedded)
        return about and self.embedded.endswith((" is", " are"))

    @property
    def given(self) -> str:
        """Behind "give me": the noun, of a person the name."""
        person = self.about == "person" and self.noun and not self.noun.startswith("the name of ")
        return f"the name of {self.noun}" if person else self.noun

    @property
    def told(self) -> str:
        """Behind "tell me": the noun where the clause would only say "what … is"."""
        return self.given if self.noun and self.trailing else self.embedded


def asked_alike(clause: str, noun: str, keys: str, about: About) -> Wording:
    """A question that has the same words as its clause: "Who wrote the book …", "who wrote the book …"."""
    return Wording(capital(clause), clause, noun, keys, about)


@dataclass(frozen=True, slots=True)
class Idiom:
    """How a kind of column is asked for; the fields are explained in the table."""

    column: re.Pattern[str]
    about: About
    asked: tuple[tuple[str, str], ...]
    rows: tuple[Sort, ...]
    types: tuple[ColumnType, ...]
    table: re.Pattern[str]
    noun: str


def _idiom(row: Mapping[str, Any], verb: Mapping[str, Any]) -> Idiom:
    """An idiom out of a row of the table, the words of a verb put into it."""

    def put(text: str) -> str:
        for name, value in verb.items():
            text = text.replace(f"{{{name}}}", str(value))
        return text

    return Idiom(
        column=re.compile(put(row["column"]), re.IGNORECASE),
        about=row["about"],
        asked=tuple((put(direct), put(embedded)) for direct, embedded in row["asked"]),
        rows=tuple({**row, **verb}.get("rows", get_args(Sort))),
        types=tuple(row.get("types", get_args(ColumnType))),
        table=re.compile(row.get("table", "")),
        noun=put(row.get("noun", "")),
    )


def _read() -> Iterator[Idiom]:
    table = tomllib.loads(files(__package__).joinpath("idioms.toml").read_text("utf-8"))
    for voice in ("passive", "active"):
        for verb in table[voice]:
            yield from (_idiom(pattern, verb) for pattern in table["patterns"][voice])
    yield from (_idiom(row, {}) for row in table["other"])


IDIOMS = tuple(_read())


def idiom_of(words: str, sort: Sort, type_: ColumnType, table: str) -> Idiom | None:
    """The first idiom that fits a column of these words, whose row is of this sort and called `table`."""
    fitting = (one for one in IDIOMS if one.column.fullmatch(words) and sort in one.rows and type_ in one.types)
    return next((one for one in fitting if one.table.search(table.lower())), None)
