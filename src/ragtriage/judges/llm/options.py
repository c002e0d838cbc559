"""What a user may set about LLM judges, every value checked once; what goes to a model and what comes back.

The settings are also the shape of `[llm]` in a settings file.
"""

import math
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from ragtriage.core.errors import ConfigError
from ragtriage.core.validation import STRICT, check_bounds, setting

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""As HTTP has it."""


LLM_BATCH = 32
"""Questions in a request to a language model, if nothing else is said."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs, in US dollars for a million tokens."""

    tokens_in: float
    tokens_out: float

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `IN:OUT`, for example `0.25:2`."""
        try:
            sent, back = (float(part) for part in text.split(":"))
        except ValueError:
            sent = back = math.nan
        if not all(0 <= price < math.inf for price in (sent, back)):
            raise ConfigError(
                f"the price {text!r} can't be read: write IN:OUT in US dollars for a million tokens, for example 0.25:2"
            )
        return cls(sent, back)

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: object) -> Any:
        """In a settings file it is the text that `parse` reads."""
        from pydantic_core import core_schema  # noqa: PLC0415  # loaded where settings are read

        return core_schema.no_info_after_validator_function(cls.parse, core_schema.str_schema())

    def of(self, tokens_in: int, tokens_out: int) -> float:
        """The price of a request, in US dollars."""
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / 1_000_000


@dataclass(frozen=True, slots=True)
class LLMOptions:
    """How LLM judges are asked.

    Raises:
        ConfigError: a value is out of its range; says which flag.
    """

    base_url: str | None = setting("An OpenAI-compatible server, for judges openai:NAME")
    headers: Mapping[str, str] = setting(
        "NAME=VALUE, sent with every request; repeatable", default=dict, parameter="header"
    )
    """May be secret, so never shown or stored."""
    embeddings: str = setting("What measures repetition: embedded, or provider:model", default="embedded")
    """It is asked for the embedded judge, too."""
    batch_size: int | None = setting(
        "Questions in a request at most [default: 32; of a decision model 64; of letters by --decide PROVIDER:MODEL 1]",
        least=1,
    )
    concurrency: int = setting("Requests in flight at most", default=16, least=1)
    timeout: float = setting("Seconds after which a request is tried again", default=120.0, least=0.01)
    rpm: int | None = setting("Requests a minute at most", least=1)
    tpm: int | None = setting("Tokens a minute, in and out, at most", least=1)
    """In and out."""
    budget: float | None = setting("US dollars that the run may cost", least=0)
    """Over all continuations."""
    max_requests: int | None = setting("Requests that this command may send", least=0)
    """Repeated ones included."""
    price: Price | None = setting("IN:OUT, US dollars a million tokens, for a model that no price list has")
    explain: Literal["doubtful", "all", "none"] | None = setting(
        "Which letters (--decide) get a reason: doubtful (no, unsure and cited), all or none [default: doubtful]"
    )
    decide_price: Price | None = setting("IN:OUT, the same for a decision model (--decide)")
    max_body: int | None = setting(least=1_000)
    """Bytes of a request that the decision model's server takes; None for what is known of the service."""
    prompts: Path | None = setting("A folder with your own prompt files")
    guidance: Path | None = setting("A file about your domain: what is essential, what abbreviations mean")
    reply: Literal["auto", "schema", "text"] = setting(
        "Form of replies: schema, text or auto, whichever works", default="auto"
    )
    temperature: float | None = setting(default=0.0, least=0)
    """None leaves it to the model."""

    __pydantic_config__: ClassVar[Any] = STRICT

    def __post_init__(self) -> None:
        check_bounds(self)
        if self.timeout == math.inf:
            raise ConfigError("timeout is inf: give a number of seconds", "timeout")
        for name, text in self.headers.items():
            if not _HEADER_NAME.fullmatch(name):
                raise ConfigError(f"{name!r} is no name of a header: use letters, digits and hyphens", "headers")
            if not is_header_value(text):
                raise ConfigError(f"the header {name} holds a line break or a letter beyond ASCII", "headers")


def is_header_value(value: str) -> bool:
    """Whether a header can have this value."""
    return value.isascii() and value.isprintable()


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
