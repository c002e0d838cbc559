"""Every fault in the tables here: one clear message and an exit code, never a traceback, never a lost file."""

from collections.abc import Callable
from pathlib import Path

import pytest
from suite import Entry, entries, prepare_in, problems_of

TABLES = entries()


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    return prepare_in(tmp_path_factory.mktemp("prepared"))


@pytest.mark.parametrize("entry", TABLES.values(), ids=list(TABLES))
def test_a_fault_is_told_in_words(entry: Entry, tmp_path: Path, prepared: Callable[[str], Path]) -> None:
    problems = problems_of(entry, tmp_path, prepared)

    assert not problems, "\n".join(["", *problems])
