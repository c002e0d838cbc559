"""Precision, recall, MRR and nDCG by the ids of relevant sources: numbers worked out by hand, and no question asked."""

from collections.abc import Mapping, Sequence
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage import Case, ConfigError, FakeJudge, Score, Source, evaluate_sync
from ragtriage.core.case import Turn
from ragtriage.core.verdicts import Outcome
from ragtriage.metrics import RETRIEVAL, metrics_named

NAMES = [m.name for m in RETRIEVAL]


def outcomes(retrieved: Sequence[str | None], relevant: Sequence[str], names: Sequence[str]) -> Mapping[str, Outcome]:
    judge = FakeJudge({})
    sources = tuple(Source(f"Text {i}.", name) for i, name in enumerate(retrieved))
    history = (Turn("user", "Hello."),)
    case = Case("c", "What is it?", sources, "It is.", history=history, relevant_ids=tuple(relevant))
    (record,) = evaluate_sync([case], judge, metrics=metrics_named(names))
    assert judge.asked == []
    return record.outcomes


def values(retrieved: Sequence[str], relevant: Sequence[str], *names: str) -> list[float]:
    found = outcomes(retrieved, relevant, names or NAMES)
    return [outcome.value for outcome in found.values() if isinstance(outcome, Score)]


GAIN, IDEAL = 1 / log2(3) + 1 / log2(5), 1 + 1 / log2(3) + 1 / log2(4)


@pytest.mark.parametrize(
    ("retrieved", "relevant", "value", "expected"),
    [
        # relevant at ranks 2 and 4 of 5; one of three relevant sources isn't retrieved
        ("vawbx", "abc", "", [2 / 5, 2 / 3, 1 / 2, GAIN / IDEAL]),
        # only the first sources count
        ("vawbx", "abc", "(k=3)", [1 / 3, 1 / 3, 1 / 2, (1 / log2(3)) / IDEAL]),
        # as if irrelevant ones had followed
        ("ab", "ab", "(k=4)", [0.5, 1.0, 1.0, 1.0]),
        ("vwa", "a", "(k=2)", [0.0, 0.0, 0.0, 0.0]),
    ],
)
def test_rankings_worked_out_by_hand(retrieved: str, relevant: str, value: str, expected: list[float]) -> None:
    assert values(retrieved, relevant, *(f"{name}{value}" for name in NAMES)) == pytest.approx(expected)


def test_what_comes_twice_counts_once() -> None:
    assert values("aavb", "ab") == values("avb", "ab") == values("avb", "abab")


def test_parts_say_which_relevant_sources_were_missed() -> None:
    outcome = outcomes("av", "ab", ["retrieval_recall"])["retrieval_recall"]

    assert isinstance(outcome, Score)
    assert [(part.component.text, part.good) for part in outcome.parts] == [("a", True), ("b", False)]


@given(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=8), st.sets(st.sampled_from("abcdefgh"), min_size=1))
def test_a_relevant_source_further_up_never_makes_a_score_worse(retrieved: list[str], relevant: set[str]) -> None:
    ranking = list(dict.fromkeys(retrieved))
    best = sorted(ranking, key=lambda name: name not in relevant)
    before, after = values(ranking, sorted(relevant)), values(best, sorted(relevant))

    assert all(0 <= value <= 1 for value in (*before, *after))
    assert all(b >= a - 1e-12 for a, b in zip(before, after, strict=True))
    if set(ranking) & relevant:
        assert after[2:] == pytest.approx([1.0, 1.0 if relevant <= set(ranking) else after[3]])


@given(
    st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8, unique=True),
    st.sets(st.sampled_from("abcdefghij"), min_size=1),
    st.integers(1, 10),
)
def test_trec_eval_gives_the_same_numbers(retrieved: list[str], relevant: set[str], k: int) -> None:
    trec = pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier isn't installed")
    measures = {f"P.{k}", f"recall.{k}", "recip_rank", f"ndcg_cut.{k}"}
    judged = trec.RelevanceEvaluator({"q": dict.fromkeys(relevant, 1)}, measures)
    ranking = {name: float(-place) for place, name in enumerate(retrieved)}
    cut = {name: float(-place) for place, name in enumerate(retrieved[:k])}
    (found,), (first,) = (judged.evaluate({"q": scores}).values() for scores in (ranking, cut))
    expected = [found[f"P_{k}"], found[f"recall_{k}"], first["recip_rank"], found[f"ndcg_cut_{k}"]]

    assert values(retrieved, sorted(relevant), *(f"{name}(k={k})" for name in NAMES)) == pytest.approx(expected)


def test_another_value_is_refused_with_an_example() -> None:
    for name in ("retrieval_recall(k=0)", "retrieval_recall(k=x)", "retrieval_mrr(n=5)"):
        with pytest.raises(ConfigError, match=r"write it as retrieval_\w+\(k=5\)"):
            metrics_named([name])
