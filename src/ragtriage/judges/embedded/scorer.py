"""Question by question: the probability of yes, and what it rests on.

The reader reads a claim or question beside the evidence, a larger one what is in doubt, and a regression weighs what
they say with what was found by rules. What a text is about is told by words and vectors.
"""

import contextlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from ragtriage.core.errors import JudgeError
from ragtriage.core.questions import Question
from ragtriage.judges.embedded.cross_encoder import HEADS, CrossEncoder, Logits, TextPair, doubted_words
from ragtriage.judges.embedded.encoder import KEPT, MODEL, Encoder, Vector
from ragtriage.judges.embedded.featurizer import Featurized, Featurizer
from ragtriage.judges.embedded.passages import CachedTexts
from ragtriage.judges.embedded.verdict import Scored
from ragtriage.judges.embedded.versions import LARGER
from ragtriage.text.claim_parts import Marker

FARTHEST = 8.0
"""A logit of the reader counts up to here."""


SUPPORTED, ANSWERED = HEADS.index("supported"), HEADS.index("answered")
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

AGAIN, BACK = 1.0, 0.5
"""From these log odds on the larger reader sees a sentence in an earlier one, and the earlier one in it."""
READ_AGAIN = 0.85
"""The probability that they say the same then: of 1,183 responses by writers 11 have such a pair, 10 rightly."""
DOUBTED: Mapping[str, tuple[float, float]] = {
    "supported": (0.0, 0.95),
    "answered_response": (0.0, 1.0),
    "essential": (0.2, 0.8),
    "similar": (0.0, READ_AGAIN),
}
"""Task → between which chances the larger reader reads, too. What sources answer isn't among them: it would take as
long as all of these together, and fewer answers that the sources don't address would be found."""


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


@dataclass(frozen=True, slots=True)
class Measured:
    """All that one question is weighed by."""

    featurized: Featurized
    logits: tuple[Logits, ...]
    """What the reader says of each pair that it reads for it."""
    larger: tuple[Logits, ...] = ()
    """What the larger reader says of each pair that it reads for it; empty where it reads none."""


def _beside(featurized: Featurized, said: Mapping[TextPair, Logits | Exception]) -> Measured | Exception:
    """A question beside what the reader said, or what went wrong with that."""
    read = [said[one.pair] for one in featurized.reads]
    failed = next((one for one in read if isinstance(one, Exception)), None)
    return failed or Measured(featurized, tuple(one for one in read if isinstance(one, Logits)))


def fused_inputs(measured: Measured, chance: float) -> Vector:
    """What a fusion weighs: what the readers say, the log odds by words and vectors, and checks.

    (2 · heads + 2 + k,): of a text as a whole, and at most of a sentence of it; or of one sentence, and of its text;
    then that no piece of the claim or question says what the text doesn't. Of several readings the highest counts. What
    the larger reader says stands last.

    `chance` is the probability by words and vectors alone.
    """
    said = []
    for read, one in zip(measured.featurized.reads, measured.logits, strict=True):
        if read.sentence is None:
            said.append(np.concatenate([one.whole, one.sentences.max(axis=0), [-one.otherwise]]))
        else:
            said.append(np.concatenate([one.sentences[read.sentence], one.whole, [-one.otherwise]]))
    highest = np.clip(np.max(said, axis=0), -FARTHEST, FARTHEST)
    odds = math.log(chance / (1.0 - chance))
    head = HEADS.index(measured.featurized.task.partition("_")[0]) if measured.larger else 0
    larger = [np.clip(one.whole[head], -FARTHEST, FARTHEST) for one in measured.larger]
    return np.concatenate([highest, [odds], measured.featurized.checks, larger]).astype(np.float64)


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

    def __init__(self, *, threads: int, kept: int | None, model: Path = MODEL, larger: Path | None = None) -> None:
        self._encoder = Encoder(threads=threads, kept=KEPT if kept is None else kept)
        self._reader = CrossEncoder(self._encoder.pieces, threads=threads, path=model / "reader.onnx")
        self._larger = CrossEncoder(self._encoder.pieces, threads=threads, path=larger) if larger else None
        self.marks: Marker = lru_cache(MARKED)(partial(self._reader.marks, larger=self._larger))
        """Where the claims of a response begin, and which parts of it are remarks."""
        self.featurizer = Featurizer(CachedTexts(self._encoder), self.marks)
        fitted = load(model / "coefficients.json")
        self._models = {task: Model(one) for task, one in fitted["tasks"].items()}
        self._fusions = {task: Fusion(one) for task, one in fitted["fusion"].items()}
        if larger and not self._fusions.keys() >= {task + LARGER for task in DOUBTED if task in self._fusions}:
            raise JudgeError(
                f"{model} has no weights for the larger reader: fit them with training/fuse.py, or do without"
            )
        self._alike: float = fitted["thresholds"]["repeats"]

    def close(self) -> None:
        """Let the threads and the models go."""
        self._encoder.close()
        self._reader.close()
        if self._larger:
            self._larger.close()

    def score(self, questions: Sequence[Question]) -> Iterator[Scored | Exception]:
        """One result a question, in order; what went wrong with one doesn't touch the others."""
        for question, measured in zip(questions, self.measure(questions), strict=True):
            if isinstance(measured, Exception):
                yield measured
            elif measured.featurized.together:
                read = bool(measured.logits[-1].whole[ANSWERED] >= 0.0)
                yield self._beside_each_alone(question, self._scored(measured), read=read)
            else:
                yield self._scored(measured)

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

    def measure(self, questions: Sequence[Question]) -> Iterator[Measured | Exception]:
        """What each question is weighed by, in order."""
        # What goes wrong here meets each question again below, where only those that it concerns fail.
        with contextlib.suppress(Exception):
            self.featurizer.prepare(questions)
        found = [self._featurized(question) for question in questions]
        several = [one for one in found if isinstance(one, Featurized)]
        said = self._reader.read(read.pair for one in several for read in one.reads)
        measured = [one if isinstance(one, Exception) else _beside(one, said) for one in found]
        pairs = [self._in_doubt(one) for one in measured]
        more = self._larger.read(pair for some in pairs for pair in some) if self._larger else {}
        for one, some in zip(measured, pairs, strict=True):
            again = [more[pair] for pair in some]
            failed = next((said for said in again if isinstance(said, Exception)), None)
            if isinstance(one, Exception) or failed is not None:
                yield failed or one
            else:
                yield replace(one, larger=tuple(said for said in again if isinstance(said, Logits)))

    def _in_doubt(self, measured: Measured | Exception) -> tuple[TextPair, ...]:
        """What the larger reader reads for a question; nothing if the answer is sure without it."""
        if self._larger is None or isinstance(measured, Exception) or not measured.featurized.larger:
            return ()
        low, high = DOUBTED[measured.featurized.task]
        return measured.featurized.larger if low <= self._chance(measured)[1] < high else ()

    def _featurized(self, question: Question) -> Featurized | Exception:
        try:
            return self.featurizer.measure(question)
        except Exception as error:  # noqa: BLE001 - a failure is an answer too
            return error

    def _scored(self, measured: Measured) -> Scored:
        one = measured.featurized
        if not one.rows:
            return one.scored[0]
        at, chance = self._chance(measured)
        found = one.scored[at]
        logits = measured.larger or measured.logits
        doubted = doubted_words(one.reads[0].pair.first, logits[0].words) if one.reads else ""
        return replace(found, probability=min(chance, found.highest), doubted=doubted)

    def _chance(self, measured: Measured) -> tuple[int, float]:
        """The likeliest alternative, and its probability before a rule bounds it."""
        chances = self.chances(measured.featurized)
        at = int(np.argmax(chances))
        if measured.featurized.task == "similar":
            return at, self._repeats(measured, chances[at])
        return at, self._weighed(measured, chances[at]) if measured.featurized.reads else chances[at]

    def _weighed(self, measured: Measured, chance: float) -> float:
        """The probability by all of it, of that by words and vectors."""
        one, inputs = measured.featurized, fused_inputs(measured, chance)
        if measured.larger:
            return self._fusions[one.task + LARGER].probability(inputs)
        fused = self._fusions[one.task].probability(inputs)
        return min(fused, UNREAD) if one.in_prose and is_read_as_silent(inputs) else fused

    def _repeats(self, measured: Measured, chance: float) -> float:
        """The probability that a sentence says what another says: they sound alike, or each is read in the other.

        Not where the larger reader reads neither in the other, as with "pause" and "resume".
        """
        if (measured.featurized.scored[0].cosine or 0.0) < self._alike:
            chance = min(chance, 0.5)
        if not measured.larger:
            return chance
        there, back = (one.whole[SUPPORTED] for one in measured.larger)
        if there >= AGAIN and back >= BACK:
            return max(chance, READ_AGAIN)
        return min(chance, 0.5) if max(there, back) < 0.0 else chance

    def chances(self, measured: Featurized) -> list[float]:
        """The probability of each alternative by words and vectors alone."""
        model = self._models[FITTED.get(measured.task, measured.task)]
        return [model.probability(row) for row in measured.rows]
