"""Question by question: the probability of yes, and what it rests on.

Comparisons of words and vectors are weighed by a fitted model; where a matcher is given, it reads the claim or question
beside the nearest part of the evidence, and both are weighed against each other.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ragtriage.core.questions import Question
from ragtriage.judges.embedded.encoder import KEPT, MODEL, Encoder, Vector
from ragtriage.judges.embedded.evidence import CachedReader
from ragtriage.judges.embedded.featurizer import Featurized, Featurizer
from ragtriage.judges.embedded.fitted_models import PIECEWISE, Fusion, Model, load
from ragtriage.judges.embedded.matcher import Matcher, Pair, pairs_by_sentence
from ragtriage.judges.embedded.verdict import FittedThresholds, Scored


def _read_for(task: str, pair: Pair) -> list[Pair]:
    """A pair, and its sentences where they count too."""
    return [pair, *(pairs_by_sentence(pair) if task in PIECEWISE else ())]


def _logits(task: str, pair: Pair, said: Mapping[Pair, Vector | Exception]) -> Vector | Exception:
    """What the matcher says of all that it reads for a pair; or what went wrong."""
    logits: list[Vector] = []
    for one in _read_for(task, pair):
        if isinstance(found := said[one], Exception):
            return found
        logits.append(found)
    return np.concatenate([logits[0], np.max(logits[1:], axis=0)]) if task in PIECEWISE else logits[0]


class Scorer:
    """Gives each question the probability of yes; for the arguments see `EmbeddedJudge`.

    Raises:
        JudgeError: a model can't be loaded.
    """

    def __init__(self, *, fast: bool, threads: int, kept: int | None) -> None:
        self._encoder = Encoder(threads=threads, kept=KEPT if kept is None else kept)
        self._matcher = None if fast else Matcher(self._encoder.pieces, threads=threads)
        self._featurizer = Featurizer(CachedReader(self._encoder), pairing=not fast)
        fitted = load(MODEL / "coefficients.json")
        self._models = {task: Model(one) for task, one in fitted["tasks"].items()}
        self._fusions = {} if fast else {task: Fusion(one) for task, one in fitted.get("fusion", {}).items()}
        self.thresholds = FittedThresholds(**fitted["thresholds"])

    def close(self) -> None:
        """Let the threads go."""
        self._encoder.close()
        if self._matcher:
            self._matcher.close()

    def score(self, questions: Sequence[Question]) -> Iterator[Scored | Exception]:
        """One result a question, in order; what went wrong with one doesn't touch the others."""
        # What goes wrong here meets each question again below, where only those that it concerns fail.
        with contextlib.suppress(Exception):
            self._featurizer.prepare(questions)
        measured = [self._measured(question) for question in questions]
        read = [one for one in measured if isinstance(one, Featurized) and one.task in self._fusions]
        pairs = (pair for one in read for whole in one.pairs for pair in _read_for(one.task, whole))
        said = self._matcher.match(pairs) if self._matcher else {}
        for one in measured:
            yield one if isinstance(one, Exception) else self._scored(one, said)

    def _measured(self, question: Question) -> Featurized | Exception:
        try:
            return self._featurizer.measure(question)
        except Exception as error:  # noqa: BLE001 - a failure is an answer too
            return error

    def _scored(self, measured: Featurized, said: Mapping[Pair, Vector | Exception]) -> Scored | Exception:
        if not measured.rows:
            return measured.scored[0]
        model, fusion = self._models[measured.task], self._fusions.get(measured.task)
        chances = [model.probability(row) for row in measured.rows]
        if fusion:
            for at, pair in enumerate(measured.pairs):
                logits = _logits(measured.task, pair, said)
                if isinstance(logits, Exception):
                    return logits
                chances[at] = fusion.probability(chances[at], logits)
        at = int(np.argmax(chances))
        found = measured.scored[at]
        lean = (fusion or model).lean
        return replace(found, probability=chances[at], lean=lean)
