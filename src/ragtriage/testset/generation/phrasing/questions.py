"""The ways of asking for what a query template selects, before any style: questions, clauses and nouns."""

import re
from collections.abc import Iterator

from ragtriage.testset.generation.phrasing.nouns import (
    AGENTS,
    COUNTED,
    KINDS,
    STATE,
    TIMES,
    AskedAbout,
    Idiom,
    Wording,
    article,
    asked_alike,
    capital,
    column_noun,
    counted_noun,
    head_of,
    idiom_of,
    is_participle,
    is_person,
    is_plural,
    may_be_person,
    moment_noun,
    names_its_row,
    plural,
    preposition,
    sort_of,
    year_noun,
)
from ragtriage.testset.generation.phrasing.row_descriptions import Constraint, NamedRow, Query, Unnameable, joined
from ragtriage.testset.generation.query_templates import QueryTemplate
from ragtriage.testset.generation.schema import Schema


def _constraints(query: Query) -> list[Constraint]:
    """What the rows that are counted have in common; Unnameable is raised if that is a name, or nothing."""
    table = query.table
    own = [query.column(0, one.column) for one in query.shape.filters if one.occurrence == 0]
    if any(one.name in table.names or column_noun(table, one).lower() == table.words.lower() for one in own):
        raise Unnameable("it counts rows of one name, which nobody asks for")
    keys = {column for key in table.foreign_keys for column in key.columns}
    says = {column.name for column in table.columns if not column.surrogate} - keys
    if len(table.foreign_keys) > 1 and not says:
        raise Unnameable(f"rows of {table.name} only connect others, and nobody counts them")
    found = query.constraints(0, but=-1)
    if not found:
        raise Unnameable("nothing says which rows are meant")
    return found


def _counted(query: Query) -> Iterator[Wording]:
    """How many rows there are; rows of one name are Unnameable."""
    constraints = _constraints(query)
    noun, text = plural(query.table.words), joined(constraints)
    keys = f"{' '.join(one.keys for one in constraints)} {query.table.words} count"
    number = f"the number of {noun} {text}"
    row = constraints[0].row if len(constraints) == 1 else None
    if row and constraints[0].role and text.startswith("whose "):
        yield asked_alike(f"how many {noun} have {row.text} as their {constraints[0].role}", number, keys, "amount")
    elif row and row.sort == "person" and query.table.names:
        direct, embedded = f"How many {noun} does {row.text} have", f"how many {noun} {row.text} has"
        yield Wording(direct, embedded, number, keys, "amount")
    is_kind = query.shape.joined and head_of(query.tables[query.over(1) or 1].words) in KINDS
    there = text if is_kind or not text.startswith("of ") else f"for {text.removeprefix('of ')}"
    yield Wording(f"How many {noun} are there {there}", f"how many {noun} there are {there}", number, keys, "amount")


_DONE = re.compile(r"\w+(?:ed|able|ible|ive|al|ing)|open|free|full ?time|part ?time|public|private|new|male|female")


def wordings_of(schema: Schema, template: QueryTemplate) -> list[Wording]:
    """All ways of asking, the most natural first, without doubles."""
    if template.shape is None:
        raise Unnameable("its SQL has no simple shape, so rules can't word it: give --judge, or write it yourself")
    query = Query(schema, template.shape)
    found = _counted(query) if query.shape.counted else _selected(query)
    distinct = list({one.direct: one for one in found}.values())
    if not distinct:
        raise Unnameable("no way of asking for it is known")
    return distinct


def _selected(query: Query) -> Iterator[Wording]:
    """One column of one row."""
    column = query.column(0, query.shape.select)
    words = year_noun(column_noun(query.table, column), column.type)
    type_ = "date" if column.type == "text" and is_participle(words) else column.type
    said = moment_noun(words, column.type, query.table.words)
    rows = list(query.rows())
    alone = query.table.names == (column.name,) and names_its_row(query.table, column)
    if (alone or words.lower() == query.table.words.lower()) and not _filtered(query):
        yield from _which(query, rows)
        return
    for row in rows:
        if column.type == "boolean" or STATE.fullmatch(words):
            yield _yes_or_no(words, row)
            continue
        idiom = idiom_of(words, row.sort, type_, query.table.words)
        if idiom and not (row.heavy and idiom.about == "place"):
            yield from _idiomatic(idiom, words, said, row)
            if idiom.noun:
                continue
        noun = _noun(said, row)
        if is_role(words) and not query.table.words.lower().endswith(words.lower()):
            yield from _role(words, row)
            continue
        counted = COUNTED.fullmatch(words)
        if (not row.heavy and column.type == "integer") or counted:
            yield from _how_many(words, row)
        if not counted:
            yield _what_is(said, row, noun, "time" if type_ in TIMES else "thing")


def _idiomatic(idiom: Idiom, words: str, said: str, row: NamedRow) -> Iterator[Wording]:
    """As people ask for what this column holds; `said` are its words as a noun."""
    found = idiom.column.fullmatch(words)
    fill = {"x": row.text, "c": words} | (found.groupdict() if found else {})
    noun = idiom.noun.format(**fill) if idiom.noun else _noun(said, row)
    for direct, embedded in idiom.asked:
        if row.heavy and not direct.endswith("{x}") and not idiom.noun:
            continue  # a verb behind a long row isn't understood
        yield Wording(direct.format(**fill), embedded.format(**fill), noun, f"{row.keys} {said}", idiom.about)


def _filtered(query: Query) -> bool:
    """Whether the row is known by a column of its own."""
    return any(one.occurrence == 0 for one in query.shape.filters)


def _noun(words: str, row: NamedRow) -> str:
    counted = COUNTED.fullmatch(words)
    if counted:
        return f"the number of {counted_noun(counted)} of {row.text}"
    thing = words.removesuffix(" name")
    if thing != words and thing not in {"first", "last", "middle", "full", "family", "given", "short", "local"}:
        return f"the name of {row.with_noun(thing)}"
    return row.with_noun(words)


def _what_is(words: str, row: NamedRow, noun: str, about: AskedAbout) -> Wording:
    verb = "are" if is_plural(words) else "is"
    return Wording(f"What {verb} {noun}", f"what {noun} {verb}", noun, f"{row.keys} {words}", about)


def is_role(words: str) -> bool:
    """Whether the column holds somebody in a role."""
    role = words.removesuffix(" name")
    return may_be_person(role) or role.lower() in AGENTS


def _role(words: str, row: NamedRow) -> Iterator[Wording]:
    """Somebody who did something: "Who composed …"."""
    role = words.removesuffix(" name")
    keys = f"{row.keys} {role}"
    verb = AGENTS.get(role.lower())
    named = row.with_noun(role)
    if verb and row.sort != "person":
        yield asked_alike(f"who {verb} {row.text}", named, keys, "person")
    yield Wording(f"Who is {named}", f"who {named} is", named, keys, "person")


def _how_many(words: str, row: NamedRow) -> Iterator[Wording]:
    """Things that the row has a number of."""
    counted = COUNTED.fullmatch(words)
    if not counted and (not is_plural(words) or " " in words or words == "sales"):
        return
    noun = counted_noun(counted) if counted else words
    direct, embedded = f"How many {noun} does {row.text} have", f"how many {noun} {row.text} has"
    yield Wording(direct, embedded, f"the number of {noun} of {row.text}", f"{row.keys} {noun} count", "amount")


def _yes_or_no(words: str, row: NamedRow) -> Wording:
    """A column that is true or false."""
    state = STATE.fullmatch(words)
    verb, rest = (state["verb"].lower(), state["rest"]) if state else ("is", words)
    keys = f"{row.keys} {rest}"
    if verb in {"has", "had"}:
        thing = rest if is_plural(rest) else article(rest)
        return Wording(f"Does {row.text} have {thing}", f"whether {row.text} has {thing}", "", keys, "thing")
    if verb not in {"is", "was", "can"} or not (state or _DONE.fullmatch(rest)):
        verb, rest = "is", f"marked as {rest}"
    return Wording(f"{capital(verb)} {row.text} {rest}", f"whether {row.text} {verb} {rest}", "", keys, "thing")


def _which(query: Query, rows: list[NamedRow]) -> Iterator[Wording]:
    """The row's own name: "Which album is the track … on", "Who manages …"."""
    shape = query.shape
    children = [n for n, joined in enumerate(shape.joined, 1) if joined.to == 0]
    constraints = query.constraints(0, but=-1)
    person = sort_of(query.table) == "person"
    role = query.role(children[0]) if children and not shape.joined[children[0] - 1].outward else ""
    only = constraints[0] if len(constraints) == 1 else None
    if role and only and only.through and only.text.startswith("with ") and not query.over(children[0]):
        yield from _which_role(query, role, children[0], rows)
        return
    noun = query.table.words
    text, keys = joined(constraints), " ".join(one.keys for one in constraints)
    for row in rows:
        named = f"the name of {row.text}"
        if person:
            yield Wording(f"Who is {row.text}", f"who {row.text} is", named, row.keys, "person")
        if only and only.role and only.row:
            whose = "their" if person else "its"
            yield asked_alike(f"which {noun} has {only.row.text} as {whose} {only.role}", named, row.keys, "thing")
        elif not text.startswith(("whose", "of", "for")):
            keys = f"{keys} {noun}" if noun not in keys.split() else keys
            verb = "has" if text.startswith("with ") else "is"
            clause = f"which {noun} {verb} {text.removeprefix('with ')}"
            yield asked_alike(clause, named, keys, "person" if person else "thing")
        yield Wording(f"What is {named}", f"what {named} is", named, f"{keys} {noun} name", "thing")


def _which_role(query: Query, role: str, child: int, rows: list[NamedRow]) -> Iterator[Wording]:
    """What a row is to another: "Who manages Ann", "Which album is the track Blue on"."""
    other = query.named(child)
    sort = sort_of(query.table)
    person = is_person(role) or sort == "person"
    called = person or may_be_person(role)
    about: AskedAbout = "person" if person else "place" if sort == "place" else "thing"
    verb, before = AGENTS.get(head_of(role)), preposition(role, other.sort)
    keys = f"{other.keys} {role}"
    for row in rows:
        if person and verb and " " not in role:
            yield asked_alike(f"who {verb} {other.text}", row.text, keys, about)
        if called:
            yield Wording(f"Who is {row.text}", f"who {row.text} is", row.text, keys, about)
            continue
        if before != "of" and other.sort != "person":
            direct, embedded = f"Which {role} is {other.text} {before}", f"which {role} {other.text} is {before}"
            yield Wording(direct, embedded, row.text, keys, about)
        yield Wording(f"What is {row.text}", f"what {row.text} is", row.text, keys, about)
