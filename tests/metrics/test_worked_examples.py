"""The worked examples of the paper, of the article and of rankings, and every undefined case of the specification."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import log2
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from ragtriage import (
    Case,
    Component,
    ConfigError,
    EmbeddedJudge,
    FakeJudge,
    Score,
    Source,
    Undefined,
    Verdict,
    evaluate_sync,
)
from ragtriage.core.case import Turn
from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.verdicts import Answer, Outcome
from ragtriage.metrics import METRICS, RETRIEVAL, metrics_named


def case_of(row: dict[str, Any]) -> Case:
    sources = tuple(Source(**one) if isinstance(one, dict) else Source(one) for one in row["sources"])
    ids = row.get("relevant_ids")
    return Case(
        "c",
        row["query"],
        sources,
        row.get("response"),
        row.get("reference"),
        samples=tuple(row.get("samples", ())),
        relevant_ids=None if ids is None else tuple(ids),
    )


def outcomes(case: Case, judge: FakeJudge | EmbeddedJudge, names: list[str]) -> dict[str, Outcome]:
    (record,) = evaluate_sync([case], judge, metrics=metrics_named(names))
    return dict(record.outcomes)


@pytest.mark.parametrize("row", examples("../worked/thelma_appendix_a"))
def test_appendix_a_comes_out(row: dict[str, Any]) -> None:
    def answer(question: Question) -> Answer:
        if question.kind in DECOMPOSITIONS:
            return tuple(Component(text) for text in row["components"].get(question.subject, [question.subject]))
        return Verdict(row["verdicts"][question.subject])

    outcome = outcomes(case_of(row["case"]), FakeJudge(answer), [row["metric"]])[row["metric"]]

    assert isinstance(outcome, Score)
    assert outcome.value == pytest.approx(float(Fraction(row["score"])))


@pytest.mark.parametrize("row", examples("../worked/generator_metrics"))
def test_the_articles_examples_come_out(row: dict[str, Any]) -> None:
    components = {f"{kind}: {text}": of for kind, by in row["components"].items() for text, of in by.items()}
    verdicts = {
        (kind, subject, *([] if evidence is None else [evidence])): (
            said if isinstance(said, str) else Verdict("unknown", said)
        )
        for kind, subject, evidence, said in row["verdicts"]
    }
    judge = FakeJudge.from_table(components, verdicts)

    found = outcomes(case_of(row["case"]), judge, [row["metric"]])

    (outcome,) = found.values()
    assert isinstance(outcome, Score)
    assert outcome.value == pytest.approx(float(Fraction(row["score"])))


UNDEFINED = [*examples("../worked/undefined"), *examples("../worked/undefined_further")]


@pytest.mark.parametrize("row", UNDEFINED)
def test_undefined_scores_say_why(row: dict[str, Any]) -> None:
    def answer(question: Question) -> Answer:
        if question.kind == "questions" and question.subject == "Thanks!":
            return ()
        if question.kind in DECOMPOSITIONS:
            remark = question.kind == "claims" and question.subject == "I don't know."
            return (Component(question.subject, (0, len(question.subject)), remark=remark),)
        return Verdict("no", 0.5) if question.kind == "similarity" else Verdict("yes")

    found = outcomes(case_of(row["case"]), FakeJudge(answer), list(row["expected"]))

    shown = {name: o.value if isinstance(o, Score) else o.reason for name, o in found.items()}
    assert shown == row["expected"]
    assert not any(isinstance(o, Undefined) and o.failed for o in found.values())


def test_the_undefined_cases_are_about_every_metric() -> None:
    assert {name for one in UNDEFINED for row in one.values for name in row["expected"]} == {m.name for m in METRICS}


# -- rankings by the ids of relevant sources, of which no question is asked


NAMES = [m.name for m in RETRIEVAL]


def ranked(retrieved: Sequence[str | None], relevant: Sequence[str], names: Sequence[str]) -> Mapping[str, Outcome]:
    judge = FakeJudge({})
    sources = tuple(Source(f"Text {i}.", name) for i, name in enumerate(retrieved))
    history = (Turn("user", "Hello."),)
    case = Case("c", "What is it?", sources, "It is.", history=history, relevant_ids=tuple(relevant))
    (record,) = evaluate_sync([case], judge, metrics=metrics_named(names))
    assert judge.asked == []
    return record.outcomes


def values(retrieved: Sequence[str], relevant: Sequence[str], *names: str) -> list[float]:
    found = ranked(retrieved, relevant, names or NAMES)
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
    outcome = ranked("av", "ab", ["retrieval_recall"])["retrieval_recall"]

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
