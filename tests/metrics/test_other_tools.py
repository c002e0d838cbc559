"""Names of other tools' metrics are answered, in every spelling, and only with metrics that there are."""

import pytest

from ragtriage import METRICS, ConfigError, metrics_named
from ragtriage.metrics import GROUPS
from ragtriage.metrics.names import named_elsewhere, normalized_name, other_metrics

OURS = {m.name for m in METRICS}


def said(name: str) -> str:
    with pytest.raises(ConfigError) as caught:
        metrics_named([name])
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("context_precision", "In RAGAs it is rank-weighted and asks whether a source helped towards a reference"),
        ("ContextPrecision", "the nearest here: source_precision"),
        ("LLMContextPrecisionWithoutReference", "In RAGAs it is rank-weighted"),
        ("contextual_precision", "In DeepEval it is rank-weighted"),
        ("ContextualPrecisionMetric", "In DeepEval it is rank-weighted"),
        ("Contextual Relevancy", "the nearest here: fact_precision, source_precision"),
        ("context-relevance", "In promptfoo it is the share of sentences of the context"),
        ("claim_recall", "In RAGChecker it holds claims of the reference against each source alone"),
        ("groundedness_measure_with_cot_reasons", "In TruLens it grades each sentence"),
        ("GEval", "In DeepEval and promptfoo a model judges by a criterion"),
        ("g-eval", "In DeepEval and promptfoo a model judges by a criterion"),
        ("llm-rubric", 'a metric of your own, a few lines around Match(…, "holds", "criterion"'),
        ("-toxicity", "In DeepEval a model judges by a criterion"),
    ],
)
def test_a_name_is_answered_with_what_differs(name: str, told: str) -> None:
    assert told in said(name)


def test_each_tool_that_has_the_name_is_told() -> None:
    text = said("context_precision")

    assert "In RAGAs " in text
    assert "In RAGChecker " in text
    assert text.endswith(".")


def test_a_name_that_nobody_has_is_answered_as_ever() -> None:
    assert said("groundednes").startswith("no metric is called 'groundednes': did you mean groundedness")
    assert said("xyz").startswith("no metric is called 'xyz': there are: source_precision, fact_precision")


def test_only_metrics_that_there_are_are_pointed_to() -> None:
    row = next(other for other in other_metrics() if "claim_recall" in other.names)

    assert row.nearest == ("context_recall", "source_query_coverage")
    assert "nearest here: source_query_coverage." in named_elsewhere("claim_recall", {"source_query_coverage"})
    assert "nearest" not in named_elsewhere("claim_recall", {"groundedness"})


def test_every_target_is_a_metric() -> None:
    pointed_to = {name for other in other_metrics() for name in other.nearest}

    assert pointed_to <= OURS


@pytest.mark.parametrize("other", other_metrics(), ids=lambda other: f"{other.tool} {other.names[0]}")
def test_every_row_is_told_by_all_of_its_names(other) -> None:
    answers = {named_elsewhere(name, other.nearest) for name in other.names}

    assert all(other.tool in answer and other.differs in answer for answer in answers)
    assert not set(map(normalized_name, other.names)) & set(map(normalized_name, GROUPS))


def test_a_name_stands_once_for_a_tool() -> None:
    found = [(other.tool, normalized_name(name)) for other in other_metrics() for name in other.names]

    assert sorted(found) == sorted(set(found))


@pytest.mark.parametrize("names", [{"ContextRecallMetric", "context_recall", "context-recall", "Context Recall"}])
def test_spelling_does_not_matter(names: set[str]) -> None:
    assert len(set(map(normalized_name, names))) == 1


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("ragas_context_precision", "In RAGAs it is rank-weighted"),
        ("ragas.context_precision", "In RAGAs it is rank-weighted"),
        ("ragas.metrics.context_precision", "In RAGAs it is rank-weighted"),
        ("deepeval.HallucinationMetric", "In DeepEval it is the share of ideal contexts"),
        ("ragas context_recall", "In RAGAs it attributes sentences"),
        ("trulens precision@5", "In TruLens it is worked out"),
    ],
)
def test_a_tools_own_name_in_front_asks_that_tool_alone(name: str, told: str) -> None:
    text = said(name)

    assert told in text
    assert text.count("In ") == 1


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("ndcg", "retrieval_ndcg"),
        ("ndcg@10", "retrieval_ndcg(k=10)"),
        ("nDCG_at_10", "retrieval_ndcg(k=10)"),
        ("precision@5", "retrieval_precision(k=5)"),
        ("recall@k", "retrieval_recall(k=…)"),
        ("mrr", "retrieval_mrr"),
        ("MRR@10", "retrieval_mrr(k=10)"),
        ("rouge", "answer_f1"),
        ("rougeL", "answer_f1"),
        ("BLEU", "answer_f1"),
        ("F1Score", "answer_f1"),
    ],
)
def test_names_of_rankings_and_of_string_scores_are_answered(name: str, nearest: str) -> None:
    assert f"the nearest here: {nearest}." in said(name)
