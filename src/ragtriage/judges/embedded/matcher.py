"""Pairs of texts to one logit a task: MiniLM trained on labelled pairs (`training/`), int8, run by onnxruntime."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from ragtriage.judges.embedded.encoder import Vector
from ragtriage.judges.embedded.matcher_pairs import Pair
from ragtriage.judges.embedded.onnx_session import MODEL, open_model
from ragtriage.judges.embedded.wordpiece import WordPieces

HEADS = ("supported", "answered", "essential", "similar", "same_answer")
"""What the matcher is trained to say of a pair, in the order of its output."""
LENGTH = 224
"""Word pieces of a pair that are read; the rest of the second text is cut off."""
FIRST = 96
"""Of these, how many at most belong to the first text."""


def head_of(task: str) -> str:
    """The head for a fitted model's task; empty if there is none."""
    return next((head for head in HEADS if task.startswith(head)), "")


def pair_pieces(pieces: WordPieces, first: str, second: str) -> tuple[list[int], int]:
    """The numbers of both texts' pieces between marks, and where the second text begins."""
    ids = pieces.encode(first, FIRST)
    at = len(ids)
    return ids + pieces.encode(second, LENGTH - at + 1)[1:], at


class Matcher:
    """Reads pairs.

    Args:
        pieces: breaks texts into word pieces.
        threads: how many pairs are read at a time.
        path: of the model.

    Raises:
        JudgeError: the model can't be loaded.
    """

    def __init__(self, pieces: WordPieces, threads: int = 2, path: Path = MODEL / "matcher.onnx") -> None:
        self._session = open_model(path)
        self._pieces = pieces
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="ragtriage-matcher")

    def match(self, pairs: Iterable[Pair]) -> Mapping[Pair, Vector | Exception]:
        """Each distinct pair → the logits of `HEADS`, or what went wrong with it.

        Longer ones go first, so that no thread ends with a long one.
        """
        order = sorted(dict.fromkeys(pairs), key=lambda pair: -len(pair[0]) - len(pair[1]))
        return dict(zip(order, self._pool.map(self._run, order), strict=True))

    def close(self) -> None:
        """Let the threads go."""
        self._pool.shutdown()

    def _run(self, pair: Pair) -> Vector | Exception:
        try:
            numbers, at = pair_pieces(self._pieces, *pair)
            ids, types = np.array([numbers], np.int64), np.zeros((1, len(numbers)), np.int64)
            types[0, at:] = 1
            logits: Vector = self._session.run(["logits"], {"ids": ids, "types": types})[0][0]
        except Exception as error:  # noqa: BLE001 - it concerns one pair
            return error
        return logits
