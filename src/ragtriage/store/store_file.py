"""The file of a store, which may be moved or deleted meanwhile, and what is said of a store that can't be used."""

import re
import sqlite3
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


class StoreFile:
    """The file of a SQLite database as it was when it was opened; `where` is its path for people."""

    def __init__(self, path: Path, where: str) -> None:
        self.path = path
        self._where = where
        self._known: tuple[int, int] | None = None

    @property
    def opened(self) -> bool:
        """Whether `remember` was called."""
        return self._known is not None

    def remember(self) -> None:
        """Keep what the file is; call it when it was opened."""
        self._known = self._identity()

    def forget(self) -> None:
        """Take the file as it will be when it is opened again."""
        self._known = None

    def check(self) -> None:
        """Raise a StoreError if another file stands at the path now, or none."""
        if self._known is not None and self._identity() != self._known:
            raise StoreError(
                f"the store {self._where} was deleted, moved or replaced while it was in use: put it back, or name its "
                "new place with --store, and give the same command again"
            )

    def _identity(self) -> tuple[int, int] | None:
        """The device and the number of the file, which stay the same when it is renamed."""
        try:
            found = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return found.st_dev, found.st_ino
