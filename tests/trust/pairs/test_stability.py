"""What is held against a judge without labels."""

from __future__ import annotations

from ragtriage.core.case import Case, Source
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer, Component, Failure, Verdict
from ragtriage.diagnosis.rules import DEFAULTS
from ragtriage.judges.fake import FakeJudge
from ragtriage.trust.self_test import ORDER_UNSEEN, Stability, cost_of_stability, stability_of

THRESHOLDS = {name: threshold.value for name, threshold in DEFAULTS.items()}
CASE = Case(
    "pier",
    "When did the pier open?",
    (Source("The pier opened in 1901."), Source("Anglers pay nothing.")),
    "The pier opened to the public in 1901.",
)


def steady(question: Question) -> Answer:
    if question.kind in {"claims", "sentences", "questions"}:
        return (Component(question.subject),)
    return Verdict("no" if question.kind == "declines" else "yes", 0.9)


def found_by(answer, *cases: Case) -> Stability:
    return stability_of(cases or (CASE,), FakeJudge(answer), THRESHOLDS)


def test_a_steady_judge_moves_nothing() -> None:
    found = found_by(steady)

    assert (found.cases, found.contradictions, found.failed) == (1, (), 0)
    assert (found.reordered.verdicts, found.reordered.moved) == (2, ())
    assert (found.paraphrased.verdicts, found.paraphrased.moved) == (1, ())


def test_a_judge_that_looks_at_the_first_source_only_is_found_out() -> None:
    def first_only(question: Question) -> Answer:
        if question.kind == "supported":
            return Verdict("yes" if "1901" in question.evidence[0] else "no", 0.9)
        return steady(question)

    found = found_by(first_only)

    (move,) = found.reordered.moved
    assert (move.id, move.before, move.after) == ("pier", "yes", "no")
    assert found.reordered.share == 0.5


def test_a_judge_that_hangs_on_words_is_found_out() -> None:
    def wordy(question: Question) -> Answer:
        if question.kind == "supported":
            return Verdict("yes" if question.subject.startswith("The") else "no", 0.9)
        return steady(question)

    (move,) = found_by(wordy).paraphrased.moved

    assert (move.again, move.before, move.after) == ("In 1901, the pier opened to the public.", "yes", "no")


def test_an_answer_that_is_supported_but_not_held_is_a_contradiction() -> None:
    def torn(question: Question) -> Answer:
        if question.kind == "answered" and question.evidence != (CASE.response,):
            return Verdict("no", 0.9)
        return steady(question)

    assert found_by(torn).contradictions == ("pier",)


def test_failures_are_counted_and_not_compared() -> None:
    def failing(question: Question) -> Answer:
        if question.kind == "supported" and question.subject.startswith("In 1901"):
            return Failure("HTTP 500")
        return steady(question)

    found = found_by(failing)

    assert (found.paraphrased.verdicts, found.paraphrased.failed, found.paraphrased.share) == (0, 1, None)


def test_what_it_takes_is_counted_without_asking() -> None:
    judge = FakeJudge(steady)

    effort = cost_of_stability([CASE], judge)
    stability_of([CASE], judge, THRESHOLDS)

    assert effort.cases == 2
    assert effort.questions >= len(set(judge.asked))


def test_a_judge_that_isnt_shown_the_order_is_asked_nothing_about_it() -> None:
    judge, asked = FakeJudge(steady), FakeJudge(steady)

    found = stability_of([CASE], judge, THRESHOLDS, order_unseen=ORDER_UNSEEN)
    stability_of([CASE], asked, THRESHOLDS)

    assert (found.reordered.verdicts, found.reordered.unasked) == (0, ORDER_UNSEEN)
    assert found.reordered.unasked == ORDER_UNSEEN
    assert len(judge.asked) < len(asked.asked)
    assert cost_of_stability([CASE], judge, order_unseen=ORDER_UNSEEN).cases == 1


def test_one_source_cant_be_reordered() -> None:
    alone = Case("alone", CASE.query, CASE.sources[:1], CASE.response)

    assert found_by(steady, alone).reordered.verdicts == 0
