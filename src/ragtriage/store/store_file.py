"""The file of a store, which may be moved or deleted meanwhile, and what is said of a store that can't be used."""

from __future__ import annotations

import os
import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from ragtriage.core.errors import NotPermittedError, StoreError
from ragtriage.store.postgresql import REFUSED, forbidden, lost

VARIABLE = "RAGTRIAGE_STORE"

ELSEWHERE = f"choose another place with --store or {VARIABLE}"


@contextmanager
def store_errors(where: str) -> Iterator[None]:
    """Turn the errors of databases and files into a `StoreError` of one sentence: what, where, what to do."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        kind = NotPermittedError if forbidden(error) else StoreError
        raise kind(_sentence(where, error)) from error


def _sentence(where: str, error: Exception) -> str:
    cause = getattr(error, "orig", None) or error
    text = str(cause).strip().split("\n")[0]
    known = next((sentence for marks, sentence in _SENTENCES.items() if re.search(marks, text)), None)
    if known:
        return known.format(where=where, text=text)
    if lost(error):
        return _LOST.format(where=where, text=text)
    return f"the store {where} failed: {text or type(cause).__name__}"


_LOST = (
    "the store {where} can't be reached ({text}): what was committed is safe; give the same command again when the "
    "server is there"
)

_SENTENCES = {
    REFUSED: (
        "the store {where} doesn't let you in ({text}): check the user, the password (~/.pgpass or PGPASSWORD), the "
        "database and the sslmode of its address"
    ),
    "database or disk is full|No space left|quota exceeded": (
        "the store {where} can't grow because the disk is full; what was kept so far is safe: free some space, then "
        "give the same command again"
    ),
    "^permission denied for|^must be owner of": (
        "the store {where} doesn't let you do this ({text}): ask its owner for the role that may"
    ),
    "in a read-only transaction": "the store {where} can only be read at present ({text}): give its main server",
    "readonly database|Read-only file system|Permission denied|unable to open database file|Not a directory|"
    "File exists": f"the store {{where}} can't be written: make it writable, or {ELSEWHERE}",
    "database is locked|table is locked": (
        "the store {where} was locked by another program for too long: wait until it ends, then give the same command "
        "again"
    ),
    "is not a database|disk image is malformed": (
        f"the file {{where}} is damaged or isn't a store of ragtriage: move it away, or {ELSEWHERE}"
    ),
    "disk I/O error": f"the disk of the store {{where}} can't be read or written: check it, or {ELSEWHERE}",
}
"""What a driver's message holds → what to say."""


Identity = tuple[int, int]
"""The device and the number of a file: what stays the same when it is renamed."""


class StoreLostError(StoreError):
    """The store's file was deleted, moved or replaced while it was open.

    Attributes:
        told: what happened, without what to do.
        deleted: False if the file exists elsewhere, so that what was stored isn't lost.
    """

    def __init__(self, told: str, *, deleted: bool) -> None:
        super().__init__(f"{told}: {_ANEW if deleted else _MOVE_BACK}")
        self.told = told
        self.deleted = deleted


_ANEW = "what it held is lost; give the same command again to begin anew"
_MOVE_BACK = (
    "what was stored is in it, so move it back, or name its new place with --store, and give the same command again"
)


class StoreFile:
    """The files of a SQLite database as they were when it was opened."""

    def __init__(self, path: Path, where: str) -> None:
        self.path = path
        self._where = where
        self._log = path.with_name(f"{path.name}-wal")
        self._known: dict[Path, Identity] = {}

    @property
    def opened(self) -> bool:
        """Whether `remember` was called."""
        return bool(self._known)

    def remember(self) -> None:
        """Keep what the database's file is; call it when it was opened."""
        self._keep(self.path)

    def remember_log(self) -> None:
        """Keep what its log is; call it when something was written, since only from then on the log stays the same."""
        if self._log not in self._known:
            self._keep(self._log)

    def forget(self) -> None:
        """Take the files as they will be when the database is opened again."""
        self._known.clear()

    def check(self) -> None:
        """Compare the files with their paths, which takes a few microseconds."""
        for path, known in self._known.items():
            found = _identity(path)
            if found != known:
                raise self._lost(path, known, replaced=found is not None)

    def moved(self) -> bool:
        """Whether the database still exists, but not here."""
        known = self._known.get(self.path)
        try:
            return known is not None and _identity(self.path) != known and not _fate(known)[0]
        except OSError:
            return False

    def _keep(self, path: Path) -> None:
        found = _identity(path)
        if found:
            self._known[path] = found

    def _lost(self, path: Path, known: Identity, *, replaced: bool) -> StoreLostError:
        while_open = "while it was in use"
        if path == self._log:
            told = f"the log of the store, {path}, was deleted, moved or replaced {while_open}"
            return StoreLostError(told, deleted=True)
        deleted, target = _fate(known)
        if target:
            told = f"the store {self._where} was moved to {target} {while_open}"
        elif replaced:
            told = f"another file was put in the place of the store {self._where} {while_open}"
        elif deleted:
            told = f"the store {self._where} was deleted {while_open}"
        else:
            told = f"the store {self._where} was moved {while_open}, or its disk is gone"
        return StoreLostError(told, deleted=deleted)


def _identity(path: Path) -> Identity | None:
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


def _fate(known: Identity) -> tuple[bool, str | None]:
    """Whether an open file was deleted, and where it is now, if the system tells."""
    for descriptor in _descriptors():
        try:
            found = os.fstat(descriptor)
        except OSError:
            continue
        if (found.st_dev, found.st_ino) == known:
            target = _path_of(descriptor) if found.st_nlink else None
            return not found.st_nlink, target if target and _identity(Path(target)) == known else None
    return True, None


def _descriptors() -> Iterator[int]:
    """The descriptors that this process has open; none on Windows, where an open file can't be deleted or moved."""
    try:
        yield from (int(entry.name) for entry in Path("/dev/fd").iterdir())
    except OSError:
        return


def _path_of(descriptor: int) -> str | None:
    """The path of an open file now."""
    try:
        if sys.platform == "darwin":
            from fcntl import F_GETPATH, fcntl  # noqa: PLC0415  # only some systems have it

            return os.fsdecode(fcntl(descriptor, F_GETPATH, bytes(1024)).rstrip(b"\0"))
        return str(Path(f"/proc/self/fd/{descriptor}").readlink())
    except OSError:
        return None
