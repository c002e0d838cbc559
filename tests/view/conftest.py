"""One store with two runs for all tests that only look."""

from collections.abc import Iterator

import pytest
from viewed import Viewer, some_records, stored, viewer_of

from ragtriage.store import Store, open_store
from ragtriage.view.server import StoreRuns


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("viewed")) as there:
        records = some_records()
        stored(there, "rows", records, about={"name": "before <b>", "note": "a note"})
        stored(there, "rows", records)
        yield there


@pytest.fixture(scope="session")
def viewer(store: Store) -> Iterator[Viewer]:
    found = viewer_of(StoreRuns(store))
    yield found
    found.runs.close()
