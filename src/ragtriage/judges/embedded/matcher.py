"""Pairs of texts to one logit a task: MiniLM trained on labelled pairs (`training/`), int8, run by onnxruntime."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from ragtriage.judges.embedded.encoder import MODEL, Vector, open_model
from ragtriage.judges.embedded.evidence import Evidence
from ragtriage.judges.embedded.sentence_comparison import Comparison
from ragtriage.judges.embedded.wordpiece import WordPieces
from ragtriage.text import split_sentences

PIECES = 176
"""Word pieces of evidence that are read beside a claim or question, some 130 words of prose."""

Pair = tuple[str, str]


def pairs_by_sentence(pair: Pair) -> list[Pair]:
    """The same question beside each sentence of the text; the pair itself where there is one."""
    first, second = pair
    return [(first, one.text) for one in split_sentences(second)] or [pair]


def passage(c: Comparison, evidence: Evidence, most: int = PIECES) -> str:
    """The sentences nearest to what is looked for, each with the one before it if there is room, in their own order.

    Args:
        c: what was found in the evidence.
        evidence: sentences.
        most: word pieces that are chosen at most; but one sentence at least, however long.
    """
    nearness = c.cosines[0] + c.word + c.soft
    chosen: set[int] = set()
    left = most
    for nearest in np.argsort(-nearness, kind="stable"):
        at = int(nearest)
        for one in (at, at - 1):
            length = evidence.length(one)
            if one in chosen or (chosen and length > left):
                break
            chosen.add(one)
            left -= length
            if not one or not evidence.joined[one - 1]:
                break
        if left <= 0:
            break
    return " ".join(evidence.sentences[at].text for at in sorted(chosen))


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
