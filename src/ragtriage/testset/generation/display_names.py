"""What a person calls tables, columns and references, made from programmers' names; and what names a row."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from importlib.resources import files

from ragtriage.core.errors import InputError
from ragtriage.testset.generation.database import Database
from ragtriage.testset.generation.english import singular
from ragtriage.testset.generation.schema import Column, Table

SAMPLE = 5_000
"""Rows that are looked at for columns that name a row, where the schema alone doesn't tell."""
MOSTLY = 0.5
"""Of the sampled rows: as many values must differ for a column that is called a name."""
NEARLY = 0.9
"""The same, for a column that isn't."""
LONGEST = 80
"""Characters, on average: what is longer is a description."""

_TABLE = tomllib.loads(files(__package__).joinpath("identifiers.toml").read_text("utf-8"))
_ABBREVIATIONS: dict[str, str] = _TABLE["abbreviations"]
_ROLES: dict[str, str] = _TABLE["roles"]
_KEY_WORDS = frozenset(_TABLE["key_words"].split())
_ROW_NAMES = _TABLE["row_names"]
_NO_NAMES, _LAST_RESORT = (frozenset(_ROW_NAMES[name].split()) for name in ("never", "last_resort"))
_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+")


def words_of(name: str) -> str:
    """The words of a name: `HireDate`, `hire_date` and `HIRE_DATE` are "hire date", `qty` is "quantity"."""
    parts = [part.lower() for part in _PARTS.findall(name)]
    return " ".join(_ABBREVIATIONS.get(part, part) for part in parts) or name.strip()


def column_words(name: str, table: str) -> str:
    """The words of a column, without its table's where they stand before it: `StadiumName` of a stadium is "name"."""
    words, owner = words_of(name), words_of(table)
    before = next((one for one in (singular(owner), owner) if words.startswith(f"{one} ")), "")
    return words.removeprefix(f"{before} ")


def reference_words(columns: Sequence[str], table: str, referred: str) -> str:
    """What the referred row is to the one that refers: `RepId` is "representative", `ReportsTo` "manager"."""
    target = singular(words_of(referred))
    if len(columns) != 1:
        return target
    words = words_of(columns[0])
    if words in _ROLES:
        return _ROLES[words] or target
    parts = words.split()
    while parts and parts[-1] in _KEY_WORDS:
        parts.pop()
    role = " ".join(parts)
    if not role or role in {target, words_of(referred)} or role == singular(words_of(table)):
        return target if singular(words_of(table)) != target else f"parent {target}"
    return f"parent {target}" if role == "parent" else role


def is_identifier_name(name: str) -> bool:
    """Whether a column's name says that it holds an identifier, or something nobody should be asked about."""
    parts = [part.lower() for part in _PARTS.findall(name)]
    return bool(parts) and (
        parts[-1] in {"id", "ids", "uuid", "guid", "pk", "fk", "oid", "rowid", "key", "hash", "checksum", "token"}
        or bool({"password", "passwd", "pwd", "secret", "salt"} & set(parts))
    )


def naming_columns(table: Table, database: Database) -> tuple[str, ...]:
    """The columns by which a person names a row: none, one or two.

    In this order: a first and a last name; a column that is called a name or title; a unique text; a column whose name
    ends in name; a text whose values nearly all differ; and at last a unique code or e-mail address.
    """
    texts = [column for column in table.columns if column.type == "text" and not column.surrogate]
    first = next((c for words in _ROW_NAMES["first"] for c in texts if c.words == words), None)
    last = next((c for words in _ROW_NAMES["last"] for c in texts if c.words == words), None)
    if first and last:
        return (first.name, last.name)
    unique = {columns[0] for columns in (table.primary_key, *table.unique) if len(columns) == 1}
    human = [c for c in texts if not _NO_NAMES & set(c.words.split())]
    called = [c for words in _ROW_NAMES["names"] for c in human if c.words == words]
    ending = [c for c in human if c.words.endswith((" name", " title"))]
    ranked: list[tuple[Column, float]] = [
        *((c, MOSTLY) for c in called),
        *((c, 0.0) for c in human if c.name in unique),
        *((c, MOSTLY) for c in ending),
    ]
    shares = _distinct_shares(table, list(dict.fromkeys([*(c for c, _ in ranked), *human])), database)
    ranked += [(c, NEARLY) for c in human if c.name in shares]
    last_resort = [c for c in texts if c.name in unique and _LAST_RESORT & set(c.words.split())]
    found = [c for c, least in ranked if c.name in unique or shares.get(c.name, 1.0) >= least] + last_resort
    return (found[0].name,) if found else ()


def _distinct_shares(table: Table, columns: list[Column], database: Database) -> dict[str, float]:
    """How many of the sampled values of a column differ, as a share; 0 if they are long, nothing without rows."""
    if not columns:
        return {}
    chosen = ", ".join(database.quoted(column.name) for column in columns)
    try:
        sql = f"SELECT {chosen} FROM {database.quoted(table.name)} LIMIT {SAMPLE}"  # noqa: S608  # quoted names
        rows = database.rows(sql)
    except InputError:
        return {}
    found: dict[str, float] = {}
    for place, column in enumerate(columns if rows else ()):
        values = [str(row[place]) for row in rows if row[place] not in {None, ""}]
        short = bool(values) and sum(map(len, values)) <= LONGEST * len(values)
        found[column.name] = len(set(values)) / len(rows) if short else 0.0
    return found
