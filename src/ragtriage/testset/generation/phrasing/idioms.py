"""How people ask for what a column holds, where "What is the … of …?" isn't how they ask.

In a form `{x}` is the row that is asked about. A direct form has no question mark; the embedded one stands behind "tell
me".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ragtriage.testset.generation.phrasing.nouns import Sort
from ragtriage.testset.generation.schema import ColumnType

About = Literal["time", "person", "place", "amount", "thing"]
NUMBERS: tuple[ColumnType, ...] = ("integer", "number")
DATES: tuple[ColumnType, ...] = ("date", "datetime")
TIMES: tuple[ColumnType, ...] = ("date", "datetime", "time")
WHENS: tuple[ColumnType, ...] = ("date", "datetime", "integer", "text")


@dataclass(frozen=True, slots=True)
class Idiom:
    """One way of asking."""

    words: re.Pattern[str]
    """What the column is called, the table's word left out."""
    about: About
    forms: tuple[tuple[str, str], ...]
    """Direct and embedded."""
    sorts: tuple[Sort, ...] = ("person", "place", "thing")
    types: tuple[ColumnType, ...] = ()
    """The column's; any if empty."""
    table: re.Pattern[str] | None = None
    """What the table must be called."""
    noun: str = ""
    """What is asked for, if "the … of {x}" isn't how it is said; then there is no other way of asking either."""


def _idiom(  # a row of the table below
    words: str,
    about: About,
    *forms: str,
    sorts: tuple[Sort, ...] = ("person", "place", "thing"),
    types: tuple[ColumnType, ...] = (),
    table: str = "",
    noun: str = "",
) -> Idiom:
    pairs = tuple(zip(forms[::2], forms[1::2], strict=True))
    where = re.compile(table) if table else None
    return Idiom(re.compile(words, re.IGNORECASE), about, pairs, sorts, types, where, noun)


def _done(words: str, participle: str, *, sorts: tuple[Sort, ...] = ("person", "place", "thing")) -> tuple[Idiom, ...]:
    """A day or a year on which something was done to the row."""
    year = rf"(?:year(?: of)? (?:{words})|(?:{words}) year|year (?:it |they )?was (?:{words}))"
    day = rf"(?:date(?: of)? (?:{words})|(?:{words})(?: date| day| time| at| on)?|date (?:it )?was (?:{words}))"
    when = (f"When was {{x}} {participle}", f"when {{x}} was {participle}")
    in_year = (f"In which year was {{x}} {participle}", f"in which year {{x}} was {participle}")
    on_day = (f"On what date was {{x}} {participle}", f"on what date {{x}} was {participle}")
    return (
        _idiom(
            year, "time", *when, *in_year, sorts=sorts, types=WHENS, noun=f"the year in which {{x}} was {participle}"
        ),
        _idiom(day, "time", *when, *on_day, sorts=sorts, types=DATES),
    )


def _did(
    words: str, verb: str, past: str, *, sorts: tuple[Sort, ...] = ("person", "place", "thing")
) -> tuple[Idiom, ...]:
    """A moment, or a year, at which the row did something."""
    when = (f"When did {{x}} {verb}", f"when {{x}} {past}")
    noun = f"the year in which {{x}} {past}"
    day = rf"(?:date |time )?(?:{words})(?: date| day| time| at)?"
    return (
        _idiom(rf"(?:{words}) year|year (?:{words})", "time", *when, sorts=sorts, types=WHENS, noun=noun),
        _idiom(day, "time", *when, sorts=sorts, types=WHENS),
    )


_LIVES = ("In which {c} does {x} live", "in which {c} {x} lives")
IDIOMS: tuple[Idiom, ...] = (
    *_done("hired?|hiring|employed|employment", "hired", sorts=("person",)),
    *_done("birth|born|birthday|birth ?date|dob|date of birth", "born", sorts=("person",)),
    *_done("released?", "released", sorts=("thing",)),
    *_done("publication|published|publish", "published", sorts=("thing",)),
    *_done("founded|foundation|founding|established|establishment|foundation", "founded", sorts=("place", "thing")),
    *_done("built|construction", "built", sorts=("place", "thing")),
    *_done("completed|completion", "completed", sorts=("place", "thing")),
    *_done("created|creation", "created", sorts=("thing",)),
    *_done("last updated|updated|modified|update", "last updated", sorts=("thing",)),
    *_done("sold|sale", "sold", sorts=("thing", "place")),
    *_done("shipped|shipping|ship", "shipped", sorts=("thing",)),
    *_done("delivered|delivery", "delivered", sorts=("thing",)),
    *_done("ordered|order|placed", "placed", sorts=("thing",)),
    *_done("purchased?|bought", "bought", sorts=("thing",)),
    *_done("issued?", "issued", sorts=("thing",)),
    *_done("enroll?ed|enroll?ment", "enrolled", sorts=("person",)),
    *_done("first registered|registered|registration", "registered"),
    *_done("elected|election", "elected", sorts=("person",)),
    *_did("joined|joining|join", "join", "joined", sorts=("person",)),
    *_did("left|leaving|departure", "leave", "left", sorts=("person",)),
    *_did("died|death", "die", "died", sorts=("person",)),
    *_did("arrived", "arrive", "arrived"),
    *_did("departed", "depart", "departed"),
    *_did("expired", "expire", "expired", sorts=("thing",)),
    *_did("retired", "retire", "retired", sorts=("person",)),
    *_did("graduated|graduation", "graduate", "graduated", sorts=("person",)),
    *_did("open|opened|opening", "open", "opened", sorts=("place", "thing")),
    *_did("closed|closing", "close", "closed", sorts=("place", "thing")),
    *_did("start|started|begin|starting|from", "start", "started"),
    *_did("end|ended|ending|to", "end", "ended", sorts=("thing",)),
    _idiom("departure|departure time", "time", "When does {x} depart", "when {x} departs", sorts=("thing",)),
    _idiom("arrival|arrival time", "time", "When does {x} arrive", "when {x} arrives", sorts=("thing",)),
    _idiom("date|day", "time", "When was {x}", "when {x} was", sorts=("thing",), types=DATES,
           table="concert|performance|match|game|race|event|meeting|appointment|exam|visit|session|election|show"),
    _idiom("date|invoice date|issue date", "time", "What date is on {x}", "what date is on {x}", types=DATES,
           table="invoice|receipt|letter|document|bill|contract|certificate|transcript"),
    _idiom("date", "time", "What is the date of {x}", "what the date of {x} is", types=DATES),
    _idiom("(?P<verb>directed|written|produced|composed|published|designed|painted|built|founded|created) by",
           "person", "Who was {x} {verb} by", "who {x} was {verb} by",
           noun="the name of the person by whom {x} was {verb}"),
    _idiom("age", "amount", "How old is {x}", "how old {x} is", types=NUMBERS),
    _idiom("height|stature", "amount", "How tall is {x}", "how tall {x} is", sorts=("person",)),
    _idiom("height|height in met(?:er|re)s", "amount", "How high is {x}", "how high {x} is", sorts=("place", "thing")),
    _idiom("weight", "amount", "How much does {x} weigh", "how much {x} weighs"),
    _idiom("length", "amount", "How long is {x}", "how long {x} is", types=NUMBERS),
    _idiom(r"length in (?P<unit>\w+)", "amount", "How many {unit} long is {x}", "how many {unit} long {x} is",
           "How long is {x} in {unit}", "how long {x} is in {unit}", noun="the length in {unit} of {x}"),
    _idiom(r"size in (?P<unit>\w+)", "amount", "How many {unit} does {x} take up", "how many {unit} {x} takes up",
           "How large is {x} in {unit}", "how large {x} is in {unit}", noun="the size in {unit} of {x}"),
    _idiom(r"total (?P<unit>\w+[^su]s)", "amount", "How many {unit} does {x} have in total",
           "how many {unit} {x} has in total", types=NUMBERS),
    _idiom("duration", "amount", "How long does {x} last", "how long {x} lasts", sorts=("thing",)),
    _idiom("depth", "amount", "How deep is {x}", "how deep {x} is", types=NUMBERS),
    _idiom("width", "amount", "How wide is {x}", "how wide {x} is", types=NUMBERS),
    _idiom("population", "amount", "How many people live in {x}", "how many people live in {x}", sorts=("place",)),
    _idiom("capacity|seating capacity", "amount", "How many people does {x} hold", "how many people {x} holds",
           sorts=("place",), table="stadium|cinema|theat|hall|venue|classroom|arena"),
    _idiom("attendance", "amount", "How many people attended {x}", "how many people attended {x}"),
    _idiom("(?:unit |list |retail |sale )?price|cost|fee|(?:unit |total )?cost", "amount", "How much does {x} cost",
           "how much {x} costs", sorts=("thing",), types=NUMBERS),
    _idiom("salary|wage|income|earnings", "amount", "How much does {x} earn", "how much {x} earns", sorts=("person",)),
    _idiom("total|total amount|amount", "amount", "How much is {x}", "how much {x} is",
           "What does {x} come to", "what {x} comes to", types=NUMBERS, table="invoice|receipt|bill"),
    _idiom("total|total amount|amount", "amount", "How much is {x}", "how much {x} is", types=NUMBERS,
           table="payment|grant|loan|donation|claim"),
    _idiom("budget", "amount", "How large is the budget of {x}", "how large the budget of {x} is", types=NUMBERS),
    _idiom("nationality", "thing", "What is the nationality of {x}", "what the nationality of {x} is"),
    _idiom("country|city|town|state", "place", "Which {c} is {x} based in", "which {c} {x} is based in",
           "In which {c} is {x} based", "in which {c} {x} is based", sorts=("place", "thing"),
           table="customer|client|donor|subscriber|account|partner|supplier|vendor|company|firm|organi[sz]ation|agency",
           noun="the {c} in which {x} is based"),
    _idiom("country", "place", "Which country does {x} live in", "which country {x} lives in", *_LIVES,
           sorts=("person",), noun="the country in which {x} lives",
           table="employee|tenant|patient|resident|user|contact|staff|visitor|customer|client|donor|subscriber|partner"),
    _idiom("country", "place", "Which country is {x} from", "which country {x} is from", sorts=("person",)),
    _idiom("country|city|town|village", "place", "Which {c} is {x} in", "which {c} {x} is in", "In which {c} is {x}",
           "in which {c} {x} is", sorts=("thing",), noun="the {c} in which {x} is",
           table="project|bridge|building|house|property|apartment|monument|station|garden|festival|plant"),
    _idiom("country|continent|region|county|province|district", "place", "Which {c} is {x} in", "which {c} {x} is in",
           sorts=("place",)),
    _idiom("(?:born|birth) (?P<b>state|city|country|town)", "place", "In which {b} was {x} born",
           "in which {b} {x} was born", sorts=("person",), noun="the {b} in which {x} was born"),
    _idiom("home ?town|birth ?place|place of birth", "place", "Where was {x} born", "where {x} was born",
           sorts=("person",), types=("text",)),
    _idiom("city|town|state", "place", "Which {c} does {x} live in", "which {c} {x} lives in", *_LIVES,
           sorts=("person",), noun="the {c} in which {x} lives"),
    _idiom("city|town|state", "place", "Which {c} is {x} in", "which {c} {x} is in", sorts=("place",)),
    _idiom("location|headquarters?", "place", "Where is {x}", "where {x} is", sorts=("place",)),
    _idiom("location|venue|place", "place", "Where was {x} held", "where {x} was held", sorts=("thing",),
           table="race|match|tournament|competition|event|exhibition|conference|concert|festival"),
    _idiom("location|headquarters?", "place", "Where is {x} located", "where {x} is located", sorts=("thing",)),
    _idiom("capital|capital city", "place", "What is the capital of {x}", "what the capital of {x} is"),
    _idiom("company|employer|organi[sz]ation", "thing", "Which {c} does {x} belong to", "which {c} {x} belongs to",
           sorts=("person",)),
    _idiom("colou?r", "thing", "What {c} is {x}", "what {c} {x} is", sorts=("thing",)),
    _idiom("language", "thing", "Which language is {x} in", "which language {x} is in", sorts=("thing",),
           table="film|movie|book|song|document|article|episode|show"),
    _idiom("status|state", "thing", "What is the {c} of {x}", "what the {c} of {x} is", sorts=("thing",)),
    _idiom("theme|topic|subject", "thing", "What is the {c} of {x}", "what the {c} of {x} is"),
    _idiom(r"(?:date |time )?(?P<verb>(?:last |first )?\w+ed)(?: date| at| on| time)?", "time",
           "When was {x} {verb}", "when {x} was {verb}", types=DATES, noun="the date on which {x} was {verb}"),
    _idiom(r"year (?P<verb>\w+ed)", "time", "In which year was {x} {verb}",
           "in which year {x} was {verb}", types=WHENS, noun="the year in which {x} was {verb}"),
)  # fmt: skip
"""The first that fits is how it is asked."""


def idiom_of(words: str, sort: Sort, type_: ColumnType, table: str) -> Idiom | None:
    """The first idiom that fits a column; None if none does.

    Args:
        words: what the column is called.
        sort: what its row is.
        type_: the column's.
        table: what the row is called.
    """
    for idiom in IDIOMS:
        if (
            idiom.words.fullmatch(words)
            and sort in idiom.sorts
            and (not idiom.types or type_ in idiom.types)
            and (idiom.table is None or idiom.table.search(table.lower()))
        ):
            return idiom
    return None
