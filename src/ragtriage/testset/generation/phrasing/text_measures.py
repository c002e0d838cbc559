"""What can be counted of a phrasing: its words, its distance from the plain question, the marks of a tone."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import median

SLOT = re.compile(r"\[([^\[\]]+)\]")
"""A placeholder; its name in the first group."""
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


def contractions_in(text: str) -> int:
    """How many contractions it has; a possessive is none."""
    return len(_CONTRACTION.findall(SLOT.sub("x", text)))


def casual_in(text: str) -> int:
    """How many marks of casual talk it has, contractions included."""
    return len(_CASUAL.findall(SLOT.sub("x", text))) + contractions_in(text)


def formal_in(text: str) -> int:
    """How many marks of polite talk it has."""
    return len(_FORMAL.findall(SLOT.sub("x", text)))


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

    Args:
        values: placeholder or column → values that will stand there, or a sample of them.
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
