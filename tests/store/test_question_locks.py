"""Two that share a store: what one is asking, the other waits for, and nobody waits for ever."""

import asyncio
from collections.abc import Iterator

import pytest
from stored_cases import answer

from forked import Child
from places import Place
from ragtriage.core import questions as ask
from ragtriage.core.errors import Stopped, StoreError
from ragtriage.core.verdicts import Failure, Verdict
from ragtriage.judges.budget import Ledger
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.wrappers.cached import Cached, CachedAnswer
from ragtriage.runs.case_row import digest
from ragtriage.store import Answers, open_answers, open_store
from ragtriage.store.database import Database, open_database, store_address
from ragtriage.store.lease import LONGEST, STALE, QuestionLocks, exclusive

KEYS = [bytes([i]) * 16 for i in range(4)]
A, B, C, D = KEYS
QUESTIONS = [ask.declines("Why?", f"is it {i}") for i in range(8)]


def pass_by(place, seconds: float) -> None:
    """Let the claims of a store be so much older."""
    place.sql("UPDATE claims SET heartbeat = heartbeat - ?, since = since - ?", seconds, seconds)


@pytest.fixture
def memories(place):
    with open_answers(place) as one, open_answers(place) as other:
        yield one, other


@pytest.fixture
def two(memories: tuple[Answers, Answers]):
    locks = [QuestionLocks(memory._database) for memory in memories]
    yield locks
    for one in locks:
        one.close()


def claimed_in(place) -> int:
    return int(place.sql("select count(*) from claims")[0][0])


def test_a_question_is_claimed_by_one_until_it_is_released(two):
    one, other = two
    assert set(one.claim([A, B])) == {A, B}
    assert set(other.claim([B, C])) == {C}
    assert not one.claim([A, C])  # also not twice by the same
    one.release([B])
    assert set(other.claim([A, B])) == {B}
    one.close()
    assert set(other.claim(KEYS)) == {A, D}


def test_what_is_answered_is_not_claimed_and_its_claim_is_gone(memories, place):
    one, other = memories
    assert set(one.claim([A, B, C])) == {A, B, C}
    one.remember([CachedAnswer(A, "declines", "1", Verdict("yes"))])
    one.release([A, B])
    assert set(other.claim([A, B])) == {B}  # what waits for its transaction stays claimed
    one.flush()
    assert claimed_in(place) == 2
    assert not other.claim([A, C])
    assert set(other.recall([A, B])) == {A}


def test_a_claim_lapses_without_a_sign_of_life_and_at_last_though_its_owner_lives(two, place):
    one, other = two
    one.claim([A, B])
    pass_by(place, STALE - 1)
    one._beat()
    pass_by(place, STALE - 1)
    assert not other.claim([A])
    pass_by(place, 2)
    assert set(other.claim([A])) == {A}
    pass_by(place, LONGEST)
    one._beat()
    assert set(other.claim([B])) == {B}


def test_the_claim_of_a_dead_process_is_taken_over_at_once(place, memories):
    script = (
        "import os, sys; from ragtriage.store import open_answers; answers = open_answers(sys.argv[1]); "
        "print(len(answers.claim([b'a' * 16])), flush=True); os.kill(os.getpid(), 9)"
    )
    with Child(place, code=script) as child:
        out, err = child.communicate()
    assert out == "1\n", err
    assert claimed_in(place) == 1
    assert set(memories[0].claim([b"a" * 16])) == {b"a" * 16}


async def gathered(judge, questions):
    return {questions[position]: found async for position, found in judge.ask(questions)}


@pytest.mark.parametrize("shared", [False, True], ids=["a memory each", "one memory"])
def test_two_judges_on_one_store_ask_each_question_once(memories, place, shared):
    inner = [FakeJudge(answer, delay=0.005) for _ in memories]
    opened = memories[:1] * 2 if shared else memories
    judges = [Cached(judge, memory, durable=True) for judge, memory in zip(inner, opened, strict=True)]

    async def both():
        return await asyncio.gather(
            gathered(judges[0], QUESTIONS[:4]),
            gathered(judges[1], QUESTIONS[2:6]),
            gathered(judges[0], QUESTIONS[4:]),
            gathered(judges[1], QUESTIONS[::-1]),
        )

    found = asyncio.run(both())
    assert sorted(q.subject for judge in inner for q in judge.asked) == sorted(q.subject for q in QUESTIONS)
    assert found[3] == {question: answer(question) for question in QUESTIONS}
    assert claimed_in(place) == 0


def test_what_fails_for_one_is_asked_by_the_other(memories, place):
    failing = FakeJudge(lambda question: Failure("too long"), delay=0.01)
    good = FakeJudge(answer)
    one = Cached(failing, memories[0], durable=True)
    other = Cached(good, memories[1], durable=True)

    async def both():
        first = asyncio.create_task(gathered(one, QUESTIONS))
        await asyncio.sleep(0.005)
        return await asyncio.gather(first, gathered(other, QUESTIONS))

    _, found = asyncio.run(both())
    assert found == {question: answer(question) for question in QUESTIONS}
    assert claimed_in(place) == 0


def test_who_waits_stops_when_nothing_more_may_be_asked(memories):
    memories[0].claim(_keys(memories))
    ledger, looks = Ledger(), []

    def third_look_stops():
        looks.append(1)
        if len(looks) == 3:
            ledger.stop("enough")

    ledger.on_wait = third_look_stops
    judge = Cached(FakeJudge(answer), memories[1], durable=True, before_waiting=ledger.wait)
    with pytest.raises(Stopped, match="enough"):
        asyncio.run(gathered(judge, QUESTIONS))
    assert len(looks) == 3


def _keys(memories):
    return list(Cached(FakeJudge(answer), memories[1])._places(QUESTIONS))


def test_what_costs_nothing_claims_nothing(memories):
    asyncio.run(gathered(Cached(FakeJudge(answer), memories[0]), QUESTIONS))
    memories[0].claim(_keys(memories))
    found = asyncio.run(gathered(Cached(FakeJudge(answer), memories[1]), QUESTIONS))
    assert len(found) == len(QUESTIONS)


@pytest.fixture
def database(place: Place) -> Iterator[Database]:
    """That of a store which is there."""
    open_store(place).close()
    opened = open_database(store_address(place), create=False)
    yield opened
    opened.close()


def test_what_one_party_at_a_time_does_another_waits_for_and_then_names(database: Database) -> None:
    waits: list[float] = []
    with exclusive(database, "judging a.jsonl", party="one", patience=5):
        with (
            pytest.raises(StoreError, match=r"judging a\.jsonl is being done by process \d+ on .*: wait until it ends"),
            exclusive(database, "judging a.jsonl", party="other", patience=5, sleep=waits.append),
        ):
            pass
        with exclusive(database, "judging b.jsonl", party="other", patience=0):
            pass  # something else isn't held up

    assert sum(waits) >= 5


def test_the_same_party_is_waited_for_as_long_as_it_lives(database: Database) -> None:
    holder = QuestionLocks(database, party="one")
    holder.claim([digest("exclusive\0judging")])
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 50:
            holder.close()

    with exclusive(database, "judging", party="one", patience=0, sleep=sleep):
        assert len(waits) == 50
