"""All measured rows as arrays, so that a machine without the judge's code can train on them."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rows import REORDERED
from splits import AKIN, WHOLE, split_of

from ragtriage.judges.embedded.encoder import MODEL
from ragtriage.judges.embedded.matcher import HEADS, head_of, pair_pieces
from ragtriage.judges.embedded.wordpiece import WordPieces

UNASKED = -1
"""The head of rows that no head is asked about."""


@dataclass(frozen=True, slots=True)
class Packed:
    """n rows, in the order of the files of WORK/rows and of the lines in them."""

    pieces: np.ndarray
    """Word pieces of all pairs, one after the other, uint16."""
    starts: np.ndarray
    """(n + 1,), where each pair begins in `pieces`."""
    second: np.ndarray
    """(n,), where in its pair the second text begins."""
    head: np.ndarray
    """(n,), which of `HEADS` is asked, or `UNASKED`."""
    label: np.ndarray
    """(n,), in [0, 1]."""
    common: np.ndarray
    """(n,), whether it is one of the many sentences that aren't essential."""
    split: np.ndarray
    """(n,), names of splits; empty where the matcher is trained."""
    origin: np.ndarray
    """(n,), names of files."""

    def save(self, path: Path) -> None:
        """Write all to a file."""
        np.savez(path, **{name: getattr(self, name) for name in self.__slots__})

    @classmethod
    def load(cls, path: Path) -> Packed:
        """Read it again."""
        with np.load(path) as found:
            return cls(**{name: found[name] for name in found.files})


def files_of(work: Path) -> list[Path]:
    """The files with measured rows, in the order of `Packed`."""
    return sorted((work / "rows").glob("*.pkl"))


def unmistakable(columns: dict[str, list[Any]]) -> list[bool]:
    """Which lines have the label of their row for sure.

    Of several true answers one need be given, and of several claims one need be unsupported.
    """
    alternatives = Counter(columns["question"])
    asked = Counter(item for item, _ in {*zip(columns["item"], columns["question"], strict=True)} if item)
    lines = zip(columns["label"], columns["question"], columns["item"], strict=True)
    return [
        (alternatives[question] == 1 or not label) and (asked[item] <= 1 or bool(label))
        for label, question, item in lines
    ]


def pack(work: Path) -> Packed:
    """Break all pairs into word pieces."""
    breaks = WordPieces(MODEL / "vocab.txt")
    pieces: list[np.ndarray] = []
    columns: dict[str, list[Any]] = {name: [] for name in Packed.__slots__ if name not in ("pieces", "starts")}
    for path in files_of(work):
        found = pickle.loads(path.read_bytes())
        plain = unmistakable(found)
        for i, values in enumerate(zip(*found.values(), strict=True)):
            row = dict(zip(found, values, strict=True))
            numbers, second = pair_pieces(breaks, row["a"], row["b"])
            pieces.append(np.array(numbers, np.uint16))
            head = head_of(row["task"])
            taught = plain[i] and row["set"] not in AKIN and row["kind"] != REORDERED
            line = {
                "second": second,
                "head": HEADS.index(head) if head and taught else UNASKED,
                "label": row["label"],
                "common": row["kind"] == "sentence" and not row["label"] and row["set"] not in WHOLE,
                "split": split_of(row["set"], row["group"], row["domain"]),
                "origin": path.stem,
            }
            for name, value in line.items():
                columns[name].append(value)
    return Packed(
        pieces=np.concatenate(pieces),
        starts=np.cumsum([0, *map(len, pieces)]),
        **{name: np.array(values) for name, values in columns.items()},
    )
