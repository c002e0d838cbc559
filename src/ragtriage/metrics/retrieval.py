"""How good the ranking of the sources is, where the ids of the relevant ones are known. No judge is asked.

A source is relevant or not; a second source with the id of an earlier one is passed over. Where k isn't given it is the
number of sources that were retrieved. The formulas are those of trec_eval (`P_k`, `recall_k`, `recip_rank`,
`ndcg_cut_k`).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import log2

from ragtriage.core.metric import Metric, metric
from ragtriage.core.steps import Match
from ragtriage.core.verdicts import Outcome, Score, Undefined, Verdict, Verdicts
from ragtriage.metrics.aggregate import RELEVANT_IDS, parts

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
