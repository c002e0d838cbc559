"""What runs a model, whatever it is run by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ragtriage.judges.hub_readers.families import Numbers
from ragtriage.judges.hub_readers.tokens import Pieces


class Model(Protocol):
    """A loaded model."""

    runtime: str
    """What answers depend on beside the files: what runs it, in which version, on what."""

    def run(self, ids: Numbers, mask: Numbers, types: Numbers) -> Numbers:
        """The output of several passes, as float32.

        Args:
            ids: (b, n) of int64, padded.
            mask: (b, n), 1 where there is a word piece.
            types: (b, n), 0 or 1; see `Pieces.types`.

        Returns:
            By the family's head: `sequence`, `first token` and `first word` (b, labels), `tokens` (b, n, labels),
            `vectors` (b, n, d).
        """
        ...


def padded(passes: Sequence[Pieces], padding: int) -> tuple[Numbers, Numbers, Numbers]:
    """Passes of different lengths as one batch: ids, mask and types, each (b, n)."""
    longest = max(len(one.ids) for one in passes)
    ids = np.full((len(passes), longest), padding, np.int64)
    mask = np.zeros((len(passes), longest), np.int64)
    types = np.zeros((len(passes), longest), np.int64)
    for row, one in enumerate(passes):
        ids[row, : len(one.ids)] = one.ids
        types[row, : len(one.types)] = one.types
        mask[row, : len(one.ids)] = 1
    return ids, mask, types
