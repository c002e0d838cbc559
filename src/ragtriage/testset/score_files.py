"""Scores of answers in a file of their own: `{id, scores: {name: number}}`, as an export writes them, or flat rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragtriage.errors import InputError
from ragtriage.readers.files import open_bytes, records
from ragtriage.readers.problems import Limits


@dataclass(frozen=True, slots=True)
class ScoreFile:
    """Scores by id."""

    rows: Mapping[str, Mapping[str, Any]]

    def of(self, name: str) -> dict[str, float | None]:
        """One score: id → its value; rows without it are left out."""
        return {key: scores[name] for key, scores in self.rows.items() if name in scores}


def read_scores(path: Path) -> ScoreFile:
    """The scores of a JSONL file, which may be gzipped.

    Raises:
        InputError: it can't be read, a row is broken or has no `id`, or an id comes twice.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for record in records(str(path), open_bytes(str(path)), "jsonl", Limits()):
        place = f"{path}, row {record.row}"
        if record.values is None:
            raise InputError(f"{place}: {record.problem}")
        key = record.values.get("id")
        if key is None or isinstance(key, dict | list):
            raise InputError(f"{place}, field 'id': is missing: give every row the id of its answer")
        if str(key) in found:
            raise InputError(f"{place}, field 'id': {str(key)!r} comes twice: a score can't be told from the other")
        scores = record.values.get("scores")
        found[str(key)] = scores if isinstance(scores, dict) else record.values
    return ScoreFile(found)
