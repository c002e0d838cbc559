"""What the generator made of query and sources: claims that are made up or beside the topic, changing answers.

The source of most formulas is *RAG Generator Evaluation Metrics* by Kalyan KS. Its faithfulness is our groundedness.
`self_consistency` is the baseline of GRAMMAR (after SelfCheckGPT): further responses are drawn at temperature 1, and an
answer that changes from one to the next is doubted.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ragtriage.core.chances import good_chances
from ragtriage.core.metric import Metric, metric
from ragtriage.core.steps import Decompose, Match
from ragtriage.core.verdicts import Outcome, Score, Verdicts
from ragtriage.metrics.aggregate import CLAIMS, SAMPLES, mean_cosine, share, share_of_faults
from ragtriage.metrics.thelma import SUPPORTED

WRITTEN = 3
"""How many questions are written from a response, where nothing else is said."""


def likeness_of(n: int) -> Match:
    """The cosine of the query with each of n questions that a judge writes from the response alone."""
    return Match(Decompose("response", "questions_answered_by", n), "similar", "query")


@metric(title="Made up", better="lower", fault="not supported by the sources", support=SUPPORTED)
def hallucination(support: Verdicts) -> Outcome:
    """The share of the response's claims that the sources, taken together, don't support; lower is better.

    Unsupported claims / claims = 1 − groundedness, in [0, 1]; 1 if nothing was retrieved. Args: support: shape
    (n_claims, 1). Undefined without a response, or if it makes no claim. Source: the article, "Hallucination".
    """
    return share_of_faults(support.components, support.best())


@metric(title="On topic", fault="not about what was asked", relevance=Match(CLAIMS, "relevant", "query"))
def claim_relevancy(relevance: Verdicts) -> Outcome:
    """The share of the response's claims that are about what was asked, needed for the answer or not.

    Relevant claims / claims, in [0, 1]; looser than response precision, as background counts. Args: relevance: shape
    (n_claims, 1). Undefined without a response or a claim, or if the query asks nothing. Source: the article, "Response
    Relevancy (LLM based)".
    """
    return share(relevance.components, relevance.best())


@metric(title="Answers this question", range=(-1.0, 1.0), fault="another question", likeness=likeness_of(WRITTEN))
def query_similarity(likeness: Verdicts) -> Outcome:
    """How close the questions that the response would answer are to the one that was asked.

    A judge writes three questions from the response alone; the mean cosine between their embeddings and the query's, in
    [-1, 1]. What is high belongs to the embedding model. Args: likeness: shape (n_questions, 1). Undefined without a
    response, if it answers nothing, if the query asks nothing, or with a judge that can't write questions. Source: the
    article, "Response Relevancy (String based)".
    """
    return mean_cosine(likeness.components, likeness.best(), WRITTEN)


def query_similarity_of(n: int) -> Metric:
    """Query similarity by another number of written questions than three.

    Args:
        n: how many, at least 1.
    """
    return replace(
        query_similarity,
        name=f"{query_similarity.name}(n={n})",
        title=f"{query_similarity.title} ({n})",
        needs={"likeness": likeness_of(n)},
        compute=lambda likeness: mean_cosine(likeness.components, likeness.best(), n),
    )


SAME_ANSWER = Match(SAMPLES, "same_answer", "response")


@metric(title="Same answer every time", fault="another answer than the response", same=SAME_ANSWER)
def self_consistency(same: Verdicts) -> Outcome:
    """Whether every sample gives the same answer to the query as the response does.

    The probability that all do, so 1 or 0 where verdicts have no chances; samples that the judge can't tell are left
    out. `sample_agreement` is the share of those that do. Args: same: shape (n_samples, 1). Undefined without a
    response or samples. Source: GRAMMAR, the SelfCheck baseline.
    """
    found = share(same.components, same.best())
    return replace(found, value=prod(good_chances(found.parts, "yes"))) if isinstance(found, Score) else found


@metric(title="Samples that agree", fault="another answer than the response", same=SAME_ANSWER)
def sample_agreement(same: Verdicts) -> Outcome:
    """The share of samples that give the same answer to the query as the response does.

    In [0, 1]. Args: same: shape (n_samples, 1). Undefined without a response or samples. Source: GRAMMAR, the SelfCheck
    baseline, whose all-or-nothing form is `self_consistency`.
    """
    return share(same.components, same.best())
