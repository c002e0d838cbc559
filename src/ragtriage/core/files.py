"""Files: written as a whole or not at all; why one can't be read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Where to write a file that takes the place of another when the block has ended without an error.

    Args:
        path: the place; folders are made if they aren't there.

    Raises:
        OSError: it can't be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".new")
    try:
        yield beside
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def atomic_write(path: Path, errors: str = "strict", *, newline: str | None = None) -> Iterator[TextIO]:
    """A file to write text to, in UTF-8; what stood there before stays until the block has ended without an error.

    Args:
        path: where to; folders are made if they aren't there.
        errors: what becomes of half a surrogate pair, which no UTF-8 can hold: see `codecs.register_error`.
        newline: what ends a line: see `open`.

    Raises:
        OSError: it can't be written.
    """
    with (
        atomic_path(path) as beside,
        beside.open("w", encoding="utf-8", errors=errors, newline=newline) as file,
    ):
        yield file
        file.flush()
        os.fsync(file.fileno())


def why_unreadable(error: OSError | UnicodeDecodeError) -> str:
    """Why a file can't be read, for a message that names it."""
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} (0x{error.object[error.start]:02x}) is not UTF-8: save it as UTF-8"
    return error.strerror or str(error)
