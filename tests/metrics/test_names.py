"""What `--metrics` understands: names, groups and values; other tools' names are answered with what differs."""

import pytest

from examples import examples
from ragtriage import METRICS, Case, ConfigError, Source, metrics_named
from ragtriage.metrics import GROUPS, OTHER_NAMES, THELMA, metric_named
from ragtriage.metrics.names import (
    OPTIONAL_DATA,
    VARIANTS,
    default_groups,
    metrics_note,
    named_elsewhere,
    normalized_name,
    optional_data_of,
    other_metrics,
)


def names(*given: str) -> list[str]:
    return [m.name for m in metrics_named(given)]


def test_another_tools_name_is_one_of_ours() -> None:
    own = {m.name for m in METRICS}

    assert names("faithfulness") == names("groundedness", "faithfulness") == ["groundedness"]
    assert "groundedness" not in names("generator", "-faithfulness")
    assert set(OTHER_NAMES.values()) <= own
    assert not own & (set(OTHER_NAMES) | set(GROUPS))


def test_groups_are_made_of_metrics_in_the_order_of_all_and_can_be_taken_out() -> None:
    assert names("all") == [m.name for m in METRICS]
    assert names() == names("thelma") == [m.name for m in THELMA]
    for group, members in GROUPS.items():
        assert set(names(group)) == {m.name for m in members}
    assert names("ragas", "retrieval") == names("retrieval", "ragas")
    assert names("all", "-ragas", "-retrieval", "-samples", "-reference", "-citations", "-generator") == names(
        "thelma", "-faithfulness"
    )
    assert names("-fact_precision") == names("thelma", "-fact_precision")


def test_a_name_that_carries_a_value_is_a_metric_beside_the_plain_one() -> None:
    found = metrics_named(["retrieval", "retrieval_recall(k=5)", "query_similarity( n = 5 )"])

    assert [m.name for m in found] == [*names("retrieval"), "retrieval_recall(k=5)", "query_similarity(n=5)"]
    assert found[-1].range == (-1.0, 1.0)
    assert found[-1].needs["likeness"].components.count == 5  # type: ignore[union-attr]
    assert names("query_similarity(n=5)", "query_similarity( n=5 )") == ["query_similarity(n=5)"]
    with pytest.raises(ConfigError, match="no metric is called 'groundedness\\(k=5\\)'"):
        metrics_named(["groundedness(k=5)"])


@pytest.mark.parametrize("name", VARIANTS)
def test_every_example_of_a_value_is_one(name: str) -> None:
    word, example, _ = VARIANTS[name]

    found = metric_named(f"{name}({word}={example})")

    assert found is not None
    assert found.name == f"{name}({word}={example})"
    with pytest.raises(ConfigError, match="write it as"):
        metric_named(f"{name}({word}=many)")


def test_what_rows_carry_is_offered_with_what_to_type() -> None:
    plain = Case("a", "What?")
    rich = Case(
        "b", "What?", (Source("It."),), "It [1].", reference="It.", samples=("It.",), relevant_ids=(),
    )  # fmt: skip
    linked = Case("c", "What?", (Source("It."),), "See [1](https://example.com/) and `a[1]`.")

    assert list(optional_data_of(plain)) == list(optional_data_of(linked)) == []
    assert list(optional_data_of(rich)) == [data.words for data in OPTIONAL_DATA]
    assert metrics_note({}, ["thelma"], []) == ""
    assert metrics_note({"a reference": 2, "ids of relevant sources": 1}, ["thelma"], []) == (
        "more metrics can be computed of a reference (2), ids of relevant sources (1): "
        "--metrics thelma,generator,reference,retrieval"
    )
    assert metrics_note({"ids of relevant sources": 1}, ["thelma", "retrieval"], ["retrieval_mrr"]) == (
        "computed too, where a row has what they need: retrieval_mrr (not with --metrics thelma)"
    )
    line = metrics_note({data.words: 1 for data in OPTIONAL_DATA}, ["thelma"], [])
    assert metrics_named(line.rpartition(" ")[2].split(","))  # what is offered can be typed


def test_what_costs_nothing_is_computed_unasked() -> None:
    fields = ["query", "response", "relevant_ids", "samples", "reference"]

    assert default_groups(fields, paid=False) == ("reference", "samples", "retrieval")
    assert default_groups(fields, paid=True) == ("retrieval",)
    assert default_groups(["query", "sources", "response"], paid=False) == ()


# -- names of other tools


def said(name: str) -> str:
    with pytest.raises(ConfigError) as caught:
        metrics_named([name])
    return str(caught.value)


@pytest.mark.parametrize("row", examples("names_of_other_tools"))
def test_a_name_of_another_tool_is_answered_with_what_differs(row: dict[str, str]) -> None:
    text = said(row["name"])

    assert row["says"] in text
    assert row["table"] == "answered" or text.count("In ") == 1  # with a tool's name in front it is asked alone


def test_each_tool_that_has_the_name_is_told_and_one_that_nobody_has_is_answered_as_ever() -> None:
    text = said("context_precision")
    assert "In RAGAs " in text
    assert "In RAGChecker " in text
    assert text.endswith(".")

    assert said("groundednes").startswith("no metric is called 'groundednes': did you mean groundedness")
    assert said("xyz").startswith("no metric is called 'xyz': there are: source_precision, fact_precision")


def test_other_names_point_to_metrics_that_there_are_and_stand_once_a_tool() -> None:
    row = next(other for other in other_metrics() if "claim_recall" in other.names)
    assert row.nearest == ("context_recall", "source_query_coverage")
    assert "nearest here: source_query_coverage." in named_elsewhere("claim_recall", {"source_query_coverage"})
    assert "nearest" not in named_elsewhere("claim_recall", {"groundedness"})
    assert {name for other in other_metrics() for name in other.nearest} <= {m.name for m in METRICS}

    found = [(other.tool, normalized_name(name)) for other in other_metrics() for name in other.names]
    assert sorted(found) == sorted(set(found))
    assert (
        len({*map(normalized_name, ("ContextRecallMetric", "context_recall", "context-recall", "Context Recall"))}) == 1
    )


@pytest.mark.parametrize("other", other_metrics(), ids=lambda other: f"{other.tool} {other.names[0]}")
def test_every_row_is_told_by_all_of_its_names(other) -> None:
    answers = {named_elsewhere(name, other.nearest) for name in other.names}

    assert all(other.tool in answer and other.differs in answer for answer in answers)
    assert not set(map(normalized_name, other.names)) & set(map(normalized_name, GROUPS))
