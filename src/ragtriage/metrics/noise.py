"""What misled the generator: incorrect claims that it took from a relevant source, or from an irrelevant one.

A claim is incorrect if the reference doesn't support it. A source is relevant if it supports at least one claim of the
reference. The source of both formulas is *RAG Generator Evaluation Metrics* by Kalyan KS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ragtriage.core.metric import metric
from ragtriage.core.steps import Match, only_where_not
from ragtriage.core.verdicts import Cell, Components, Outcome, Verdict, Verdicts, highest
from ragtriage.metrics.aggregate import conjunction, negated, share_of_faults
from ragtriage.metrics.decompositions import CLAIMS, SOURCES, TRUE_CLAIMS
from ragtriage.metrics.reference import CORRECT

HELD_BY_ONE = Match(TRUE_CLAIMS, "supported", "each source")
TOLD_BY_ONE = Match(CLAIMS, "supported", "each source", only_where_not(CORRECT))
"""Only incorrect claims are held against every single source: where a correct one came from doesn't matter here."""
_NEEDS: Mapping[str, Any] = {"sources": SOURCES, "correct": CORRECT, "told": TOLD_BY_ONE, "held": HELD_BY_ONE}


@metric(
    title="Misled by relevant sources",
    better="lower",
    fault="wrong, and taken from a relevant source",
    **_NEEDS,
)
def relevant_noise_sensitivity(sources: Components, correct: Verdicts, told: Verdicts, held: Verdicts) -> Outcome:
    """The share of the response's claims that are incorrect and supported by a relevant source; lower is better.

    In [0, 1]; 0 if no source is relevant. Args: sources: shape (n_sources,); correct: shape (n_claims, 1); told: shape
    (n_claims, n_sources), asked where a claim is incorrect; held: shape (n_true_claims, n_sources). Undefined without a
    response or a claim, sources, or a reference that makes a claim. Source: the article, "Relevant Noise Sensitivity".
    """
    return _misled(sources, correct, told, held, lambda relevant: relevant)


@metric(
    title="Misled by irrelevant sources",
    better="lower",
    fault="wrong, and taken from an irrelevant source",
    **_NEEDS,
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
