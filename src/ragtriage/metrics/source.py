"""How good the retrieved sources are for the query (THELMA, sections 4.1 and 4.2)."""

from __future__ import annotations

from ragtriage.core.metric import metric
from ragtriage.core.steps import Match, only_where_not
from ragtriage.core.verdicts import Outcome, Verdicts, highest
from ragtriage.metrics.aggregate import share
from ragtriage.metrics.decompositions import FACTS, QUESTIONS, SOURCES

ANSWERED_BY_ONE = Match(QUESTIONS, "answered", "each source")
ANSWERED_TOGETHER = Match(QUESTIONS, "answered", "sources", only_where_not(ANSWERED_BY_ONE))


@metric(title="Sources needed", fault="not needed to answer the question", needed=Match(SOURCES, "essential", "query"))
def source_precision(needed: Verdicts) -> Outcome:
    """The share of retrieved sources that hold something essential for the query.

    Essential sources / sources, in [0, 1]. Args: needed: shape (n_sources, 1). Undefined without sources, or if the
    query asks nothing. Source: THELMA, equation 2.
    """
    return share(needed.components, needed.best())


@metric(title="Facts needed", fault="not needed to answer the question", needed=Match(FACTS, "essential", "query"))
def fact_precision(needed: Verdicts) -> Outcome:
    """The share of the retrieved information that is essential for the query.

    Essential facts / facts of all sources, in [0, 1]. Args: needed: shape (n_facts, 1). Undefined without sources, or
    if the query asks nothing. Source: THELMA, equation 3.
    """
    return share(needed.components, needed.best())


@metric(
    title="Sources answer the question",
    fault="not answered by the sources",
    single=ANSWERED_BY_ONE,
    together=ANSWERED_TOGETHER,
)
def source_query_coverage(single: Verdicts, together: Verdicts) -> Outcome:
    """The share of sub-questions that the sources answer, one source alone or all together.

    In [0, 1]; 0 if nothing was retrieved. The whole source set is asked only about sub-questions that no single source
    answers: the maximum is the same. Args: single: shape (n_questions, n_sources); together: shape (n_questions, 1).
    Undefined if the query asks nothing. Source: THELMA, equation 4.
    """
    both = zip(single.best(), together.best(), strict=True)
    return share(single.components, [highest(pair) for pair in both])
