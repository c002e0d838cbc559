"""A store of another version is refused and left alone; PostgreSQL holds what SQLite does."""

from collections.abc import Iterable
from dataclasses import replace

import pytest
from sqlalchemy import inspect
from stored_cases import FULL, case, evaluated, identity_of

from places import Place, older
from postgresql_server import new_schema
from ragtriage.core.amount import Amount
from ragtriage.core.case import Record
from ragtriage.core.errors import StoreError
from ragtriage.runs.case_row import CaseHeading
from ragtriage.runs.run import RejectedRow
from ragtriage.store import open_answers, open_store
from ragtriage.store.checking import check_store
from ragtriage.store.database import open_database, store_address
from ragtriage.store.schema import SCHEMA_VERSION, metadata

KEY = b"k" * 16


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("update meta set value = '99'", "99"),
        ("update meta set value = '1'", "1"),
        ("update meta set key = 'schema version'", "unknown"),
        ("delete from meta", "unknown"),
    ],
)
def test_another_version_is_refused_and_left_alone(tmp_path, statement, found):
    place = Place(str(tmp_path))
    open_store(place).close()
    place.sql(statement)
    told = (
        rf"was written by another version of ragtriage \(its schema has version {found}, this program knows "
        rf"{SCHEMA_VERSION}\): use the version that wrote it, or choose another place .* and evaluate anew"
    )
    with pytest.raises(StoreError, match=told):
        open_store(place)
    assert {name for (name,) in place.sql("select name from sqlite_master where type = 'table'")} >= {*metadata.tables}


def test_opening_again_changes_no_table(tmp_path):
    open_store(tmp_path).close()
    before = (tmp_path / "runs.sqlite").read_bytes()
    open_store(tmp_path).close()
    assert (tmp_path / "runs.sqlite").read_bytes() == before


def made_of(address: object) -> dict[str, set[tuple[str, str, bool]]]:
    """Of every table its columns and indexes, as the database tells them."""
    database = open_database(store_address(str(address)), create=False)
    found, schema = inspect(database.engine), database.schema
    tables = {
        table: {(c["name"], kind_of(c["type"]), c["nullable"]) for c in found.get_columns(table, schema=schema)}
        | {(str(i["name"]), str(i["column_names"]), True) for i in found.get_indexes(table, schema=schema)}
        for table in found.get_table_names(schema=schema)
    }
    database.engine.dispose()
    return tables


def kind_of(declared: object) -> str:
    """A type's name; SQLite's whole numbers are the same whatever they are called."""
    return str(declared).replace("BIGINT", "INTEGER").replace("DOUBLE PRECISION", "FLOAT")


def untimed(records: Iterable[Record], *, without: str = "") -> dict[str, Record]:
    """Records by their ids, without how long they took and without one of them."""
    return {one.case.id: replace(one, seconds=0.0) for one in records if one.case.id != without}


def test_a_store_of_version_2_reads_and_goes_on_as_it_was_written(place, tmp_path):
    cases = [case(0), FULL, case(3)]
    older(place)
    told: list[str] = []
    with open_store(place, project="shop", told=told.append) as store:
        assert [record.case for record in store.run(1).records()] == cases
        # when these stores were written, the marks of a response were judged too
        assert untimed(store.run(1).records(), without=FULL.id) == untimed(evaluated(cases), without=FULL.id)
        assert [(info.number, info.state, info.project, info.done, info.failed) for info in store.runs()] == [
            (2, "interrupted", "shop", 1, 1),
            (1, "finished", "shop", 3, 0),
        ]
        assert (store.run(1).info.tokens_in, store.run(1).info.cost) == (3_000_000_000, 0.25)
        assert [(row.row, row.reason) for row in store.run(2).rejected()] == [(7, "is null")]
        with open_answers(store.database) as answers:
            assert answers.tickets().get([KEY]) == {KEY: "batch"}
        assert [row["kind"] for row in place.rows("readings")] == [*["failure"] * 4, "low-score"]
        assert len(place.rows("answers")) == 26
        with store.resume(2) as run:
            assert [one.id for one in run.todo(cases)] == ["full", "case 3"]
            for record in evaluated(cases[1:]):
                run.keep(record, CaseHeading("no-fault", "none", (), sure=True))
            run.finish()
        assert untimed(store.run("last").records()) == untimed(evaluated(cases))
        assert store.forget_texts(1) == 3
        assert check_store(store.database).sound
    assert told == [f"bringing the store {store.where} from version 2 to {SCHEMA_VERSION}"]
    open_store(place, told=told.append).close()
    assert len(told) == 1
    fresh = Place(*new_schema()) if place.on_server else tmp_path / "fresh"
    open_store(fresh).close()
    assert made_of(place) == made_of(fresh)


def test_numbers_beyond_32_bits_are_kept(place):
    with open_store(place) as store, store.begin(identity_of([]), input="a", rows=1, judge="f") as run:
        run.count_spending(Amount(tokens_in=2_156_000_000, tokens_out=5_000_000_000))
        run.reject(RejectedRow(3_000_000_000, "query", "is null"))
        run._places["case 1"] = 4_000_000_000
        run.keep(next(evaluated([case(1)])), CaseHeading("no-fault", "none", (), sure=True))
        run.finish()
        assert (store.run().info.tokens_in, store.run().info.tokens_out) == (2_156_000_000, 5_000_000_000)
        assert store.run().rejected()[0].row == 3_000_000_000
        assert store.run().record("case 1").case == case(1)
    for table in ("cases", "case_texts", "scores", "readings"):
        assert {row[0] for row in place.sql(f"SELECT DISTINCT position FROM {table}")} == {4_000_000_000}


def test_a_migration_that_is_broken_off_changes_nothing(place):
    older(place)
    place.sql("CREATE INDEX judged_watch ON runs (number)")  # stands in the way of the last tables
    with pytest.raises(StoreError, match="judged_watch"):
        open_store(place)
    assert place.sql("SELECT value FROM meta WHERE key = 'version'") == [("2",)]
    assert place.columns("watches") == []
    place.sql("DROP INDEX judged_watch")
    open_store(place).close()
    assert "state" in place.columns("watches")
