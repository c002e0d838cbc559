"""The hub readers that are known by name: where they lie, and what their authors say of them."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from ragtriage.core.errors import ConfigError
from ragtriage.core.validation import STRICT, near_names, validated

MANIFEST = "ragtriage-reader.json"
"""What `readers get` writes beside a model: its name, revision and checksums."""
UNFINISHED = f"{MANIFEST}.part"
"""What stands there from the beginning of a fetch until every file of it was checked."""
VARIABLE = "RAGTRIAGE_READERS"


@dataclass(frozen=True, slots=True)
class KnownReader:
    """One known hub reader."""

    family: str
    repository: str
    megabytes: int
    """Of the files that are fetched."""
    license: str
    languages: tuple[str, ...]
    accuracy: str
    """As its authors published it; empty where no figure was found."""
    source: str
    """Where that stands, or the model's page."""
    name: str = ""
    revision: str = ""
    """The commit; empty where none could be verified, so that a user names one."""
    files: tuple[str, ...] = ("*.safetensors",)
    """Which weights are fetched."""
    sha256: Mapping[str, str] = field(default_factory=dict)
    """File → its digest, where it was published."""
    foundation: str = ""
    """Another repository whose configuration and tokenizer are fetched too."""
    foundation_revision: str = ""
    length: int = 0
    """Word pieces of a pass; 0: by the family and the configuration."""
    temperature: float | None = None
    """By which its log odds are divided so that they are calibrated; None: nobody measured it."""
    note: str = ""

    __pydantic_config__: ClassVar[Any] = STRICT


@cache
def known_readers() -> Mapping[str, KnownReader]:
    """Name → reader, in the order of the table."""
    table = tomllib.loads(Path(__file__).with_name("known.toml").read_text(encoding="utf-8"))
    return {name: validated(KnownReader, {**row, "name": name}, "known reader") for name, row in table.items()}


def known_reader(name: str) -> KnownReader | None:
    """The reader of this name; None if it isn't known."""
    return known_readers().get(name)


def readers_folder() -> Path:
    """Where fetched readers lie: $RAGTRIAGE_READERS, else `ragtriage/readers` in the user's cache."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ragtriage" / "readers"


def place_of(typed: str) -> Path:
    """The folder that a user means: the path that he typed, or where the reader of this name lies.

    Raises:
        ConfigError: it is neither a folder nor a known name, or wasn't fetched yet.
    """
    given = Path(typed).expanduser()
    if given.exists():
        return given
    if "/" in typed or os.sep in typed or given.suffix == ".onnx":
        raise ConfigError(f"the reader {typed!r} isn't there: give a folder, or a name of `ragtriage readers`")
    if known_reader(typed) is None:
        near = next(iter(near_names(typed, tuple(known_readers()))), "")
        hint = f"did you mean {near}?" if near else "`ragtriage readers` lists the known ones"
        raise ConfigError(f"there is no reader {typed!r}, and no folder of this name: {hint}")
    place = readers_folder() / typed
    if not (place / MANIFEST).is_file():
        raise ConfigError(
            f"the reader {typed!r} isn't on this machine, and nothing is fetched unasked: "
            f"`ragtriage readers get {typed}` fetches it to {place}"
        )
    return place
