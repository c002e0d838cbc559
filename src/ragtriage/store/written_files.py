"""Files outside the store that hold texts of its runs: reports, exports, labels.

They are noted in the table `meta` when they are written, so that whoever deletes the texts is told of them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from pathlib import Path

from sqlalchemy import Connection, select

from ragtriage.store.database import Database
from ragtriage.store.schema import meta

_PREFIX = "file "
"""What the key of a file begins with in `meta`; its path follows, as JSON, and the value are its runs, as JSON."""


def note_file(database: Database, path: Path, runs: Collection[int], *, added: bool = False) -> None:
    """Note whose texts a file holds.

    Args:
        database: the store.
        path: the file.
        runs: the numbers of the runs; none if it holds no texts.
        added: the file goes on holding what it held of other runs.
    """
    known = select(meta.c.value).where(meta.c.key == _key(path))

    def note(connection: Connection) -> None:
        before = connection.execute(known).scalar() if added else None
        value = json.dumps(sorted({*runs, *(json.loads(before) if before else ())}))
        connection.execute(database.upsert(meta), {"key": _key(path), "value": value})

    database.write(note)


def files_with_texts(database: Database, runs: Collection[int], unnoted: Iterable[Path]) -> list[Path]:
    """The files, as far as they are still there, that hold texts of any of these runs.

    Args:
        database: the store.
        runs: their numbers.
        unnoted: files that count too if nothing was noted about them: an earlier version wrote them.
    """
    with database.reading() as connection:
        rows = connection.execute(select(meta.c.key, meta.c.value).where(meta.c.key.startswith(_PREFIX)))
        noted = {Path(json.loads(row.key.removeprefix(_PREFIX))): {*json.loads(row.value)} for row in rows}
    found = {path for path, held in noted.items() if held & {*runs}}
    found |= {path.resolve() for path in unnoted} - noted.keys()
    return sorted(path for path in found if path.is_file())


def _key(path: Path) -> str:
    return _PREFIX + json.dumps(str(path.resolve()))
