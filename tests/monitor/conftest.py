"""Where the tests of the monitor keep their stores."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from places import Place
from postgresql_server import new_schema
from ragtriage.store import Store, open_store


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A place for a store, of either kind of database."""
    return Place(*new_schema()) if request.param == "postgresql" else Place(str(tmp_path / "store"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store of the test's own, in a file."""
    with open_store(tmp_path / "store") as opened:
        yield opened
