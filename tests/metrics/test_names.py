"""Names, groups and values of metrics: what `--metrics` understands."""

import pytest

from ragtriage import METRICS, Case, ConfigError, Score, Source, metrics_named
from ragtriage.core.verdicts import Component, Verdict, Verdicts
from ragtriage.metrics import GROUPS, OTHER_NAMES, THELMA, metric_named
from ragtriage.metrics.generator import self_consistency
from ragtriage.metrics.names import OPTIONAL_DATA, VARIANTS, default_groups, metrics_note, optional_data_of


def names(*given: str) -> list[str]:
    return [m.name for m in metrics_named(given)]


def test_faithfulness_is_groundedness_and_one_row() -> None:
    assert names("faithfulness") == names("groundedness", "faithfulness") == ["groundedness"]
    assert "groundedness" not in names("generator", "-faithfulness")


def test_another_name_is_no_name_of_its_own() -> None:
    own = {m.name for m in METRICS}

    assert set(OTHER_NAMES.values()) <= own
    assert not own & (set(OTHER_NAMES) | set(GROUPS))


def test_groups_are_made_of_metrics_in_the_order_of_all() -> None:
    assert names("all") == [m.name for m in METRICS]
    assert names() == names("thelma") == [m.name for m in THELMA]
    for group, members in GROUPS.items():
        assert set(names(group)) == {m.name for m in members}
    assert names("ragas", "retrieval") == names("retrieval", "ragas")


def test_groups_and_names_can_be_taken_out() -> None:
    assert names("all", "-ragas", "-retrieval", "-samples", "-reference", "-citations", "-generator") == names(
        "thelma", "-faithfulness"
    )
    assert names("-fact_precision") == names("thelma", "-fact_precision")


def test_a_name_that_carries_a_value_is_a_metric_beside_the_plain_one() -> None:
    found = metrics_named(["retrieval", "retrieval_recall(k=5)", "query_similarity( n = 5 )"])

    assert [m.name for m in found] == [*names("retrieval"), "retrieval_recall(k=5)", "query_similarity(n=5)"]
    assert found[-1].range == (-1.0, 1.0)
    assert found[-1].needs["likeness"].components.count == 5  # type: ignore[union-attr]


@pytest.mark.parametrize("name", VARIANTS)
def test_every_example_of_a_value_is_one(name: str) -> None:
    word, example, _ = VARIANTS[name]

    found = metric_named(f"{name}({word}={example})")

    assert found is not None
    assert found.name == f"{name}({word}={example})"
    with pytest.raises(ConfigError, match="write it as"):
        metric_named(f"{name}({word}=many)")


def test_a_name_with_a_value_may_be_given_twice() -> None:
    assert names("query_similarity(n=5)", "query_similarity( n=5 )") == ["query_similarity(n=5)"]


def test_a_value_for_a_metric_that_takes_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="no metric is called 'groundedness\\(k=5\\)'"):
        metrics_named(["groundedness(k=5)"])


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


def test_what_costs_nothing_is_computed_unasked() -> None:
    fields = ["query", "response", "relevant_ids", "samples", "reference"]

    assert default_groups(fields, paid=False) == ("reference", "samples", "retrieval")
    assert default_groups(fields, paid=True) == ("retrieval",)
    assert default_groups(["query", "sources", "response"], paid=False) == ()


def test_what_is_offered_can_be_typed() -> None:
    line = metrics_note({data.words: 1 for data in OPTIONAL_DATA}, ["thelma"], [])

    assert metrics_named(line.rpartition(" ")[2].split(","))


@pytest.mark.parametrize(("values", "expected"), [("yy", 1.0), ("yn", 0.0), ("yu", 1.0), ("nu", 0.0)])
def test_one_sample_that_differs_makes_it_inconsistent(values: str, expected: float) -> None:
    said = {"y": "yes", "n": "no", "u": "unknown"}
    cells = tuple((Verdict(said[value]),) for value in values)  # type: ignore[arg-type]

    outcome = self_consistency.compute(Verdicts(tuple(Component(v) for v in values), cells))

    assert isinstance(outcome, Score)
    assert outcome.value == expected
    assert [part.good for part in outcome.parts] == [{"y": True, "n": False, "u": None}[value] for value in values]
