"""Whatever is wrong with the store is told in one sentence: what, where, what to do."""

import errno
import os
import sqlite3
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import event
from sqlalchemy.exc import SQLAlchemyError
from stored_cases import begun, case, evaluated, identity_of, written

from ragtriage.core.errors import StoreError
from ragtriage.core.questions import declines
from ragtriage.core.verdicts import Verdict
from ragtriage.judges.wrappers.cached import AnswerKeys, CachedAnswer
from ragtriage.store import Answers, Store, database, open_answers, open_store

CASES = [case(i) for i in range(10)]


def limited(store: Store, pages: int | None) -> None:
    """Let the database grow to this many pages and no further, as a full disk does."""

    def limit(dbapi, _record=None, _proxy=None):
        dbapi.execute(f"PRAGMA max_page_count={pages or 1_000_000_000}")

    event.listen(store.database.engine, "checkout", limit)


def pages_of(store: Store) -> int:
    with store.database.engine.connect() as opened:
        return opened.exec_driver_sql("PRAGMA page_count").scalar_one()


def test_a_full_disk_loses_nothing_that_was_kept_and_the_run_goes_on_later(tmp_path):
    with open_store(tmp_path) as store:
        run = store.begin(identity_of(CASES), input="a", rows=10, judge="fake")
        records = list(evaluated(list(run.todo(CASES))))
        for record in records[:5]:
            run.keep(record)
        run.flush()
        limited(store, pages_of(store) + 2)
        for record in records[5:]:
            run.keep(replace(record, case=replace(record.case, reference="long " * 20_000)))
        with pytest.raises(StoreError, match="can't grow because the disk is full; what was kept so far is safe") as it:
            run.flush()
        assert store.where in str(it.value)
        assert store.run().info.done == 5
        limited(store, None)
        run.finish()
        assert store.run().info.done == 10


def test_a_full_disk_does_not_hide_what_happened_before(tmp_path):
    def interrupted(store):
        with begun(store, CASES) as run:
            limited(store, pages_of(store))
            for record in evaluated(list(run.todo(CASES))):
                run.keep(record)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), open_store(tmp_path) as store:
        interrupted(store)


def test_a_full_disk_when_answers_are_kept(tmp_path):
    question = declines("Why?", "x")
    entry = CachedAnswer(AnswerKeys(str).key(question), "declines", "1", Verdict("yes", explanation="x" * 100_000))
    with open_store(tmp_path) as store:
        limited(store, pages_of(store))
        memory = Answers(store.database)
        memory.remember([entry])
        with pytest.raises(StoreError, match="disk is full"):
            memory.flush()
        limited(store, None)
        memory.flush()
        assert memory.recall([entry.key]) == {entry.key: entry.answer}


def filled(folder: Path) -> Path:
    """A store with a finished run."""
    with open_store(folder) as store:
        written(store, CASES)
    return folder


def test_a_read_only_store_can_be_read_and_says_that_it_cannot_be_written(tmp_path):
    address = database.store_address(filled(tmp_path))
    with Store(database.open_database(address, create=False, read_only=True)) as store:
        assert len(list(store.run().records())) == 10
        assert open_answers(store.database).recall([b"x" * 16]) == {}
        with pytest.raises(StoreError, match="can't be written"):
            store.begin(identity_of(CASES), input="a", rows=10, judge="fake")


def test_a_store_that_is_damaged_later_is_named(tmp_path):
    path = filled(tmp_path) / "runs.sqlite"
    whole = bytearray(path.read_bytes())
    whole[8192:] = b"\xee" * (len(whole) - 8192)
    path.write_bytes(whole)
    with pytest.raises(StoreError, match="damaged"), open_store(tmp_path) as store:
        list(store.run().records())


def test_a_locked_store_is_waited_for_and_then_named(tmp_path):
    open_store(tmp_path).close()
    place = database.store_address(tmp_path)
    with Store(database.open_database(place, create=False, timeout=0.1)) as store:
        other = sqlite3.connect(place, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="was locked by another program for too long"):
            begun(store, CASES)
        other.close()
        begun(store, CASES).finish()


def test_a_new_store_waits_for_whoever_opens_it_at_the_same_moment(tmp_path):
    """SQLite refuses a log at once where another connection is about to write, though it waits everywhere else."""
    sqlite3.connect(tmp_path / "runs.sqlite").close()
    other = sqlite3.connect(tmp_path / "runs.sqlite", check_same_thread=False, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    ends = threading.Timer(0.3, other.close)
    ends.start()
    with open_store(tmp_path) as store:
        assert store.runs() == []
    ends.join()


def test_where_the_store_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAGTRIAGE_STORE", raising=False)
    places = {
        None: ".ragtriage/runs.sqlite",
        "folder": "folder/runs.sqlite",
        Path("own.sqlite"): "own.sqlite",
        "sqlite:///url.db": "url.db",
    }
    for where, path in places.items():
        with open_store(where) as store:
            assert store.where == path
        assert Path(path).is_file()
    assert Path(".ragtriage/.gitignore").read_text() == "*\n"
    assert not Path(".gitignore").exists()
    Path("elsewhere/.ragtriage").mkdir(parents=True)
    with open_store("elsewhere/.ragtriage"):
        assert Path("elsewhere/.ragtriage/.gitignore").read_text() == "*\n"
    monkeypatch.setenv("RAGTRIAGE_STORE", "set")
    with open_store() as store:
        assert store.where == "set/runs.sqlite"


def test_nothing_of_a_database_driver_comes_through(tmp_path):
    with open_store(tmp_path) as store:
        with store.database.engine.begin() as opened:
            opened.exec_driver_sql("drop table runs")
        with pytest.raises(StoreError, match="failed: no such table: runs"):
            store.runs()
    with pytest.raises(StoreError, match=r"^the store x failed: something$"), database.store_errors("x"):
        raise SQLAlchemyError("something\nelse")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EIO])
def test_errors_of_the_file_system_are_told_too(number):
    with pytest.raises(StoreError, match=r"the (disk of the )?store /here"), database.store_errors("/here"):
        raise OSError(number, os.strerror(number))
