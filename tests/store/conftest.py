"""Where the tests of the store keep theirs: in a file, and on a server."""

from pathlib import Path

import pytest

from places import Place, older
from postgresql_server import new_schema


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A place for a store, of either kind of database."""
    return Place(*new_schema()) if request.param == "postgresql" else Place(str(tmp_path / "store"))


@pytest.fixture
def version_2() -> Place:
    """A store that an earlier version of the tables was written in, on a server."""
    return older(Place(*new_schema()))


@pytest.fixture
def server_place() -> Place:
    """A place for a store on a server."""
    return Place(*new_schema())
