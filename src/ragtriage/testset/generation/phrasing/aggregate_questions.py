"""The ways of asking about many rows at once: how many, in all, on average, the most, the least."""

from __future__ import annotations

from collections.abc import Iterator

from ragtriage.testset.generation.english import is_plural, plural
from ragtriage.testset.generation.phrasing.idioms import TIMES, Wording, asked_alike
from ragtriage.testset.generation.phrasing.nouns import (
    COUNTED,
    KINDS,
    NOUNS,
    column_noun,
    counted_noun,
    head_of,
    moment_noun,
    preposition,
)
from ragtriage.testset.generation.phrasing.row_descriptions import Constraint, Query, Unnameable, joined

_SIZES = frozenset(NOUNS["sizes"].split())
_EXTREMES = {"time": ("earliest", "latest"), "size": ("smallest", "greatest"), "other": ("lowest", "highest")}


def aggregated(query: Query) -> Iterator[Wording]:
    """Many rows at once: how many, in all, on average, the most, the least; rows of one name are Unnameable."""
    aggregate = query.shape.aggregate or "count"
    constraints = _constraints(query)
    if aggregate == "count":
        yield from _counted(query, constraints)
        return
    column = query.column(0, query.shape.select)
    words, time = column_noun(query.table, column), column.type in TIMES
    words = moment_noun(words, column.type, query.table.words)
    counted = COUNTED.fullmatch(words)
    if counted:
        words = f"number of {counted_noun(counted)}"
    elif is_plural(words) and column.type == "integer" and " in " not in words:
        words = f"number of {words.removeprefix('total ')}"
    time = time or head_of(words) == "year"
    lowest, highest = _EXTREMES["time" if time else "size" if words.split()[0] in _SIZES else "other"]
    how = {"sum": "total", "average": "average", "minimum": lowest, "maximum": highest}[aggregate]
    bare = words.removeprefix("total ")
    words = bare if bare != "total" else "amount"
    noun = plural(query.table.words)
    keys = f"{' '.join(one.keys for one in constraints)} {query.table.words} {how} {words}"
    for between in ("of", "among") if aggregate in {"minimum", "maximum"} else ("of",):
        asked = f"the {how} {words} {between} the {noun} {joined(constraints)}"
        yield Wording(f"What is {asked}", f"what {asked} is", asked, keys, "time" if time else "amount")


def _constraints(query: Query) -> list[Constraint]:
    """What the rows that are taken together have in common; Unnameable is raised if that is a name, or nothing."""
    table = query.table
    own = [query.column(0, one.column) for one in query.shape.filters if one.occurrence == 0]
    if any(one.name in table.names or column_noun(table, one).lower() == table.words.lower() for one in own):
        raise Unnameable("it takes rows of one name together, which nobody asks for")
    keys = {column for key in table.foreign_keys for column in key.columns}
    says = {column.name for column in table.columns if not column.surrogate} - keys
    if query.shape.aggregate == "count" and len(table.foreign_keys) > 1 and not says:
        raise Unnameable(f"rows of {table.name} only connect others, and nobody counts them")
    found = query.constraints(0, but=-1)
    if not found:
        raise Unnameable("nothing says which rows are meant")
    return found


def _counted(query: Query, constraints: list[Constraint]) -> Iterator[Wording]:
    noun, text = plural(query.table.words), joined(constraints)
    keys = f"{' '.join(one.keys for one in constraints)} {query.table.words} count"
    number = f"the number of {noun} {text}"
    only = constraints[0] if len(constraints) == 1 else None
    related = only if only and only.row else None
    own = only is not None and related is None
    kind = related is not None and head_of(_last_noun(query)) in KINDS
    has = [] if kind or related is None else list(_has(query, noun, related, number, keys))
    row = related.row if related else None
    owns = related and row and (related.role or text.startswith(("of ", "with ")) or row.sort == "person")
    if owns and (query.table.names or not text.startswith("of ")):
        yield from has
    first, second = text.split()[:2]
    if text.startswith("whose "):
        direct, embedded = f"are there {text}", f"what the number of {noun} {text} is"
    elif text.startswith("with "):
        direct, embedded = f"have {text.removeprefix('with ')}", ""
    elif text.startswith("linked to ") or (own and text.startswith(("of the ", "aged ", "dated "))):
        direct, embedded = f"are {text}", ""
    elif own and second in {"in", "by"} and first not in {"from", "in"}:
        direct, embedded = f"were {text}", ""
    else:
        there = text if kind or not text.startswith("of ") else f"for {text.removeprefix('of ')}"
        yield Wording(
            f"How many {noun} are there {there}", f"how many {noun} there are {there}", number, keys, "amount"
        )
        if row and not text.startswith(("of ", "for ", "by ")) and row.sort == "thing":
            yield from has
        return
    if related is None or text.startswith("linked to "):
        yield Wording(f"How many {noun} {direct}", embedded or f"how many {noun} {direct}", number, keys, "amount")


def _last_noun(query: Query) -> str:
    """What the table of the only constraint is called."""
    return query.tables[query.over(1) or 1].words if query.shape.joined else ""


def _has(query: Query, noun: str, one: Constraint, number: str, keys: str) -> Iterator[Wording]:
    """Counted from the other side: "How many tracks does the album … have"."""
    if one.row is None:
        return
    other, before = one.row.text, preposition(query.table.words, one.row.sort)
    if one.role and one.text.startswith("whose"):
        yield asked_alike(f"how many {noun} have {other} as their {one.role}", number, keys, "amount")
    elif one.through and one.text.startswith("with ") and before != "of":
        direct, embedded = f"How many {noun} is {other} {before}", f"how many {noun} {other} is {before}"
        yield Wording(direct, embedded, number, keys, "amount")
    else:
        direct, embedded = f"How many {noun} does {other} have", f"how many {noun} {other} has"
        yield Wording(direct, embedded, number, keys, "amount")
