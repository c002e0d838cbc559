"""What nouns of databases are: persons or places, what stands on, in, at or by them, and what persons do."""

from __future__ import annotations

import re
from typing import Literal

from ragtriage.testset.generation.phrasing.english import is_plural, plural
from ragtriage.testset.generation.schema import Column, Table

Sort = Literal["person", "place", "thing"]

PERSONS = frozenset(
    "person people employee student teacher instructor professor lecturer staff user member player "
    "singer actor actress director author writer artist musician composer doctor physician nurse patient pilot driver "
    "captain coach manager supervisor advisor tutor candidate applicant owner guest visitor passenger host contact "
    "agent representative rep judge referee politician president editor reviewer reader subscriber worker scientist "
    "researcher engineer consultant analyst assistant secretary officer tenant resident contestant competitor athlete "
    "swimmer wrestler gymnast climber conductor lawyer architect photographer buyer seller individual mother father "
    "parent child spouse salesperson cashier librarian chef entrepreneur head chief leader founder dean schooler "
    "journalist technician mechanic dentist veterinarian vet inspector investigator performer dancer producer "
    "debater rider racer trainee trainer colleague boss mayor governor principal beneficiary participant treasurer "
    "therapist midwife surgeon volunteer artisan skipper starter delegate senator recipient".split()
)
COMPANIES = frozenset("customer client partner sponsor donor".split())
"""Persons where their table says something of them that only persons have; often companies."""
_OF_PERSONS = re.compile(
    r"(?:.* )?(?:(?:first|last|middle|given|family) name|surname|gender|sex|age|birth(?: ?da(?:te|y))?|born)"
)
PLACES = frozenset(
    "city country town village state region province county district continent island station airport port stadium "
    "museum hotel restaurant shop store school college university hospital building room office branch department "
    "campus mountain river lake park beach bridge theater theatre cinema club church castle venue location farm market "
    "mall library warehouse factory plant site neighbourhood neighborhood area place dormitory dorm gallery classroom "
    "terminal harbour harbor camp zoo garage attraction headquarters".split()
)
PREPOSITIONS = {
    "on": "album playlist invoice receipt team committee list shelf menu board island page channel floor shift label",
    "in": "department country city town state region province county district continent category genre section group "
    "class course building room area division collection series league industry club museum stadium hospital "
    "neighbourhood neighborhood village document book order cinema theater theatre folder directory chapter library "
    "warehouse competition tournament race match dormitory dorm zone world family faculty programme program major "
    "language currency election campaign project household",
    "by": "artist author composer director producer manufacturer publisher maker writer painter singer musician "
    "designer photographer architect creator supplier vendor airline",
    "at": "hotel school college university airport station company restaurant shop store office branch site event "
    "party clinic venue bank firm party workshop conference campus festival headquarters",
}
"""Preposition → what somebody or something is on, in, by or at."""
AGENTS = {
    "composer": "composed", "author": "wrote", "writer": "wrote", "director": "directed", "producer": "produced",
    "owner": "owns", "manager": "manages", "supervisor": "supervises", "founder": "founded", "architect": "designed",
    "designer": "designed", "publisher": "published", "developer": "developed", "manufacturer": "makes",
    "maker": "makes", "inventor": "invented", "painter": "painted", "sculptor": "sculpted", "editor": "edited",
    "translator": "translated", "sponsor": "sponsors", "coach": "coaches", "creator": "created", "builder": "built",
    "operator": "operates", "illustrator": "illustrated",
}  # fmt: skip
"""Somebody's role → what somebody in it did or does, as a verb."""
ENSEMBLES = frozenset("band orchestra choir ensemble quartet".split())
"""People are in them, works are by them."""
WORKS = frozenset("concert show film movie play opera musical".split())
"""People are in them; all else is of them."""
KINDS = frozenset("type kind format status sort class category genre".split())
"""What rows are of; nobody says that a kind has rows."""
COMPLETED = {
    "phone": "phone number", "telephone": "telephone number", "mobile": "mobile number", "fax": "fax number",
    "cell": "cell phone number", "email": "email address", "e mail": "email address", "abbrev": "abbreviation",
    "dob": "date of birth", "zip": "zip code", "zip postcode": "postcode", "milliseconds": "length in milliseconds",
    "seconds": "length in seconds", "minutes": "length in minutes", "bytes": "size in bytes",
    "no": "number", "num": "number", "kilobytes": "size in kilobytes", "megabytes": "size in megabytes",
}  # fmt: skip
"""A column's name in full, as people say it."""
_ALWAYS = frozenset("phone telephone fax email abbrev".split())
"""Of those, the ones that are completed behind other words too."""
WORKED_ON = {
    "composer": "composed", "director": "directed", "producer": "produced", "publisher": "published",
    "architect": "designed", "designer": "designed", "editor": "edited", "developer": "developed",
    "manufacturer": "made", "maker": "made", "founder": "founded", "inventor": "invented", "builder": "built",
}  # fmt: skip
"""Somebody's role → what was done to a thing by them, as a participle."""
_BY_NOUN = {noun: preposition for preposition, nouns in PREPOSITIONS.items() for noun in nouns.split()}
_MEASURED = re.compile(
    r"(length|height|width|depth|weight|area|size|distance|duration|speed) (met(?:er|re)s|feet|inches|miles|km|cm|mm|m|"
    r"kilomet(?:er|re)s|kg|kilograms|pounds|tons|hours|minutes|seconds|days|knots)",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\s*\([^)]*\)")


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
    if noun in ENSEMBLES:
        return "in" if belongs == "person" else "by"
    if noun in WORKS and belongs == "person":
        return "in"
    return _BY_NOUN.get(noun, "of")


def words_of(table: Table, column: Column) -> str:
    """What a person calls a column beside its table: the table's own words in front are left out."""
    words, own = _ASIDE.sub("", column.words).strip(), table.words.strip().lower()
    if words.lower().startswith(f"{own} ") and len(words) > len(own) + 1:
        words = words[len(own) + 1 :]
    if words.lower() == "title" and sort_of(table) == "person":
        return "job title"
    measured = _MEASURED.fullmatch(words)
    if measured:
        return f"{measured[1]} in {measured[2]}"
    if words.lower() in COMPLETED:
        return COMPLETED[words.lower()]
    before, space, last = words.rpartition(" ")
    return before + space + COMPLETED[last.lower()] if last.lower() in _ALWAYS else words


def names_its_row(table: Table, column: Column) -> bool:
    """Whether the column's value can stand behind the table's word as a name ("the album Blue")."""
    words = words_of(table, column).lower()
    is_name = words in {"name", "title", "label", table.words.lower()} or words.endswith(" name") or words == "surname"
    return column.name in table.names and column.type == "text" and is_name


COUNTED = re.compile(r"(?:number|num|no|count)(?: of)? (?P<of>.+)|(?P<by>.+) (?:count|number total)", re.IGNORECASE)
"""A column that holds how many of something there are."""


def counted_noun(counted: re.Match[str]) -> str:
    """What a column counts, in the plural; from a match of `COUNTED`."""
    noun: str = counted["of"] or counted["by"]
    return noun if is_plural(noun) else plural(noun)
