"""What a user types for a judge that runs on this machine: `embedded`, or `embedded+reader:NAME`."""

from __future__ import annotations

from ragtriage.core.errors import ConfigError

EMBEDDED = "embedded"
"""The judge that comes with the package."""
READER = "+reader:"
"""Stands before a hub model: the name of a known one, or the path of its folder or of an ONNX file in it."""
UNCALIBRATED = "reader-uncalibrated-"
"""How the fingerprint of a kind begins that is answered by a hub model, as its scores aren't calibrated chances."""


def is_local(name: str) -> bool:
    """Whether a judge runs on this machine, alone or with a hub model."""
    return name == EMBEDDED or name.startswith(f"{EMBEDDED}{READER}")


def in_a_sentence(name: str) -> str:
    """A judge's name as a sentence has it: `the embedded judge`, or the name as it is typed."""
    return "the embedded judge" if name == EMBEDDED else name


def hub_model_of(name: str) -> str | None:
    """The hub model that a judge's name names, as it is typed; None for any other judge.

    Raises:
        ConfigError: it has no name, there are two, or its path holds a comma.
    """
    if not name.startswith(f"{EMBEDDED}{READER}"):
        return None
    found = name.removeprefix(f"{EMBEDDED}{READER}").strip()
    if not found:
        raise ConfigError(
            f"the judge {name!r} names nothing behind {READER!r}: give a name of `ragtriage readers`, or a folder"
        )
    if READER in found:
        raise ConfigError(f"the judge {name!r} names several hub models: name one, or make judges of them for a jury")
    if "," in found:
        raise ConfigError(
            f"the hub model {found!r} holds a comma, which separates judges in what is stored: rename the folder"
        )
    return found


def with_hub_model(name: str, typed: str | None) -> str:
    """The name of the embedded judge with this hub model; any other name, and one with a model, stays as it is."""
    return f"{name}{READER}{typed}" if typed and name == EMBEDDED else name
