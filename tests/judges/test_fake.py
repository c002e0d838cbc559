"""The scripted judge keeps the contract and does what its tables say."""

import asyncio

import pytest
from contract import BROKEN, QUESTIONS, answers, sensible

from ragtriage.core import questions as ask
from ragtriage.core.errors import JudgeError
from ragtriage.core.verdicts import Component, Failure, Verdict
from ragtriage.judges.fake import FakeJudge


def test_it_remembers_what_it_was_asked_by_call():
    judge = FakeJudge(sensible)
    answers(judge, QUESTIONS[:2])
    answers(judge, QUESTIONS[2:3])
    assert judge.asked == list(QUESTIONS[:3])
    assert judge.batches == [QUESTIONS[:2], QUESTIONS[2:3]]


def test_shuffled_answers_come_in_another_order():
    async def positions():
        return [position async for position, _ in FakeJudge(sensible, shuffled=1).ask(QUESTIONS)]

    order = asyncio.run(positions())
    assert order != sorted(order)
    assert sorted(order) == list(range(len(QUESTIONS)))


def test_what_the_function_raises_fails_that_question_with_its_cause():
    assert answers(FakeJudge(sensible), [BROKEN]) == [Failure("ValueError: it is broken")]


def test_a_judge_error_ends_everything():
    def refuse(question):
        raise JudgeError("the key is refused")

    with pytest.raises(JudgeError, match="refused"):
        answers(FakeJudge(refuse), QUESTIONS)


def test_a_question_without_an_answer_is_a_failure_and_an_empty_decomposition_is_not():
    empty = ask.questions("Hello.")
    found = answers(FakeJudge({empty: ()}), [empty, BROKEN])
    assert found[0] == ()
    assert isinstance(found[1], Failure)
    assert "declines" in found[1].cause


def test_a_table_finds_spans_in_the_order_of_the_text():
    judge = FakeJudge.from_table({"Yes. Yes. It is so.": ["Yes.", "Yes.", "So it is."]})
    assert answers(judge, [ask.claims("Yes. Yes. It is so.")]) == [
        (Component("Yes.", (0, 4)), Component("Yes.", (5, 9)), Component("So it is."))
    ]


def test_a_table_can_tell_kinds_and_evidence_apart():
    judge = FakeJudge.from_table(
        {"A b.": ["A b."], "claims: A b.": ["A", "b."]},
        {
            ("answered", "Why?"): "no",
            ("answered", "Why?", "Because."): "yes",
            ("supported", "It is."): Verdict("unknown", 0.5),
            ("supported", "It isn't."): Failure("too long"),
        },
    )
    found = answers(
        judge,
        [
            ask.claims("A b."),
            ask.facts("A b."),
            ask.facts("Whole."),
            ask.answered("Why?", ["Because."]),
            ask.answered("Why?", ["Perhaps."]),
            ask.supported("It is.", ["x"]),
            ask.supported("It isn't.", ["x"]),
        ],
    )
    assert [c.text for c in found[0]] == ["A", "b."]
    assert found[1] == (Component("A b.", (0, 4)),)
    assert found[2] == (Component("Whole.", (0, 6)),)
    assert found[3:] == [Verdict("yes"), Verdict("no"), Verdict("unknown", 0.5), Failure("too long")]


def test_a_table_writes_queries_and_questions_and_holds_criteria():
    judge = FakeJudge.from_table(
        {"And when?": ["When was it built?"], "questions_answered_by: In 1889.": ["When?", "Which year?"]},
        {("holds", "It is polite."): "no", ("holds", "It is polite.", "Please."): "yes"},
    )
    found = answers(
        judge,
        [
            ask.standalone("And when?", ["user: How tall is it?"]),
            ask.questions_answered_by("In 1889.", 2),
            ask.claims("In 1889."),
            ask.holds("It is polite.", "Please."),
            ask.holds("It is polite.", "Go.", "May I?"),
        ],
    )
    assert [[component.text for component in answer] for answer in found[:3]] == [
        ["When was it built?"], ["When?", "Which year?"], ["In 1889."]
    ]  # fmt: skip
    assert found[3:] == [Verdict("yes"), Verdict("no")]


def test_what_it_cannot_do_by_kind_and_by_language():
    judge = FakeJudge(sensible, cannot={"facts": "no facts", "de": "no German"})
    assert judge.unsupported_reason("facts", "en") == "no facts"
    assert judge.unsupported_reason("claims", "de") == "no German"
    assert judge.unsupported_reason("claims", "en") is None


def test_the_fingerprint_differs_by_kind_and_version():
    one, two = FakeJudge(sensible), FakeJudge(sensible, version="2")
    assert one.fingerprint("claims") != one.fingerprint("facts")
    assert one.fingerprint("claims") != two.fingerprint("claims")
