"""Fitted models and fusions: the numbers that were found for a question → the probability of yes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ragtriage.core.errors import JudgeError
from ragtriage.judges.embedded.encoder import Vector

FARTHEST = 8.0
"""A logit of the matcher counts up to here."""
PIECEWISE = frozenset({"answered_response"})
"""Tasks of which the matcher reads each sentence too: read whole, a text about the question passes for an answer."""


class Model:
    """A fitted model of one task: standardised columns, then layers with tanh between, then a logistic function."""

    def __init__(self, fitted: Mapping[str, Any]) -> None:
        self._mean = np.array(fitted["mean"], np.float64)
        self._scale = np.array(fitted["scale"], np.float64)
        self._layers = [(np.array(w, np.float64), np.array(b, np.float64)) for w, b in fitted["layers"]]
        self.lean = float(fitted.get("lean", 0.0))

    def probability(self, row: Sequence[float]) -> float:
        """Of yes."""
        x = np.clip((np.array(row, np.float64) - self._mean) / self._scale, -5.0, 5.0)
        for i, (weights, bias) in enumerate(self._layers):
            # Not a matrix product: its sums must not depend on how many rows are worked on at a time.
            x = (np.tanh(x) if i else x) @ weights + bias
        return float(1.0 / (1.0 + np.exp(-np.clip(x[0], -30.0, 30.0))))


def fused_inputs(odds: np.ndarray, logits: np.ndarray) -> np.ndarray:
    """What a fusion weighs.

    Args:
        odds: (n,), the log odds of a fitted model.
        logits: (n, heads), what the matcher says; of `PIECEWISE` tasks (n, 2 · heads), then what it says at most of a
            sentence.

    Returns:
        (n, 1 + heads) or (n, 1 + 2 · heads).
    """
    return np.column_stack([odds, np.clip(logits.astype(np.float64), -FARTHEST, FARTHEST)])


class Fusion:
    """What the fitted model of a task and the matcher say, weighed against each other: a logistic regression."""

    def __init__(self, fitted: Mapping[str, Any]) -> None:
        self._weights = np.array(fitted["weights"], np.float64)
        self._bias = float(fitted["bias"])
        self.lean = float(fitted.get("lean", 0.0))

    def probability(self, alone: float, logits: Vector) -> float:
        """Of yes, from the fitted model's probability and the matcher's logits."""
        x = fused_inputs(np.array([np.log(alone / (1.0 - alone))]), logits[None])[0]
        return float(1.0 / (1.0 + np.exp(-np.clip((x * self._weights).sum() + self._bias, -30.0, 30.0))))


def load(path: Path) -> dict[str, Any]:
    """Fitted models, as `training/fuse.py` writes them.

    Raises:
        JudgeError: the file can't be read.
    """
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise JudgeError(f"the fitted models in {path} can't be read: {error}") from error
    return found
