"""What the files of a folder were made from, so that nothing is made twice and no hand-made change is lost."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from ragtriage.core.errors import InputError
from ragtriage.core.validation import validated
from ragtriage.testset.generation.yaml_files import write_whole

NAME = "made.json"


@dataclass(frozen=True, slots=True)
class BuildStep:
    """What a step came to."""

    path: Path
    made: bool
    """False where the file was there already, made from the same."""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    """Entries of the files before it that can't be used, with the reason."""


@dataclass(frozen=True, slots=True)
class _Made:
    """A file as it was made: digests of what from and of itself, and what was counted."""

    inputs: str
    output: str
    numbers: Mapping[str, Any] = field(default_factory=dict)


def digest_of(*parts: object) -> str:
    """A digest of files (a `Path`: its bytes) and of values that JSON can hold.

    Raises:
        InputError: a file can't be read.
    """
    found = blake2b(digest_size=16)
    for part in parts:
        try:
            data = part.read_bytes() if isinstance(part, Path) else json.dumps(part, sort_keys=True).encode()
        except FileNotFoundError:
            raise InputError(f"{part}: there is no such file: the step before this one writes it") from None
        except OSError as error:
            raise InputError(f"{part}: can't be read: {error.strerror or error}") from None
        found.update(len(data).to_bytes(8, "big") + data)
    return found.hexdigest()


def write_if_needed(
    path: Path, sources: tuple[object, ...], make: Callable[[], tuple[str, BuildStep]], *, again: bool
) -> BuildStep:
    """Make a file, unless it is there and its sources are what they were when it was made.

    A file that wasn't made here is used as it stands. The folder's `made.json` keeps what every file was made from.

    Args:
        path: of the file.
        sources: what it is made from; see `digest_of`.
        make: makes its text, and says what the step comes to.
        again: make it anew, also if it was edited by hand.

    Raises:
        InputError: its sources have changed, and it was edited by hand; or a file can't be read or written.
    """
    if path.is_dir():
        raise InputError(f"{path}: is a folder: name a file")
    if path.parent.exists() and not path.parent.is_dir():
        raise InputError(f"{path.parent}: is a file: name a folder")
    record = path.parent / NAME
    known: dict[str, _Made] = {}
    try:
        known = validated(dict[str, _Made], json.loads(record.read_text(encoding="utf-8")))
    except FileNotFoundError:
        pass
    except (OSError, ValueError):
        raise InputError(f"{record}: can't be read: delete it, and the step is made anew") from None
    inputs = digest_of(*sources)
    before = known.get(path.name)
    if path.exists() and not again:
        edited = before is None or before.output != digest_of(path)
        if before is None or before.inputs == inputs:
            notes = (f"{path} was edited by hand, and is used as it stands",) if edited else ()
            return BuildStep(path, made=False, numbers=before.numbers if before else {}, notes=notes)
        if edited:
            raise InputError(
                f"{path}: was edited by hand, and what it is made from has changed since: move it away, or give "
                "--again to make it anew"
            )
    text, step = make()
    write_whole(path, text)
    known[path.name] = _Made(inputs, digest_of(path), step.numbers)
    write_whole(record, json.dumps({name: asdict(one) for name, one in known.items()}, indent=1) + "\n")
    return step
