"""What each role of a server store may do and what it may not, on a real server; and what the owner alone may."""

from itertools import count
from urllib.parse import quote

import psycopg
import pytest
from stored_cases import answer, case, identity_of

from places import Place
from postgresql_server import new_database, new_schema, run_sql, server
from ragtriage.core.errors import ConfigError, NotStoredError, StoreError
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.wrappers.cached import Cached
from ragtriage.metrics import THELMA
from ragtriage.runs.case_row import CaseHeading
from ragtriage.store import Answers, initialise_store, open_store, schema_in_use
from ragtriage.store.checking import check_store
from ragtriage.store.forgetting import cases_with_texts
from ragtriage.store.migrations import NUMBERS, READER, WRITER, roles_sql
from ragtriage.store.schema import SCHEMA_VERSION

CASES = [case(i) for i in range(3)]
READ = CaseHeading("failure", "generator", ("unsupported_claims",), sure=True)
_users = count(1)


def evaluated(place: object, cases=CASES, judge=None) -> None:
    with open_store(place) as store, store.begin(identity_of(cases), input="a", rows=len(cases), judge="f") as run:
        asked = Cached(judge or FakeJudge(answer), Answers(store.database), durable=True)
        for record in evaluate_sync(run.todo(cases), asked, metrics=THELMA):
            run.keep(record, READ)
        run.finish()


@pytest.fixture
def shared(server_place: Place) -> Place:
    """A store with a run, whose roles are made."""
    evaluated(server_place)
    server_place.sql(roles_sql(server_place.schema))
    server_place.sql(roles_sql(server_place.schema))  # it may be run again
    return server_place


def new_user(place: Place, rights: str = "") -> tuple[str, str]:
    """A new user: the address by which he opens the store, and his name."""
    user = f"user_{next(_users)}"
    run_sql(f"CREATE USER {user} {rights}")
    return str(place).replace("postgres:@", f"{user}@"), user


def as_one_of(role: str, place: Place) -> tuple[str, str]:
    """A new user with a role, and his address."""
    return new_user(place, f"IN ROLE {role}")


def may(place: Place, user: str, statement: str) -> bool:
    """Whether a user may do something."""
    try:
        run_sql(statement, (), place.schema, user)
    except psycopg.errors.InsufficientPrivilege:
        return False
    return True


HIDDEN = ("texts", "case_texts", "answers")
OPEN = ("runs", "claims", "tickets", "meta")


def test_numbers_reads_what_no_customer_wrote(shared):
    address, user = as_one_of(NUMBERS, shared)
    for table in HIDDEN:
        assert not may(shared, user, f"SELECT * FROM {table}")
    for table, column in (("cases", "steps"), ("readings", "head"), ("rejected", "reason"), ("scores", "reason")):
        assert not may(shared, user, f"SELECT {column} FROM {table}")
        assert may(shared, user, f"SELECT run FROM {table}")
    for table in OPEN:
        assert may(shared, user, f"SELECT * FROM {table}")
    assert may(shared, user, "SELECT metric, avg(value) FROM scores GROUP BY metric")
    for statement in ("DELETE FROM runs", "UPDATE runs SET cost = 0", "SELECT forget_texts('{}', true)"):
        assert not may(shared, user, statement)
    with open_store(address) as store:
        assert store.runs()[0].done == 3
        assert store.means([1])[1]["groundedness"] > 0
        with pytest.raises(StoreError, match=r"doesn't let you do this .permission denied for table"):
            list(store.run().records())
        with pytest.raises(StoreError, match="doesn't let you do this"):
            store.begin(identity_of(CASES), input="a", rows=3, judge="f")


def test_reader_reads_everything_and_writes_nothing(shared):
    address, user = as_one_of(READER, shared)
    for table in (*HIDDEN, *OPEN, "cases", "scores", "readings", "rejected"):
        assert may(shared, user, f"SELECT * FROM {table}")
        assert not may(shared, user, f"DELETE FROM {table}")
        assert not may(shared, user, f"INSERT INTO {table} DEFAULT VALUES")
    assert not may(shared, user, "SELECT forget_texts('{}', true)")
    with open_store(address) as store:
        assert [record.case for record in store.run().records()] == CASES
        with pytest.raises(StoreError, match="doesn't let you do this"):
            store.forget_texts(1)


def test_writer_evaluates_continues_and_forgets_and_deletes_nothing_else(shared):
    address, user = as_one_of(WRITER, shared)
    evaluated(address, [case(i) for i in range(5, 9)])
    with open_store(address) as store:
        assert (store.run().number, store.run().info.author) == (2, user)
        with store.resume(2) as run:
            for record in evaluate_sync(CASES[:1], FakeJudge(answer), metrics=THELMA):
                run.keep(record, READ)
            run.finish()
        assert store.forget_texts(2) == 5
        assert store.run(2).record("case 5").case.query == "[text deleted]"
        assert check_store(store.database).sound
        with pytest.raises(StoreError, match=rf"only the owner of the tables of .* may delete runs.*{user}"):
            store.delete(1)
        assert cases_with_texts(store.database, 1) == [one.id for one in CASES]  # nothing of it was deleted
    for table in (*HIDDEN, "runs", "cases", "scores", "readings", "rejected"):
        assert not may(shared, user, f"DELETE FROM {table}")
    assert not may(shared, user, "ALTER TABLE runs ADD COLUMN x TEXT")
    assert not may(shared, user, "DROP FUNCTION forget_texts(bytea[], boolean)")


def test_the_owner_deletes_runs_and_somebody_without_a_role_sees_nothing(shared):
    with pytest.raises(StoreError, match="doesn't let you do this"):
        open_store(new_user(shared)[0])
    with open_store(shared) as store:
        store.delete(1)
        assert store.runs() == []
    for table in ("cases", "texts", "case_texts", "scores", "readings", "answers"):
        assert shared.sql(f"SELECT count(*) FROM {table}") == [(0,)]


def test_only_the_owner_brings_tables_up_to_date(version_2):
    version_2.sql(f"GRANT USAGE ON SCHEMA {version_2.schema} TO PUBLIC")
    version_2.sql(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {version_2.schema} TO PUBLIC")
    address, user = new_user(version_2)
    told = (
        f"has tables of version 2, this program needs version {SCHEMA_VERSION}, and {user} may not change them: ask "
        "the owner: ragtriage store migrate"
    )
    with pytest.raises(StoreError, match=told):
        open_store(address)
    assert version_2.sql("SELECT value FROM meta WHERE key = 'version'") == [("2",)]


def test_who_may_not_make_tables_is_told_to_ask(server_place):
    address, user = new_user(server_place)
    run_sql(f"GRANT USAGE ON SCHEMA {server_place.schema} TO {user}")
    with pytest.raises(StoreError, match=f"has no tables yet, and {user} may not make them: ask the owner"):
        open_store(address)


def test_a_schema_is_made_by_initialising_alone():
    place = Place(*new_schema(made=False))
    with pytest.raises(NotStoredError, match=f"there is no schema '{place.schema}' in .*ragtriage store init"):
        open_store(place)
    assert initialise_store(str(place)) == ""
    assert initialise_store(str(place)) == SCHEMA_VERSION
    evaluated(place)


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_that_cannot_hold_every_text_is_refused(encoding):
    name = encoding.lower()
    run_sql(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(ConfigError, match=f"has the encoding {encoding}, which can't hold every text: make one with"):
        initialise_store(server().get_uri(name))


def test_another_encoding_of_the_client_does_not_matter(monkeypatch, server_place):
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    evaluated(server_place, [case(0, query="What does ł cost in 日本?")])
    with open_store(server_place) as store:
        assert store.run().record("case 0").case.query == "What does ł cost in 日本?"


def evaluated_and_deleted(address: str) -> None:
    """Evaluate, forget and delete there."""
    evaluated(address)
    with open_store(address) as store:
        assert store.run().info.complete
        assert store.forget_texts(1) == 3
        store.delete(1)


@pytest.mark.parametrize("name", ["a%b", "a :b", 'a"b', "Ärger"])
def test_any_name_of_a_schema_does(name):
    address = f"{server().get_uri('ragtriage')}&schema={quote(name)}"
    assert initialise_store(address) == ""
    run_sql(roles_sql(name))
    evaluated_and_deleted(address)
    assert run_sql("SELECT 1 FROM pg_tables WHERE schemaname = %s", (name,))
    assert schema_in_use(address) == name


def test_a_store_needs_no_schema_of_its_own():
    evaluated_and_deleted(new_database())


@pytest.mark.parametrize(
    ("address", "hidden"),
    [
        ("postgresql://me:topsecret@127.0.0.1:1/x", "postgresql://me:***@127.0.0.1:1/x"),
        ("postgresql://me@127.0.0.1:1/x?password=topsecret", "postgresql://me@127.0.0.1:1/x"),
        ("postgresql://me@127.0.0.1:1/x?PASSWORD=topsecret", "postgresql://me@127.0.0.1:1/x"),
        ("postgresql://me@127.0.0.1:1/x?passwrd=topsecret&sslmode=disable", "me@127.0.0.1:1/x?sslmode=disable"),
    ],
)
def test_a_password_is_in_no_message_and_earns_a_note(address, hidden):
    told: list[str] = []
    with pytest.raises(StoreError) as failed:
        open_store(address, told=told.append)
    assert hidden in str(failed.value)
    assert "topsecret" not in str(failed.value) + "".join(told)
    assert told == ["note: the store's address holds a password, which others may see: use ~/.pgpass or PGPASSWORD"]
