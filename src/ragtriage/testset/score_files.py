"""Scores of answers in a file of their own: `{id, scores: {name: number}}`, as an export writes them, or flat rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragtriage.readers.json_objects import lines_by_id


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
    for _, key, values in lines_by_id(path):
        scores = values.get("scores")
        found[key] = scores if isinstance(scores, dict) else values
    return ScoreFile(found)
