"""The words in which a decision model is asked: `words.toml`, with a user's own in their place."""

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from ragtriage.core.errors import ConfigError
from ragtriage.core.files import why_unreadable
from ragtriage.core.questions import Kind

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
