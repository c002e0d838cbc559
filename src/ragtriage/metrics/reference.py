"""Whether the response says what a true answer says, and whether the sources could have led there."""

from __future__ import annotations

from ragtriage.core.metric import metric
from ragtriage.core.steps import Match
from ragtriage.core.verdicts import Outcome, Score, Verdicts
from ragtriage.metrics.aggregate import share
from ragtriage.metrics.decompositions import CLAIMS, TRUE_CLAIMS

CORRECT = Match(CLAIMS, "supported", "reference")
SAID = Match(TRUE_CLAIMS, "supported", "response")


@metric(title="Agrees with the reference", fault="not in the reference", correct=CORRECT)
def answer_precision(correct: Verdicts) -> Outcome:
    """The share of the response's claims that the reference supports.

    Correct claims / claims of the response, in [0, 1]. Args: correct: shape (n_claims, 1). Undefined without a
    reference, without a response, or if the response makes no claim. Source: the usual precision, over claims.
    """
    return share(correct.components, correct.best())


@metric(title="Says all of the reference", fault="not in the response", said=SAID)
def answer_recall(said: Verdicts) -> Outcome:
    """The share of the reference's claims that the response makes.

    Claims of the reference that the response supports / claims of the reference, in [0, 1]; 0 for an empty response.
    Args: said: shape (n_true_claims, 1). Undefined without a response, without a reference, or if the reference makes
    no claim. Source: the usual recall, over claims.
    """
    return share(said.components, said.best())


@metric(
    title="Matches the reference",
    fault="in one of response and reference, not in the other",
    correct=CORRECT,
    said=SAID,
)
def answer_f1(correct: Verdicts, said: Verdicts) -> Outcome:
    """The harmonic mean of answer precision and answer recall.

    2 · precision · recall / (precision + recall), in [0, 1]; 0 if both are 0. Args: correct: shape (n_claims, 1); said:
    shape (n_true_claims, 1). Undefined where either is. Source: van Rijsbergen's F with β = 1, over claims.
    """
    precision, recall = share(correct.components, correct.best()), share(said.components, said.best())
    if not isinstance(precision, Score):
        return precision
    if not isinstance(recall, Score):
        return recall
    total = precision.value + recall.value
    return Score(
        2 * precision.value * recall.value / total if total else 0.0,
        precision.judged + recall.judged,
        precision.unknown + recall.unknown,
        precision.parts + recall.parts,
    )


@metric(
    title="Sources hold the reference",
    fault="not in the sources",
    held=Match(TRUE_CLAIMS, "supported", "sources"),
)
def context_recall(held: Verdicts) -> Outcome:
    """The share of the reference's claims that the sources, taken together, support.

    Claims of the reference that the sources support / claims of the reference, in [0, 1]; 0 if nothing was retrieved.
    Args: held: shape (n_true_claims, 1). Undefined without a reference, or if it makes no claim. Source: RAGAs' context
    recall, over claims in place of sentences.
    """
    return share(held.components, held.best())
