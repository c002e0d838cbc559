"""The nouns of databases, and the little English grammar that questions need: plurals, articles, lists, capitals.

Which nouns are persons or places, what stands on, in, at or by them, what a column is called.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal, get_args

from ragtriage.testset.generation.schema import Column, ColumnType, Table

_WORDS = tomllib.loads(files(__package__).joinpath("english.toml").read_text("utf-8"))
_UNCOUNTABLE = frozenset(_WORDS["uncountable"].split())
_PLURALS: dict[str, str] = _WORDS["plurals"]
_SINGULARS: dict[str, str] = {many: one for one, many in _PLURALS.items()} | _WORDS["singulars"]
_SINGULAR_ENDINGS = {"ies": "y", "sses": "ss", "xes": "x", "ches": "ch", "shes": "sh", "zzes": "zz"}
_PREPOSITION = re.compile(r"(?<=\w) (?:in|of|per|by|for|from|to|at|on|with) ", re.IGNORECASE)


def plural(noun: str) -> str:
    """The plural of a noun in the singular: "invoice line" → "invoice lines", "head of state" → "heads of state"."""
    head, behind = _split(noun)
    if behind:
        return plural(head) + behind
    before, space, last = noun.rpartition(" ")
    small = last.lower()
    if small in _UNCOUNTABLE:
        return noun
    if small in _PLURALS:
        return before + space + _PLURALS[small]
    if small.endswith("y") and small[-2:-1] not in {"a", "e", "i", "o", "u", ""}:
        return f"{noun[:-1]}ies"
    return f"{noun}es" if small.endswith(("s", "x", "z", "ch", "sh")) else f"{noun}s"


def singular(words: str) -> str:
    """The last word in its singular: "media types" is "media type"."""
    rest, space, last = words.rpartition(" ")
    if last in _SINGULARS:
        return rest + space + _SINGULARS[last]
    for ending, instead in _SINGULAR_ENDINGS.items():
        if last.endswith(ending) and len(last) > len(ending) + 1:
            return words.removesuffix(ending) + instead
    return words[:-1] if last.endswith("s") and not last.endswith(("ss", "us", "is")) and len(last) > 3 else words


def is_plural(noun: str) -> bool:
    """Whether a noun looks like a plural: "credits", "hours per week"; not "address", nor "fee in euros"."""
    last = _split(noun)[0].rpartition(" ")[2].lower()
    if last in _PLURALS.values():
        return True
    return len(last) > 3 and last.endswith("s") and not last.endswith(("ss", "us", "is", "gps")) and last != "series"


def _split(noun: str) -> tuple[str, str]:
    """What the noun is about, and the rest from its preposition on: "fee", " in euros"."""
    found = _PREPOSITION.search(noun)
    return (noun[: found.start()], noun[found.start() :]) if found else (noun, "")


def article(noun: str) -> str:
    """The noun with "a" or "an" before it, by its first letter and the common exceptions."""
    small = noun.lower()
    vowel = small[:1] in {"a", "e", "i", "o", "u"} and not small.startswith(("uni", "use", "usa", "eu", "one", "uk"))
    return f"an {noun}" if vowel or small.startswith(("hour", "honest", "heir")) else f"a {noun}"


def capital(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def small(text: str) -> str:
    """A sentence's text as it stands inside another: its first letter small, unless the word is all capitals or I."""
    first = text.partition(" ")[0]
    return text if first.isupper() or first.startswith("I'") else text[:1].lower() + text[1:]


def contracted(text: str) -> str:
    """The question as it is spoken: "What's", "Who's"."""
    return re.sub(r"\A(What|Who|Where|When) is ", r"\1's ", text)


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
COUNTED = re.compile(r"(?:number|num|no|count)(?: of)? (?P<of>.+)|(?P<by>.+) (?:count|number total)", re.IGNORECASE)
"""A column that holds how many of something there are."""
STATE = re.compile(r"(?P<verb>is|was|has|had|if|can) (?P<rest>.+)", re.IGNORECASE)
"""What a column is called that is true or false."""
_COMPLETED: dict[str, str] = NOUNS["completed"]
_ALWAYS_COMPLETED = frozenset("phone telephone fax email abbrev".split())
"""Of those, the ones that are completed behind other words too."""
_MEASURED = re.compile(
    r"(length|height|width|depth|weight|area|size|distance|duration|speed) (met(?:er|re)s|feet|inches|miles|km|cm|mm|m|"
    r"kilomet(?:er|re)s|kg|kilograms|pounds|tons|hours|minutes|seconds|days|knots)",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\s*\([^)]*\)")
_MOMENTS: dict[str, str] = NOUNS["moments"]
_HOLD_MOMENTS: tuple[ColumnType, ...] = ("date", "datetime", "time", "text")
_BASES = frozenset("open close start begin end join leave from to".split())
"""Words for a moment that are no participle."""
_AROUND_VERB = re.compile(
    r"(?:(?:date|time|day|year) (?:(?:it|they|he|she) )?(?:was |were )?)?(?P<verb>.+?)"
    r"(?: (?:date|day|time|year|at|on))?"
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
    return "place" if head_of(table.words) in PLACES else "thing"


def preposition(words: str, belongs: Sort = "thing") -> str:
    """What stands before a noun that something belongs to: "on" an album, "in" a department; "of" if unknown."""
    noun = head_of(words)
    if noun in _ENSEMBLES:
        return "in" if belongs == "person" else "by"
    if noun in _WORKS and belongs == "person":
        return "in"
    return _PREPOSITIONS.get(noun, "of")


def column_noun(table: Table, column: Column) -> str:
    """What a person calls a column beside its table."""
    words = _ASIDE.sub("", column.words).strip()
    if words.lower() == "title" and sort_of(table) == "person":
        return "job title"
    if measured := _MEASURED.fullmatch(words):
        return f"{measured[1]} in {measured[2]}"
    if words.lower() in _COMPLETED:
        return _COMPLETED[words.lower()]
    before, space, last = words.rpartition(" ")
    return before + space + _COMPLETED[last.lower()] if last.lower() in _ALWAYS_COMPLETED else words


def names_its_row(table: Table, column: Column) -> bool:
    """Whether the column's value can stand behind the table's word as a name ("the album Blue")."""
    words = column_noun(table, column).lower()
    is_name = words in {"name", "title", "label", table.words.lower()} or words.endswith(" name") or words == "surname"
    return column.name in table.names and column.type == "text" and is_name


def counted_noun(counted: re.Match[str]) -> str:
    """What a column counts, in the plural; from a match of `COUNTED`."""
    noun: str = counted["of"] or counted["by"]
    return noun if is_plural(noun) else plural(noun)


def moment_noun(words: str, column: ColumnType, table: str) -> str:
    """The words of a column as a noun: "founding date" for "founded", "date founded" and "founded on".

    The words of a column that holds neither moments nor texts stay what they are. An order's order date is its date.
    """
    small = words.lower()
    around = _AROUND_VERB.fullmatch(small)
    verb = around["verb"] if around else ""
    if verb not in _MOMENTS or (verb in _BASES and (verb != small or column == "text")):
        return words
    if column not in _HOLD_MOMENTS or "year" in small.split():
        return words
    return _MOMENTS[verb].removeprefix(f"{table.lower().split()[-1]} ")


def year_noun(words: str, column: ColumnType) -> str:
    """The words of a column of whole numbers that is called by a participle alone: "year founded" for "founded"."""
    return f"year {words}" if column == "integer" and is_participle(words) else words


def is_participle(words: str) -> bool:
    """Whether a day can stand behind the words: "placed on", "born on"; not "open on"."""
    return words.lower() in _MOMENTS and words.lower() not in _BASES


AskedAbout = Literal["time", "person", "place", "amount", "thing"]
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
    about: AskedAbout

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


def asked_alike(clause: str, noun: str, keys: str, about: AskedAbout) -> Wording:
    """A question that has the same words as its clause: "Who wrote the book …", "who wrote the book …"."""
    return Wording(capital(clause), clause, noun, keys, about)


@dataclass(frozen=True, slots=True)
class Idiom:
    """How a kind of column is asked for; the fields are explained in the table."""

    column: re.Pattern[str]
    about: AskedAbout
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
