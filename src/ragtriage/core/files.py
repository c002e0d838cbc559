"""Files and folders that this tool makes: private to their owner, and written as a whole or not at all.

Most of them hold customers' texts. So a file is made with the mode 0600 and a folder with 0700, whatever the umask, and
from the first moment on. What is there already keeps its mode. Windows knows no such modes: there, the folder's rights
count. Beside that: the user's folder for
them, and why a file can't be read.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EISDIR
from pathlib import Path
from typing import BinaryIO, Literal, TextIO

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
ORDINARY_FILE = 0o666
"""What a file that holds no text of a case is made with; the umask takes away from it, as everywhere."""


def state_folder() -> Path:
    """Where this user's files stand that no folder of work holds: by `XDG_STATE_HOME`, else where the system wants it.

    Where the user has no home, nothing can be written there.
    """
    if given := os.environ.get("XDG_STATE_HOME"):
        return Path(given) / "ragtriage"
    try:
        home = Path.home()
    except RuntimeError:
        home = Path(os.devnull)
    of_system = {"darwin": "Library/Application Support", "win32": "AppData/Local"}
    return home / of_system.get(sys.platform, ".local/state") / "ragtriage"


def private_folder(path: Path) -> None:
    """Make a folder that only its owner may enter, and so those above it that aren't there; one that is there stays.

    Raises:
        OSError: it can't be made.
    """
    for folder in reversed((path, *path.parents)):
        if not folder.is_dir():
            folder.mkdir(PRIVATE_FOLDER, exist_ok=True)


def private_file(path: Path) -> None:
    """Make an empty file that only its owner may read and write; one that is there stays as it is.

    Raises:
        OSError: it can't be made.
    """
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, PRIVATE_FILE))


def open_private(path: Path, mode: Literal["wb", "ab"]) -> BinaryIO:
    """Open a file to write bytes to; if it has to be made, only its owner may read and write it.

    Raises:
        OSError: it can't be opened.
    """
    private_file(path)
    return path.open(mode)


@contextmanager
def atomic_path(path: Path, mode: int = PRIVATE_FILE) -> Iterator[Path]:
    """Where to write a file that takes the place of another when the block has ended without an error.

    Args:
        path: the place; folders are made if they aren't there.
        mode: of a new file. One that is replaced hands its own mode on.

    Yields:
        The path of an empty file.

    Raises:
        OSError: it can't be written.
    """
    if not path.name or path.is_dir():
        raise IsADirectoryError(EISDIR, "it is a folder", str(path))
    private_folder(path.parent)
    beside = path.with_name(path.name + ".new")
    beside.unlink(missing_ok=True)  # a killed process left it, perhaps with another mode
    kept = _mode_of(path)
    os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode if kept is None else PRIVATE_FILE))
    try:
        yield beside
        if kept is not None:
            beside.chmod(kept)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _mode_of(path: Path) -> int | None:
    """The permissions of a file, None if there is none."""
    try:
        found = path.stat().st_mode
    except FileNotFoundError:
        return None
    return stat.S_IMODE(found) & 0o777 if stat.S_ISREG(found) else None


@contextmanager
def atomic_write(
    path: Path, errors: str = "strict", *, newline: str | None = None, mode: int = PRIVATE_FILE
) -> Iterator[TextIO]:
    """A file to write text to, in UTF-8; what stood there before stays until the block has ended without an error.

    Args:
        path: where to; folders are made if they aren't there.
        errors: what becomes of half a surrogate pair, which no UTF-8 can hold: see `codecs.register_error`.
        newline: what ends a line: see `open`.
        mode: see `atomic_path`.

    Raises:
        OSError: it can't be written.
    """
    with (
        atomic_path(path, mode) as beside,
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
