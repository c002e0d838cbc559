"""What a true answer tells: whether the response says it, whether the sources could lead there, what misled.

A claim is incorrect if the reference doesn't support it. A source is relevant if it supports at least one claim of the
reference. The source of both formulas is *RAG Generator Evaluation Metrics* by Kalyan KS.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ragtriage.core.metric import metric
from ragtriage.core.steps import Match, only_where_not
from ragtriage.core.verdicts import Cell, Components, Outcome, Score, Verdict, Verdicts, highest
from ragtriage.metrics.aggregate import CLAIMS, SOURCES, TRUE_CLAIMS, conjunction, negated, share, share_of_faults

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


@metric(title="Sources hold the reference", fault="not in the sources", held=Match(TRUE_CLAIMS, "supported", "sources"))
def context_recall(held: Verdicts) -> Outcome:
    """The share of the reference's claims that the sources, taken together, support.

    Claims of the reference that the sources support / claims of the reference, in [0, 1]; 0 if nothing was retrieved.
    Args: held: shape (n_true_claims, 1). Undefined without a reference, or if it makes no claim. Source: RAGAs' context
    recall, over claims in place of sentences.
    """
    return share(held.components, held.best())


HELD_BY_ONE = Match(TRUE_CLAIMS, "supported", "each source")
TOLD_BY_ONE = Match(CLAIMS, "supported", "each source", only_where_not(CORRECT))
"""Only incorrect claims are held against every single source: where a correct one came from doesn't matter here."""
_NEEDS: Mapping[str, Any] = {"sources": SOURCES, "correct": CORRECT, "told": TOLD_BY_ONE, "held": HELD_BY_ONE}


@metric(title="Misled by relevant sources", better="lower", fault="wrong, and taken from a relevant source", **_NEEDS)
def relevant_noise_sensitivity(sources: Components, correct: Verdicts, told: Verdicts, held: Verdicts) -> Outcome:
    """The share of the response's claims that are incorrect and supported by a relevant source; lower is better.

    In [0, 1]; 0 if no source is relevant. Args: sources: shape (n_sources,); correct: shape (n_claims, 1); told: shape
    (n_claims, n_sources), asked where a claim is incorrect; held: shape (n_true_claims, n_sources). Undefined without a
    response or a claim, sources, or a reference that makes a claim. Source: the article, "Relevant Noise Sensitivity".
    """
    return _misled(sources, correct, told, held, lambda relevant: relevant)


@metric(
    title="Misled by irrelevant sources", better="lower", fault="wrong, and taken from an irrelevant source", **_NEEDS
)
def irrelevant_noise_sensitivity(sources: Components, correct: Verdicts, told: Verdicts, held: Verdicts) -> Outcome:
    """The share of the response's claims that are incorrect and supported by an irrelevant source; lower is better.

    In [0, 1]; 0 if every source is relevant. Args: as for `relevant_noise_sensitivity`. Undefined without a response or
    a claim, sources, or a reference that makes a claim. Source: the article, "Irrelevant Noise Sensitivity".
    """
    return _misled(sources, correct, told, held, negated)


def _misled(
    sources: Components, correct: Verdicts, told: Verdicts, held: Verdicts, blamed: Callable[[Cell], Cell]
) -> Outcome:
    """The share of faults, where `blamed` turns whether a source is relevant into whether it counts."""
    relevant = [highest([row[j] for row in held.cells]) for j in range(len(sources))]
    guilty = [blamed(cell) for cell in relevant]
    wrong = (negated(cell) for cell in correct.best())
    cells = [_taken(cell, row, guilty) for cell, row in zip(wrong, told.cells, strict=True)]
    return share_of_faults(correct.components, cells, good="no")


def _taken(wrong: Cell, told: Sequence[Cell], guilty: Sequence[Cell]) -> Cell:
    """Whether one claim is incorrect and taken from a source that is blamed."""
    by_source = [conjunction(says, blamed) for says, blamed in zip(told, guilty, strict=True)]
    found = highest(by_source)
    decided = conjunction(wrong, found)
    if not isinstance(decided, Verdict) or decided.value != "yes":
        return decided
    place = by_source.index(found)
    says = told[place]
    why = f": {says.explanation}" if isinstance(says, Verdict) and says.explanation else ""
    told_by = f"source {place + 1} supports it, the reference doesn't{why}"
    return Verdict("yes", explanation=told_by, chance=decided.chance)
