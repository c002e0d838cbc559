"""Runs go from one store to another as a whole or not at all, in either direction."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from stored_cases import FULL, answer, case, evaluated, fails, identity_of

from forked import Child
from places import Place
from postgresql_server import new_schema
from ragtriage.core.errors import NotStoredError, StoreError
from ragtriage.judges.fake import FakeJudge
from ragtriage.store import CopiedRun, Reading, RejectedRow, RunBusyError, open_store

CASES = [case(0), FULL, case(3), case(4, response=None)]
READ = Reading("quality", "retriever", ("thin_sources",), sure=True)


@pytest.fixture(params=["sqlite → postgresql", "postgresql → sqlite", "sqlite → sqlite"])
def two(request, tmp_path) -> tuple[Place, Place]:
    """Two places for stores."""
    kinds = request.param.split(" → ")
    return tuple(  # type: ignore[return-value]  # of two
        Place(*new_schema()) if kind == "postgresql" else Place(str(tmp_path / str(at)))
        for at, kind in enumerate(kinds)
    )


def filled(place: Place) -> None:
    """A finished run, its second trial, an interrupted one, and one whose texts were forgotten."""
    with open_store(place, project="shop") as store:
        for trial, repeats in ((0, None), (1, 1)):
            identity = identity_of(CASES)
            identity = type(identity)(identity.rows, identity.metrics, identity.fingerprints, trial)
            with store.begin(identity, input="a", rows=4, judge="f", repeats=repeats) as run:
                for record in evaluated(run.todo(CASES), FakeJudge(fails if trial else answer)):
                    run.keep(record, READ)
                run.reject(RejectedRow(9, None, "it is no object"))
                run.cost = 0.5
                run.finish()
        for number, ends in ((3, "interrupted"), (4, "forgotten")):
            with store.begin(identity_of(CASES, version=ends), input="b", rows=4, judge="f") as run:
                for record in list(evaluated(list(run.todo(CASES))))[: number - 1]:
                    run.keep(record)
                if ends == "forgotten":
                    run.finish()
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
            found[name] = [*known, [{k: v for k, v in row.items() if k != "run"} for row in read]]
        return found  # type: ignore[return-value]  # by number


def copied(two: tuple[Place, Place], numbers: list[int], **more) -> list[CopiedRun]:
    with open_store(two[0]) as source, open_store(two[1]) as target:
        return source.copy_to(target, numbers, **more)


def test_copied_runs_are_the_same_there_under_new_numbers(two):
    filled(two[0])
    with open_store(two[1]) as store:  # numbers differ
        store.begin(identity_of([]), input="x", rows=0, judge="f").finish()
    found = copied(two, [1, 2, 3, 4])
    assert [(run.number, run.there, run.before, run.cases) for run in found] == [
        (1, 2, False, 4),
        (2, 3, False, 4),
        (3, 4, False, 2),
        (4, 5, False, 3),
    ]
    there = {run.number: run.there for run in found}
    assert everything_in(two[1], there) == everything_in(two[0], {number: number for number in there})
    with open_store(two[1]) as store:
        assert store.run(3).info.repeats == 2
        assert store.check().sound
        assert store.run(5).texts_deleted() == 3
        assert store.unfinished(identity_of(CASES, version="interrupted")) == 4  # and it can be continued
        with store.resume(4) as run:
            assert len(list(run.todo(CASES))) == 2


def test_the_same_run_is_there_already(two):
    filled(two[0])
    copied(two, [3])
    assert [(run.number, run.there, run.before) for run in copied(two, [1, 3])] == [(1, 2, False), (3, 1, True)]
    with open_store(two[1]) as store:
        assert len(store.runs()) == 2


def test_back_again_it_is_there_already(two):
    filled(two[0])
    (there,) = copied(two, [1])
    assert copied((two[1], two[0]), [there.there]) == [CopiedRun(there.there, 1, before=True)]


def test_a_run_that_cannot_be_copied_whole_is_not_there_at_all(two):
    filled(two[0])
    open_store(two[1]).close()
    if two[1].on_server:
        two[1].sql(
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
            "'could not extend file: No space left on device' USING errcode = '53100'; END $$"
        )
        two[1].sql("CREATE TRIGGER full_disk BEFORE INSERT ON readings FOR EACH ROW EXECUTE FUNCTION full_disk()")
    else:
        two[1].sql(
            "CREATE TRIGGER full_disk BEFORE INSERT ON readings BEGIN "
            "SELECT raise(abort, 'database or disk is full'); END"
        )
    with pytest.raises(StoreError, match="disk is full"):
        copied(two, [3, 1])
    with open_store(two[1]) as store:
        assert [info.rows for info in store.runs()] == [4]  # run 3, which was copied before
        assert store.check().sound
    two[1].sql("DROP TRIGGER full_disk" + (" ON readings" if two[1].on_server else ""))
    assert [run.before for run in copied(two, [3, 1])] == [True, False]


def test_a_run_that_is_being_written_waits(two):
    with open_store(two[0]) as store, store.begin(identity_of(CASES), input="a", rows=4, judge="f"):
        with pytest.raises(RunBusyError, match=f"run 1 is being written by process {os.getpid()}"):
            copied(two, [1])
        with open_store(two[1]) as target:
            assert target.runs() == []


def test_the_run_of_a_dead_process_is_copied_as_interrupted(two):
    code = (
        "import os, sys; from ragtriage.store import RunIdentity, open_store; store = open_store(sys.argv[1]); "
        "store.begin(RunIdentity('r', ()), input='a', rows=0, judge='f'); os.kill(os.getpid(), 9)"
    )
    with Child(two[0], code=code) as child:
        child.communicate()
    copied(two, [1])
    with open_store(two[1]) as target:
        assert target.run().info.state == "interrupted"
        target.resume(1).finish()


def test_a_run_may_get_another_project(two):
    filled(two[0])
    copied(two, [1], project="search")
    with open_store(two[1], project="search") as store:
        assert store.run("last").number == 1


def test_runs_of_one_moment_are_told_apart(two):
    with open_store(two[0]) as store:
        for _ in range(4):
            store.begin(identity_of(CASES), input="a", rows=4, judge="f").finish()
        infos = store.runs()
    assert len({info.created for info in infos}) == 4
    assert all(info.created <= str(info.finished) <= datetime.now(UTC).isoformat() for info in infos)
    assert [run.before for run in copied(two, [1, 2, 3, 4])] == [False] * 4


def test_an_unknown_run_is_named(two):
    open_store(two[0]).close()
    with pytest.raises(NotStoredError, match="there is no run 7 in"):
        copied(two, [7])


KILLED = """
import sys
from ragtriage.store import open_store
from sqlalchemy import event
import os
with open_store(sys.argv[1]) as source, open_store(sys.argv[2]) as target:
    seen = []
    @event.listens_for(target._database.engine, "before_cursor_execute")
    def kill(connection, cursor, statement, *_):
        seen.extend([1] if "INTO" in statement and "scores" in statement else [])
        if len(seen) == 2:
            os.kill(os.getpid(), 9)
    source.copy_to(target, [1, 2])
"""


def test_a_killed_copy_leaves_whole_runs_and_the_same_call_goes_on(two):
    filled(two[0])
    open_store(two[1]).close()
    with Child(two[0], two[1], folder=Path(__file__).parent, code=KILLED) as child:
        assert child.communicate() == ("", "")
        assert child.returncode == -9
    with open_store(two[1]) as target:
        assert [info.complete for info in target.runs()] == [True]
        assert target.check().sound
    assert [run.before for run in copied(two, [1, 2])] == [True, False]
