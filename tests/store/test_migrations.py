"""A store of an earlier version is brought to this one; a later one is refused."""

import sqlite3

import pytest

from ragtriage.errors import StoreError
from ragtriage.store import open_store
from ragtriage.store.connection import connect, place
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
        StoreError, match=r"newer ragtriage \(its schema has version 99, this program knows 1\): update"
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
