"""Judges around judges keep the contract, and nothing is asked twice."""

import asyncio
from dataclasses import fields, replace

import pytest
from contract import CHECKS, QUESTIONS, Candidate, answers
from hypothesis import given
from hypothesis import strategies as st
from test_fake import BROKEN, sensible

from ragtriage.core.errors import JudgeError, StoreError
from ragtriage.core.questions import KINDS, Question
from ragtriage.core.verdicts import Failure, Verdict
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.protocol import REQUEST, Estimate
from ragtriage.judges.wrappers import AnswerKeys, Cached, InMemory


def filled():
    memory = InMemory()
    answers(Cached(FakeJudge(sensible), memory), QUESTIONS[::2])
    return memory


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    "make",
    [
        lambda: Cached(FakeJudge(sensible), InMemory()),
        lambda: Cached(FakeJudge(sensible, shuffled=5, delay=0), filled()),
        lambda: Cached(Cached(FakeJudge(sensible), InMemory()), InMemory(), durable=True),
    ],
    ids=["empty", "half full", "twice"],
)
def test_contract(check, make):
    check(Candidate(make, failing=BROKEN))


def test_what_was_answered_is_not_asked_again():
    memory, judge = InMemory(), FakeJudge(sensible)
    first = answers(Cached(judge, memory), QUESTIONS)
    second = answers(Cached(judge, memory), QUESTIONS)
    assert first == second
    assert judge.asked == list(QUESTIONS)


def test_equal_questions_are_asked_once():
    judge = FakeJudge(sensible)
    found = answers(Cached(judge, InMemory()), [QUESTIONS[0], QUESTIONS[4], QUESTIONS[0]])
    assert judge.asked == [QUESTIONS[0], QUESTIONS[4]]
    assert found[0] == found[2]


def test_failures_are_not_kept():
    memory, judge = InMemory(), FakeJudge(sensible)
    for _ in range(2):
        assert isinstance(answers(Cached(judge, memory), [BROKEN])[0], Failure)
    assert judge.asked == [BROKEN, BROKEN]
    assert memory.entries == {}


def test_a_new_fingerprint_voids_that_kind_alone():
    class Edited(FakeJudge):
        def fingerprint(self, kind):
            return "edited" if kind == "facts" else super().fingerprint(kind)

    memory = InMemory()
    answers(Cached(FakeJudge(sensible), memory), QUESTIONS)
    judge = Edited(sensible)
    answers(Cached(judge, memory), QUESTIONS)
    assert {question.kind for question in judge.asked} == {"facts"}


def test_trials_have_answers_of_their_own():
    memory, judge = InMemory(), FakeJudge(sensible)
    for trial in (0, 1, 1):
        answers(Cached(judge, memory, trial=trial), QUESTIONS[:1])
    assert len(judge.asked) == 2
    assert sorted(entry.trial for entry in memory.entries.values()) == [0, 1]


def test_answers_are_kept_as_they_arrive():
    memory = InMemory()

    async def leave_early():
        stream = Cached(FakeJudge(sensible), memory, durable=True).ask(QUESTIONS)
        await anext(stream)
        await anext(stream)
        await stream.aclose()

    asyncio.run(leave_early())
    assert len(memory.entries) == 2


class Slow(InMemory):
    """A memory that is safe only when flushed, and counts how often."""

    def __init__(self):
        super().__init__()
        self.flushed = []
        self.full = False

    def flush(self):
        """See `AnswerMemory`."""
        if self.full:
            raise StoreError("the disk is full")
        self.flushed.append(len(self.entries))


def test_what_was_paid_for_is_made_safe_as_it_arrives_a_request_at_a_time():
    memory = Slow()

    class ByRequests(FakeJudge):
        async def ask(self, questions):
            async for position, answer in super().ask(questions):
                yield position, answer
                if position % 4 == 3:
                    await asyncio.sleep(0.001)  # the next request's answers take a while

    answers(Cached(ByRequests(sensible), memory, durable=True), QUESTIONS)
    assert [count for count in memory.flushed if count] == [4, 8, 12, 16, 17]


def test_requests_that_end_together_are_made_safe_together():
    memory = Slow()
    cached = Cached(FakeJudge(sensible), memory, durable=True)

    async def several():
        async def one(question):
            return [answer async for _, answer in cached.ask([question])]

        await asyncio.gather(*(one(question) for question in QUESTIONS[:5]))

    asyncio.run(several())
    assert memory.flushed == [5]


def test_what_was_paid_for_is_safe_when_the_caller_leaves_and_when_the_judge_breaks():
    class Breaks(FakeJudge):
        async def ask(self, questions):
            async for position, answer in super().ask(questions):
                yield position, answer
                if position == 2:
                    raise JudgeError("the key is refused")

    async def leave():
        stream = Cached(FakeJudge(sensible), memory, durable=True).ask(QUESTIONS)
        await anext(stream)
        await stream.aclose()

    memory = Slow()
    with pytest.raises(JudgeError, match="refused"):
        answers(Cached(Breaks(sensible), memory, durable=True), QUESTIONS)
    assert memory.flushed == [3]
    memory = Slow()
    asyncio.run(leave())
    assert memory.flushed == [1]


def test_a_memory_that_was_full_for_a_moment_is_filled_at_the_end():
    memory = Slow()
    memory.full = True

    class ByRequests(FakeJudge):
        async def ask(self, questions):
            async for position, answer in super().ask(questions):
                yield position, answer
                await asyncio.sleep(0)
                memory.full = position < 3

    answers(Cached(ByRequests(sensible), memory, durable=True), QUESTIONS)
    assert memory.flushed[-1] == len(QUESTIONS)


def test_an_event_loop_that_was_closed_too_early_does_not_keep_the_next_one_from_making_safe():
    memory = Slow()
    cached = Cached(FakeJudge(sensible), memory, durable=True)

    stream = cached.ask(QUESTIONS[:1])

    async def killed():
        await anext(stream)
        raise KeyboardInterrupt

    loop = asyncio.new_event_loop()
    with pytest.raises(KeyboardInterrupt):
        loop.run_until_complete(killed())
    loop.close()
    assert memory.flushed == []
    answers(cached, QUESTIONS[1:])
    assert memory.flushed[-1] == len(QUESTIONS)


class InRequests(FakeJudge):
    """Three questions in a request."""

    async def ask(self, questions):
        """See `Judge`."""
        async for position, answer in super().ask(questions):
            REQUEST.set(f"{position // 3:x}")
            yield position, answer


def test_the_request_that_an_answer_travelled_in_is_remembered_with_it():
    memory, judge = InMemory(), InRequests(sensible)
    answers(Cached(judge, memory), QUESTIONS)
    assert [entry.batch for entry in memory.entries.values()] == [f"{i // 3:x}" for i in range(len(QUESTIONS))]


def test_a_judge_that_does_not_tell_of_requests_leaves_them_unknown():
    memory = InMemory()
    answers(Cached(FakeJudge(sensible), memory), QUESTIONS)
    assert {entry.batch for entry in memory.entries.values()} == {""}


def test_what_costs_nothing_waits_for_the_memory():
    memory = Slow()
    answers(Cached(FakeJudge(sensible, delay=0), memory), QUESTIONS)
    assert memory.flushed == []


def test_a_memory_that_cannot_keep_what_was_paid_for_ends_the_evaluation():
    memory = Slow()
    memory.full = True
    with pytest.raises(StoreError, match="full"):
        answers(Cached(FakeJudge(sensible, delay=0), memory, durable=True), QUESTIONS)


def test_a_judge_error_passes_and_what_was_answered_before_stays():
    def breaks(question):
        if question == QUESTIONS[3]:
            raise JudgeError("the key is refused")
        return sensible(question)

    memory = InMemory()
    cached = Cached(FakeJudge(breaks), memory)
    with pytest.raises(JudgeError):
        answers(cached, QUESTIONS)
    assert len(memory.entries) == 3
    assert len(answers(Cached(FakeJudge(sensible), memory), QUESTIONS)) == len(QUESTIONS)


def test_two_callers_with_the_same_question_share_one_asking():
    judge = FakeJudge(sensible, delay=0.01)
    cached = Cached(judge, InMemory())

    async def both():
        async def all_of(questions):
            return {questions[i]: answer async for i, answer in cached.ask(questions)}

        return await asyncio.gather(all_of(QUESTIONS), all_of(QUESTIONS[::-1]), all_of(QUESTIONS[2:5]))

    one, two, three = asyncio.run(both())
    assert one == two
    assert three.items() <= one.items()
    assert len(judge.asked) == len(QUESTIONS)


def test_who_waits_for_another_caller_that_gives_up_asks_itself():
    judge = FakeJudge(sensible, delay=0.02)
    cached = Cached(judge, InMemory())

    async def scenario():
        async def all_of():
            return [pair async for pair in cached.ask(QUESTIONS)]

        first = asyncio.create_task(all_of())
        await asyncio.sleep(0.01)
        second = asyncio.create_task(all_of())
        await asyncio.sleep(0.01)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        return await second

    pairs = asyncio.run(scenario())
    assert sorted(position for position, _ in pairs) == list(range(len(QUESTIONS)))


def test_who_waits_for_a_failure_gets_it():
    cached = Cached(FakeJudge(sensible, delay=0.01), InMemory())

    async def both():
        async def one():
            return [answer async for _, answer in cached.ask([BROKEN])]

        return await asyncio.gather(one(), one())

    assert all(isinstance(found[0], Failure) for found in asyncio.run(both()))


def test_it_estimates_only_what_it_would_ask():
    judge = FakeJudge(sensible)
    cached = Cached(judge, filled())
    assert cached.estimate(QUESTIONS) == judge.estimate(QUESTIONS[1::2])
    assert cached.estimate(QUESTIONS[::2]) == Estimate()


def test_name_fingerprint_and_ability_are_the_inner_judges():
    judge = FakeJudge(sensible, name="inner", cannot={"de": "no German"})
    cached = Cached(judge, InMemory())
    assert cached.name() == "inner"
    assert [cached.fingerprint(kind) for kind in KINDS] == [judge.fingerprint(kind) for kind in KINDS]
    assert cached.unsupported_reason("claims", "de") == "no German"


QUESTION = Question("supported", "subject", ("one", "two"), "query", "context", 1)
CHANGES = [
    {"kind": "answered"},
    {"subject": "other"},
    {"evidence": ("onetwo",)},
    {"evidence": ("one", "two", "")},
    {"evidence": ("two", "one")},
    {"evidence": ()},
    {"query": ""},
    {"query": "context", "context": "query"},
    {"context": "other"},
    {"at": 0},
    {"at": None},
    {"subject": "\ud800"},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_the_key_depends_on_every_field(change):
    keys = AnswerKeys(lambda kind: "1")
    assert keys.key(replace(QUESTION, **change)) != keys.key(QUESTION)
    assert {name for changed in CHANGES for name in changed} == {field.name for field in fields(Question)}


def test_the_key_depends_on_fingerprint_and_trial_and_on_nothing_else():
    assert AnswerKeys(lambda kind: "1").key(QUESTION) == AnswerKeys(lambda kind: "1").key(QUESTION)
    assert AnswerKeys(lambda kind: "1").key(QUESTION) != AnswerKeys(lambda kind: "2").key(QUESTION)
    assert AnswerKeys(lambda kind: "1").key(QUESTION) != AnswerKeys(lambda kind: "1", trial=1).key(QUESTION)


ANY_QUESTION = st.builds(
    Question,
    st.sampled_from(KINDS),
    st.text(),
    st.lists(st.text(max_size=3), max_size=3).map(tuple),
    st.text(max_size=3),
    st.text(max_size=3),
    st.none() | st.integers(0, 3),
)


@given(ANY_QUESTION, ANY_QUESTION)
def test_keys_are_equal_only_for_equal_questions(one, two):
    keys = AnswerKeys(lambda kind: "1")
    assert (keys.key(one) == keys.key(two)) == (one == two)


def test_an_answer_is_handed_on_unchanged():
    given_back = Verdict("no", 0.1, 0.9, "because", sure=False)
    memory = InMemory()
    for _ in range(2):
        assert answers(Cached(FakeJudge(lambda question: given_back), memory), [QUESTION]) == [given_back]
