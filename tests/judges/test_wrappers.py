"""Judges around judges keep the contract; nothing is asked twice, and each kind goes to its own judge."""

import asyncio
from dataclasses import fields, replace

import pytest
from contract import BROKEN, CHECKS, QUESTIONS, Candidate, Refused, answers, gathered, reading, sensible
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.core.errors import JudgeError, Stopped, StoreError
from ragtriage.core.questions import KINDS, Question
from ragtriage.core.verdicts import Failure, Verdict
from ragtriage.judges.decision_thresholds import Band, ChanceCurve, DecisionThreshold
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.protocol import REQUEST, Estimate
from ragtriage.judges.wrappers.cached import AnswerKeys, Cached, InMemory
from ragtriage.judges.wrappers.combined import Cascade, Changed, Jury, Routed

LOCAL = ("sentences", "similarity", "declines")


def routed(local=None, remote=None):
    local, remote = local or FakeJudge(sensible, name="local"), remote or FakeJudge(sensible, name="remote")
    return Routed({kind: local if kind in LOCAL else remote for kind in KINDS}, "both")


def cascade(bands, first=None, then=None):
    return Cascade(first or FakeJudge(sensible), then or FakeJudge(sensible), bands)


BANDS = dict.fromkeys(KINDS, Band(0.2, 0.8))
RATE = {"supported": 0.9}
UNABLE = {"answered": "it can't", "facts": "no facts"}
JUDGES = {
    "function": lambda: FakeJudge(sensible),
    "function, shuffled": lambda: FakeJudge(sensible, shuffled=3, delay=0),
    "function, unable": lambda: FakeJudge(sensible, cannot={"facts": "it knows no facts", "de": "it knows no German"}),
    "mapping": lambda: FakeJudge({question: sensible(question) for question in QUESTIONS}),
    "table": lambda: FakeJudge.from_table(verdicts={("declines", "Broken."): Failure("broken")}, default="yes"),
    "empty memory": lambda: Cached(FakeJudge(sensible), InMemory()),
    "half full memory": lambda: Cached(FakeJudge(sensible, shuffled=5, delay=0), filled()),
    "two memories": lambda: Cached(Cached(FakeJudge(sensible), InMemory()), InMemory(), durable=True),
    "routed": routed,
    "routed, shuffled": lambda: routed(FakeJudge(sensible, delay=0), FakeJudge(sensible, shuffled=1, delay=0)),
    "routed, remembered": lambda: Cached(routed(Cached(FakeJudge(sensible), InMemory())), InMemory(), durable=True),
    "jury of one": lambda: Jury([FakeJudge(sensible)]),
    "jury of three": lambda: Jury([FakeJudge(sensible, name=n, shuffled=i, delay=0) for i, n in enumerate("abc")]),
    "jury with one unable": lambda: Jury([FakeJudge(sensible), FakeJudge(sensible, name="b", cannot=UNABLE)]),
    "jury, remembered": lambda: Cached(
        Jury([Cached(FakeJudge(sensible, name=n), InMemory()) for n in "ab"]), InMemory()
    ),
    "cascade that decides": lambda: cascade(BANDS),
    "cascade without bands": lambda: cascade(
        {}, FakeJudge(sensible, shuffled=1, delay=0), FakeJudge(sensible, shuffled=2)
    ),
    "cascade with one unable": lambda: cascade(BANDS, FakeJudge(sensible, cannot=UNABLE), FakeJudge(sensible, delay=0)),
    "cascade that passes all on": lambda: cascade(dict.fromkeys(KINDS, Band(-1.0, 2.0))),
    "cascade, remembered": lambda: Cached(cascade(BANDS, Cached(FakeJudge(sensible), InMemory())), InMemory()),
    "threshold": lambda: Changed(FakeJudge(sensible), {"supported": DecisionThreshold(0.6, 0.3, "fake")}),
    "curve": lambda: Changed(FakeJudge(sensible), {}, {}, {"supported": ChanceCurve("fake", a=0.5, b=-1.0)}),
    "base rate": lambda: Changed(FakeJudge(sensible), {}, RATE),
    "base rate, binary": lambda: Changed(FakeJudge(sensible), {}, RATE, binary=True),
}


def filled():
    memory = InMemory()
    answers(Cached(FakeJudge(sensible), memory), QUESTIONS[::2])
    return memory


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("judge", JUDGES)
def test_contract(check, judge):
    check(Candidate(JUDGES[judge], failing=BROKEN))


@pytest.mark.parametrize("wrapped", [lambda judge: Cached(judge, InMemory()), lambda judge: Changed(judge, {}, RATE)])
def test_name_ability_estimate_and_fingerprints_are_the_inner_judges(wrapped):
    inner = FakeJudge(sensible, name="inner", cannot={"de": "no German"})
    judge = wrapped(inner)
    assert (judge.name(), judge.unsupported_reason("supported", "de")) == ("inner", "no German")
    assert judge.estimate(QUESTIONS) == inner.estimate(QUESTIONS)
    others = [kind for kind in KINDS if isinstance(judge, Cached) or kind not in RATE]
    assert [judge.fingerprint(kind) for kind in others] == [inner.fingerprint(kind) for kind in others]


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


def at_once(*asking):
    """What these come to together, in an event loop of their own."""

    async def together():
        return await asyncio.gather(*asking)

    return asyncio.run(together())


async def left(judge, after):
    """The kinds of so many answers, of a caller that leaves then."""
    stream = judge.ask(QUESTIONS)
    found = [(await anext(stream))[0] for _ in range(after)]
    await stream.aclose()
    return {QUESTIONS[position].kind for position in found}


def test_answers_are_kept_as_they_arrive():
    memory = InMemory()
    asyncio.run(left(Cached(FakeJudge(sensible), memory, durable=True), 2))
    assert len(memory.entries) == 2


class Between(FakeJudge):
    """Does something behind each answer, by its position."""

    def __init__(self, does):
        super().__init__(sensible)
        self.does = does

    async def ask(self, questions):
        """See `Judge`."""
        async for position, answer in super().ask(questions):
            yield position, answer
            await self.does(position)


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

    async def request_ends(position):
        if position % 4 == 3:
            await asyncio.sleep(0.001)  # the next request's answers take a while

    answers(Cached(Between(request_ends), memory, durable=True), QUESTIONS)
    assert [count for count in memory.flushed if count] == [4, 8, 12, 16, 17]


def test_requests_that_end_together_are_made_safe_together():
    memory = Slow()
    cached = Cached(FakeJudge(sensible), memory, durable=True)

    at_once(*(gathered(cached, [question]) for question in QUESTIONS[:5]))
    assert memory.flushed == [5]


def test_what_was_paid_for_is_safe_when_the_caller_leaves_and_when_the_judge_breaks():
    async def breaks(position):
        if position == 2:
            raise JudgeError("the key is refused")

    memory = Slow()
    with pytest.raises(JudgeError, match="refused"):
        answers(Cached(Between(breaks), memory, durable=True), QUESTIONS)
    assert memory.flushed == [3]
    memory = Slow()
    asyncio.run(left(Cached(FakeJudge(sensible), memory, durable=True), 1))
    assert memory.flushed == [1]


def test_a_memory_that_was_full_for_a_moment_is_filled_at_the_end():
    memory = Slow()
    memory.full = True

    async def full_for_three(position):
        await asyncio.sleep(0)
        memory.full = position < 3

    answers(Cached(Between(full_for_three), memory, durable=True), QUESTIONS)
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
    cached, groups = Cached(judge, InMemory()), (QUESTIONS, QUESTIONS[::-1], QUESTIONS[2:5])
    pairs = at_once(*(gathered(cached, some) for some in groups))
    one, two, three = ({some[i]: answer for i, answer in found} for some, found in zip(groups, pairs, strict=True))
    assert one == two
    assert three.items() <= one.items()
    assert len(judge.asked) == len(QUESTIONS)


def test_who_waits_for_another_caller_that_gives_up_asks_itself():
    judge = FakeJudge(sensible, delay=0.02)
    cached = Cached(judge, InMemory())

    async def scenario():
        first = asyncio.create_task(gathered(cached, QUESTIONS))
        await asyncio.sleep(0.01)
        second = asyncio.create_task(gathered(cached, QUESTIONS))
        await asyncio.sleep(0.01)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        return await second

    pairs = asyncio.run(scenario())
    assert sorted(position for position, _ in pairs) == list(range(len(QUESTIONS)))


def test_who_waits_for_a_failure_gets_it():
    cached = Cached(FakeJudge(sensible, delay=0.01), InMemory())
    for ((_, found),) in at_once(gathered(cached, [BROKEN]), gathered(cached, [BROKEN])):
        assert isinstance(found, Failure)


def test_it_estimates_only_what_it_would_ask():
    judge = FakeJudge(sensible)
    cached = Cached(judge, filled())
    assert cached.estimate(QUESTIONS) == judge.estimate(QUESTIONS[1::2])
    assert cached.estimate(QUESTIONS[::2]) == Estimate()


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


def test_each_judge_is_asked_its_own_kinds_in_one_call():
    local, remote = FakeJudge(sensible), FakeJudge(sensible)
    answers(routed(local, remote), QUESTIONS)
    assert local.batches == [tuple(question for question in QUESTIONS if question.kind in LOCAL)]
    assert remote.batches == [tuple(question for question in QUESTIONS if question.kind not in LOCAL)]


def test_a_quick_judge_does_not_wait_for_a_slow_one():
    judge = routed(FakeJudge(sensible), FakeJudge(sensible, delay=0.05))
    assert asyncio.run(left(judge, 3)) == set(LOCAL)


def test_fingerprint_ability_and_estimate_are_those_of_the_judge_of_the_kind():
    local, remote = FakeJudge(sensible, version="2", cannot={"de": "no German"}), FakeJudge(sensible)
    judge = routed(local, remote)
    assert judge.name() == "both"
    assert judge.fingerprint("similarity") == local.fingerprint("similarity")
    assert judge.fingerprint("claims") == remote.fingerprint("claims")
    assert judge.unsupported_reason("declines", "de") == "no German"
    assert judge.unsupported_reason("claims", "de") is None
    assert judge.estimate(QUESTIONS) == local.estimate(QUESTIONS)


@pytest.mark.parametrize("error", [JudgeError("the key is refused"), Stopped("the budget is spent")])
def test_an_error_waits_for_the_others_answers(error):
    found: list[int] = []
    with pytest.raises(type(error), match=str(error)):
        asyncio.run(reading(routed(FakeJudge(sensible, delay=0.001), Refused(error)), QUESTIONS, found))
    assert sorted(QUESTIONS[position].kind for position in found) == sorted(LOCAL)


def test_of_two_errors_the_one_that_was_not_meant_is_raised():
    both = routed(Refused(Stopped("the budget is spent")), Refused(JudgeError("the key is refused")))
    for judge in (both, Routed(dict.fromkeys(KINDS, both), "outer")):
        with pytest.raises(JudgeError, match="refused"):
            answers(judge, QUESTIONS)


def test_who_leaves_early_lets_the_judges_go():
    class Counting(FakeJudge):
        open = 0

        async def ask(self, questions):
            Counting.open += 1
            try:
                async for pair in super().ask(questions):
                    yield pair
            finally:
                Counting.open -= 1

    async def leave():
        stream = routed(Counting(sensible, delay=0), Counting(sensible, delay=0.01)).ask(QUESTIONS)
        await anext(stream)
        assert Counting.open == 2
        await stream.aclose()
        assert Counting.open == 0

    asyncio.run(leave())


def test_the_request_is_known_though_its_judge_has_gone_on():
    memory, remote = InMemory(), InRequests(sensible)
    judge = routed(FakeJudge(sensible, delay=0.001), remote)
    answers(Cached(judge, memory), QUESTIONS)
    own = [question for question in QUESTIONS if question.kind not in LOCAL]
    assert [e.batch for e in memory.entries.values() if e.kind not in LOCAL] == [f"{i // 3:x}" for i in range(len(own))]
    assert {e.batch for e in memory.entries.values() if e.kind in LOCAL} == {""}
