"""What the truth tells: what a true answer says of the response and the sources, and relevant ids of the ranking.

A claim is incorrect if the reference doesn't support it. A source is relevant if it supports at least one claim of the
reference (both formulas: *RAG Generator Evaluation Metrics* by Kalyan KS), or, for the ranking, if its id is among
those given: no judge is asked, a second source with the id of an earlier one is passed over, k is the number of sources
where it isn't given, and the formulas are those of trec_eval (`P_k`, `recall_k`, `recip_rank`, `ndcg_cut_k`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import log2
from typing import Any

from ragtriage.core.metric import Metric, metric
from ragtriage.core.steps import Match, only_where_not
from ragtriage.core.verdicts import Cell, Components, Outcome, Score, Undefined, Verdict, Verdicts, highest
from ragtriage.metrics.aggregate import (
    CLAIMS,
    RELEVANT_IDS,
    SOURCES,
    TRUE_CLAIMS,
    conjunction,
    negated,
    parts,
    share,
    share_of_faults,
)

RETRIEVED = Match(RELEVANT_IDS, "retrieved", "each source")
FAULT = "relevant, and not retrieved"

RankMeasure = Callable[[Sequence[bool], int, int], float]
"""From the ranking (whether each source is relevant, best first), how many are relevant in all (≥ 1), and k."""


@metric(title="Relevant among retrieved", fault=FAULT, found=RETRIEVED)
def retrieval_precision(found: Verdicts) -> Outcome:
    """The share of the first k sources that are relevant.

    Relevant ones among the first k / k, in [0, 1]. Args: found: shape (n_relevant, n_sources), whether a source has a
    relevant id. Undefined without sources, without their ids, or if no source is relevant. Source: trec_eval, P_k.
    """
    return _score(found, _precision)


@metric(title="Relevant ones retrieved", fault=FAULT, found=RETRIEVED)
def retrieval_recall(found: Verdicts) -> Outcome:
    """The share of the relevant sources that are among the first k.

    Relevant ones among the first k / relevant ones, in [0, 1]; 0 if nothing was retrieved. Args: found: as for
    `retrieval_precision`. Undefined without ids, or if no source is relevant. Source: trec_eval, recall_k.
    """
    return _score(found, _recall)


@metric(title="First relevant one early", fault=FAULT, found=RETRIEVED)
def retrieval_mrr(found: Verdicts) -> Outcome:
    """How early the first relevant source stands: 1 / its rank; the mean over cases is the mean reciprocal rank.

    In [0, 1]; 0 if none is among the first k. Args: found: as for `retrieval_precision`. Undefined without ids, or if
    no source is relevant. Source: trec_eval, recip_rank.
    """
    return _score(found, _reciprocal_rank)


@metric(title="Relevant ones ranked first", fault=FAULT, found=RETRIEVED)
def retrieval_ndcg(found: Verdicts) -> Outcome:
    """How near the ranking is to one with all relevant sources first (normalized discounted cumulative gain).

    The sum of 1 / log2(rank + 1) over relevant sources among the first k, divided by the largest that it can be; in
    [0, 1], 0 if nothing was retrieved. Args: found: as for `retrieval_precision`. Undefined without ids, or if no
    source is relevant. Source: Järvelin and Kekäläinen (2002) with gains of 0 and 1; trec_eval, ndcg_cut_k.
    """
    return _score(found, _ndcg)


def retrieval_at(base: Metric, k: int) -> Metric:
    """One of the four metrics above with another k, at least 1; missing sources count as irrelevant ones."""
    measure = _MEASURES[base.name]
    name, title = f"{base.name}(k={k})", f"{base.title} ({k})"
    return replace(base, name=name, title=title, compute=lambda found: _score(found, measure, k))


def _ranking(found: Verdicts) -> list[bool]:
    """Whether each source is relevant, in the retriever's order; one that repeats an id isn't listed again."""
    columns = [[row[j] for row in found.cells] for j in range(len(found.cells[0]))]
    asked = (column for column in columns if any(column))
    return [any(isinstance(cell, Verdict) and cell.value == "yes" for cell in column) for column in asked]


def _score(found: Verdicts, measure: RankMeasure, k: int | None = None) -> Outcome:
    ranking = _ranking(found)
    if not ranking and measure is _precision:
        return Undefined("no sources were retrieved")
    relevant = len(found.components)
    value = measure(ranking, relevant, len(ranking) if k is None else k)
    best = [cell or Verdict("no", 0.0, 1.0) for cell in found.best()]
    return Score(value, relevant, 0, parts(found.components, best, "yes"))


def _precision(ranking: Sequence[bool], _: int, k: int) -> float:
    return sum(ranking[:k]) / k


def _recall(ranking: Sequence[bool], relevant: int, k: int) -> float:
    return sum(ranking[:k]) / relevant


def _reciprocal_rank(ranking: Sequence[bool], _: int, k: int) -> float:
    return next((1 / rank for rank, hit in enumerate(ranking[:k], 1) if hit), 0.0)


def _ndcg(ranking: Sequence[bool], relevant: int, k: int) -> float:
    ideal = _gain([True] * min(relevant, k))
    return _gain(ranking[:k]) / ideal if ideal else 0.0


def _gain(ranking: Sequence[bool]) -> float:
    return sum(1 / log2(rank + 1) for rank, hit in enumerate(ranking, 1) if hit)


_MEASURES: dict[str, RankMeasure] = {
    retrieval_precision.name: _precision,
    retrieval_recall.name: _recall,
    retrieval_mrr.name: _reciprocal_rank,
    retrieval_ndcg.name: _ndcg,
}


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
