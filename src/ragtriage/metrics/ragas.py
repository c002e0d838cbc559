"""What RAGAs computes, for comparison: by its own definitions and under its own name, so that nobody mixes them up.

The source is *RAGAs: Automated Evaluation of Retrieval Augmented Generation* (Es et al., 2023), section 3, and for one
variant the library of that name.
"""

from __future__ import annotations

from ragtriage.core.metric import metric
from ragtriage.core.verdicts import Component, Components, Outcome, Part, Score, Undefined, Verdict, Verdicts
from ragtriage.metrics.aggregate import NEEDED_SENTENCES, SENTENCES_OF_SOURCES, failure_of, mean_cosine, parts, share
from ragtriage.metrics.generator import WRITTEN, likeness_of
from ragtriage.metrics.thelma import DECLINES, SUPPORTED


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
