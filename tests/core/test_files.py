"""Files that are written as a whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ragtriage.core.files import atomic_write


def test_what_stood_there_stays_until_all_is_written(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old", "utf-8")

    with atomic_write(path) as file:
        file.write("new")
        assert path.read_text("utf-8") == "old"

    assert path.read_text("utf-8") == "new"
    assert list(tmp_path.iterdir()) == [path]


def lines() -> Iterator[str]:
    yield "half"
    raise OSError("gone")


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old", "utf-8")

    with pytest.raises(OSError, match="gone"), atomic_write(path) as file:
        file.writelines(lines())

    assert path.read_text("utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_folders_are_made(tmp_path: Path) -> None:
    with atomic_write(tmp_path / "a" / "b.txt", "backslashreplace") as file:
        file.write("\ud800\n")

    assert (tmp_path / "a" / "b.txt").read_text("utf-8") == "\\ud800\n"
