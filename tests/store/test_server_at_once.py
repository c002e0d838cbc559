"""Several processes on one server: none gets in another's way, and nothing is lost or there twice."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from stored_cases import begun, case, evaluated, written

from forked import Child
from places import Place, older
from poolers import until
from postgresql_server import run_sql, waits
from ragtriage.core.case import Source
from ragtriage.core.errors import StoreError
from ragtriage.core.verdicts import Verdict
from ragtriage.judges.wrappers.cached import CachedAnswer
from ragtriage.store import Answers, Store, open_answers, open_store
from ragtriage.store.checking import check_store
from ragtriage.store.lease import STALE, Lease, QuestionLocks
from ragtriage.store.postgresql import CONFLICTS
from ragtriage.store.schema import SCHEMA_VERSION, answers, texts

CASES = [case(i) for i in range(20)]


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """What each piece of work gives, or the exception that it raises; all of them begin together."""
    ready, found = threading.Barrier(len(works)), [None] * len(works)

    def run(at: int) -> None:
        ready.wait()
        try:
            found[at] = works[at]()
        except Exception as error:  # noqa: BLE001  # whatever it is, the test looks at it
            found[at] = error

    threads = [threading.Thread(target=run, args=(at,)) for at in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def met(store: Store, first: Callable[[Any], object], work: Callable[[], Any], then: Any = lambda _: None) -> Any:
    """What a piece of work gives that waits for a transaction of a store.

    Args:
        store: whose transaction it is.
        first: what that does before the work begins.
        work: the other piece of work.
        then: what it does when the work waits.
    """
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.extend(at_once(work)))
    with store.database.writing() as connection:
        first(connection)
        thread.start()
        until(waits)
        then(connection)
    thread.join()
    (result,) = found
    return result


@pytest.fixture
def both(server_place: Place) -> Iterator[tuple[Store, Store]]:
    """A store on a server, opened twice."""
    with open_store(server_place) as one, open_store(server_place) as other:
        yield one, other


def test_of_two_that_take_a_run_at_the_same_moment_one_gets_it(both):
    one, other = both
    begun(one, CASES).interrupt()
    mine, theirs = Lease(1, host="here"), Lease(1, host="there")

    def second():
        with other.database.writing() as connection:
            theirs.take(connection, other.database)

    found = met(one, lambda connection: mine.take(connection, one.database), second)
    assert isinstance(found, StoreError)
    assert "is being written by process" in str(found)
    assert "on here" in str(found)


def test_the_time_of_the_server_counts_and_not_that_of_a_machine_a_day_ahead(server_place):
    code = (
        "import os, sys, time; real = time.time; time.time = lambda: real() + 86400\n"
        "from ragtriage.runs.manifest import RunIdentity\nfrom ragtriage.store import Answers, open_store\n"
        "store = open_store(sys.argv[1]); store.begin(RunIdentity('r', ()), input='a', rows=0, judge='f')\n"
        "Answers(store.database).claim([b'a' * 16]); print('begun', flush=True); os.kill(os.getpid(), 9)"
    )
    with Child(server_place, code=code) as child:
        assert child.communicate()[0] == "begun\n"
    for table in ("runs", "claims"):
        ((age,),) = server_place.sql(f"SELECT extract(epoch FROM clock_timestamp()) - heartbeat FROM {table}")
        assert 0 <= age < STALE
    server_place.sql("UPDATE runs SET owner_host = 'elsewhere', heartbeat = heartbeat - 61")
    server_place.sql("UPDATE claims SET owner_host = 'elsewhere', heartbeat = heartbeat - 61")
    with open_store(server_place) as store:
        store.resume(1).interrupt()
        with open_answers(store.database) as answers:
            assert answers.claim([b"a" * 16])


@pytest.mark.parametrize("old", [False, True], ids=["made", "migrated"])
def test_four_first_starts_at_once_make_or_migrate_the_tables_once(server_place, old):
    if old:
        older(server_place)

    def start():
        with open_store(server_place) as store:
            return len(store.runs())

    assert at_once(*[start] * 4) == [2 if old else 0] * 4
    assert server_place.sql("SELECT value FROM meta WHERE key = 'version'") == [(SCHEMA_VERSION,)]


def deadlocks() -> int:
    run_sql("SELECT pg_stat_force_next_flush()")
    return int(run_sql("SELECT deadlocks FROM pg_stat_database WHERE datname = 'ragtriage'")[0][0])


def test_writers_that_share_texts_in_another_order_do_not_meet(server_place):
    before = deadlocks()
    shared = [Source(f"The text number {i} is the same for all of them.", str(i)) for i in range(60)]

    def write(turn: int):
        with open_store(server_place) as store:
            for i in range(6):
                sources = (*shared[::turn], Source(f"The rounds are {i}, each with texts that are new."))
                written(store, [case(i, sources=sources), case(i + 1, sources=sources[::-1])])
                keys = [bytes([i, j]) * 8 for j in range(100)][::turn]
                with open_answers(store.database) as answers:
                    answers.remember(CachedAnswer(key, "declines", "1", Verdict("yes")) for key in keys)

    assert at_once(lambda: write(1), lambda: write(-1), lambda: write(1), lambda: write(-1)) == [None] * 4
    assert deadlocks() == before


def test_two_ways_to_the_same_tables_meet_at_the_same_locks(server_place):
    open_store(server_place).close()
    run_sql("CREATE USER at_home SUPERUSER")
    run_sql(f"ALTER USER at_home SET search_path = {server_place.schema}")
    address = str(server_place).replace("postgres:@", "at_home@").partition("&schema=")[0]
    with open_store(server_place) as one, open_store(address) as other:
        written(one, CASES[:1])
        assert [info.number for info in other.runs()] == [1]

        def forget():
            with other.database.writing() as connection:
                other.database.lock(connection, "texts")

        assert met(one, lambda connection: one.database.lock(connection, "texts", shared=True), forget) is None


def test_two_runs_that_begin_at_once_have_moments_of_their_own(both, server_place):
    one, other = both
    server_place.sql(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.5); RETURN NEW; END $$"
    )
    server_place.sql("CREATE TRIGGER slow BEFORE INSERT ON runs FOR EACH ROW EXECUTE FUNCTION slow()")
    for run in at_once(lambda: begun(one, CASES), lambda: begun(other, CASES)):
        run.finish()
    assert len({info.created for info in one.runs()}) == 2


def test_rows_are_inserted_in_the_order_of_their_keys(both, server_place):
    """Whoever meets another one's first key must not hold his next one already: the two would wait for each other."""
    one, other = both
    low, high = ({"hash": bytes([i]) * 16, "text": str(i)} for i in (1, 2))

    def insert(*rows):
        return lambda connection: one.database.insert(connection, texts, [*rows], replace=False)

    def write():
        with other.database.writing() as connection:
            other.database.insert(connection, texts, [high, low], replace=False)

    assert met(one, insert(low), write, insert(high)) is None
    assert server_place.sql("SELECT count(*) FROM texts") == [(2,)]


@pytest.mark.parametrize("state", ["40P01", "40001"])
def test_a_deadlock_is_tried_again_five_times(server_place, state):
    with open_store(server_place) as store:
        run = begun(store, CASES)
        server_place.sql("CREATE SEQUENCE tries")  # counts on, whatever is rolled back
        server_place.sql(
            "CREATE FUNCTION meet() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF "
            f"nextval('{server_place.schema}.tries') <= {CONFLICTS} THEN RAISE EXCEPTION 'deadlock detected' "
            f"USING errcode = '{state}'; END IF; RETURN NEW; END $$"
        )
        server_place.sql("CREATE TRIGGER meet BEFORE INSERT ON cases FOR EACH STATEMENT EXECUTE FUNCTION meet()")
        run.keep(next(evaluated(CASES[:1])))
        run.flush()
        assert store.run().info.done == 1
        server_place.sql(f"ALTER SEQUENCE tries MINVALUE {-CONFLICTS} RESTART WITH {-CONFLICTS}")
        run.keep(next(evaluated(CASES[1:2])))
        with pytest.raises(StoreError, match="deadlock detected"):
            run.flush()
        server_place.sql("DROP TRIGGER meet ON cases")
        run.finish()
        assert store.run().info.done == 2


def test_a_text_that_is_forgotten_while_somebody_writes_it_stays_for_him(both):
    one, other = both
    written(one, CASES[:1])
    second = begun(other, CASES[1:2])  # its cases say some of the same
    second.keep(next(evaluated([case(0, id="the same")])))

    assert met(other, second._write, lambda: one.forget_texts(1)) == 1
    assert next(iter(other.run(2).records())).case.query == case(0).query
    assert check_store(other.database).lacking["missing"] == {}


def test_a_question_whose_answer_is_just_being_kept_is_not_claimed(both):
    one, other = both
    key = b"k" * 16
    mine, theirs = Answers(one.database), QuestionLocks(other.database)
    assert mine.claim([key])
    mine.remember([CachedAnswer(key, "declines", "1", Verdict("yes"))])

    def answer(connection):
        connection.execute(one.database.upsert(answers, replace=False), [ANSWER | {"key": key}])
        mine._locks.answered(connection, [key])

    def claim():
        return other.database.write(lambda connection: theirs._claim(connection, [key], []))

    assert met(one, answer, claim) == set()


ANSWER = {"kind": "declines", "fingerprint": "1", "trial": 0, "body": "[]", "created": 0.0}


WRITER = """
import sys
from stored_cases import answer, case, identity_of
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.wrappers.cached import Cached
from ragtriage.metrics import THELMA
from ragtriage.store import Answers, open_store

cases = [case(i) for i in range(15)][:: 1 if int(sys.argv[2]) % 2 else -1]
with open_store(sys.argv[1]) as store:
    for number in range(2):
        identity = identity_of(cases, version=f"{sys.argv[2]} {number}")
        with store.begin(identity, input="a.jsonl", rows=15, judge="fake") as run:
            judge = Cached(FakeJudge(answer), Answers(store.database), durable=True)
            for record in evaluate_sync(run.todo(cases), judge, metrics=THELMA, sink=run):
                run.flush()
            run.finish()
"""


def test_four_processes_write_two_runs_each_with_the_same_texts(server_place):
    with ExitStack() as running:
        writers = [Child(server_place, i, folder=Path(__file__).parent, code=WRITER) for i in range(4)]
        for child in [running.enter_context(writer) for writer in writers]:
            out, err = child.communicate()
            assert (out, err, child.returncode) == ("", "", 0)
    expected = {record.case.id: record.outcomes for record in evaluated([case(i) for i in range(15)])}
    with open_store(server_place) as store:
        assert len(store.runs()) == 8
        for info in store.runs():
            assert info.complete
            found = list(store.run(info.number).records())
            assert {record.case.id: record.outcomes for record in found} == expected
        assert check_store(store.database).sound
    assert server_place.sql("SELECT count(*) FROM claims") == [(0,)]
