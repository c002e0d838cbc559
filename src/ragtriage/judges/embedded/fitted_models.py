"""Fitted models and fusions: the numbers that were found for a question → the probability of yes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ragtriage.core.errors import JudgeError
from ragtriage.judges.embedded.encoder import Vector
from ragtriage.judges.embedded.featurizer import Featurized
from ragtriage.judges.embedded.reader import Logits

FARTHEST = 8.0
"""A logit of the reader counts up to here."""


FITTED: Mapping[str, str] = {
    "essential_fact": "essential",
    "essential": "essential_long",
    "essential_claim": "essential_part",
}
"""Tasks of the fusion whose model of words and vectors is called otherwise."""


class Model:
    """A fitted model of one task: standardised columns, then layers with tanh between, then a logistic function."""

    def __init__(self, fitted: Mapping[str, Any]) -> None:
        self._mean = np.array(fitted["mean"], np.float64)
        self._scale = np.array(fitted["scale"], np.float64)
        self._layers = [(np.array(w, np.float64), np.array(b, np.float64)) for w, b in fitted["layers"]]

    def probability(self, row: Sequence[float]) -> float:
        """Of yes."""
        x = np.clip((np.array(row, np.float64) - self._mean) / self._scale, -5.0, 5.0)
        for i, (weights, bias) in enumerate(self._layers):
            # Not a matrix product: its sums must not depend on how many rows are worked on at a time.
            x = (np.tanh(x) if i else x) @ weights + bias
        return float(1.0 / (1.0 + np.exp(-np.clip(x[0], -30.0, 30.0))))


def fused_inputs(measured: Featurized, logits: Sequence[Logits], chance: float) -> Vector:
    """What a fusion weighs: what the reader says, the log odds by words and vectors, and checks.

    (2 · heads + 2 + k,): of a text as a whole, and at most of a sentence of it; or of one sentence, and of its text;
    then that no piece of the claim or question says what the text doesn't. Of several readings the highest counts.

    Args:
        measured: the question.
        logits: what the reader says of each of its readings.
        chance: the probability by words and vectors alone.
    """
    said = []
    for read, one in zip(measured.reads, logits, strict=True):
        if read.sentence is None:
            said.append(np.concatenate([one.whole, one.sentences.max(axis=0), [-one.otherwise]]))
        else:
            said.append(np.concatenate([one.sentences[read.sentence], one.whole, [-one.otherwise]]))
    highest = np.clip(np.max(said, axis=0), -FARTHEST, FARTHEST)
    odds = math.log(chance / (1.0 - chance))
    return np.concatenate([highest, [odds], np.array(measured.checks, np.float32)]).astype(np.float64)


class Fusion:
    """What the reader says, words and vectors, and checks, weighed against each other: a logistic regression."""

    def __init__(self, fitted: Mapping[str, Any]) -> None:
        self._weights = np.array(fitted["weights"], np.float64)
        self._bias = float(fitted["bias"])

    def probability(self, inputs: Vector) -> float:
        """Of yes, from `fused_inputs`."""
        odds = (inputs * self._weights).sum() + self._bias
        return float(1.0 / (1.0 + np.exp(-np.clip(odds, -30.0, 30.0))))


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
