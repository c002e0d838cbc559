"""What one process at a time does with a store, and runs that test sessions made."""

import pytest

from places import Place
from ragtriage import NotStoredError, StoreError, open_store
from ragtriage.runs.case_row import digest
from ragtriage.runs.manifest import RunIdentity
from ragtriage.runs.run import MADE_BY, TESTS
from ragtriage.store.database import open_database, store_address
from ragtriage.store.lease import QuestionLocks, exclusive
from ragtriage.store.tables import InputScan


def test_another_party_is_waited_for_and_then_named(place: Place) -> None:
    with open_store(place):
        database = open_database(store_address(place), create=False)
    waits: list[float] = []
    with exclusive(database, "judging a.jsonl", party="one", patience=5):
        with (
            pytest.raises(StoreError, match=r"judging a\.jsonl is being done by process \d+ on .*: wait until it ends"),
            exclusive(database, "judging a.jsonl", party="other", patience=5, sleep=waits.append),
        ):
            pass
        with exclusive(database, "judging b.jsonl", party="other", patience=0):
            pass  # something else isn't held up
    database.close()

    assert sum(waits) >= 5


def test_the_same_party_is_waited_for_as_long_as_it_lives(place: Place) -> None:
    with open_store(place):
        database = open_database(store_address(place), create=False)
    holder = QuestionLocks(database, party="one")
    holder.claim([digest("exclusive\0judging")])
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 50:
            holder.close()

    with exclusive(database, "judging", party="one", patience=0, sleep=sleep):
        assert len(waits) == 50
    database.close()


def test_a_run_that_tests_made_is_never_the_last(place: Place) -> None:
    identity = RunIdentity("rows", ("groundedness",))
    with open_store(place) as store:
        given = {"input": "a.jsonl", "rows": 0, "judge": "fake"}
        with store.begin(identity, configuration={MADE_BY: TESTS}, **given) as run:
            run.finish()
        with pytest.raises(NotStoredError, match="no run yet"):
            store.run("last")
        with store.begin(
            RunIdentity("others", ()), configuration={"mapping": {"id": f'"{MADE_BY}": "pytest"'}}, **given
        ):
            pass
        with store.begin(identity, configuration={MADE_BY: TESTS}, **given) as run:
            run.finish()

        assert store.run("last").number == 2
        assert store.run(3).info.by_tests
        assert store.newest(identity) == 3
        assert InputScan(store.database, "a.jsonl", store.project).last_run is None
