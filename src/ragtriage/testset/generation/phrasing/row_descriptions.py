"""How the rows of a query are named in English: "the track [track.name] on the album [album.title]"."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ragtriage.core.display import listed
from ragtriage.testset.generation.phrasing.nouns import (
    KINDS,
    NOUNS,
    STATE,
    WORKED_ON,
    Sort,
    column_noun,
    head_of,
    is_participle,
    is_person,
    may_be_person,
    names_its_row,
    preposition,
    sort_of,
)
from ragtriage.testset.generation.query_templates import Join, QueryShape
from ragtriage.testset.generation.schema import Column, Schema, Table


@dataclass(frozen=True, slots=True)
class NamedRow:
    """A row, as a person refers to it."""

    text: str
    """With its article: "the employee [employee.name]"; or a bare name."""
    keys: str
    """The same for a search box: without articles and prepositions."""
    sort: Sort
    bare: bool = False
    """Whether it is a person's name alone, which takes 's."""

    @property
    def heavy(self) -> bool:
        """Whether it has a clause of its own, behind which a verb isn't understood."""
        return "whose" in self.text.split() or " with the " in self.text

    def with_noun(self, noun: str) -> str:
        """The noun of this row: "Ann's manager", "the length of the track Blue"."""
        return f"{self.text}'s {noun}" if self.bare else f"the {noun} of {self.text}"


@dataclass(frozen=True, slots=True)
class Constraint:
    """What a row must fulfil beside its name."""

    text: str
    """Behind the noun: "on the album [album.title]", "from [customer.country]"."""
    keys: str
    role: str = ""
    """What `row` is to those counted ("manager"), if not what its table is called."""
    row: NamedRow | None = None
    """The row that it leads to; None for a value of the row's own."""
    through: bool = False
    """Whether the row is reached over a bridge table."""


class Unnameable(Exception):
    """The shape can't be put into English; the text says why."""


class Query:
    """A shape beside its schema."""

    def __init__(self, schema: Schema, shape: QueryShape) -> None:
        self.shape = shape
        self.tables = [schema.by_name[name] for name in shape.tables]
        self.table = self.tables[0]

    def column(self, place: int, name: str) -> Column:
        """A column of one occurrence."""
        return next(column for column in self.tables[place].columns if column.name == name)

    def rows(self) -> Iterator[NamedRow]:
        """How the row that is selected may be named, the most natural first."""
        seen = set()
        for bare in (True, False):
            for genitive in (True, False):
                found = self.named(0, bare=bare, genitive=genitive)
                if found.text not in seen:
                    seen.add(found.text)
                    yield found

    def named(self, place: int, *, bare: bool = True, genitive: bool = True) -> NamedRow:
        """A row by its name, by what it is to another row, and by what else is known of it.

        `bare` leaves out the table's word before a person's name; `genitive` says "Ann's manager" rather than "the
        manager of Ann". Unnameable is raised if nothing is known of the row.
        """
        table = self.tables[place]
        names = self._names(place)
        constraints = self.constraints(place, bare=bare, genitive=genitive)
        sort = sort_of(table)
        if names:
            if bare and sort == "person" and not constraints:
                return NamedRow(names, names, sort, bare=True)
            text, keys = f"the {table.words} {names}", f"{table.words} {names}"
        else:
            child = next((j for j in self._children(place) if self._holds(j) and not self.over(j)), None)
            if child is not None:
                role = self.role(child)
                other = self.named(child, bare=bare, genitive=genitive)
                sort = "person" if is_person(role) else sort
                of = "with" if sort == other.sort == "thing" and preposition(role) == "on" else "of"
                text = f"{other.text}'s {role}" if other.bare and genitive else f"the {role} {of} {other.text}"
                keys = f"{other.keys} {role}"
                constraints = self.constraints(place, bare=bare, genitive=genitive, but=child)
            else:
                text, keys = f"the {table.words}", table.words
                if not constraints:
                    raise Unnameable(f"nothing names the row of {table.name}")
                only = constraints[0].row if len(constraints) == 1 and not constraints[0].role else None
                if only and only.bare and genitive and constraints[0].text.startswith("of "):
                    return NamedRow(f"{only.text}'s {table.words}", f"{only.keys} {table.words}", sort)
        rest = joined(constraints)
        return NamedRow(f"{text} {rest}".strip(), " ".join([keys, *(one.keys for one in constraints)]), sort)

    def constraints(self, place: int, *, bare: bool = True, genitive: bool = True, but: int = 0) -> list[Constraint]:
        """All that a row must fulfil beside its name (see `named`), but for one joined occurrence."""
        table = self.tables[place]
        named = self._names(place)
        found = [
            _own(table, self.column(place, one.column))
            for one in self.shape.filters
            if one.occurrence == place and not (named and names_its_row(table, self.column(place, one.column)))
        ]
        for child in self._children(place):
            if child == but:
                continue
            over = self.over(child)
            if self._holds(child) and not over and not named and not but:
                continue  # it is the head: "the manager of Ann"
            row = self.named(over or child, bare=bare, genitive=genitive)
            found.append(self._relation(child, over, row))
        return found

    def role(self, child: int) -> str:
        """What the row at the referred end of a join is to the one at the other end, in words."""
        joined = self.shape.joined[child - 1]
        holder, referred = (joined.to, child) if joined.outward else (child, joined.to)
        own = tuple(pair[0] if joined.outward else pair[1] for pair in joined.columns)
        for key in self.tables[holder].foreign_keys:
            if set(key.columns) == set(own) and key.table == self.tables[referred].name:
                return _IDENTIFIER.sub("", key.words)
        return self.tables[referred].words

    def _relation(self, child: int, over: int, row: NamedRow) -> Constraint:
        """What an occurrence is to a joined one."""
        sort = sort_of(self.tables[self._join(child).to])
        if over:
            words = self.tables[over].words
            before = preposition(words, sort)
            loose = before == "of" or sort == "place" or not self._only_connects(child)
            contains = preposition(self.tables[self._join(child).to].words) != "of"
            said = "with" if sort == row.sort == "thing" and contains else "linked to"
            text = f"{said} {row.text}" if loose else f"{before} {row.text}"
            return Constraint(text, row.keys, row=row, through=True)
        if self._holds(child):
            return Constraint(f"with {row.text}", row.keys, row=row, through=True)
        role, words = self.role(child), self.tables[child].words
        if words.lower().endswith(role.lower()):
            before = preposition(words, sort)
            return Constraint(f"{before} {row.text}", row.keys, row=row)
        nameless = row.text.startswith(start := f"the {words} with the ")
        if nameless:  # "with the type code X" says it; "whose type is the type with the type code X" says it twice
            said = row.text.removeprefix(start)
            said = said if said.startswith((role, words)) else f"{role} {said}"
            return Constraint(f"with the {said}", said)
        if preposition(role, sort) == "by":
            return Constraint(f"by {row.text}", row.keys, role, row)
        if role.lower().endswith(f" {words.lower()}"):  # "whose home airport is Oslo", not "is the airport Oslo"
            row = replace(row, text=row.text.removeprefix(f"the {words} "), keys=row.keys.removeprefix(f"{words} "))
        return Constraint(f"whose {role} is {row.text}", f"{role} {row.keys}", role, row)

    def _names(self, place: int) -> str:
        """The placeholders of the filtered columns that name the row, in the order in which people say them."""
        filtered = {one.column for one in self.shape.filters if one.occurrence == place}
        table = self.tables[place]
        return " ".join(
            f"[{table.name}.{name}]"
            for name in table.names
            if name in filtered and names_its_row(table, self.column(place, name))
        )

    def _children(self, place: int) -> list[int]:
        """The joined occurrences of which, or behind which, something is known."""
        return [n for n, joined in enumerate(self.shape.joined, 1) if joined.to == place and self._reaches(n)]

    def _reaches(self, place: int) -> bool:
        return any(one.occurrence == place for one in self.shape.filters) or bool(self._children(place))

    def _holds(self, child: int) -> bool:
        return not self._join(child).outward

    def _only_connects(self, place: int) -> bool:
        """Whether a bridge table says nothing of its own."""
        table = self.tables[place]
        keys = {column for key in table.foreign_keys for column in key.columns}
        return all(column.name in keys or column.surrogate for column in table.columns)

    def _join(self, child: int) -> Join:
        return self.shape.joined[child - 1]

    def over(self, child: int) -> int:
        """The occurrence behind a bridge that only connects; 0 if this one is no bridge."""
        table = self.tables[child]
        filtered = any(one.occurrence == child for one in self.shape.filters)
        if not self._holds(child) or filtered or table.names or len(table.foreign_keys) < 2:
            return 0
        behind = self._children(child)
        if len(behind) == 1 and self._join(behind[0]).outward:
            return behind[0]
        return 0


def _own(table: Table, column: Column) -> Constraint:
    """What a value of the row's own says of it; Unnameable is raised if it is a yes or a no."""
    words, slot = column_noun(table, column), f"[{table.name}.{column.name}]"
    noun, keys = head_of(words), f"{words} {slot}"
    person = sort_of(table) == "person"
    if column.type == "boolean" or STATE.fullmatch(words):
        raise Unnameable(f"its condition on {table.name}.{column.name} is a yes or a no, which has no value to name")
    if words.lower() in _WHERE:
        return Constraint(f"from {slot}" if person else f"in {slot}", slot)
    done = _IN_A_YEAR.fullmatch(words)
    said = {"year": "from", "date": "dated", "age": "aged" if person else ""}.get(words.lower(), "")
    if done:
        said = f"{_PARTICIPLES[(done['a'] or done['b']).lower()]} in"
    elif column.type in {"date", "datetime"} and is_participle(words):
        said = f"{words} on"
    elif re.fullmatch(r"\w+(?:ed|en|t) by", words, re.IGNORECASE):
        said = words
    elif words.lower() in WORKED_ON and not person and not table.words.lower().endswith(words.lower()):
        said = f"{WORKED_ON[words.lower()]} by"
    elif words.lower() in {"author", "artist", "writer"} and not table.words.lower().endswith(words.lower()):
        said = "by"
    if said:
        return Constraint(f"{said} {slot}", keys)
    role = words.removesuffix(" name")
    if role != words and may_be_person(role):
        return Constraint(f"whose {role} is {slot}", f"{role} {slot}")
    return Constraint(f"{'of' if noun in KINDS else 'with'} the {words} {slot}", keys)


_PARTICIPLES: dict[str, str] = NOUNS["participles"]
_DONE = "|".join(_PARTICIPLES)
_IN_A_YEAR = re.compile(rf"(?P<a>{_DONE}) year|year (?:of )?(?P<b>{_DONE})", re.IGNORECASE)
"""A year in which something was done to the row."""
_WHERE = frozenset(NOUNS["where"].split())
_IDENTIFIER = re.compile(r"(?<=\w) (?:name|code|id|number|key)$", re.IGNORECASE)
"""How a foreign key may refer, which isn't what it refers to."""


def joined(constraints: Sequence[Constraint]) -> str:
    """Several constraints behind a noun: "for Ann and the course Art", "whose … is … and whose …"."""
    texts = [one.text for one in constraints]
    whose = [text for text in texts if text.startswith("whose ")]
    of = [text.removeprefix("of ") for text in texts if text.startswith("of ")]
    others = [text for text in texts if not text.startswith(("whose ", "of "))]
    together = [f"for {listed(of, 'and')}"] if len(of) > 1 else [f"of {text}" for text in of]
    return " ".join([*together, *others, *([" and ".join(whose)] if whose else [])])
