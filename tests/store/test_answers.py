"""Answers that were paid for are committed a request at a time, before anything else happens."""

import asyncio
import re

import pytest
from sqlalchemy import event
from stored_cases import answer

from ragtriage.core import questions as ask
from ragtriage.core.verdicts import Verdict
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.protocol import REQUEST
from ragtriage.judges.wrappers import AnswerKeys, Cached, CachedAnswer
from ragtriage.store import open_store
from ragtriage.store.answers import StoredAnswers

A_REQUEST = 4


@pytest.fixture
def store(place):
    with open_store(place) as opened:
        yield opened


class ByRequests(FakeJudge):
    """Answers four questions at a time, after a while; `pause` runs while the next request travels."""

    def __init__(self, pause=lambda: None):
        super().__init__(answer)
        self.pause = pause

    async def ask(self, questions):
        """See `Judge`."""
        async for position, found in super().ask(questions):
            REQUEST.set(f"{int(questions[position].subject.split()[-1]) // A_REQUEST:x}")
            yield position, found
            if position % A_REQUEST == A_REQUEST - 1:
                await asyncio.sleep(0)
                self.pause()


def asked(count: int, about: str = "is it"):
    return [ask.declines("Why?", f"{about} {i}") for i in range(count)]


def kept(place) -> int:
    """What another process would find now."""
    return int(place.sql("select count(*) from answers")[0][0])


async def gathered(judge, questions):
    return [pair async for pair in judge.ask(questions)]


def test_a_request_is_committed_before_the_judge_goes_on(store, place):
    found = []
    judge = Cached(ByRequests(lambda: found.append(kept(place))), store.answers(), durable=True)
    asyncio.run(gathered(judge, asked(10)))
    assert found == [4, 8]
    assert kept(place) == 10


def writes_of(store) -> list[int]:
    """Rows of each statement that inserts answers."""
    rows: list[int] = []

    def seen(connection, cursor, statement, parameters, context, executemany):
        if re.match(r"INSERT INTO (\w+\.)?answers", statement):
            # a server is given columns, each an array
            rows.append(parameters["key_"].count("x") if isinstance(parameters, dict) else len(parameters))

    event.listen(store._database.engine, "before_cursor_execute", seen)
    return rows


def test_the_answers_of_a_request_are_one_transaction(store):
    writes = writes_of(store)
    asyncio.run(gathered(Cached(ByRequests(), store.answers(), durable=True), asked(10)))
    assert writes == [4, 4, 2]


def test_they_stay_one_transaction_when_nothing_was_kept_for_a_while(store):
    writes, hour = writes_of(store), [0.0]

    def passes():
        hour[0] += 3600.0

    memory = StoredAnswers(store._database, clock=lambda: hour[0])
    asyncio.run(gathered(Cached(ByRequests(passes), memory, durable=True), asked(8)))
    assert writes == [4, 4]


def test_requests_that_end_in_the_same_pass_of_the_event_loop_are_one_transaction(store):
    writes = writes_of(store)
    judge = Cached(FakeJudge(answer, delay=0), store.answers(), durable=True)

    async def several():
        await asyncio.gather(*(gathered(judge, asked(1, about)) for about in ("is it", "was it", "will it")))

    asyncio.run(several())
    assert writes == [3]


def test_the_request_that_an_answer_travelled_in_is_recorded(store, place):
    asyncio.run(gathered(Cached(ByRequests(), store.answers(), durable=True), asked(6)))
    asyncio.run(gathered(Cached(FakeJudge(answer), store.answers()), asked(1, "another")))
    store.answers().flush()
    found = dict(place.sql("select batch, count(*) from answers group by batch"))
    assert found == {None: 1, "0": 4, "1": 2}


def test_an_answer_that_is_there_stays_as_it_is(store, place):
    key = AnswerKeys(str).key(asked(1)[0])
    with open_store(place) as other:
        for memory, verdict in ((other.answers(), Verdict("yes")), (store.answers(), Verdict("no"))):
            memory.remember([CachedAnswer(key, "declines", "1", verdict)])
            memory.flush()
        assert other.answers().recall([key]) == {key: Verdict("yes")}
