"""Each kind of question goes to its own judge."""

import asyncio

import pytest
from contract import CHECKS, QUESTIONS, Candidate, answers
from test_fake import BROKEN, sensible
from test_wrappers import InRequests

from ragtriage.core.errors import JudgeError, Stopped
from ragtriage.core.questions import KINDS
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.wrappers import Cached, InMemory, Routed

LOCAL = ("sentences", "similarity", "declines")


def routed(local=None, remote=None):
    local, remote = local or FakeJudge(sensible, name="local"), remote or FakeJudge(sensible, name="remote")
    by_kind = {kind: local if kind in LOCAL else remote for kind in KINDS}
    return Routed(by_kind, "both")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    "make",
    [
        routed,
        lambda: routed(FakeJudge(sensible, delay=0), FakeJudge(sensible, shuffled=1, delay=0)),
        lambda: Cached(routed(Cached(FakeJudge(sensible), InMemory())), InMemory(), durable=True),
    ],
    ids=["plain", "shuffled", "cached"],
)
def test_contract(check, make):
    check(Candidate(make, failing=BROKEN))


def test_each_judge_is_asked_its_own_kinds_in_one_call():
    local, remote = FakeJudge(sensible), FakeJudge(sensible)
    answers(routed(local, remote), QUESTIONS)
    assert local.batches == [tuple(question for question in QUESTIONS if question.kind in LOCAL)]
    assert remote.batches == [tuple(question for question in QUESTIONS if question.kind not in LOCAL)]


def test_a_quick_judge_does_not_wait_for_a_slow_one():
    async def first():
        stream = routed(FakeJudge(sensible), FakeJudge(sensible, delay=0.05)).ask(QUESTIONS)
        found = [(await anext(stream))[0] for _ in range(3)]
        await stream.aclose()
        return found

    assert {QUESTIONS[position].kind for position in asyncio.run(first())} == set(LOCAL)


def test_fingerprint_ability_and_estimate_are_those_of_the_judge_of_the_kind():
    local, remote = FakeJudge(sensible, version="2", cannot={"de": "no German"}), FakeJudge(sensible)
    judge = routed(local, remote)
    assert judge.name() == "both"
    assert judge.fingerprint("similarity") == local.fingerprint("similarity")
    assert judge.fingerprint("claims") == remote.fingerprint("claims")
    assert judge.unsupported_reason("declines", "de") == "no German"
    assert judge.unsupported_reason("claims", "de") is None
    assert judge.estimate(QUESTIONS) == local.estimate(QUESTIONS)


class Refused(FakeJudge):
    """Raises before it has answered anything."""

    def __init__(self, error):
        super().__init__(sensible)
        self.error = error

    async def ask(self, questions):
        """See `Judge`."""
        raise self.error
        yield


async def reading(judge, questions, found):
    """Note the positions of the answers as they come."""
    async for position, _ in judge.ask(questions):
        found.append(position)


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
