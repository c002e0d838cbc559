"""How likely yes, no and unknown were where a model wrote one of them: from a server's probabilities of tokens."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragtriage.core.verdicts import Answered
from ragtriage.judges.llm.messages import Token

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
