"""A fictitious engineering consultancy to try test sets on: a database, documents with known gaps, an application.

It is written out of the files that come with the package; only its database is made.
"""

import sqlite3
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from ragtriage.core.errors import InputError
from ragtriage.core.files import atomic_write, private_file, private_folder

DATABASE, DOCUMENTS, STATED, GAPS, APPLICATION = "company.db", "documents", "stated.jsonl", "gaps.jsonl", "app.py"


@dataclass(frozen=True, slots=True)
class Example:
    """What was written."""

    folder: str
    documents: int
    stated: int
    """Facts of the database that some document states."""
    gaps: int
    """Facts of the database that no document states."""

    def as_json(self) -> dict[str, Any]:
        """All of it, for machines."""
        return asdict(self)


def write_example(folder: Path) -> Example:
    """Write the example into a folder, which is made if it isn't there; an example that is there is replaced."""
    shipped = files(__package__)
    documents = [(one.name, one.read_text("utf-8")) for one in (shipped / DOCUMENTS).iterdir()]
    beside = {name: (shipped / name).read_text("utf-8") for name in (STATED, GAPS, APPLICATION)}
    try:
        _clear(folder)
        _write_database(folder / DATABASE, (shipped / "company.sql").read_text("utf-8"))
        for name, text in [*((f"{DOCUMENTS}/{name}", text) for name, text in documents), *beside.items()]:
            with atomic_write(folder / name, newline="\n") as file:
                file.write(text)
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{folder}: the example can't be written: {reason}") from None
    return Example(str(folder), len(documents), beside[STATED].count("\n"), beside[GAPS].count("\n"))


def _write_database(path: Path, script: str) -> None:
    """Run the script in a new database."""
    path.unlink(missing_ok=True)
    private_file(path)
    with closing(sqlite3.connect(path)) as there, there:
        there.executescript(script)


def _clear(folder: Path) -> None:
    """Make the folder; take away an older example's documents, and refuse a folder of something else."""
    private_folder(folder)
    there = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    # a writing that was cut off left some of our names, and nothing else
    if not (there >= {DOCUMENTS, GAPS, STATED} or there <= {DATABASE, DOCUMENTS, GAPS, STATED, APPLICATION}):
        raise InputError(f"{folder}: isn't empty and holds no example: name a new folder")
    private_folder(folder / DOCUMENTS)
    for path in (folder / DOCUMENTS).glob("*.md"):
        path.unlink()
