"""The contract of every judge, as checks that each judge's test file runs over its own judge.

from contract import CHECKS, Candidate

@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_contract(check):
    check(Candidate(lambda: MyJudge(…)))
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

from ragtriage.core import questions as ask
from ragtriage.core.questions import DECOMPOSITIONS, KINDS, Question
from ragtriage.core.verdicts import Answer, Component, Failure, Verdict
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.protocol import Estimate, Judge

SOURCES = (
    "Day tickets are valid until three in the morning. They cost six euros.",
    "Dogs travel free if they sit on a lap. Large dogs need a child ticket.",
)
QUERY = "How long is a day ticket valid, and what does it cost?"
RESPONSE = "A day ticket is valid until three in the morning. It costs six euros."
CLAIM = "A day ticket is valid until three in the morning."

QUESTIONS: tuple[Question, ...] = (
    ask.claims(RESPONSE, QUERY),
    ask.facts(SOURCES[0]),
    ask.questions(QUERY),
    ask.sentences(RESPONSE),
    ask.essential(QUERY, SOURCES[0]),
    ask.relevant(QUERY, SOURCES[1]),
    ask.answered("How long is a day ticket valid?", SOURCES),
    ask.supported(CLAIM, SOURCES, QUERY, RESPONSE),
    ask.supported("Dogs are not allowed on board.", SOURCES, QUERY),
    ask.same_answer(QUERY, ("Until 3 am, six euros.",), RESPONSE),
    ask.declines(QUERY, RESPONSE),
    ask.similarity(CLAIM, (CLAIM, "It costs six euros."), 0),
    ask.standalone("And what does it cost?", ("user: How long is a day ticket valid?", "assistant: Until three.")),
    ask.questions_answered_by(RESPONSE, 2),
    ask.needed_sentences(QUERY, SOURCES[0]),
    ask.holds("It names a price.", SOURCES[0]),
    ask.holds("It is polite.", RESPONSE, QUERY),
)
"""One of every kind at least."""
BROKEN = ask.declines("Broken?", "Broken.")
"""What `sensible` fails on."""


def sensible(question: Question) -> Answer:
    """The answers of a judge that others stand around."""
    if question == BROKEN:
        raise ValueError("it is broken")
    if question.kind in DECOMPOSITIONS:
        return (Component(question.subject, (0, len(question.subject))),)
    return Verdict("yes", 0.9, 0.8)


@dataclass(frozen=True)
class Candidate:
    """A judge to be checked."""

    make: Callable[[], Judge]
    """Makes a new one; two that it makes are the same judge to all appearances."""
    questions: Sequence[Question] = QUESTIONS
    failing: Question | None = None
    """A question that this judge fails on, if there is one."""
    able: Sequence[Question] = field(init=False)
    """Those of the questions that the judge says it can answer in English."""

    def __post_init__(self) -> None:
        judge = self.make()
        object.__setattr__(self, "able", [q for q in self.questions if judge.unsupported_reason(q.kind, "en") is None])


async def gathered(judge: Judge, questions: Sequence[Question]) -> list[tuple[int, Answer]]:
    """Everything that the judge yields."""
    return [pair async for pair in judge.ask(questions)]


def answers(judge: Judge, questions: Sequence[Question]) -> list[Answer]:
    """The answers in the order of the questions, in an event loop of their own."""
    pairs = asyncio.run(gathered(judge, questions))
    assert sorted(position for position, _ in pairs) == list(range(len(questions)))
    return [answer for _, answer in sorted(pairs, key=lambda pair: pair[0])]


def every_question_has_one_answer_of_its_kind(candidate: Candidate) -> None:
    """Spans lie in the text, numbers in their range."""
    assert candidate.able
    for question, answer in zip(candidate.able, answers(candidate.make(), candidate.able), strict=True):
        if question.kind in DECOMPOSITIONS:
            assert isinstance(answer, tuple), (question, answer)
            assert all(isinstance(item, Component) for item in answer), question
            spans = [item.span for item in answer if isinstance(item, Component) and item.span]
            assert all(0 <= start <= end <= len(question.subject) for start, end in spans), question
        else:
            assert isinstance(answer, Verdict), (question, answer)
            low = -1.0 if question.kind == "similarity" else 0.0
            assert answer.score is None or low <= answer.score <= 1.0, (question, answer)
            assert answer.confidence is None or 0.0 <= answer.confidence <= 1.0, (question, answer)


def equal_questions_get_an_answer_each(candidate: Candidate) -> None:
    twice = [candidate.able[0], *candidate.able, candidate.able[0]]
    found = answers(candidate.make(), twice)
    assert found[0] == found[1] == found[-1]


def the_order_of_the_questions_does_not_matter(candidate: Candidate) -> None:
    forward = answers(candidate.make(), candidate.able)
    backward = answers(candidate.make(), candidate.able[::-1])
    assert [_plain(a) for a in forward] == [_plain(a) for a in backward[::-1]]


def one_failure_leaves_the_others_alone(candidate: Candidate) -> None:
    if candidate.failing is None:
        return
    found = answers(candidate.make(), [*candidate.able, candidate.failing, *candidate.able])
    assert isinstance(found.pop(len(candidate.able)), Failure)
    assert not [answer for answer in found if isinstance(answer, Failure)]


def no_question_is_no_answer(candidate: Candidate) -> None:
    assert asyncio.run(gathered(candidate.make(), [])) == []
    assert candidate.make().estimate([]) == Estimate()


def the_fingerprint_is_stable_and_a_short_text_in_one_line(candidate: Candidate) -> None:
    one, two = candidate.make(), candidate.make()
    before = [one.fingerprint(kind) for kind in KINDS]
    answers(one, candidate.able)
    assert before == [one.fingerprint(kind) for kind in KINDS] == [two.fingerprint(kind) for kind in KINDS]
    assert all(0 < len(said) <= 200 and said.isprintable() for said in before)


def can_gives_none_or_a_reason(candidate: Candidate) -> None:
    judge = candidate.make()
    for kind in KINDS:
        for language in ("en", "de", "zh", "xx"):
            reason = judge.unsupported_reason(kind, language)
            assert reason is None or (isinstance(reason, str) and reason.strip())


def the_estimate_adds_up(candidate: Candidate) -> None:
    """A whole costs no more than its parts: what is asked together may share requests, never need more."""
    judge = candidate.make()
    parts = sum((judge.estimate([question]) for question in candidate.able), Estimate())
    whole = judge.estimate(candidate.able)
    assert whole == judge.estimate(candidate.able)  # it asked nothing
    assert 0 <= whole.requests <= parts.requests
    assert 0 <= whole.tokens_in <= parts.tokens_in
    assert 0 <= whole.tokens_out <= parts.tokens_out
    assert (whole.price is None) == (parts.price is None)
    if whole.price is not None and parts.price is not None:
        assert 0 <= whole.price <= parts.price


def it_works_in_two_event_loops(candidate: Candidate) -> None:
    judge = candidate.make()
    assert [_plain(a) for a in answers(judge, candidate.able)] == [_plain(a) for a in answers(judge, candidate.able)]


def it_works_for_several_callers_at_once(candidate: Candidate) -> None:
    judge = candidate.make()

    async def both() -> list[list[tuple[int, Answer]]]:
        return await asyncio.gather(*(gathered(judge, candidate.able) for _ in range(3)))

    for pairs in asyncio.run(both()):
        assert sorted(position for position, _ in pairs) == list(range(len(candidate.able)))


def a_caller_that_leaves_early_disturbs_nobody(candidate: Candidate) -> None:
    judge = candidate.make()

    async def leave() -> None:
        answers = judge.ask(candidate.able)
        await anext(answers)
        close = getattr(answers, "aclose", None)
        if close:
            await close()

    asyncio.run(leave())
    assert len(answers(judge, candidate.able)) == len(candidate.able)


def it_has_a_name(candidate: Candidate) -> None:
    assert candidate.make().name().strip()
    assert isinstance(candidate.make(), Judge)


def _plain(answer: Answer) -> object:
    """Without the last digits, which may depend on what shared a batch."""
    if isinstance(answer, Verdict):
        return answer.value, None if answer.score is None else round(answer.score, 3)
    return answer


CHECKS: tuple[Callable[[Candidate], None], ...] = (
    every_question_has_one_answer_of_its_kind,
    equal_questions_get_an_answer_each,
    the_order_of_the_questions_does_not_matter,
    one_failure_leaves_the_others_alone,
    no_question_is_no_answer,
    the_fingerprint_is_stable_and_a_short_text_in_one_line,
    can_gives_none_or_a_reason,
    the_estimate_adds_up,
    it_works_in_two_event_loops,
    it_works_for_several_callers_at_once,
    a_caller_that_leaves_early_disturbs_nobody,
    it_has_a_name,
)


class Refused(FakeJudge):
    """Raises before it has answered anything."""

    def __init__(self, error: Exception) -> None:
        super().__init__(sensible)
        self.error = error

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """See `Judge`."""
        raise self.error
        yield


async def reading(judge: Judge, questions: Sequence[Question], found: list[int]) -> None:
    """Note the positions of the answers as they come."""
    async for position, _ in judge.ask(questions):
        found.append(position)
