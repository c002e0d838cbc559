"""The linguistic criteria: what a phrasing under each is to be like, and whether it is."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from ragtriage.core.errors import ConfigError
from ragtriage.core.validation import near_names
from ragtriage.testset.generation.query_templates import SLOT, QueryTemplate, placeholder_problem
from ragtriage.testset.generation.schema import Schema

USUAL_WORDS = 2.0
"""Words that a placeholder counts as, where no values of it are known."""
WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
WH = frozenset("what which who whom whose when where why how".split())
AUXILIARIES = frozenset(
    "is are was were am be been do does did has have had can could will would shall should may might must".split()
)
PRONOUNS = frozenset("i you he she it we they me him her us them my your his its our their this that these".split())
FUNCTION = frozenset(
    "a an the of in on at by for from to with as and or not no if whether there here so up out about than then tell "
    "know please just all one any some more only into over".split()
).union(WH, AUXILIARIES, PRONOUNS)
"""Words without a meaning of their own: a value that is made of them alone is in every other sentence."""
_CONTRACTION = re.compile(
    r"\b(?:\w+n['’]t|\w+['’](?:m|re|ve|ll|d)|(?:what|who|where|when|how|it|that|there|here|let|he|she)['’]s)\b",
    re.IGNORECASE,
)
_CASUAL = re.compile(
    r"\b(?:hey|hi|hiya|yo|um|uh|thx|thanks|cheers|pls|plz|gonna|wanna|gotta|kinda|quick question|any idea|"
    r"just wondering|by the way|btw|ok|okay|yeah|guys|happen to know)\b",
    re.IGNORECASE,
)
_FORMAL = re.compile(
    r"\b(?:please|kindly|writing to ask|could|would|may|grateful|appreciate|request|inquire|enquire|obliged|wish)\b",
    re.IGNORECASE,
)
_END = re.compile(r"[.?!]+(?=\s|$)")


def usual_words(values: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Words of a typical value of each placeholder: the median, at least 1."""
    return {
        name: max(1.0, float(median(len(value.split()) for value in some))) for name, some in values.items() if some
    }


def words_in(text: str, usual: Mapping[str, float]) -> float:
    """The number of words, each placeholder counted as a typical value of it."""
    slots = SLOT.findall(text)
    words = WORD.findall(SLOT.sub(" ", text).replace(" 's ", " "))
    return len(words) + sum(usual.get(name, USUAL_WORDS) for name in slots)


def plain_words(text: str) -> list[str]:
    """The words outside of placeholders, in small letters."""
    return [found.lower().replace("’", "'") for found in WORD.findall(SLOT.sub(" ", text))]


def first_word(text: str) -> str:
    """The first word in small letters; empty if the text begins with a placeholder."""
    found = re.match(r"\W*?([A-Za-z]+)", text)
    return found[1].lower() if found and not text.lstrip().startswith("[") else ""


def sentences_in(text: str) -> int:
    """How many sentences end in the text, at least 1."""
    return max(1, len(_END.findall(SLOT.sub("x", text))))


def casual_in(text: str) -> int:
    """How many marks of casual talk it has, contractions included."""
    return len(_CASUAL.findall(SLOT.sub("x", text))) + len(_CONTRACTION.findall(SLOT.sub("x", text)))


def edits_between(text: str, plains: Iterable[str]) -> int | None:
    """The fewest letters left out, put in, changed or swapped that make the text of a plain question.

    Optimal string alignment, over letters; a placeholder counts as one. None if there is nothing to compare with.
    """
    return min((_edits(_letters(text), _letters(plain)) for plain in plains), default=None)


def _letters(text: str) -> list[str]:
    parts: list[str] = []
    at = 0
    for slot in SLOT.finditer(text):
        parts += [*text[at : slot.start()], slot[0]]
        at = slot.end()
    return [*parts, *text[at:]]


def _edits(one: Sequence[str], other: Sequence[str]) -> int:
    before: list[int] = []
    above = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, against in enumerate(other, 1):
            best = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != against))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == against:
                best = min(best, before[j - 2] + 1)
            row.append(best)
        before, above = above, row
    return above[-1]


class ValueLeakDetector:
    """Finds values in a text that should only have placeholders.

    It is made from the values that will stand there, or a sample of them, by placeholder or column.
    """

    def __init__(self, values: Mapping[str, Sequence[str]]) -> None:
        self._known: dict[str, set[tuple[str, ...]]] = {
            name: {tuple(word.lower() for word in WORD.findall(value)) for value in some}
            for name, some in values.items()
        }
        self._lengths = {name: sorted({len(words) for words in known}) for name, known in self._known.items()}

    def found(self, text: str, columns: Collection[str], allowed: Collection[str]) -> str | None:
        """The first value of these columns that stands in the text, in small letters; None if there is none.

        A value that is made of function words or of words that are allowed anyway tells nothing, and isn't looked for.
        """
        parts = [[word.lower() for word in WORD.findall(part)] for part in SLOT.split(text)[::2]]
        spans = (
            (column, tuple(part[start : start + length]))
            for column in columns
            for length in self._lengths.get(column, ())
            for part in parts
            for start in range(len(part) - length + 1 if length else 0)
        )
        for column, words in spans:
            if words in self._known[column] and any(word not in FUNCTION and word not in allowed for word in words):
                return " ".join(words)
        return None


LONGEST = 1_500
"""Characters."""
MOST_EDITS = 8
"""Of a phrasing with typing mistakes: two for each of the four."""
CONTEXT = 8
"""Words that distracting context has at least."""
_IDLE = WH | AUXILIARIES | PRONOUNS | {"a", "an", "the"}

SHORTEST_LONG = 30
"""Words from which on a phrasing is long: the paper's."""
LONGEST_SHORT = 15
"""Words up to which a phrasing is short; a name in it counts with its words."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """One way of putting a question."""

    name: str
    says: str
    """What a phrasing under it is like; for people, and for the language model that writes one."""
    own: bool = False
    """Whether it is a user's, in words: nothing but the placeholders is measured of it then."""


CRITERIA: tuple[Criterion, ...] = (
    Criterion("short", f"one plain question in as few words as possible, at most {LONGEST_SHORT}"),
    Criterion(
        "long", f"at least {SHORTEST_LONG} words: why somebody asks, without a hint at the answer, and the question"
    ),
    Criterion("question", "one plain question, complete, with a question mark at its end"),
    Criterion("directive", 'a command such as "Tell me …" or "Give me …", without a question mark'),
    Criterion("formal", "polite and formal, as in a letter: full sentences, no contractions, no slang"),
    Criterion("casual", "as in a chat with a colleague: contractions or casual words, still clear"),
    Criterion("keywords", "what somebody types into a search box: key words only, no sentence, no question mark"),
    Criterion("typos", "the plain question with one to four typing mistakes, none of them in a placeholder"),
    Criterion("indirect", 'the question inside a statement, such as "I would like to know when …"'),
    Criterion("distracting", "the plain question between sentences that have nothing to do with it"),
)
"""All that come with the package, in the order in which they are shown."""
NAMES = tuple(criterion.name for criterion in CRITERIA)


def criteria_named(names: Sequence[str] = (), own: Sequence[str] = ()) -> tuple[Criterion, ...]:
    """Criteria by their names, and a user's own."""
    by_name = {criterion.name: criterion for criterion in CRITERIA}
    for name in names:
        if name not in by_name:
            near = next(iter(near_names(name, NAMES)), "")
            hint = f"did you mean {near}? " if near else ""
            raise ConfigError(
                f"there is no criterion {name!r}: {hint}there are {', '.join(NAMES)}; "
                f"one of your own goes into --own, in words"
            )
    said = [" ".join(words.split()) for words in own]
    if "" in said:
        raise ConfigError('--own is empty: say in words how to ask, for example --own "as a child would ask"')
    every = [*names, *said]
    double = next((one for one in every if every.count(one) > 1), None)
    if double:
        raise ConfigError(f"the criterion {double!r} is named twice")
    if not every:
        return CRITERIA
    return (*(by_name[name] for name in names), *(Criterion(words, words, own=True) for words in said))


class Refusal(Exception):
    """A phrasing can't be used; the text is the reason, a clause."""


@dataclass(frozen=True, slots=True)
class Requirements:
    """What the phrasings of one query template, whoever wrote them, must fulfil."""

    template: QueryTemplate
    plains: tuple[str, ...] = ()
    """The plain questions, with question marks; typing mistakes are measured against them."""
    usual: Mapping[str, float] = field(default_factory=dict)
    """Placeholder → words of a typical value."""
    leaks: ValueLeakDetector | None = None
    allowed: frozenset[str] = frozenset()
    """Words of the schema that may stand in a phrasing though a value is called so."""

    def verify(self, text: str, criterion: Criterion) -> dict[str, float]:
        """What was measured of a phrasing; a Refusal is raised if it can't be used under the criterion."""
        self._check_form(text)
        shape = self.template.shape
        columns = (*self.template.placeholders, *([f"{shape.table}.{shape.select}"] if shape else []))
        if leaked := self.leaks.found(text, columns, self.allowed) if self.leaks else None:
            raise Refusal(f"it says “{leaked}”, which is a value")
        measures: dict[str, float] = {"words": words_in(text, self.usual)}
        if criterion.own:
            return measures
        if criterion.name == "typos":
            edits = edits_between(text, self.plains)
            if edits is None:
                raise Refusal("there is no plain question to measure its typing mistakes against")
            measures["edits"] = edits
        if criterion.name == "keywords" and (idle := sorted((set(plain_words(text)) & _IDLE) - self.allowed)):
            raise Refusal(f"it has a word that no search needs: {idle[0]}")
        if criterion.name == "distracting":
            number = next((w for w in plain_words(text) if any(c.isdigit() for c in w) and w not in self.allowed), "")
            if number:
                raise Refusal(f"its context has the number {number}, which could be an answer")
        for fails, reason in _CHECKS[criterion.name]:
            if fails(text, measures):
                raise Refusal(reason.format(**measures))
        return measures

    def _check_form(self, text: str) -> None:
        if not text.strip() or "\n" in text:
            raise Refusal("it is empty" if not text.strip() else "it has more than one line")
        if len(text) > LONGEST:
            raise Refusal(f"it has more than {LONGEST:,} characters")
        if wrong := placeholder_problem(text, self.template):
            raise Refusal(wrong)


def requirements_of(
    schema: Schema,
    template: QueryTemplate,
    plains: Sequence[str],
    values: Mapping[str, Sequence[str]],
    leaks: ValueLeakDetector,
) -> Requirements:
    """What the phrasings of a template must fulfil, given its plain questions; words of the schema may stand in all."""
    usual = usual_words({name: values[name] for name in template.placeholders if name in values})
    said = [
        text
        for table in schema.tables
        for text in (table.words, *(c.words for c in table.columns), *(key.words for key in table.foreign_keys))
    ]
    singles = {word.lower() for text in said for word in WORD.findall(text)}
    return Requirements(template, tuple(plains), usual, leaks, frozenset(singles | {f"{word}s" for word in singles}))


_Check = tuple[Callable[[str, Mapping[str, float]], bool], str]
"""Whether a text fails, by itself and by what was measured of it, and the reason."""


def _without_slots(text: str) -> str:
    return SLOT.sub("x", text)


_ONE_SENTENCE: _Check = (lambda text, _: sentences_in(text) > 1, "it has more than one sentence")
_NO_QUESTION: _Check = (lambda text, _: "?" in _without_slots(text), "it has a question mark")
_CHECKS: Mapping[str, tuple[_Check, ...]] = {
    "short": (
        (lambda _, found: found["words"] > LONGEST_SHORT, f"it has more than {LONGEST_SHORT} words ({{words:g}})"),
        _ONE_SENTENCE,
    ),
    "long": (
        (lambda _, found: found["words"] < SHORTEST_LONG, f"it has fewer than {SHORTEST_LONG} words ({{words:g}})"),
    ),
    "question": (
        (lambda text, _: not text.endswith("?"), "it doesn't end with a question mark"),
        _ONE_SENTENCE,
        (
            lambda text, _: not WH & set(plain_words(text)) and first_word(text) not in AUXILIARIES,
            "it has no question word, and no verb at its beginning",
        ),
    ),
    "directive": (
        _NO_QUESTION,
        (
            lambda text, _: (
                first_word(text.lower().removeprefix("please").lstrip(" ,")) in FUNCTION - {"tell", "please"} | {""}
            ),
            "it doesn't begin with a command",
        ),
    ),
    "formal": (
        (lambda text, _: casual_in(text) > 0, "it has a contraction or a casual word"),
        (lambda text, _: len(_FORMAL.findall(SLOT.sub("x", text))) == 0, "it has no polite word"),
    ),
    "casual": ((lambda text, _: casual_in(text) == 0, "it has neither a contraction nor a casual word"),),
    "keywords": (
        (lambda text, _: bool(re.search(r"[.?!](?:\s|$)", _without_slots(text))), "it has the end of a sentence"),
    ),
    "typos": (
        (
            lambda _, found: not 1 <= found["edits"] <= MOST_EDITS,
            f"it doesn't differ from the plain question by 1 to {MOST_EDITS} letters ({{edits:g}})",
        ),
    ),
    "indirect": (
        _NO_QUESTION,
        (lambda text, _: first_word(text) in WH | AUXILIARIES, "it begins like a direct question"),
    ),
    "distracting": (
        (
            lambda text, found: sentences_in(_without_slots(text)) < 2 or found["words"] < 2 * CONTEXT,
            "it has no context around the question",
        ),
        (lambda text, _: "?" not in _without_slots(text), "it has no question in it"),
    ),
}
"""Criterion → what a phrasing under it must not be."""
