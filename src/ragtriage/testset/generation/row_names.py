"""By which columns a person names a row: its title, or a first and a last name."""

from __future__ import annotations

from ragtriage.core.errors import InputError
from ragtriage.testset.generation.database import Database
from ragtriage.testset.generation.schema import Column, Table

SAMPLE = 5_000
"""Rows that are looked at, where the schema alone doesn't tell."""
MOSTLY = 0.5
"""Of the sampled rows: as many values must differ for a column that is called a name."""
NEARLY = 0.9
"""The same, for a column that isn't."""
LONGEST = 80
"""Characters, on average: what is longer is a description."""

_FIRST = ("first name", "given name", "forename")
_LAST = ("last name", "surname", "family name", "second name")
_NAMES = ("name", "full name", "title", "label", "headline", "caption", "official name", "common name", "display name")
_NO_NAMES = frozenset(
    "address street city state country phone telephone fax url link path image photo notes comment description text "
    "body gender sex status type email mail password date time zip postal ip code".split()
)
_LAST_RESORT = frozenset("email mail code phone".split())


def naming_columns(table: Table, database: Database | None = None) -> tuple[str, ...]:
    """The columns that name a row.

    In this order: a first and a last name; a column that is called a name or title; a unique text; a column whose name
    ends in name; a text whose values nearly all differ; and at last a unique code or e-mail address.

    Args:
        table: its `names` aren't looked at.
        database: asked for at most `SAMPLE` rows of the table; None decides from the schema alone.

    Returns:
        None, one or two columns.
    """
    texts = [column for column in table.columns if column.type == "text" and not column.surrogate]
    first = next((c for words in _FIRST for c in texts if c.words == words), None)
    last = next((c for words in _LAST for c in texts if c.words == words), None)
    if first and last:
        return (first.name, last.name)
    unique = {columns[0] for columns in (table.primary_key, *table.unique) if len(columns) == 1}
    human = [c for c in texts if not _NO_NAMES & set(c.words.split())]
    called = [c for words in _NAMES for c in human if c.words == words]
    ending = [c for c in human if c.words.endswith(" name") or c.words.endswith(" title")]
    ranked: list[tuple[Column, float]] = [
        *((c, MOSTLY) for c in called),
        *((c, 0.0) for c in human if c.name in unique),
        *((c, MOSTLY) for c in ending),
    ]
    last_resort = [c for c in texts if c.name in unique and _LAST_RESORT & set(c.words.split())]
    if database is not None:
        shares = _shares(table, list(dict.fromkeys([*(c for c, _ in ranked), *human])), database)
        ranked += [(c, NEARLY) for c in human if c.name in shares]
        ranked = [(c, least) for c, least in ranked if c.name in unique or shares.get(c.name, 1.0) >= least]
    found = [c for c, _ in ranked] + last_resort
    return (found[0].name,) if found else ()


def _shares(table: Table, columns: list[Column], database: Database) -> dict[str, float]:
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
    for place, column in enumerate(columns):
        values = [str(row[place]) for row in rows if row[place] not in {None, ""}]
        if rows:
            short = bool(values) and sum(map(len, values)) <= LONGEST * len(values)
            found[column.name] = len(set(values)) / len(rows) if short else 0.0
    return found
