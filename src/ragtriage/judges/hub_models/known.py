"""The hub models that are known by name: where they lie, what their authors say of them, and fetching one."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from ragtriage.core.errors import ConfigError, MissingExtraError
from ragtriage.core.validation import STRICT, near_names, validated
from ragtriage.judges.hub_models.folder import HubFolder, open_folder

VARIABLE = "RAGTRIAGE_READERS"
FETCHED = ("config.json", "tokenizer.json", "*.safetensors", "README.md", "LICENSE*")
"""The files that are fetched: never code, and never a pickle."""


@dataclass(frozen=True, slots=True)
class KnownModel:
    """One known hub model."""

    name: str
    repository: str
    revision: str
    """The whole commit."""
    megabytes: int
    """Of the files that are fetched."""
    license: str
    languages: tuple[str, ...]
    accuracy: str
    """As its authors published it; empty where no figure was found."""
    source: str
    """Where that stands, or the model's page."""

    __pydantic_config__: ClassVar[Any] = STRICT


@cache
def known_models() -> Mapping[str, KnownModel]:
    """Name → model, in the order of the table."""
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {name: validated(KnownModel, {**row, "name": name}, "known model") for name, row in table.items()}


def known_model(name: str) -> KnownModel:
    """The model of this name.

    Raises:
        ConfigError: there is none.
    """
    if found := known_models().get(name):
        return found
    near = next(iter(near_names(name, tuple(known_models()))), "")
    hint = f"did you mean {near}?" if near else "`ragtriage readers` lists the known ones"
    raise ConfigError(f"there is no hub model {name!r}, and no folder of this name: {hint}")


def models_folder() -> Path:
    """Where fetched models lie: $RAGTRIAGE_READERS, else `ragtriage/readers` in the user's cache."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ragtriage" / "readers"


def is_here(name: str) -> bool:
    """Whether the model of this name was fetched."""
    return (models_folder() / name / "config.json").is_file()


def open_model(typed: str) -> HubFolder:
    """The folder that a user means: by the path that he typed, or where the model of this name lies.

    Raises:
        ConfigError: it is neither a folder nor a known name, wasn't fetched yet, or can't be used.
    """
    given = Path(typed).expanduser()
    if given.exists():
        return open_folder(typed, given)
    if "/" in typed or os.sep in typed or given.suffix == ".onnx":
        raise ConfigError(f"the hub model {typed!r} isn't there: give a folder, or a name of `ragtriage readers`")
    known_model(typed)
    if not is_here(typed):
        raise ConfigError(
            f"the hub model {typed!r} isn't on this machine, and nothing is fetched unasked: "
            f"`ragtriage readers get {typed}` fetches it to {models_folder() / typed}"
        )
    return open_folder(typed, models_folder() / typed)


def fetch(model: KnownModel) -> HubFolder:
    """Fetch a model at its commit with huggingface_hub; what is there already isn't fetched again.

    Raises:
        ConfigError: the hub can't be reached, or what lies in the folder then can't be used.
        MissingExtraError: huggingface_hub isn't installed.
    """
    try:
        from huggingface_hub import snapshot_download  # noqa: PLC0415 - an optional package
    except ImportError:
        raise MissingExtraError("fetched hub models", "readers-onnx") from None
    place = models_folder() / model.name
    try:
        snapshot_download(
            model.repository,
            revision=model.revision,
            allow_patterns=list(FETCHED),
            local_dir=place,
            endpoint=os.environ.get("HF_ENDPOINT"),
        )
    except Exception as error:
        why = " ".join(str(error).split())[:300] or type(error).__name__
        raise ConfigError(
            f"{model.repository} couldn't be fetched: {why}; what was fetched stays, so give the same command again "
            f"(the model's page: {model.source})"
        ) from error
    return open_folder(model.name, place)
