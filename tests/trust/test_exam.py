"""The exam: its cases are sound themselves, it can be passed and failed, and what it counts is right."""

from collections import Counter
from collections.abc import Callable

import pytest

from ragtriage.core.errors import Stopped
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer, Component, Failure, Verdict
from ragtriage.diagnosis.rules import RULES
from ragtriage.judges.fake import FakeJudge
from ragtriage.trust.exam import ExamCase, ExamResult, cost_of_exam, exam_cases, examine, naming_rules

CASES = exam_cases()
BY_TEXT = {
    text: one
    for one in CASES
    for text in (one.case.query, one.case.response or "", *(source.text for source in one.case.known_sources))
}
FALSE_CLAIM = frozenset(
    "wrong_number wrong_date wrong_name wrong_condition negation made_up_addition mere_mention missing_source".split()
)
SMALL_TALK = frozenset({"hobb-lane-hello", "umber-valley-thanks"})
LEFT_OUT = " And the rest?"
"""Ends the sub-question of an incomplete response that it doesn't answer."""


def whole(question: Question) -> Answer | None:
    """Every text as one component; None for what is answered with a verdict."""
    if question.kind in {"claims", "facts", "questions", "sentences"}:
        return (Component(question.subject),)
    return None


def always(value: str) -> Callable[[Question], Answer]:
    """A judge that says the same of everything, but for repetition, of which it sees none."""
    return lambda question: (
        whole(question) or Verdict("no" if question.kind == "similarity" else value)  # type: ignore[arg-type]
    )


def case_of(question: Question) -> ExamCase:
    """The case that a question is about, by its query, its response or one of its sources."""
    asked = (question.subject.removesuffix(LEFT_OUT), question.query, question.context, *question.evidence)
    return next(BY_TEXT[text] for text in asked if text in BY_TEXT)


def knowing(question: Question) -> Answer:
    """What somebody says who knows the answers."""
    one = case_of(question)
    match question.kind:
        case "claims":
            return tuple(Component(claim.text) for claim in one.claims)
        case "questions" if one.case.id in SMALL_TALK:
            return ()
        case "questions" if one.fault == "incomplete":
            return (Component(one.case.query), Component(one.case.query + LEFT_OUT))
    return whole(question) or (Verdict("yes", 1.0) if holds(question, one) else Verdict("no", 0.0))


def holds(question: Question, one: ExamCase) -> bool:
    """Whether the answer is truly yes."""
    declines = not one.claims and one.case.id not in SMALL_TALK
    supported = {claim.text: claim.supported for claim in one.claims}
    match question.kind:
        case "supported":
            return supported[question.subject]
        case "answered" if question.evidence == (one.case.response,):
            return not declines and not question.subject.endswith(LEFT_OUT)
        case "answered":
            return one.fault != "missing_source" and (not declines or one.fault == "needless_refusal")
        case "essential" if question.subject in supported:
            return one.fault != "off_topic" or question.subject == one.claims[0].text
        case "declines":
            return declines
    return question.kind != "similarity"


def examined(answers: Callable[[Question], Answer]) -> ExamResult:
    return examine(FakeJudge(answers))


def test_half_of_the_cases_are_sound_and_the_others_have_a_fault_that_rules_name() -> None:
    faults = Counter(one.fault for one in CASES)

    assert (len(CASES), faults.pop(None)) == (124, 62)
    assert faults.keys() == naming_rules().keys()
    assert min(faults.values()) >= 3
    assert {rule for rules in naming_rules().values() for rule in rules} <= {rule.name for rule in RULES}


@pytest.mark.parametrize("one", CASES, ids=lambda one: one.case.id)
def test_a_case_has_exactly_the_claims_that_its_fault_says(one: ExamCase) -> None:
    false = [claim.text for claim in one.claims if not claim.supported]

    assert len(false) == (1 if one.fault in FALSE_CLAIM else 0)
    assert all(claim.text in (one.case.response or "") for claim in one.claims)
    assert one.why


def test_no_two_cases_share_an_id_or_a_text() -> None:
    assert len({one.case.id for one in CASES}) == len({one.case.query for one in CASES}) == len(CASES)
    assert len({one.case.response for one in CASES}) == len(CASES)


def test_who_knows_the_answers_passes() -> None:
    found = examined(knowing)

    assert [one.id for one in found.faulty if not one.named] == []
    assert [(one.id, one.rules) for one in found.sound if one.blamed] == []
    assert found.claims is not None
    assert found.claims.judge["AUC"].value == 1.0
    assert found.claims.judge["balanced accuracy"].value == 1.0


def test_who_says_yes_to_everything_names_nothing_and_blames_nobody() -> None:
    found = examined(always("yes"))

    assert (found.named.value, found.blamed.value) == (0.0, 0.0)
    assert found.claims is not None
    assert found.claims.judge["AUC"].value == 0.5
    assert found.claims.judge["balanced accuracy"].value == 0.5


def test_who_says_no_to_everything_blames_every_sound_answer() -> None:
    found = examined(always("no"))

    assert (found.blamed.value, found.surely_blamed.value, found.blamed.n) == (1.0, 1.0, 62)
    assert found.claims is not None
    assert found.claims.judge["AUC"].value == 0.5


def test_who_cannot_tell_names_nothing_and_is_counted() -> None:
    found = examined(always("unknown"))

    assert (found.named.value, found.blamed.value) == (0.0, 0.0)
    assert found.unknown > len(CASES)
    assert found.claims is not None
    assert found.claims.unknown == found.claims.rows


def test_cases_on_which_the_judge_fails_are_not_counted() -> None:
    failing = {one.case.id for one in CASES[:20]}

    def answer(question: Question) -> Answer:
        if question.kind == "supported" and case_of(question).case.id in failing:
            return Failure("the server was away")
        return knowing(question)

    found = examined(answer)
    claimed = [one for one in CASES[:20] if one.claims]

    assert found.failed == len(claimed)
    assert found.failed_claims == sum(len(one.claims) for one in claimed)
    assert found.named.n + found.blamed.n == len(CASES) - len(claimed)
    assert found.named.value == 1.0
    assert found.claims is not None
    assert found.claims.judge["AUC"].value is not None
    assert found.claims.judge["AUC"].value < 1.0, "a claim without an answer counts as wrong"


def test_a_judge_that_may_ask_nothing_more_ends_it() -> None:
    def answer(question: Question) -> Answer:
        raise Stopped("stopped before the budget was passed")

    with pytest.raises(Stopped, match="budget"):
        examined(answer)


def test_a_fault_is_named_by_its_own_rules_only() -> None:
    """Who finds that all claims are beside the point names what is off topic and nothing else."""

    def answer(question: Question) -> Answer:
        if question.kind == "claims":
            return knowing(question)
        about_claim = question.kind == "essential" and question.context == case_of(question).case.response
        return Verdict("no") if about_claim else always("yes")(question)

    shares = {kind: share.value for kind, share in examined(answer).by_kind().items()}
    assert shares.pop("off_topic") == 1.0
    assert set(shares.values()) == {0.0}


def test_a_claim_is_asked_about_in_its_own_words_with_the_response_as_context() -> None:
    one = next(one for one in CASES if one.case.id == "trellick-bridge-cost")

    assert [question.subject for question in one.questions()] == [claim.text for claim in one.claims]
    assert {(question.query, question.context) for question in one.questions()} == {(one.case.query, one.case.response)}
    assert one.questions()[0].evidence == tuple(source.text for source in one.case.known_sources)


def test_what_it_would_take_is_told_without_asking() -> None:
    judge = FakeJudge(knowing)
    cost = cost_of_exam(judge)

    assert judge.asked == []
    assert cost.questions > sum(len(one.claims) for one in CASES)


def test_the_json_form_lists_what_was_missed_and_who_was_blamed() -> None:
    yes, no = examined(always("yes")).as_json(), examined(always("no")).as_json()

    assert len(yes["missed"]) == 62
    assert len(no["sound_blamed"]) == 62
    assert yes["kinds"]["negation"] == {"value": 0.0, "low": 0.0, "high": pytest.approx(0.39, abs=0.01), "n": 6}
