"""What a user types for a judge that runs on this machine: `embedded`, or `embedded+reader:NAME`."""

from __future__ import annotations

from collections.abc import Sequence

from ragtriage.core.errors import ConfigError

EMBEDDED = "embedded"
"""The judge that comes with the package."""
READER = "+reader:"
"""Stands before each hub reader: the name of a known one, or the path of its folder or of a model file in it."""
UNCALIBRATED = "reader-uncalibrated-"
"""How the fingerprint of a kind begins that is answered by a hub reader whose scores aren't calibrated chances."""


def is_local(name: str) -> bool:
    """Whether a judge runs on this machine, alone or with hub readers."""
    return name == EMBEDDED or name.startswith(f"{EMBEDDED}{READER}")


def in_a_sentence(name: str) -> str:
    """A judge's name as a sentence has it: `the embedded judge`, or the name as it is typed."""
    return "the embedded judge" if name == EMBEDDED else name


def readers_of(name: str) -> tuple[str, ...]:
    """The hub readers that a judge's name names, as they are typed; none for any other judge.

    Raises:
        ConfigError: a reader has no name, is named twice, or its path holds a comma.
    """
    if not is_local(name):
        return ()
    found = tuple(part.strip() for part in name.split(READER)[1:])
    for reader in found:
        if not reader:
            raise ConfigError(
                f"the judge {name!r} names no reader behind {READER!r}: give a name of `ragtriage readers`, or a folder"
            )
        if found.count(reader) > 1:
            raise ConfigError(f"the judge {name!r} names the reader {reader!r} twice: name it once")
        if "," in reader:
            raise ConfigError(
                f"the reader {reader!r} holds a comma, which separates judges in what is stored: rename the folder"
            )
    return found


def with_readers(name: str, readers: Sequence[str]) -> str:
    """The name of the embedded judge with these hub readers; any other name, and one with readers, stays as it is."""
    return name + "".join(READER + reader for reader in readers) if name == EMBEDDED else name
