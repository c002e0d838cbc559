"""What the generator made of query and sources: claims that are made up or beside the topic, changing answers.

Most formulas are those of *RAG Generator Evaluation Metrics* by Kalyan KS, whose faithfulness is our groundedness.
`self_consistency` is the baseline of GRAMMAR (after SelfCheckGPT). What RAGAs computes stands beside them under its own
name: *RAGAs: Automated Evaluation of Retrieval Augmented Generation* (Es et al., 2023), section 3, and its library.
"""

from dataclasses import replace
from math import prod

from ragtriage.core.metric import Metric, metric
from ragtriage.core.steps import Decompose, Match
from ragtriage.core.verdicts import (
    Component,
    Components,
    Outcome,
    Part,
    Score,
    Undefined,
    Verdict,
    Verdicts,
    good_chances,
)
from ragtriage.metrics.aggregate import (
    CLAIMS,
    NEEDED_SENTENCES,
    SAMPLES,
    SENTENCES_OF_SOURCES,
    failure_of,
    mean_cosine,
    parts,
    share,
    share_of_faults,
)
from ragtriage.metrics.thelma import DECLINES, SUPPORTED

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
    """Query similarity by another number of written questions than three, at least 1."""
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


@metric(title="RAGAs faithfulness", fault="not supported by the sources", support=SUPPORTED)
def ragas_faithfulness(support: Verdicts) -> Outcome:
    """RAGAs' faithfulness: the share of the response's statements that the sources support.

    Supported statements / statements, in [0, 1]: the formula of groundedness, of which `faithfulness` is another name.
    Args: support: shape (n_claims, 1). Undefined without a response, or if it makes no claim. Source: RAGAs, section 3.
    """
    return share(support.components, support.best())


@metric(title="RAGAs answer relevance", range=(-1.0, 1.0), fault="another question", likeness=likeness_of(WRITTEN))
def ragas_answer_relevance(likeness: Verdicts) -> Outcome:
    """RAGAs' answer relevance as its paper has it: the query's mean cosine with questions written from the response.

    In [-1, 1]: the formula of `query_similarity`. Args: likeness: shape (n_questions, 1). Undefined without a response,
    if it answers nothing, if the query asks nothing, or with a judge that can't write questions. Source: RAGAs, section
    3.
    """
    return mean_cosine(likeness.components, likeness.best(), WRITTEN)


@metric(
    title="RAGAs answer relevance (library)",
    range=(-1.0, 1.0),
    fault="another question, or no answer",
    likeness=likeness_of(WRITTEN),
    declines=DECLINES,
)
def ragas_library_answer_relevance(likeness: Verdicts, declines: Verdicts) -> Outcome:
    """RAGAs' answer relevance as its library has it since: 0 for a non-committal response, else as in the paper.

    In [-1, 1]. Args: likeness: shape (n_questions, 1), not looked at where the response declines; declines: shape
    (1, 1). Undefined without a response, if the query asks nothing, if the judge can't tell whether the response
    declines, or as `ragas_answer_relevance`, where it doesn't decline.
    Source: the library's `answer_relevancy`.
    """
    told = declines.best()
    failed = failure_of(told)
    if failed:
        return failed
    values = {cell.value for cell in told if isinstance(cell, Verdict)}
    if values == {"unknown"}:
        return Undefined("the judge could not tell whether the response declines")
    if "yes" in values:
        return Score(0.0, 1, 0, parts(declines.components, told, "no"))
    return mean_cosine(likeness.components, likeness.best(), WRITTEN)


@metric(
    title="RAGAs context relevance",
    fault="not needed to answer the question",
    sentences=SENTENCES_OF_SOURCES,
    needed=NEEDED_SENTENCES,
)
def ragas_context_relevance(sentences: Components, needed: Components) -> Outcome:
    """RAGAs' context relevance: the share of the sources' sentences that a judge picks as needed for the query.

    Picked sentences / sentences, in [0, 1]. A sentence is picked if a text that the judge copied from its source lies
    in it; what stands nowhere in the source counts for nothing. Args: sentences: shape (n_sentences,); needed: shape
    (n_picked,). Undefined without sources, or if the query asks nothing. Source: RAGAs, section 3.
    """
    if not sentences:
        return Undefined("the sources have no sentence")
    picked = [any(_overlap(sentence, text) for text in needed) for sentence in sentences]
    judged = tuple(Part(sentence, None, good) for sentence, good in zip(sentences, picked, strict=True))
    return Score(sum(picked) / len(picked), len(picked), 0, judged)


def _overlap(sentence: Component, text: Component) -> bool:
    """Whether two components of the same source have a character in common."""
    if sentence.source != text.source or sentence.span is None or text.span is None:
        return False
    return sentence.span[0] < text.span[1] and text.span[0] < sentence.span[1]
