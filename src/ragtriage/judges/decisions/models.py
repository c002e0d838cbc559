"""Decision models by name, `SERVICE:MODEL[@ADDRESS]`: what is known of services, and in which words they are asked."""

import hashlib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from ragtriage.core.errors import ConfigError
from ragtriage.core.files import why_unreadable
from ragtriage.core.questions import Kind
from ragtriage.judges.llm.models import is_address, public_address
from ragtriage.judges.llm.options import Price, is_header_value

OWN = "decide.toml"
"""The file in the folder of a user's prompts."""
_TABLES: Mapping[Kind, tuple[str, ...]] = {
    "supported": ("supported", "contradicted", "which"),
    "answered": ("answered",),
    "essential": ("essential",),
    "relevant": ("relevant",),
    "same_answer": ("same_answer", "same_drawn"),
    "declines": ("declines",),
    "holds": ("holds",),
}
DECIDED: tuple[Kind, ...] = tuple(_TABLES)
"""The kinds that a decision model answers: all with a verdict but similarity, which embeddings measure."""


@dataclass(frozen=True, slots=True)
class DecisionWords:
    """What is asked, by table of `words.toml`."""

    tables: Mapping[str, Mapping[str, str]]
    guidance: str = ""
    """The user's, which stands in the state; empty without one."""

    def digest(self, kind: Kind) -> str:
        """Changes with the words of this kind and the guidance, and with nothing else; 12 hexadecimal digits."""
        said = [f"{name} {key} {text}" for name in _TABLES[kind] for key, text in sorted(self.tables[name].items())]
        words = "\0".join([self.guidance, *said]).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(words, digest_size=6).hexdigest()


def read_words(folder: Path | None = None, guidance: str = "") -> DecisionWords:
    """The project's own words, or a user's in place of those that the folder's `decide.toml` has."""
    known = tomllib.loads(files(__package__).joinpath("words.toml").read_text("utf-8"))
    path = folder / OWN if folder else None
    if path is None or not path.is_file():
        return DecisionWords(known, guidance)
    try:
        own = tomllib.loads(path.read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} can't be read: {why_unreadable(error)}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} can't be read: {error}") from error
    for name, table in own.items():
        if name not in known:
            raise ConfigError(f"{path}: there is no table [{name}]; there are {', '.join(known)}")
        if not isinstance(table, dict) or any(
            key not in known[name] or not isinstance(table[key], str) for key in table
        ):
            raise ConfigError(f"{path}: [{name}] holds texts {', '.join(known[name])} and nothing else")
        try:
            table.get("instructions", "").format(item="", evidence="", text="")
        except (LookupError, ValueError):
            raise ConfigError(
                f"{path}: the instructions of [{name}] have braces around something else than {{item}}, {{evidence}} "
                "and {text}: write a brace of your own twice"
            ) from None
    return DecisionWords({name: {**table, **own.get(name, {})} for name, table in known.items()}, guidance)


Wire = Literal["systemone", "decisions"]
"""How a service is spoken to: `/v1/systemone`, an object of questions, or `/v1/decisions`, a list of them."""

PATHS: Mapping[str, str] = {"systemone": "/v1/systemone", "decisions": "/v1/decisions"}
LOCAL = ("localhost", "127.0.0.1", "::1")
EXAMPLE = "systemone:kev@http://localhost:11434"


@dataclass(frozen=True, slots=True)
class Service:
    """What offers decision models."""

    wire: Wire
    key: str
    """The environment variable with its key."""
    address: str = ""
    """Where requests go; empty where the user gives it."""
    largest_body: int = 60 * 1024
    """Bytes of a request that it takes."""
    prices: Mapping[str, float] = field(default_factory=dict)
    """How a model's name begins → US dollars for a million tokens in."""
    listed: str = ""
    """The month of the prices."""


@dataclass(frozen=True, slots=True)
class DecisionModel:
    """One decision model."""

    name: str
    """As a user types it: `SERVICE:MODEL` or `SERVICE:MODEL@ADDRESS`."""
    model: str
    """As the service calls it."""
    url: str
    """Where its requests go."""
    service: Service

    @property
    def price(self) -> Price | None:
        """By the list; a model at an address of the user's on this machine is free; None if it isn't known."""
        if not self.service.address and urlsplit(self.url).hostname in LOCAL:
            return Price(0.0, 0.0)
        known = self.service.prices.items()
        return next((Price(price, 0.0) for name, price in known if self.model.startswith(name)), None)

    @property
    def moves(self) -> bool:
        """Whether the name is an alias that means another model from one day to the next."""
        return self.model.endswith("latest")

    def authorization(self) -> Mapping[str, str]:
        """The header with the key; none where none is set, or where it would travel in the open."""
        key = os.environ.get(self.service.key, "")
        if not key:
            if self.service.address:
                raise ConfigError(f"{self.name} has no key: set the environment variable {self.service.key}")
            return {}
        if not is_header_value(key):
            raise ConfigError(
                f"{self.name}: the key in {self.service.key} holds a line break or a character that isn't ASCII: set "
                "it again"
            )
        parts = urlsplit(self.url)
        return {"Authorization": f"Bearer {key}"} if parts.scheme == "https" or parts.hostname in LOCAL else {}


@cache
def services() -> Mapping[str, Service]:
    """The services by name."""
    table = tomllib.loads(files(__package__).joinpath("models.toml").read_text("utf-8"))
    return {name: Service(**one) for name, one in table.items()}


def is_decision_model(name: str) -> bool:
    """Whether a name begins with a service that decides."""
    return name.partition(":")[0] in services()


@cache
def decision_model(name: str) -> DecisionModel:
    """The model that a name means."""
    kind, _, rest = name.partition(":")
    service = services()[kind]
    model, address = _split_address(rest)
    if not model or (not service.address and not address):
        raise ConfigError(f"{name!r} lacks its {'address' if model else 'model'}: write for example {EXAMPLE}")
    if not address:
        return DecisionModel(name, model, service.address, service)
    if service.address:
        raise ConfigError(f"{kind} models have an address of their own: for a server of yours write {EXAMPLE}")
    if not is_address(address) or any(mark in address for mark in "@?#,"):
        raise ConfigError(
            f"{public_address(address)!r} is no address of a decision server: write http://HOST:PORT, without "
            f"password, comma and query; its key stands in {service.key}"
        )
    address = address.rstrip("/").removesuffix(PATHS[service.wire])
    return DecisionModel(f"{kind}:{model}@{address}", model, address + PATHS[service.wire], service)


def _split_address(text: str) -> tuple[str, str]:
    """A model's name and what follows the last `@` before an address; a model's own `@` stays."""
    places = [text.rfind(f"@{scheme}") for scheme in ("http://", "https://")]
    at = max(places)
    return (text, "") if at < 0 else (text[:at], text[at + 1 :])
