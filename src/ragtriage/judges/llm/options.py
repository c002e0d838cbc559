"""What a user may set about LLM judges, every value checked once; also the shape of `[llm]` in a settings file."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from ragtriage.core.errors import ConfigError
from ragtriage.core.validation import STRICT

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""As HTTP has it."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs, in US dollars for a million tokens."""

    tokens_in: float
    tokens_out: float
    embeddings: float | None = None
    """What the embeddings beside it cost, where their provider's list doesn't say."""

    @classmethod
    def parse(cls, text: str) -> Price:
        """Read `IN:OUT`, for example `0.25:2`, or `IN:OUT,EMBEDDINGS`.

        Raises:
            ConfigError: it can't be read, or a price is below 0.
        """
        try:
            model, comma, embeddings = text.partition(",")
            sent, back = (float(part) for part in model.split(":"))
            vectors = [float(embeddings)] if comma else []
        except ValueError:
            sent, back, vectors = math.nan, math.nan, []
        if not all(0 <= price < math.inf for price in (sent, back, *vectors)):
            raise ConfigError(
                f"the price {text!r} can't be read: write IN:OUT in US dollars for a million tokens, for example "
                "0.25:2, or IN:OUT,EMBEDDINGS, for example 0.25:2,0.02"
            )
        return cls(sent, back, *vectors)

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

    base_url: str | None = None
    """The address of an OpenAI-compatible server, for example `http://localhost:8000/v1`."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent with every request, for gateways; may be secret, so never shown or stored."""
    embeddings: str = "embedded"
    """What measures similarity: `embedded`, or a provider's model such as `openai:text-embedding-3-small`. It is asked
    for the embedded judge, too."""
    batch_size: int = 32
    """The most questions in a request, at least 1 (the papers' way)."""
    concurrency: int = 16
    """The most requests in flight, at least 1."""
    timeout: float = 120.0
    """Seconds after which a request is given up and tried again."""
    rpm: int | None = None
    """The most requests a minute."""
    tpm: int | None = None
    """The most tokens a minute, in and out."""
    budget: float | None = None
    """The most that may be spent on this run, in US dollars, over all continuations."""
    max_requests: int | None = None
    """The most requests that this command may send, repeated ones included."""
    price: Price | None = None
    """What the model costs, where its provider's list doesn't say."""
    prompts: Path | None = None
    """A folder with the user's own versions of prompt files."""
    guidance: Path | None = None
    """A file with the user's domain knowledge: what counts as essential, what abbreviations mean."""
    reply: Literal["auto", "schema", "text"] = "auto"
    """How a reply gets its form: by the provider's schema mode, by instructions in the text, or whichever works."""
    temperature: float | None = 0.0
    """None leaves it to the model."""

    __pydantic_config__: ClassVar[Any] = STRICT

    def __post_init__(self) -> None:
        least: dict[str, tuple[float | None, float]] = {
            "batch_size": (self.batch_size, 1),
            "concurrency": (self.concurrency, 1),
            "timeout": (self.timeout, 0.01),
            "rpm": (self.rpm, 1),
            "tpm": (self.tpm, 1),
            "budget": (self.budget, 0),
            "max_requests": (self.max_requests, 0),
            "temperature": (self.temperature, 0),
        }
        for setting, (value, low) in least.items():
            if value is not None and not value >= low:
                raise ConfigError(f"{setting} is {value}: give at least {low:g}", setting)
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
