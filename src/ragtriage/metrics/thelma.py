"""THELMA's metrics: how good the sources are, how good the response is, and whether it says what they say.

Sections 4.1 and 4.2, 4.3 to 4.5, and 4.6 of the paper.
"""

from dataclasses import replace

from ragtriage.core.metric import Metric, metric
from ragtriage.core.steps import Match, only_where_not
from ragtriage.core.verdicts import Outcome, Score, Undefined, Verdicts, highest
from ragtriage.metrics.aggregate import (
    CLAIMS,
    CONTRADICTED,
    FACTS,
    QUESTIONS,
    SENTENCES,
    SOURCES,
    UNSUPPORTED,
    WHOLE_RESPONSE,
    cosines_of,
    parts,
    share,
)

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


SUPPORTED = Match(CLAIMS, "supported", "sources")
SUPPORTED_BY_CONVERSATION = Match(CLAIMS, "supported", "conversation", only_where_not(SUPPORTED))
"""Tells claims that the conversation before the query supports from those that nothing does; no score depends on it."""


@metric(
    title="Grounded",
    fault="not supported by the sources",
    kinds={CONTRADICTED: "contradicted by the sources", UNSUPPORTED: "not supported by the sources"},
    support=SUPPORTED,
)
def groundedness(support: Verdicts) -> Outcome:
    """The share of the response's claims that the sources, taken together, support.

    Supported claims / claims, in [0, 1]; 0 if nothing was retrieved. Args: support: shape (n_claims, 1). Undefined
    without a response, or if it makes no claim. Source: THELMA, equation 8.
    """
    return share(support.components, support.best())


ANSWERED_BY_RESPONSE = Match(QUESTIONS, "answered", "response")
REPEATED = Match(SENTENCES, "similar", "other components")
DECLINES = Match(WHOLE_RESPONSE, "declines", "query")
"""Whether the response declines to answer. It counts only where a sub-question stays unanswered, but is asked beside
what else is asked about the response: that is cheaper than a request of its own."""


@metric(title="Answer on point", fault="not needed to answer the question", needed=Match(CLAIMS, "essential", "query"))
def response_precision(needed: Verdicts) -> Outcome:
    """The share of the response's claims that are essential to answer the query, or a part of it.

    Essential claims / claims, in [0, 1]. Args: needed: shape (n_claims, 1). Undefined without a response or a
    claim, or if the query asks nothing. Source: THELMA, equation 5.
    """
    return share(needed.components, needed.best())


@metric(title="Answer covers the question", fault="not answered by the response", answered=ANSWERED_BY_RESPONSE)
def response_query_coverage(answered: Verdicts) -> Outcome:
    """The share of sub-questions that the response answers.

    In [0, 1]; 0 for an empty response. Args: answered: shape (n_questions, 1). Undefined without a response, or if the
    query asks nothing. Source: THELMA, equation 6.
    """
    return share(answered.components, answered.best())


@metric(title="No repetition", fault="said twice", repeated=REPEATED)
def self_distinctness(repeated: Verdicts) -> Outcome:
    """The share of the response's sentences that don't repeat another one.

    1 − repeats / sentences, in [0, 1]; one sentence scores 1. A sentence is a repeat if the judge says so: if its
    highest cosine to another is at or above a threshold that belongs to the embedding model, or by reading the two;
    `self_distinctness_at` takes another threshold. Args: repeated: shape (n_sentences, 1). Undefined without a
    response or a sentence. Source: THELMA, equation 7 as its example A.5 applies it.
    """
    return share(repeated.components, repeated.best(), good="no")


def self_distinctness_at(threshold: float | None) -> Metric:
    """Self-distinctness with another threshold: at or above this cosine to another a sentence counts as a repeat.

    None is the continuous form, the mean of 1 − highest cosine, each clipped to [0, 1]. Equation 7 as printed sums over
    pairs and divides by the number of sentences; the paper's worked example A.5 takes a sentence's best match, and so
    does this.
    """
    label = "none" if threshold is None else f"{threshold:g}"

    def distinct(repeated: Verdicts) -> Outcome:
        cells = repeated.best()
        cosines = cosines_of(cells)
        if isinstance(cosines, Undefined):
            return cosines
        if threshold is None:
            values = [min(1.0, max(0.0, 1.0 - cosine)) for cosine in cosines]
        else:
            values = [float(cosine < threshold) for cosine in cosines]
        judged = parts(repeated.components, cells, "no")
        return Score(sum(values) / len(values), len(values), len(cells) - len(values), judged)

    return replace(
        self_distinctness,
        name=f"{self_distinctness.name}(threshold={label})",
        title=f"{self_distinctness.title} ({label})",
        compute=distinct,
    )
