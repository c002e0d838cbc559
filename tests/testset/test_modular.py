"""Tags, accuracy, robustness and blame: by hand, by the paper's table 2, and by what must always hold."""

import random
from typing import Any

import pytest
from answered_rows import answers, decided, scored
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from ragtriage.testset.answered_rows import Row
from ragtriage.testset.failure_analysis import tag_rows
from ragtriage.testset.scoring import METRICS

SMALL = answers(
    "gap short - d9", "gap long - d9", "gap long - d8",
    "robust short + d1", "robust long + d1",
    "mixed short + d2", "mixed short - d2", "mixed long - d3", "mixed long + d2",
)  # fmt: skip
"""Short: 2 right of 4, 1 of them in a gap group, 1 error of the LM. Long: 2 right of 5, 2 of them in the gap group."""


def numbers(rows: list[Row], cluster: str, **terms: object) -> tuple[float | None, ...]:
    """Its accuracy, the same without errors of the LM, its robustness, and that without errors of the LM."""
    found = scored(rows, **terms)
    values = found.clusters[cluster].values[found.terms.average]
    names = ("accuracy", "accuracy_without_lm_errors", "robustness", "robustness_without_lm_errors")
    return tuple(values[name] for name in names)  # type: ignore[index]


def test_a_small_example_by_hand() -> None:
    assert numbers(SMALL, "short") == (2 / 4, 3 / 4, 2 / 3, 3 / 3)
    assert numbers(SMALL, "long") == (2 / 5, 2 / 5, 2 / 3, 2 / 3)
    # errors of the model may be dropped instead
    assert numbers(SMALL, "short", lm_errors="drop") == (2 / 4, 2 / 3, 2 / 3, 2 / 2)
    # over groups each group counts once
    accuracy, robustness = (0 + 1 + 1 / 2) / 3, (1 + 1 / 2) / 2
    assert numbers(SMALL, "long", average="groups") == pytest.approx((accuracy, accuracy, robustness, robustness))
    # robust groups need nobody to blame
    assert numbers(answers("g short +", "g short +"), "short") == (1.0, 1.0, 1.0, 1.0)


def test_groups_are_counted_by_tag_and_wrong_answers_by_module() -> None:
    short, long = (scored(SMALL).clusters[name] for name in ("short", "long"))

    assert short.tags == long.tags == {"gap": 1, "robust": 1, "non_robust": 1, "undecided": 0}
    assert (short.blame, long.blame) == ({"LM": 1}, {"retrieval": 1})
    assert short.rules == {"one document": 1}


def test_a_group_of_one_cluster_may_be_a_gap_where_the_pooled_one_is_not() -> None:
    rows = answers("g short + d1", "g long - d2", "g long - d1")

    assert scored(rows).clusters["long"].tags["non_robust"] == 1
    assert numbers(rows, "long")[2] == 0.0
    alone = scored(rows, scope="per cluster").clusters["long"]
    assert alone.tags["gap"] == 1
    assert alone.values["rows"]["robustness"] is None
    assert alone.undefined["robustness"] == "all its groups are gap groups"


def test_undecided_answers_take_their_group_out_and_are_counted() -> None:
    rows = [*SMALL, *answers("open short ? d1", "open short - d1", "open long + d1")]

    before, after = scored(SMALL).clusters["short"], scored(rows).clusters["short"]

    assert after.values == before.values
    assert (after.tags["undecided"], after.undecided_rows, after.left_out_rows) == (1, 1, 2)


def test_nothing_decided_is_undefined_with_the_reason() -> None:
    found = scored(answers("g short ?")).clusters["short"]

    assert found.values["rows"] == dict.fromkeys(METRICS)
    assert found.undefined == dict.fromkeys(METRICS, "no group of it is decided")


def test_without_what_was_retrieved_nobody_is_blamed() -> None:
    found = scored(answers("g short +", "g short -")).clusters["short"]

    assert found.values["rows"]["robustness"] == 0.5
    assert found.values["rows"]["robustness_without_lm_errors"] is None
    assert "what was retrieved" in found.undefined["robustness_without_lm_errors"]
    assert found.blame == {"unknown": 1}


def test_only_errors_of_the_model_leave_nothing_where_they_are_dropped() -> None:
    rows = answers("g long + d1", "g short - d1")
    found = scored(rows, lm_errors="drop").clusters["short"]

    assert found.values["rows"]["accuracy"] == 0.0
    assert found.values["rows"]["accuracy_without_lm_errors"] is None
    assert "errors of the language model" in found.undefined["robustness_without_lm_errors"]


@pytest.mark.parametrize("row", examples("context_comparison"))
def test_the_context_comparison_by_its_three_rules(row: dict[str, Any]) -> None:
    expected = {i: line.split()[2][1:] for i, line in enumerate(row["lines"]) if line.split()[2].startswith("-")}
    rows = answers(*(line.replace(f"-{expected.get(i)}", "-") for i, line in enumerate(row["lines"])))

    tagged = tag_rows(*decided(rows))

    assert {i: one.blame for i, one in enumerate(tagged) if one.blame} == expected
    assert {one.rule for one in tagged if one.blame} == {row["rule"]}


def cluster(name: str, rows: int, known: int, right: int, with_lm: int) -> list[Row]:
    """A cluster of the paper's size: `known` rows outside of the gap group, `with_lm − right` errors of the model."""
    other = [Row(f"{name}{i}", "gap", name, correct=False, retrieved=("x",)) for i in range(rows - known)]
    documents = ["d"] * with_lm + ["x"] * (known - with_lm)
    return other + [
        Row(f"{name}-{i}", "known", name, correct=i < right, retrieved=(document,))
        for i, document in enumerate(documents)
    ]


PAPER = {
    # Accuracy, US+modular accuracy, robustness, US+modular robustness of table 2
    ("unbalanced", "robust"): ((1000, 366, 307, 362), (0.31, 0.36, 0.84, 0.99)),
    ("unbalanced", "non-robust"): ((1000, 500, 426, 464), (0.43, 0.46, 0.85, 0.93)),
    ("stratified", "robust"): ((1000, 399, 311, 376), (0.31, 0.38, 0.78, 0.94)),
    ("stratified", "non-robust"): ((1000, 399, 294, 349), (0.29, 0.35, 0.74, 0.87)),
}
"""Counts that fit equations 1 and 2, of 1,000 rows a cluster: the paper prints two digits of what follows from them."""
SUCCESS = {"unbalanced": (False, False, False, True), "stratified": (True, True, True, True)}
"""Whether the robust cluster comes out ahead, for the four numbers above: the paper's last column."""


@pytest.mark.parametrize("sampling", SUCCESS)
def test_table_2_of_the_paper(sampling: str) -> None:
    rows = [row for (kind, name), (counts, _) in PAPER.items() if kind == sampling for row in cluster(name, *counts)]

    found = scored(rows)

    for name in ("robust", "non-robust"):
        values = found.clusters[name].values["rows"]
        assert tuple(round(values[metric] or 0, 2) for metric in METRICS) == PAPER[sampling, name][1]
    assert found.comparison is not None
    ahead = tuple((found.comparison.metrics[metric].difference or 0) < 0 for metric in METRICS)
    assert ahead == SUCCESS[sampling]  # the difference is non-robust minus robust: by the order of the names


ROWS = st.lists(
    st.builds(
        lambda group, name, correct, retrieved: Row("x", group, name, correct=correct, retrieved=retrieved),
        st.sampled_from("abcde"),
        st.sampled_from(["short", "long"]),
        st.sampled_from([True, False, False, None]),
        st.one_of(st.none(), st.lists(st.sampled_from(["d1", "d2", "d3"]), max_size=2, unique=True).map(tuple)),
    ),
    min_size=1,
    max_size=30,
)


@given(rows=ROWS, scope=st.sampled_from(["pooled", "per cluster"]), policy=st.sampled_from(["correct", "drop"]))
def test_what_always_holds(rows: list[Row], scope: str, policy: str) -> None:
    for found in scored(rows, scope=scope, lm_errors=policy).clusters.values():
        for values in found.values.values():
            assert set(values) == set(METRICS)
            assert all(value is None or 0.0 <= value <= 1.0 for value in values.values())
            for kind in ("", "_without_lm_errors"):
                robust, right = values[f"robustness{kind}"], values[f"accuracy{kind}"]  # type: ignore[index]
                assert robust is None or right is None or robust >= right - 1e-12
            for metric in ("accuracy", "robustness"):
                plain, without = values[metric], values[f"{metric}_without_lm_errors"]  # type: ignore[index]
                assert plain is None or without is None or without >= plain - 1e-12 or policy == "drop"
        assert all((found.values["rows"][metric] is None) == (metric in found.undefined) for metric in METRICS)
        assert sum(found.blame.values()) == sum(found.rules.values())


@given(rows=ROWS)
def test_equation_2_holds(rows: list[Row]) -> None:
    tagged = tag_rows(*decided(rows))
    for name, found in scored(rows).clusters.items():
        own = [one for one in tagged if one.row.cluster == name and one.tag != "undecided"]
        known = [one for one in own if one.tag != "gap"]
        values = found.values["rows"]
        if known:
            assert values["accuracy"] == pytest.approx((values["robustness"] or 0) * len(known) / len(own))
        assert all(not one.correct for one in own if one.tag == "gap")


@given(rows=ROWS, seed=st.integers(0, 3))
def test_the_order_of_the_rows_does_not_matter(rows: list[Row], seed: int) -> None:
    shuffled = random.Random(seed).sample(rows, len(rows))

    assert scored(shuffled).as_json() == scored(rows).as_json()
