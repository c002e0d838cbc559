"""Writes the example: database, documents, what they state and what no document states, and an application."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from ragtriage.core.errors import InputError
from ragtriage.core.files import atomic_write, private_folder
from ragtriage.testset.example.company import facts_of, make_company
from ragtriage.testset.example.database import write_database
from ragtriage.testset.example.documents import documents_of

DATABASE, DOCUMENTS, STATED, GAPS, APPLICATION = "company.db", "documents", "stated.jsonl", "gaps.jsonl", "app.py"


@dataclass(frozen=True, slots=True)
class Example:
    """What was written."""

    folder: str
    employees: int
    clients: int
    projects: int
    documents: int
    stated: int
    """Facts of the database that some document states."""
    gaps: int
    """Facts of the database that no document states."""

    def as_json(self) -> dict[str, Any]:
        """All of it, for machines."""
        return asdict(self)


def write_example(folder: Path, seed: int = 0, size: int = 30) -> Example:
    """Write the example into a folder, which is made if it isn't there.

    An example that was written there before is replaced; the same seed and size give the same bytes in every text.

    Args:
        folder: where to.
        seed: of the company and of its documents.
        size: how many projects.

    Raises:
        ConfigError: the size is out of range.
        InputError: the folder holds something else, or can't be written.
    """
    company = make_company(seed, size)
    documents = documents_of(company, seed)
    where: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for document in documents:
        for key in document.facts:
            where[key].append(document.id)
    facts = list(facts_of(company))
    rows = [{"id": fact.id, **asdict(fact), "documents": where.get(fact.key, [])} for fact in facts]
    stated = [row for row in rows if row["documents"]]
    gaps = [{name: value for name, value in row.items() if name != "documents"} for row in rows if not row["documents"]]
    try:
        _clear(folder)
        write_database(company, folder / DATABASE)
        for document in documents:
            _write(folder / DOCUMENTS / f"{document.id}.md", document.text)
        _write(folder / STATED, _lines(stated))
        _write(folder / GAPS, _lines(gaps))
        _write(folder / APPLICATION, (files("ragtriage.testset.example") / APPLICATION).read_text("utf-8"))
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{folder}: the example can't be written: {reason}") from None
    return Example(
        str(folder),
        len(company.employees),
        len(company.clients),
        len(company.projects),
        len(documents),
        len(stated),
        len(gaps),
    )


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


def _lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _write(path: Path, text: str) -> None:
    with atomic_write(path, newline="\n") as file:
        file.write(text)
