"""Matrix products in parts so small that numpy's BLAS works them off in the thread that asks.

Larger ones it spreads over threads of its own, which wait for work by spinning: beside the encoder's threads that costs
more time than all the comparing. The limits are OpenBLAS's.
"""

from __future__ import annotations

import numpy as np

from ragtriage.judges.embedded.encoder import Vector

_MATRIX = 262_144
"""Multiplications of a product of two matrices that are done in one thread."""
_VECTOR = 9_216
"""Elements of a matrix that is multiplied with one vector."""
_ROWS = 64


def along(matrix: Vector, vector: Vector) -> Vector:
    """(n, k) and (k,) → (n,): the products of each row with a vector."""
    step = max(1, (_VECTOR - 1) // max(1, len(vector)))
    if len(matrix) <= step:
        return np.asarray(matrix @ vector, np.float32)
    return np.concatenate([matrix[start : start + step] @ vector for start in range(0, len(matrix), step)])


def between(a: Vector, b: Vector) -> Vector:
    """(m, k) and (n, k) → (m, n): the products of each row of one with each row of the other."""
    out = np.empty((len(a), len(b)), np.float32)
    for top in range(0, len(a), _ROWS):
        rows = a[top : top + _ROWS]
        step = max(1, (_MATRIX - 1) // max(1, rows.size))
        for left in range(0, len(b), step):
            out[top : top + _ROWS, left : left + step] = rows @ b[left : left + step].T
    return out
