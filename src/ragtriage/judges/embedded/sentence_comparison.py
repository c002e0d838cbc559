"""Compares one sentence with evidence: how much of it is found where, by words, word vectors and meaning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ragtriage.judges.embedded.encoder import Encoded, Vector
from ragtriage.judges.embedded.passages import Passages, Sentence

_MATRIX = 262_144
"""Multiplications of a product of two matrices that are done in one thread."""
_VECTOR = 9_216
"""Elements of a matrix that is multiplied with one vector."""
_ROWS = 64


def products_with(matrix: Vector, vector: Vector) -> Vector:
    """(n, k) and (k,) → (n,): the products of each row with a vector."""
    step = max(1, (_VECTOR - 1) // max(1, len(vector)))
    if len(matrix) <= step:
        return np.asarray(matrix @ vector, np.float32)
    return np.concatenate([matrix[start : start + step] @ vector for start in range(0, len(matrix), step)])


def pairwise_products(a: Vector, b: Vector) -> Vector:
    """(m, k) and (n, k) → (m, n): the products of each row of one with each row of the other."""
    out = np.empty((len(a), len(b)), np.float32)
    for top in range(0, len(a), _ROWS):
        rows = a[top : top + _ROWS]
        step = max(1, (_MATRIX - 1) // max(1, rows.size))
        for left in range(0, len(b), step):
            out[top : top + _ROWS, left : left + step] = rows @ b[left : left + step].T
    return out


_SOFT = 0.7
"""A word piece whose closest one in the evidence is farther than this counts as not found."""


@dataclass(frozen=True)
class Comparison:
    """What was found, by sentence (`m` of them) and by window."""

    cosines: Vector
    """(1 or 3, m): with the windows of 1, 2 and 3 sentences that begin at each."""
    word: Vector
    """(m,): the share of the words, weighted by rarity, in each sentence."""
    word_window: Vector
    """(m,): the same within the windows of three."""
    word_two: float
    """In the best window and the one that adds most to it."""
    word_all: float
    """Anywhere in the evidence, headings included."""
    soft: Vector
    """(m,): the mean closeness of the word pieces to those of each sentence."""
    soft_window: Vector
    """(m,): the same within the windows of three."""
    soft_all: float
    soft_worst: float
    """Of the three word pieces that are found least."""
    soft_missing: float
    """How much falls short of being found, summed."""
    best: int
    """Where the best window begins."""
    second: int
    """The sentence with the highest cosine outside the best window; the best one again if there is none."""
    missing: tuple[str, ...]
    """Stems that stand nowhere in the evidence."""


def _share(weights: Vector, found: Vector) -> Vector:
    """The weighted mean over the rows; 0 if nothing has weight."""
    total = float(weights.sum())
    return np.asarray(weights @ found / total if total > 0 else np.zeros(found.shape[1]), np.float32)


def compare(sentence: Sentence, encoded: Encoded, evidence: Passages, rarity: Callable[[str], float]) -> Comparison:
    """Hold one sentence against evidence."""
    cosines = np.stack([products_with(vectors, encoded.vector) for vectors in evidence.window_vectors])

    weights = np.array([rarity(stem) for stem in sentence.stems] or [0.0], np.float32)
    places = evidence.places(sentence.stems)
    wide = evidence.widened(places)
    word, word_window = _share(weights, places), _share(weights, wide)
    missing = tuple(stem for stem in sentence.stems if stem not in evidence.stems)
    total = float(weights.sum())
    word_all = 1.0 - sum(rarity(stem) for stem in missing) / total if total > 0 else 0.0

    pieces = encoded.tokens.astype(np.float32)
    close = np.maximum.reduceat(pairwise_products(pieces, evidence.tokens), evidence.starts, axis=1)
    piece_weights = encoded.weights if encoded.weights.any() else np.ones(len(pieces), np.float32)
    soft = _share(piece_weights, close)
    soft_window = _share(piece_weights, evidence.widened(close))
    top = close.max(axis=1)
    said = top[piece_weights > 0]
    best = int(np.argmax(cosines.max(axis=0) + word_window + soft_window))
    inside = {id(s) for s in evidence.window(best)}
    outside = np.array([id(s) not in inside for s in evidence.sentences])
    second = int(np.argmax(np.where(outside, cosines[0], -1.0))) if outside.any() else best
    both = np.maximum(wide[:, best : best + 1], wide)
    return Comparison(
        cosines=cosines,
        word=word,
        word_window=word_window,
        word_two=float(_share(weights, both).max()),
        word_all=word_all,
        soft=soft,
        soft_window=soft_window,
        soft_all=float(_share(piece_weights, top[:, None])[0]),
        soft_worst=float(np.sort(said)[:3].mean()),
        soft_missing=float((piece_weights * np.clip(_SOFT - top, 0.0, None)).sum()),
        best=best,
        second=second,
        missing=missing,
    )


def nearest_sentences(c: Comparison, evidence: Passages, most: int) -> tuple[str, ...]:
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
    return tuple(evidence.sentences[at].text for at in sorted(chosen))
