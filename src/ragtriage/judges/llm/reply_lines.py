"""The lines of a reply: numbered letters, how likely each letter was, reasons, and lists of texts under their names."""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragtriage.core.verdicts import Answered
from ragtriage.judges.llm.options import MalformedReply, Token
from ragtriage.judges.llm.reply_json import without_thoughts

LETTERS: Mapping[str, Answered] = {
    "Y": "yes", "N": "no", "U": "unknown", "YES": "yes", "NO": "no", "UNKNOWN": "unknown", "UNSURE": "unknown",
}  # fmt: skip
"""What is read as a letter; models write the words, too."""
MARKS = " \t\r\n.,;:!*_`'\"“”()[]|"
"""What may stand around a letter."""


@dataclass(frozen=True, slots=True)
class Chances:
    """Of the three values at one place of a reply."""

    yes: float = 0.0
    no: float = 0.0
    unknown: float = 0.0

    @property
    def mass(self) -> float:
        """How likely it was that the model wrote any of them, in [0, 1]."""
        return self.yes + self.no + self.unknown

    @property
    def of_yes(self) -> float | None:
        """The probability of yes, in [0, 1]; None where unknown is likelier than yes and than no."""
        if self.unknown > max(self.yes, self.no):
            return None
        return self.yes / (self.yes + self.no)


def letter_of(text: str) -> Answered | None:
    """What a letter or word says, marks around it and capitals apart; None if it is something else."""
    return LETTERS.get(text.strip(MARKS).upper())


def chances_at(tokens: Sequence[Token], place: int) -> Chances | None:
    """The chances where the text has a letter at this place; None where no token is known there."""
    token = next((token for token in tokens if token.start <= place < token.end), None)
    if token is None:
        return None
    sums = {"yes": 0.0, "no": 0.0, "unknown": 0.0}
    for text, chance in token.alternatives:
        if value := letter_of(text):
            sums[value] += chance
    return Chances(**sums)


def tokens_of_reply(given: Iterable[Mapping[str, Any]], text: str) -> tuple[Token, ...]:
    """A server's tokens with their places in the reply's text; none if they don't hold it.

    They may hold more: a thought before the text, a space or a mark of the end around it.
    """
    listed = list(given)
    spelt = [_bytes(one) for one in listed]
    at = b"".join(spelt).rfind(text.encode()) if text else 0
    if at < 0:
        return ()
    # a place in bytes → in characters; a token may begin inside a character
    places = [0]
    for number, character in enumerate(text):
        places += [number] * (len(character.encode()) - 1) + [number + 1]
    found, start = [], -at
    for one, own in zip(listed, spelt, strict=True):
        end = start + len(own)
        found.append(Token(_place(places, start), _place(places, end), _alternatives(one)))
        start = end
    return tuple(found)


def _bytes(token: Mapping[str, Any]) -> bytes:
    own = token.get("bytes")
    return bytes(own) if own else str(token.get("token") or "").encode("utf-8", "surrogatepass")


def _place(places: Sequence[int], at: int) -> int:
    return at if at < 0 else places[at] if at < len(places) else places[-1] + at - len(places) + 1


def _alternatives(token: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    """With the token itself, which servers leave out of a list of alternatives that is too short."""
    listed = {str(one.get("token")): one.get("logprob") for one in [token, *(token.get("top_logprobs") or ())]}
    return tuple((text, math.exp(min(0.0, log))) for text, log in listed.items() if isinstance(log, int | float))


PART = "·"
"""Parts a letter from its reason, and that from its quote."""
NOTHING = frozenset({"", "none", "nothing", "n/a"})
"""Items by which models say that a list has none."""
_NUMBERED = re.compile(r"[^\w\n]*(?:(?:q|question)\s*)?(\d{1,4})(?!\w)(?![.,]\d)[^\w\n\"“'‘]*", re.IGNORECASE)
_WORD = re.compile(r"\S+")
BULLETS = ("-", "*", "•")
_ITEM = re.compile(r"\s*(?:[-*•]\s+|\d{1,3}[.)]\s+)")
_OPENING = ('"', "“", "'", "‘")
_QUOTE = re.compile(r'[“"](.*)[”"][\s.]*\Z', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Letter:
    """A verdict's line."""

    value: Answered
    place: int
    """Of the letter in the reply's text, in characters."""
    why: str = ""
    quote: str = ""


@dataclass(slots=True)
class ReplyLines:
    """What a reply holds."""

    letters: dict[int, Letter] = field(default_factory=dict)
    """By the question's number."""
    lists: dict[str, list[str]] = field(default_factory=dict)
    """By their names, in the order of the reply."""


def read_lines(text: str, numbers: int, names: Collection[str]) -> ReplyLines:
    """Read a reply to so many numbered questions and to what asks for lists of these names.

    ReplyLines that are neither are words around a reply, and left out. `MalformedReply` for a number that stands there
    twice or that no question has, for a list that stands there twice, and for an item without its mark.
    """
    found, name = ReplyLines(), ""
    marked: set[str] = set()
    at = len(text) - len(without_thoughts(text))
    for line in text[at:].splitlines(keepends=True):
        heading, rest = _heading(line, names)
        numbered = _NUMBERED.match(line)
        if heading:
            if heading in found.lists:
                raise MalformedReply(f"`{heading}` stands there twice")
            name = heading
            found.lists[name] = []
            _add(found.lists[name], rest)
        elif name and not (numbered and _ends_a_list(line, line[numbered.end() :])):
            item = _ITEM.match(line)
            if item:
                marked.add(name)
            elif line.strip() and name in marked:
                raise MalformedReply(f"an item of `{name}` doesn't begin with a hyphen")
            _add(found.lists[name], line[item.end() :] if item else line)
        elif numbered and (letter := _letter(line[numbered.end() :], at + numbered.end())):
            number = int(numbered[1])
            if number in found.letters or not 1 <= number <= numbers:
                problem = "stands there twice" if number in found.letters else "is of no question"
                raise MalformedReply(f"the number {number} {problem}")
            found.letters[number] = letter
        at += len(line)
    return found


def _add(items: list[str], said: str) -> None:
    if said.lower().strip(MARKS) not in NOTHING:
        items.append(said.strip())


def _heading(line: str, names: Collection[str]) -> tuple[str, str]:
    """The name of a list that a line begins, and what else it says; "" if it begins none."""
    name, _, rest = line.strip().strip("*#` ").partition(":")
    name = name.strip("*#` ").lower()
    return (name, rest.strip("*` ")) if name in names else ("", "")


def _ends_a_list(line: str, said: str) -> bool:
    """Whether a line with a number, which says this behind it, is no item: a letter alone, or before a reason."""
    return not line.lstrip().startswith(BULLETS) and letter_of(said.partition(PART)[0]) is not None


def _letter(said: str, at: int) -> Letter | None:
    """The letter behind a number: the first word, or what stands last before a reason, as in `1 supported: Y`."""
    own, _, reason = said.partition(PART)
    words = list(_WORD.finditer(own))
    if not words:
        return None
    first, last = words[0], words[-1]
    value = letter_of(first[0])
    # a word that others follow begins a sentence, or a quote; a letter, or a word with a mark behind it, is a verdict
    behind = own[first.end() :].lstrip()[:1]
    parted = not first[0][-1].isalpha() or not behind.isalnum() or len(first[0].strip(MARKS)) == 1
    if value and (len(words) == 1 or (parted and not first[0].startswith(_OPENING))):
        why, quote = _reason(reason if len(words) == 1 else said[first.end() :])
        return Letter(value, at + _inside(first), why, quote)
    value = letter_of(last[0])
    return Letter(value, at + _inside(last), *_reason(reason)) if value else None


def _inside(word: re.Match[str]) -> int:
    """Where the letter begins in a word that may have marks before it."""
    return word.start() + len(word[0]) - len(word[0].lstrip(MARKS))


def _reason(said: str) -> tuple[str, str]:
    """Why, and the quote; either may be missing."""
    said = said.strip().strip(PART).strip()
    quote = _QUOTE.search(said.rpartition(PART)[2])
    why = said[: len(said) - len(quote[0])] if quote else said
    return why.strip(f" \t{PART}-–—:|"), quote[1].strip() if quote else ""
