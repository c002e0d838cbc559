"""Question by question: the probability of yes, and what it rests on.

The reader reads a claim or question beside the nearest part of the evidence, and a regression weighs what it says with
what was found by rules. Whether two sentences say the same, and what a text is about, is told by words and vectors.
"""

import contextlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ragtriage.core.errors import JudgeError
from ragtriage.core.questions import Question
from ragtriage.judges.embedded.cross_encoder import HEADS, CrossEncoder, Logits, TextPair, doubted_words
from ragtriage.judges.embedded.encoder import KEPT, MODEL, Encoder, Vector
from ragtriage.judges.embedded.featurizer import Featurized, Featurizer
from ragtriage.judges.embedded.passages import CachedTexts
from ragtriage.judges.embedded.verdict import FittedThresholds, Scored
from ragtriage.text.claim_parts import Marker

FARTHEST = 8.0
"""A logit of the reader counts up to here."""


ANSWERED = HEADS.index("answered")
_BEST_SENTENCE = len(HEADS)
"""Where the inputs of a fusion begin that tell what the reader says of the likeliest sentence."""
UNREAD = 0.1
"""The most that words and vectors can make likely where the reader says of prose that it doesn't answer. Of such
passages of the training sets one in twenty-five answers, where half of all do; one in nine, where three quarters do."""
IN_DOUBT = 0.45
"""The most that texts answer together of which each surely doesn't answer; set by hand."""
ANSWERS_LEAST, ESSENTIAL_LEAST = -1.0, -0.3
"""It says so with log odds below these that a sentence answers and that one is essential, and where it also sees
something in the question of which the passage says otherwise, or nothing."""


def is_read_as_silent(inputs: Vector) -> bool:
    """Whether the reader says that prose doesn't answer a question, from `fused_inputs`."""
    return bool(
        inputs[_BEST_SENTENCE + ANSWERED] < ANSWERS_LEAST
        and inputs[_BEST_SENTENCE + HEADS.index("essential")] < ESSENTIAL_LEAST
        and inputs[2 * len(HEADS)] < 0.0
    )


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

    `chance` is the probability by words and vectors alone.
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
    """Fitted models, as `training/fuse.py` writes them."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise JudgeError(f"the fitted models in {path} can't be read: {error}") from error
    return found


MARKED = 256
"""Responses whose marks are remembered: each is asked for several times."""


class Scorer:
    """Gives each question the probability of yes; for the arguments see `EmbeddedJudge`."""

    def __init__(self, *, threads: int, kept: int | None, model: Path = MODEL) -> None:
        self._encoder = Encoder(threads=threads, kept=KEPT if kept is None else kept)
        self._reader = CrossEncoder(self._encoder.pieces, threads=threads, path=model / "reader.onnx")
        self.marks: Marker = lru_cache(MARKED)(self._reader.marks)
        """Where the claims of a response begin, and which parts of it are remarks."""
        self.featurizer = Featurizer(CachedTexts(self._encoder), self.marks)
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
        for question, (measured, said) in zip(questions, self.measure(questions), strict=True):
            logits = [one for one in said if isinstance(one, Logits)]
            if isinstance(measured, Exception):
                yield measured
            elif failed := next((one for one in said if isinstance(one, Exception)), None):
                yield failed
            elif measured.together:
                read = bool(logits[-1].whole[ANSWERED] >= 0.0)
                yield self._beside_each_alone(question, self._scored(measured, logits), read=read)
            else:
                yield self._scored(measured, logits)

    def _beside_each_alone(self, question: Question, found: Scored, *, read: bool) -> Scored:
        """Texts of which each surely doesn't answer: together they answer no more, or it can't be told.

        `read`: whether the reader sees an answer in the nearest sentences of them all.
        """
        if found.probability <= UNREAD:
            return found
        alone = self.score([replace(question, evidence=(text,)) for text in question.evidence if text.strip()])
        most = max((one.probability for one in alone if isinstance(one, Scored)), default=1.0)
        if most > UNREAD:
            return found
        return replace(found, probability=min(found.probability, IN_DOUBT) if read else most)

    def measure(
        self, questions: Sequence[Question]
    ) -> Iterator[tuple[Featurized | Exception, list[Logits | Exception]]]:
        """What each question is weighed by, and what the reader says of all that it reads for it."""
        # What goes wrong here meets each question again below, where only those that it concerns fail.
        with contextlib.suppress(Exception):
            self.featurizer.prepare(questions)
        measured = [self._measured(question) for question in questions]
        said: Mapping[TextPair, Logits | Exception] = self._reader.read(
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
            inputs = fused_inputs(measured, logits, chance)
            chance = self._fusions[measured.task].probability(inputs)
            if measured.in_prose and is_read_as_silent(inputs):
                chance = min(chance, UNREAD)
            doubted = doubted_words(measured.reads[0].pair.first, logits[0].words)
        found = measured.scored[at]
        return replace(found, probability=min(chance, found.highest), doubted=doubted)

    def chances(self, measured: Featurized) -> list[float]:
        """The probability of each alternative by words and vectors alone."""
        model = self._models[FITTED.get(measured.task, measured.task)]
        return [model.probability(row) for row in measured.rows]
