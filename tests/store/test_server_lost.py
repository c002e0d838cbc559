"""A server that goes away, a connection that is cut, and a pooler in between: nothing is lost, and nothing is twice."""

import itertools
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from stored_cases import answer, case, ended, evaluated, identity_of

from places import Place
from poolers import Pooler, Proxy
from postgresql_server import restart, run_sql, socket_folder
from ragtriage.core.errors import StoreError
from ragtriage.core.verdicts import Verdict
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.wrappers.cached import Cached, CachedAnswer
from ragtriage.metrics import THELMA
from ragtriage.store import Answers, Store, open_answers, open_store
from ragtriage.store.checking import check_store
from ragtriage.store.database import open_database, store_address
from ragtriage.store.migrations import prepare
from ragtriage.store.postgresql import Retries

CASES = [case(i) for i in range(30)]


def socket_path() -> str:
    return str(Path(socket_folder()) / ".s.PGSQL.5432")


def through(port: int, place: Place) -> str:
    """The address of the same store by another way."""
    return f"postgresql://postgres@127.0.0.1:{port}/ragtriage?schema={place.schema}&sslmode=disable"


def opened(address: str, patience: float, told=lambda _: None) -> Store:
    database = open_database(store_address(address), create=True, retries=Retries(patience, told))
    prepare(database)
    return Store(database)


def evaluate(store: Store, each=lambda run: run.flush()) -> None:
    with store.begin(identity_of(CASES), input="a.jsonl", rows=len(CASES), judge="fake") as run:
        judge = Cached(FakeJudge(answer), Answers(store.database), durable=True)
        for _ in evaluate_sync(run.todo(CASES), judge, metrics=THELMA, sink=run):
            each(run)
        run.finish()


def assert_whole(place: Place) -> None:
    """The one run holds every case once, as it was evaluated."""
    expected = {record.case.id: record.outcomes for record in evaluated(CASES)}
    with open_store(place) as store:
        (info,) = store.runs()
        assert info.complete
        assert {record.case.id: record.outcomes for record in store.run().records()} == expected
        assert check_store(store.database).sound
    assert place.sql("SELECT count(*) FROM cases") == [(len(CASES),)]


@pytest.fixture
def made(server_place: Place) -> Place:
    """A store on a server that is there."""
    open_store(server_place).close()
    return server_place


@pytest.mark.parametrize("start", [6_000, 24_000])
def test_connections_that_are_cut_after_so_many_bytes_cost_nothing(made, start):
    cuts = tuple(start + 3_331 * i for i in range(6))
    with Proxy(socket_path(), cuts) as proxy, opened(through(proxy.port, made), 30) as store:
        evaluate(store)
    assert proxy.cut == len(cuts)
    assert_whole(made)


def test_a_commit_of_which_nobody_heard_is_not_done_twice(made):
    """The connection is cut when the server has carried out what was sent, and the client doesn't know."""
    with Proxy(socket_path()) as proxy, opened(through(proxy.port, made), 30) as store:
        proxy.deaf = b"COMMIT"
        run = store.begin(identity_of(CASES[:1]), input="a.jsonl", rows=1, judge="fake")
        proxy.deaf = b"COMMIT"
        run.keep(next(evaluated(CASES[:1])))
        run.flush()
        proxy.deaf = b"COMMIT"
        run.finish()
        assert proxy.cut == 3
    with open_store(made) as store:
        assert [(info.number, info.complete) for info in store.runs()] == [(1, True)]


def test_a_server_that_restarts_is_waited_for(made):
    with open_store(made) as store:
        turns = itertools.count()
        evaluate(store, lambda run: (run.flush(), restart() if next(turns) == 10 else None))
    assert_whole(made)


def test_a_server_that_comes_back_in_time_costs_nothing_but_the_waiting(made):
    told: list[str] = []
    with Proxy(socket_path()) as proxy, opened(through(proxy.port, made), 30, told.append) as store:
        proxy.leave()
        threading.Timer(0.5, proxy.away.clear).start()
        evaluate(store)
    assert told == ["the connection was lost, and is tried again for 0.5 minutes"]
    assert_whole(made)


def test_a_server_that_stays_away_ends_the_run_with_what_is_safe_and_it_goes_on_later(made):
    with Proxy(socket_path()) as proxy:
        store = opened(through(proxy.port, made), 0.5)
        run = store.begin(identity_of(CASES), input="a.jsonl", rows=len(CASES), judge="fake")
        records = list(evaluated(run.todo(CASES)))
        for record in records[:10]:
            run.keep(record)
        run.flush()
        proxy.leave()
        for record in records[10:20]:
            run.keep(record)
        with pytest.raises(StoreError, match=r"can't be reached .*: what was committed is safe; give the same command"):
            run.flush()
        began = time.monotonic()
        with pytest.raises(StoreError):
            store.close()
        assert time.monotonic() - began < 0.5  # it isn't waited for once more
        assert made.sql("SELECT count(*) FROM cases") == [(10,)]
    made.sql("UPDATE runs SET heartbeat = heartbeat - 61, owner_host = 'elsewhere'")
    with open_store(made) as later:
        ended(later.resume(1), CASES)
    assert_whole(made)


def test_a_server_that_was_never_reached_or_says_nothing_is_not_waited_for():
    began = time.monotonic()
    with pytest.raises(StoreError, match="can't be reached"):
        open_store("postgresql://postgres@127.0.0.1:1/x")
    with socket.create_server(("127.0.0.1", 0)) as mute, pytest.raises(StoreError, match="can't be reached"):
        # it is 10 seconds by default
        open_store(f"postgresql://me@127.0.0.1:{mute.getsockname()[1]}/x?connect_timeout=2")
    assert time.monotonic() - began < 8


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (("postgres@", "stranger@"), 'role "stranger" does not exist'),
        (("/ragtriage", "/nowhere"), 'database "nowhere" does not exist'),
        (("disable", "require"), "server does not support SSL"),
    ],
)
def test_an_address_that_is_not_let_in_is_not_taken_for_a_server_that_is_away(server_place, changed, told):
    said = rf"doesn't let you in \(.*{told}.*\): check the user, the password"
    with Proxy(socket_path()) as proxy, pytest.raises(StoreError, match=said):
        open_store(through(proxy.port, server_place).replace(*changed))


def test_who_is_not_let_in_any_more_is_not_waited_for(made):
    run_sql("CREATE USER leaving SUPERUSER")
    with Proxy(socket_path()) as proxy:
        store = opened(through(proxy.port, made).replace("postgres@", "leaving@"), 30)
        store.runs()
        run_sql("ALTER USER leaving RENAME TO left_user")
        proxy.leave()
        proxy.away.clear()
        began = time.monotonic()
        with pytest.raises(StoreError, match="doesn't let you in"):
            store.runs()
        assert time.monotonic() - began < 10


def test_a_connection_that_goes_silent_is_noticed_by_the_system(server_place):
    options = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_USER_TIMEOUT)

    def options_of(more: str) -> list[int]:
        with (
            opened(through(proxy.port, server_place) + more, 1) as store,
            store.database.engine.connect() as connection,
        ):
            raw = connection.connection.driver_connection
            with socket.socket(fileno=os.dup(raw.fileno())) as used:
                assert used.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
                return [used.getsockopt(socket.IPPROTO_TCP, option) for option in options]

    with Proxy(socket_path()) as proxy:
        assert options_of("") == [30, 10, 3, 60_000]
        assert options_of("&keepalives_idle=7") == [7, 10, 3, 60_000]


@pytest.fixture
def pooler(made: Place) -> Iterator[Pooler]:
    with Pooler(socket_path(), "ragtriage") as found:
        yield found


def test_behind_a_pooler_every_transaction_may_have_another_session_and_none_keeps_anything(made, pooler):
    address = through(pooler.port, made)
    with open_store(address) as store:
        evaluate(store)
        with open_answers(store.database) as answers:
            answers.remember([CachedAnswer(b"k" * 16, "declines", "1", Verdict("yes"))])
            answers.tickets().put({b"k" * 16: "batch"})
        assert store.run().info.complete
        assert check_store(store.database).sound
    kept = pooler.ask("SELECT count(*), current_setting('search_path') FROM pg_prepared_statements")
    assert kept == [["0", '"$user", public']] * 3
    assert run_sql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == [(0,)]
    assert_whole(made)
    assert pooler.transactions > 100
    with open_store(address) as store:
        assert store.forget_texts(1) == len(CASES)
        store.delete(1)
