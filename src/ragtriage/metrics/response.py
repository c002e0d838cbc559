"""How good the response is for the query (THELMA, sections 4.3 to 4.5)."""

from __future__ import annotations

from dataclasses import replace

from ragtriage.core.metric import Metric, metric
from ragtriage.core.steps import Match
from ragtriage.core.verdicts import Outcome, Score, Undefined, Verdicts
from ragtriage.metrics.aggregate import cosines_of, parts, share
from ragtriage.metrics.decompositions import CLAIMS, QUESTIONS, SENTENCES, WHOLE_RESPONSE

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

    1 − repeats / sentences, in [0, 1]; one sentence scores 1. A sentence is a repeat if its highest cosine to another
    is at or above a threshold that belongs to the embedding model, so the judge's verdict decides;
    `self_distinctness_at` takes another threshold. Args: repeated: shape (n_sentences, 1). Undefined without a
    response or a sentence. Source: THELMA, equation 7 as its example A.5 applies it.
    """
    return share(repeated.components, repeated.best(), good="no")


def self_distinctness_at(threshold: float | None) -> Metric:
    """Self-distinctness with another threshold.

    Equation 7 as printed sums over pairs and divides by the number of sentences; the paper's worked example A.5 takes a
    sentence's best match, and so does this.

    Args:
        threshold: a sentence whose highest cosine to another is at or above it counts as a repeat; None for the
            continuous form, the mean of 1 − highest cosine, each clipped to [0, 1].
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
