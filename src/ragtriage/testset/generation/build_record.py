"""What the files of a folder were made from, so that nothing is made twice and no hand-made change is lost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from ragtriage.core.errors import InputError
from ragtriage.core.validation import validated
from ragtriage.testset.generation.yaml_files import write_whole

NAME = "made.json"


def digest_of(*parts: object) -> str:
    """A digest of files (a `Path`: its bytes) and of values that JSON can hold.

    Raises:
        InputError: a file can't be read.
    """
    found = blake2b(digest_size=16)
    for part in parts:
        try:
            data = part.read_bytes() if isinstance(part, Path) else json.dumps(part, sort_keys=True).encode()
        except OSError as error:
            raise InputError(f"{part}: can't be read: {error.strerror or error}") from None
        found.update(len(data).to_bytes(8, "big") + data)
    return found.hexdigest()


@dataclass(frozen=True, slots=True)
class _Made:
    """A file as it was made: digests of what from and of itself, and what was counted."""

    inputs: str
    output: str
    numbers: Mapping[str, Any] = field(default_factory=dict)


class BuildRecord:
    """The file `made.json` of a folder: of every file made there, what it was made from, and how it looked then.

    Args:
        folder: where the files of a test set lie.
        again: make everything anew, also what was edited by hand.
    """

    def __init__(self, folder: Path, *, again: bool = False) -> None:
        self._path = folder / NAME
        self._again = again
        self._known: dict[str, _Made] = {}
        try:
            self._known = validated(dict[str, _Made], json.loads(self._path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            pass
        except (OSError, ValueError):
            raise InputError(f"{self._path}: can't be read: delete it, and the step is made anew") from None

    def needed(self, path: Path, inputs: str) -> bool:
        """Whether a file is to be made: it isn't there, or its inputs have changed.

        A file that wasn't made here is used as it stands.

        Raises:
            InputError: its inputs have changed, and it was edited by hand.
        """
        known = self._known.get(path.name)
        if self._again or not path.exists():
            return True
        if known is None or known.inputs == inputs:
            return False
        if self.edited(path):
            raise InputError(
                f"{path}: was edited by hand, and what it is made from has changed since: move it away, or give "
                "--again to make it anew"
            )
        return True

    def edited(self, path: Path) -> bool:
        """Whether a file isn't what was made here."""
        known = self._known.get(path.name)
        return known is None or known.output != digest_of(path)

    def numbers(self, path: Path) -> Mapping[str, Any]:
        """What was counted when a file was made here."""
        known = self._known.get(path.name)
        return known.numbers if known else {}

    def write(self, path: Path, text: str, inputs: str, numbers: Mapping[str, Any]) -> None:
        """Write a file, and what it was made from.

        Raises:
            InputError: it can't be written.
        """
        write_whole(path, text)
        self._known[path.name] = _Made(inputs, digest_of(path), dict(numbers))
        known = {name: asdict(one) for name, one in self._known.items()}
        write_whole(self._path, json.dumps(known, indent=1) + "\n")
