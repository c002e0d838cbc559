"""Readings as arrays: what `packed.py` writes and `train.py` reads, on a machine without the judge's code too."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

HEADS = ("supported", "answered", "essential", "needed")
"""What the reader says of the second text, in the order of its output; `needed` of a sentence in its text: whether that
is essential."""
KINDS = ("claim", "remark", "declines")
CUTS = ("", "c", "p", "r", "a", "l", "e", "m")
"""What begins at a word piece of a response: nothing, or a part of a sentence by its mark (`d` as `m`)."""
LENGTH, FIRST = 224, 96
MARKS = {101: 0, 102: 2, 0: 1}
"""BERT's marks of a text's begin and end and of padding, and what MPNet has for them."""
SHIFT = 4
"""All other pieces of MPNet's vocabulary are BERT's, so much further down."""
EITHER, UNKNOWN = -2, -1
"""Labels of a piece that is a remark or declines, and of one of which nothing is known."""


@dataclass(frozen=True, slots=True)
class Packed:
    """n readings with t targets."""

    pieces: np.ndarray
    """Word pieces of all readings, one after the other, uint16."""
    starts: np.ndarray
    """(n + 1,), where each reading begins in `pieces`."""
    second: np.ndarray
    """(n,), where in its reading the second text begins."""
    twin: np.ndarray
    """(n,), the same number for twins, −1 for none."""
    split: np.ndarray
    """(n,), names of splits; empty where the reader is trained."""
    origin: np.ndarray
    """(n,), names of files."""
    first_target: np.ndarray
    """(n + 1,), where the targets of each reading begin."""
    span: np.ndarray
    """(t, 2), places of word pieces in the reading."""
    head: np.ndarray
    """(t,), place in `HEADS`."""
    label: np.ndarray
    """(t,), in [0, 1]."""
    weight: np.ndarray
    """(t,)."""
    tags: np.ndarray
    """(pieces, 5) int8: kind, cut, in a subject, in a noun that a claim needs, and of the first text whether a piece
    says what the second doesn't; `UNKNOWN` where nothing is known."""

    def save(self, path: Path) -> None:
        """Write all to a file."""
        np.savez(path, **{one.name: getattr(self, one.name) for one in fields(self)})

    @classmethod
    def load(cls, path: Path) -> Packed:
        """Read it again."""
        with np.load(path) as found:
            return cls(**{name: found[name] for name in found.files})
