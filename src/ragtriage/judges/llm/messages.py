"""What goes to a model and what comes back, whoever carries it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request to a model."""

    system: str
    """The common head; the same for every request of a judge."""
    user: str
    """The fenced texts, then the instructions, then the questions."""
    schema: Mapping[str, Any]
    """The JSON schema of the reply; empty where the reply is a text."""
    largest_reply: int
    """The most tokens that the reply may have."""
    refused: tuple[str, str] | None = None
    """A reply that didn't fit, and what was wrong with it: the model is asked to correct it."""
    by_token: bool = False
    """Whether the reply is read token by token: with their probabilities, where the server gives them, and as far as it
    goes where it was cut off."""
    thought: int = 0
    """How many of the largest reply's tokens are for thoughts before it."""

    @property
    def tokens(self) -> int:
        """About how many tokens it has, the schema and a refused reply included; see `tokens_of`."""
        texts = (self.system, self.user, *(self.refused or ()))
        return sum(map(tokens_of, texts)) + (len(repr(self.schema)) // 4 if self.schema else 0)


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a reply, and what the model might have written in its place."""

    start: int
    """Where it begins in the reply's text, in characters; below 0 where the text leaves out its beginning."""
    end: int
    alternatives: tuple[tuple[str, float], ...]
    """The likeliest tokens here, itself among them, each with its probability in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said, and what it took."""

    text: str
    tokens_in: int = 0
    tokens_out: int = 0
    price: float | None = None
    """In US dollars; None if the price of the model isn't known."""
    truncated: bool = False
    """Whether it was cut off at the largest length."""
    model: str = ""
    """The model that it names; empty if none."""
    tokens: tuple[Token, ...] = ()
    """In the order of the text; empty where their probabilities weren't asked for, or the server gives none."""


Send = Callable[[Prompt], Awaitable[Reply]]
"""Carries one prompt to a model, once: no retries, no limits, no memory; raises an `ExchangeError`."""


class ExchangeError(Exception):
    """A request that gave no reply; the text says why, in a sentence without secrets."""


class TransientError(ExchangeError):
    """It failed this time (5xx, reset, time-out); it may work the next time."""

    def __init__(self, cause: str, after: float | None = None) -> None:
        super().__init__(cause)
        self.after = after


class RateLimited(TransientError):
    """The server asks to slow down (429)."""


class RequestRejected(ExchangeError):
    """This request fails whenever it is sent; others may work.

    `alone` tells whether it is certain that its own text is to blame (filtered, too long), and not how all are asked.
    """

    def __init__(self, cause: str, *, alone: bool = False) -> None:
        super().__init__(cause)
        self.alone = alone


class ModelUnusable(ExchangeError):
    """Every request would fail (key refused, no such model, no credit)."""


class MalformedReply(Exception):
    """A reply that doesn't fit its form; the text says what is wrong with it."""

    fits = False
    """Whether it could be read, but another try may do better."""
    advice = "name a larger model, or choose another form of replies, schema or text (--reply)"
    """What to do where no reply fits."""
    longer = True
    """Whether more room may help where it was cut off."""


class NoLetter(MalformedReply):
    """One letter was asked for, and the reply begins with something else."""

    longer = False


class ThinksFirst(NoLetter):
    """It is a thought, or the beginning of one, where one letter was asked for."""


def tokens_of(text: str) -> int:
    """About how many tokens a text has: four bytes of UTF-8 are one, which is right for English within a tenth."""
    return (len(text) if text.isascii() else len(text.encode("utf-8", "replace"))) // 4
