"""Runs go from one store to another as a whole or not at all, in either direction."""

import os
import re
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import event
from stored_cases import FULL, answer, begun, case, ended, fails, identity_of, written

from forked import Child
from places import Place
from poolers import until
from postgresql_server import new_schema, waits
from ragtriage.core.amount import Amount
from ragtriage.core.errors import NotStoredError, StoreError
from ragtriage.judges.fake import FakeJudge
from ragtriage.runs.case_row import CaseHeading
from ragtriage.runs.run import About, RejectedRow
from ragtriage.store import CopiedRun, RunBusyError, Store, open_store
from ragtriage.store.checking import check_store
from ragtriage.store.copying import UnfinishedRunError, copy_stored
from ragtriage.store.forgetting import delete_unheld_texts
from ragtriage.store.lease import here
from ragtriage.store.tables import InputScan

CASES = [case(0), FULL, case(3), case(4, response=None, sources=None)]
READ = CaseHeading("quality", "retriever", ("thin_sources",), sure=True)


@pytest.fixture(params=["sqlite → postgresql", "postgresql → sqlite", "sqlite → sqlite"])
def two(request, tmp_path) -> tuple[Place, Place]:
    """Two places for stores."""
    kinds = request.param.split(" → ")
    return tuple(  # type: ignore[return-value]  # of two
        Place(*new_schema()) if kind == "postgresql" else Place(str(tmp_path / str(at)))
        for at, kind in enumerate(kinds)
    )


def filled(place: Place) -> None:
    """A finished run, its second trial, a small one, and one whose texts were forgotten."""
    with open_store(place, project="shop") as store:
        for trial, repeats in ((0, None), (1, 1)):
            identity = identity_of(CASES)
            identity = type(identity)(identity.rows, identity.metrics, identity.fingerprints, trial)
            said = About("smaller chunks", "200 tokens", "1a2b3c4d5e+").stored()
            run = store.begin(identity, input="a", rows=4, judge="f", repeats=repeats, configuration=said)
            run.reject(RejectedRow(9, None, "it is no object"))
            run.count_spending(Amount(0.5))
            ended(run, CASES, FakeJudge(fails if trial else answer), READ)
        for rows, version in ((2, "small"), (3, "forgotten")):
            ended(begun(store, CASES, version, input="b", rows=rows), CASES[:rows])
        store.forget_texts(4)


def everything_in(place: Place, numbers: dict[int, int]) -> dict[str, list[object]]:
    """What runs amount to, without their numbers in the store."""
    with open_store(place) as store:
        found = {}
        for name, number in numbers.items():
            run = store.run(number)
            info = run.info
            known = [info.identity, info.state, info.created, info.finished, info.input, info.rows, info.cost]
            known += [info.done, info.failed, info.trial, info.project, info.seconds, dict(info.configuration)]
            known += [list(run.records()), run.rejected(), store.means([number])[number]]
            read = [row for row in place.rows("readings") if row["run"] == number]
            read.sort(key=lambda row: row["position"])
            found[name] = [*known, [{k: v for k, v in row.items() if k != "run"} for row in read]]
        return found  # type: ignore[return-value]  # by number


def copied(two: tuple[Place, Place], numbers: list[int], **more) -> list[CopiedRun]:
    with open_store(two[0]) as source, open_store(two[1]) as target:
        return [copy_stored(source, number, target, **more) for number in numbers]


def test_copied_runs_are_the_same_there_under_new_numbers(two):
    filled(two[0])
    with open_store(two[1]) as store:  # numbers differ
        store.begin(identity_of([]), input="x", rows=0, judge="f").finish()
    found = copied(two, [1, 2, 3, 4])
    assert [(run.number, run.there, run.before, run.cases) for run in found] == [
        (1, 2, False, 4), (2, 3, False, 4), (3, 4, False, 2), (4, 5, False, 3)
    ]  # fmt: skip
    there = {run.number: run.there for run in found}
    assert everything_in(two[1], there) == everything_in(two[0], {number: number for number in there})
    with open_store(two[1]) as store:
        assert store.run(3).info.repeats == 2
        assert check_store(store.database).sound
        assert store.run(5).texts_deleted() == 3
    assert [run.before for run in copied(two, [1, 3])] == [True, True]
    assert copied((two[1], two[0]), [2]) == [CopiedRun(2, 1, before=True)]  # back again


def test_a_run_that_cannot_be_copied_whole_is_not_there_at_all(two):
    filled(two[0])
    open_store(two[1]).close()
    two[1].sql(FULL_DISK[two[1].on_server])
    with pytest.raises(StoreError, match="disk is full"):
        copied(two, [3, 1])
    with open_store(two[1]) as store:
        assert [info.rows for info in store.runs()] == [2]  # run 3, which was copied before
        assert check_store(store.database).sound
    two[1].sql("DROP TRIGGER full_disk" + (" ON readings" if two[1].on_server else ""))
    assert [run.before for run in copied(two, [3, 1])] == [True, False]


FULL_DISK = {
    False: "CREATE TRIGGER full_disk BEFORE INSERT ON readings BEGIN SELECT raise(abort, 'disk is full'); END",
    True: (
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'No space left' "
        "USING errcode = '53100'; END $$;"
        "CREATE TRIGGER full_disk BEFORE INSERT ON readings FOR EACH ROW EXECUTE FUNCTION full_disk()"
    ),
}
"""What makes a disk full when readings are written, in a file and on a server."""


def test_a_run_that_is_being_written_or_was_never_finished_waits(two):
    with open_store(two[0]) as store, store.begin(identity_of(CASES), input="a", rows=4, judge="f"):
        with pytest.raises(RunBusyError, match=f"run 1 is being written by process {os.getpid()}"):
            copied(two, [1])
        two[0].sql("UPDATE runs SET heartbeat = heartbeat - 61, owner_host = 'elsewhere'")  # its process is dead
        with pytest.raises(UnfinishedRunError, match="run 1 isn't finished: give its evaluation again"):
            copied(two, [1])
        two[0].sql("UPDATE runs SET heartbeat = heartbeat + 61, owner_host = ?", here())
        with open_store(two[1]) as target:
            assert target.runs() == []


def test_a_run_may_get_another_project_and_an_unknown_one_is_named(two):
    filled(two[0])
    copied(two, [1], project="search")
    with open_store(two[1], project="search") as store:
        assert store.run("last").number == 1
    with pytest.raises(NotStoredError, match="there is no run 7 in"):
        copied(two, [7])


def test_runs_of_one_moment_are_told_apart(two):
    with open_store(two[0]) as store:
        for _ in range(4):
            store.begin(identity_of(CASES), input="a", rows=4, judge="f").finish()
        infos = store.runs()
    assert len({info.created for info in infos}) == 4
    assert all(info.created <= str(info.finished) <= datetime.now(UTC).isoformat() for info in infos)
    assert [run.before for run in copied(two, [1, 2, 3, 4])] == [False] * 4


KILLED = """
import sys
from ragtriage.store import open_store
from ragtriage.store.copying import copy_stored
from sqlalchemy import event
import os
with open_store(sys.argv[1]) as source, open_store(sys.argv[2]) as target:
    seen = []
    @event.listens_for(target.database.engine, "before_cursor_execute")
    def kill(connection, cursor, statement, *_):
        seen.extend([1] if "INTO" in statement and "scores" in statement else [])
        if len(seen) == 2:
            os.kill(os.getpid(), 9)
    for number in 1, 2:
        copy_stored(source, number, target)
"""


def test_a_killed_copy_leaves_whole_runs_and_the_same_call_goes_on(two):
    filled(two[0])
    open_store(two[1]).close()
    with Child(two[0], two[1], folder=Path(__file__).parent, code=KILLED) as child:
        assert child.communicate() == ("", "")
        assert child.returncode == -9
    with open_store(two[1]) as target:
        assert [info.complete for info in target.runs()] == [True]
        assert check_store(target.database).sound
    assert [run.before for run in copied(two, [1, 2])] == [True, False]


class Held:
    """Stops a copy before the first statement that inserts into a table, until it is let go on.

    Args:
        store: into which is copied.
        table: its name.
    """

    def __init__(self, store: Store, table: str) -> None:
        self.reached, self.go_on = threading.Event(), threading.Event()

        @event.listens_for(store.database.engine, "before_cursor_execute")
        def hold(connection, cursor, statement, *_):
            if re.search(rf"INSERT INTO \S*\b{table}\b", statement) and not self.reached.is_set():
                self.reached.set()
                assert self.go_on.wait(30)


def in_a_thread(work, found: list) -> threading.Thread:
    def keep() -> None:
        try:
            found.append(work())
        except Exception as error:  # noqa: BLE001  # whatever it is, the test looks at it
            found.append(error)

    thread = threading.Thread(target=keep)
    thread.start()
    return thread


@pytest.fixture
def to_server(tmp_path) -> tuple[Place, Place]:
    """A place for a store in a file, and one on a server."""
    return Place(str(tmp_path / "file")), Place(*new_schema())


@pytest.fixture
def to_file(tmp_path) -> tuple[Place, Place]:
    """The same the other way round; tests of several transactions go one way, half of them each."""
    return Place(*new_schema()), Place(str(tmp_path / "file"))


@pytest.fixture
def meeting(to_server) -> Iterator[tuple[Store, Store, Store]]:
    """A store in a file with a run of several transactions; one on a server, opened twice."""
    with open_store(to_server[0]) as source, open_store(to_server[1]) as target, open_store(to_server[1]) as other:
        written(source, [case(i) for i in range(300)])
        yield source, target, other


def test_texts_are_inserted_in_the_order_of_their_keys(meeting):
    source, target, _ = meeting
    seen: list[list[str]] = []
    event.listen(target.database.engine, "begin", lambda _: seen.append([]))

    @event.listens_for(target.database.engine, "before_cursor_execute")
    def note(connection, cursor, statement, parameters, *_):
        if re.search(r"INSERT INTO \S*\btexts\b", statement):
            seen[-1].extend(re.findall(r"[0-9a-f]{32}", parameters["hash_"]))

    copy_stored(source, 1, target)
    written = [hashes for hashes in seen if hashes]
    assert len(written) > 1
    assert len(set().union(*written)) > 600
    assert written == [sorted(hashes) for hashes in written]  # so that no two writers wait for each other


def test_texts_of_a_copy_stay_though_others_forget_theirs_meanwhile(meeting):
    source, target, other = meeting

    @event.listens_for(target.database.engine, "before_cursor_execute")
    def forget(connection, *_):
        if not connection.get_execution_options().get("writes"):  # between two transactions
            delete_unheld_texts(other.database)

    assert copy_stored(source, 1, target) == CopiedRun(1, 1, before=False, cases=300)
    assert check_store(target.database).lacking["missing"] == {}


def test_half_a_copy_is_nowhere_to_be_seen_and_the_next_one_goes_on_with_it(to_server):
    all_of_them = [case(i) for i in range(300)]
    with open_store(to_server[0], project="shop") as source:
        written(source, all_of_them)
    open_store(to_server[1]).close()
    with Child(to_server[0], to_server[1], folder=Path(__file__).parent, code=KILLED) as child:
        assert child.communicate() == ("", "")
        assert child.returncode == -9
    with open_store(to_server[1]) as target:
        assert 0 < to_server[1].sql("SELECT count(*) FROM cases")[0][0] < 300
        assert target.runs() == []
        for which in ("last", 2):
            with pytest.raises(NotStoredError, match="the store holds no run yet"):
                target.run(which)
        identity = identity_of(all_of_them)
        assert (
            target.newest(identity),
            target.unfinished(identity),
            InputScan(target.database, "a", target.project).last_run,
        ) == (None, None, None)
        check = check_store(target.database)
        assert (check.runs, check.half_copied, check.unheld, check.sound) == (0, [1], 0, True)
    with open_store(to_server[0]) as source:
        source.forget_texts(1, ["case 7"])  # which was copied before
    assert copied(to_server, [1]) == [CopiedRun(1, 1, before=False, cases=300)]
    with open_store(to_server[0]) as source, open_store(to_server[1]) as target:
        assert list(target.run().records()) == list(source.run().records())
        assert check_store(target.database).half_copied == []
        assert target.run().texts_deleted() == 1


def test_a_run_that_is_changed_while_it_is_copied_is_not_listed_and_can_be_deleted(to_file):
    with open_store(to_file[0]) as source, open_store(to_file[1]) as target, open_store(to_file[0]) as other:
        written(source, [case(i) for i in range(300)])
        seen: list[int] = []

        @event.listens_for(target.database.engine, "commit")
        def forget(_):
            seen.append(len(seen))
            if len(seen) == 3:
                other.forget_texts(1, ["case 7"])

        with pytest.raises(StoreError, match="run 1 was changed while it was copied: give the same command again"):
            copy_stored(source, 1, target)
        assert target.runs() == []
        assert check_store(target.database).half_copied == [1]
        target.delete(1)
        assert check_store(target.database).half_copied == []
        assert [to_file[1].sql(f"SELECT count(*) FROM {table}") for table in ("cases", "texts")] == [[(0,)], [(0,)]]
        assert copy_stored(source, 1, target).cases == 300
        assert target.run().texts_deleted() == 1


@pytest.mark.parametrize("what", ["forgets", "copies too"])
def test_whoever_forgets_or_copies_too_waits_for_the_end_of_a_copy(to_server, what):
    with open_store(to_server[0]) as source, open_store(to_server[1]) as target, open_store(to_server[1]) as other:
        written(source, CASES)
        held, found, copies = Held(target, "readings|case_texts"), [], what == "copies too"
        thread = in_a_thread(lambda: copy_stored(source, 1, target), found)
        assert held.reached.wait(30)
        work = (lambda: copy_stored(source, 1, other)) if copies else (lambda: delete_unheld_texts(other.database))
        second = in_a_thread(work, found)
        try:
            if copies:
                second.join(0.5)
                assert second.is_alive()
            else:
                until(waits)
        finally:
            held.go_on.set()
            thread.join()
            second.join()
        assert len(found) == 2
        assert check_store(target.database).lacking["missing"] == {}
        assert len(target.runs()) == 1
        if copies:
            assert sorted(run.before for run in found) == [False, True]
