"""Question by question: the probability of yes, and what it rests on.

The reader reads a claim or question beside the nearest part of the evidence, and a regression weighs what it says with
what was found by rules. Whether two sentences say the same, and what a text is about, is told by words and vectors.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from ragtriage.core.questions import Question
from ragtriage.judges.embedded.encoder import KEPT, MODEL, Encoder
from ragtriage.judges.embedded.evidence import CachedReader
from ragtriage.judges.embedded.featurizer import Featurized, Featurizer
from ragtriage.judges.embedded.fitted_models import FITTED, Fusion, Model, fused_inputs, load
from ragtriage.judges.embedded.reader import Logits, Pair, Reader, doubted_words
from ragtriage.judges.embedded.verdict import FittedThresholds, Scored
from ragtriage.text.claims import Marker

MARKED = 256
"""Responses whose marks are remembered: each is asked for several times."""


class Scorer:
    """Gives each question the probability of yes; for the arguments see `EmbeddedJudge`.

    Raises:
        JudgeError: a model can't be loaded.
    """

    def __init__(self, *, threads: int, kept: int | None, model: Path = MODEL) -> None:
        self._encoder = Encoder(threads=threads, kept=KEPT if kept is None else kept)
        self._reader = Reader(self._encoder.pieces, threads=threads, path=model / "reader.onnx")
        self.marks: Marker = lru_cache(MARKED)(self._reader.marks)
        """Where the claims of a response begin, and which parts of it are remarks."""
        self.featurizer = Featurizer(CachedReader(self._encoder), self.marks)
        fitted = load(model / "coefficients.json")
        self._models = {task: Model(one) for task, one in fitted["tasks"].items()}
        self._fusions = {task: Fusion(one) for task, one in fitted["fusion"].items()}
        self.thresholds = FittedThresholds(**fitted["thresholds"])

    def close(self) -> None:
        """Let the threads and the models go."""
        self._encoder.close()
        self._reader.close()

    def score(self, questions: Sequence[Question]) -> Iterator[Scored | Exception]:
        """One result a question, in order; what went wrong with one doesn't touch the others."""
        for measured, logits in self.measure(questions):
            if isinstance(measured, Exception):
                yield measured
            elif failed := next((one for one in logits if isinstance(one, Exception)), None):
                yield failed
            else:
                yield self._scored(measured, [one for one in logits if isinstance(one, Logits)])

    def measure(
        self, questions: Sequence[Question]
    ) -> Iterator[tuple[Featurized | Exception, list[Logits | Exception]]]:
        """What each question is weighed by, and what the reader says of all that it reads for it."""
        # What goes wrong here meets each question again below, where only those that it concerns fail.
        with contextlib.suppress(Exception):
            self.featurizer.prepare(questions)
        measured = [self._measured(question) for question in questions]
        said: Mapping[Pair, Logits | Exception] = self._reader.read(
            read.pair for one in measured if isinstance(one, Featurized) for read in one.reads
        )
        for one in measured:
            yield one, [] if isinstance(one, Exception) else [said[read.pair] for read in one.reads]

    def _measured(self, question: Question) -> Featurized | Exception:
        try:
            return self.featurizer.measure(question)
        except Exception as error:  # noqa: BLE001 - a failure is an answer too
            return error

    def _scored(self, measured: Featurized, logits: Sequence[Logits]) -> Scored:
        if not measured.rows:
            return measured.scored[0]
        chances = self.chances(measured)
        at = int(np.argmax(chances))
        chance, doubted = chances[at], ""
        if measured.reads:
            chance = self._fusions[measured.task].probability(fused_inputs(measured, logits, chance))
            doubted = doubted_words(measured.reads[0].pair.first, logits[0].words)
        return replace(measured.scored[at], probability=chance, doubted=doubted)

    def chances(self, measured: Featurized) -> list[float]:
        """The probability of each alternative by words and vectors alone."""
        model = self._models[FITTED.get(measured.task, measured.task)]
        return [model.probability(row) for row in measured.rows]
