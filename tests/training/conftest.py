"""The scripts of `training/` can be imported, as they import each other."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

TRAINING = Path(__file__).parents[2] / "training"


@pytest.fixture(scope="session", autouse=True)
def importable() -> Iterator[None]:
    sys.path.insert(0, str(TRAINING))
    yield
    sys.path.remove(str(TRAINING))
