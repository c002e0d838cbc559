"""Answers that were paid for are committed a request at a time, before anything else happens."""

import asyncio
import re
import sqlite3
import stat
from functools import partial

import pytest
from sqlalchemy import event, select
from stored_cases import answer

from ragtriage.core import questions as ask
from ragtriage.core.amount import Amount
from ragtriage.core.errors import StoreError
from ragtriage.core.verdicts import Verdict
from ragtriage.judges.budget import Ledger
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.protocol import REQUEST
from ragtriage.judges.wrappers.cached import AnswerKeys, Cached, CachedAnswer
from ragtriage.store import Answers, open_answers
from ragtriage.store.database import IN_ONE_STATEMENT
from ragtriage.store.schema import answers

A_REQUEST = 4


@pytest.fixture
def memory(place):
    with open_answers(place) as opened:
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


def test_a_request_is_committed_with_its_cost_before_the_judge_goes_on(memory, place):
    found, written = [], []

    class Run:
        def count_spending(self, spent):
            self.spent = spent

        def keep_spending(self, connection):
            written.append((self.spent, len(connection.execute(select(answers)).all())))

    ledger = Ledger()

    def pays() -> Amount:
        ledger.requests += 1
        return ledger.spent

    memory.payer = Run()
    judge = Cached(ByRequests(lambda: found.append(kept(place))), memory, durable=True, spent=pays)
    asyncio.run(gathered(judge, asked(10)))
    assert found == [4, 8]
    assert kept(place) == 10
    assert written == [(Amount(requests=4), 4), (Amount(requests=8), 8), (Amount(requests=10), 10)]


def writes_of(memory) -> list[int]:
    """Rows of each statement that inserts answers."""
    rows: list[int] = []

    def seen(connection, cursor, statement, parameters, context, executemany):
        if re.match(r"INSERT INTO (\w+\.)?answers", statement):
            # a server is given columns, each an array
            rows.append(parameters["key_"].count("x") if isinstance(parameters, dict) else len(parameters))

    event.listen(memory._database.engine, "before_cursor_execute", seen)
    return rows


def test_the_answers_of_a_request_are_one_transaction_also_when_nothing_was_kept_for_a_while(memory):
    writes, hour = writes_of(memory), [0.0]

    def passes():
        hour[0] += 3600.0

    slow = Answers(memory._database, clock=lambda: hour[0])
    asyncio.run(gathered(Cached(ByRequests(passes), slow, durable=True), asked(10)))
    assert writes == [4, 4, 2]


def test_requests_that_end_in_the_same_pass_of_the_event_loop_are_one_transaction(memory):
    writes = writes_of(memory)
    judge = Cached(FakeJudge(answer, delay=0), memory, durable=True)

    async def several():
        await asyncio.gather(*(gathered(judge, asked(1, about)) for about in ("is it", "was it", "will it")))

    asyncio.run(several())
    assert writes == [3]


def test_the_request_that_an_answer_travelled_in_is_recorded(memory, place):
    asyncio.run(gathered(Cached(ByRequests(), memory, durable=True), asked(6)))
    asyncio.run(gathered(Cached(FakeJudge(answer), memory), asked(1, "another")))
    memory.flush()
    found = dict(place.sql("select batch, count(*) from answers group by batch"))
    assert found == {None: 1, "0": 4, "1": 2}


def test_an_answer_that_is_there_stays_as_it_is(memory, place):
    key = AnswerKeys(str).key(asked(1)[0])
    with open_answers(place) as other:
        for one, verdict in ((other, Verdict("yes")), (memory, Verdict("no"))):
            one.remember([CachedAnswer(key, "declines", "1", verdict)])
            one.flush()
        assert other.recall([key]) == {key: Verdict("yes")}


def entries(*letters: str) -> list[CachedAnswer]:
    return [CachedAnswer(letter.encode() * 16, "declines", "1", Verdict("yes"), batch=letter) for letter in letters]


@pytest.fixture
def full(tmp_path, monkeypatch):
    """Opens memories of a store that can't take any answer until its disk has room again."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    place = tmp_path / "store"
    open_answers(place).close()
    disk = sqlite3.connect(place / "runs.sqlite", isolation_level=None)
    disk.execute("create trigger full before insert on answers begin select raise(abort, 'No space left'); end")
    yield partial(open_answers, place), partial(disk.execute, "drop trigger full")
    disk.close()


def overflows(folder) -> list:
    return [path for path in folder.rglob("*overflow*") if path.is_file()]


def refused(memory, *found) -> str:
    memory.remember(found)
    with pytest.raises(StoreError, match="disk is full") as error:
        memory.flush()
    return str(error.value)


def test_what_a_full_store_cannot_take_goes_into_an_overflow_that_commands_share(full, tmp_path):
    opened, empty = full
    a, b, c = entries("a", "b", "c")
    one, other = opened(), opened()
    told = refused(one, a)
    (file,) = overflows(tmp_path)
    assert f"1 answer that it couldn't take is in {file}, and the next command puts it into the store" in told
    assert file.parent == tmp_path / "state" / "ragtriage"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "2 answers that it couldn't take are in" in refused(one, b)
    refused(other, c)
    third = opened()
    assert third.recall([a.key, c.key]) == {a.key: a.answer, c.key: c.answer}
    third.close()  # it was given nothing, so nothing is told

    empty()
    one.close()
    assert overflows(tmp_path) == [file]  # the other's answer is still in it
    with opened() as last:
        assert set(last.recall([a.key, b.key, c.key])) == {a.key, b.key, c.key}
        assert last.unsaved == ""
    assert overflows(tmp_path) == []
    other.close()


def test_an_answer_that_nothing_can_take_is_told(full, tmp_path):
    (tmp_path / "state").write_text("no folder")
    opened, empty = full
    memory = opened()
    (entry,) = entries("a")
    assert "1 answer couldn't be written anywhere and is lost" in refused(memory, entry)

    empty()
    memory.close()
    with opened() as again:
        assert again.recall([entry.key]) == {entry.key: entry.answer}


def test_a_damaged_overflow_holds_nothing_up(full, tmp_path):
    opened, _ = full
    memory = opened()
    refused(memory, *entries("a"))
    (file,) = overflows(tmp_path)
    file.write_bytes(b"This is no database. " * 400)
    with opened() as other:
        assert other.recall([b"a" * 16]) == {}
    assert "lost" in refused(memory, *entries("b"))


def key(i: int) -> bytes:
    return i.to_bytes(16, "big")


def test_tickets_that_were_put_are_there_for_the_next_command_until_they_are_dropped(memory, place):
    tickets = memory.tickets()
    tickets.put({key(1): "a", key(2): "a", key(3): "b"})
    tickets.put({key(1): '{"id": "batch_1"}'})
    tickets.drop([key(2), key(9)])
    with open_answers(place) as later:
        assert later.tickets().get([key(1), key(2), key(3)]) == {key(1): '{"id": "batch_1"}', key(3): "b"}
    (submitted,), _ = place.sql("select submitted from tickets order by key")
    assert submitted > 1_700_000_000


def test_nothing_is_asked_of_the_database_for_no_ticket(memory):
    statements = []
    event.listen(memory._database.engine, "before_cursor_execute", lambda *told: statements.append(told[2]))
    tickets = memory.tickets()
    tickets.put({})
    tickets.drop([])
    assert tickets.get([]) == {}
    assert not [s for s in statements if "tickets" in s]


def test_there_may_be_many_tickets(memory):
    many = {key(i): str(i // 10) for i in range(2 * IN_ONE_STATEMENT + 3)}
    tickets = memory.tickets()
    tickets.put(many)
    assert tickets.get(list(many)) == many
    tickets.drop(list(many)[1:])
    assert tickets.get(list(many)) == {key(0): "0"}


FULL = {
    False: "create trigger full_disk before insert on tickets when new.batch = 'bad' begin "
    "select raise(abort, 'database or disk is full'); end",
    True: "create function full_disk() returns trigger language plpgsql as $$ begin "
    "raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$; "
    "create trigger full_disk before insert on tickets for each row when (new.batch = 'bad') "
    "execute function full_disk()",
}
"""What a full disk does to a bad ticket, in a file and on a server."""


def test_a_store_that_cannot_be_written_says_so_and_keeps_no_tickets_by_halves(memory, place):
    place.sql(FULL[place.on_server])
    with pytest.raises(StoreError, match="disk is full"):
        memory.tickets().put({key(1): "good", key(2): "bad"})
    assert memory.tickets().get([key(1), key(2)]) == {}
