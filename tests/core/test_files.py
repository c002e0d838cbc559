"""Files that are written as a whole or not at all."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from modes import mode_of, wide
from ragtriage.core.files import ORDINARY_FILE, atomic_write, open_private, private_file, private_folder, state_folder


def test_what_stood_there_stays_until_all_is_written_and_also_where_that_fails(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file.txt"
    with atomic_write(path, "backslashreplace") as file:
        file.write("old\ud800\n")
    assert path.read_text("utf-8") == "old\\ud800\n"

    with pytest.raises(OSError, match="gone"), atomic_write(path) as file:
        file.writelines(lines())
    assert path.read_text("utf-8") == "old\\ud800\n"

    with atomic_write(path) as file:
        file.write("new")
        assert path.read_text("utf-8") == "old\\ud800\n"
    assert path.read_text("utf-8") == "new"
    assert list(path.parent.iterdir()) == [path]
    with pytest.raises(FileExistsError):
        private_folder(path)


def lines() -> Iterator[str]:
    yield "half"
    raise OSError("gone")


@pytest.fixture
def open_umask() -> Iterator[None]:
    """Every permission is given to what is made without one."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
@pytest.mark.skipif(os.name == "nt", reason="Windows knows no modes")
def test_a_new_file_is_private_from_the_first_moment_on(tmp_path: Path) -> None:
    path = tmp_path / "new" / "deep" / "file.txt"
    (tmp_path / "file.bin").touch()

    with atomic_write(path) as file:
        assert mode_of(Path(file.name)) == 0o600

    private_file(tmp_path / "empty")
    open_private(tmp_path / "bytes").close()
    private_folder(tmp_path / "a" / "b")
    private_folder(tmp_path / "a" / "b")
    assert wide(tmp_path, [tmp_path / "file.bin"]) == []
    assert [mode_of(folder) for folder in (path.parent, path.parent.parent, tmp_path / "a")] == [0o700] * 3


@pytest.mark.usefixtures("open_umask")
@pytest.mark.skipif(os.name == "nt", reason="Windows knows no modes")
def test_a_file_that_is_replaced_hands_on_its_mode_and_is_private_until_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.touch()
    path.chmod(0o440)
    (tmp_path / "file.txt.new").write_text("left by a kill", "utf-8")

    with atomic_write(path) as file:
        assert mode_of(Path(file.name)) == 0o600
        file.write("new")

    assert (path.read_text("utf-8"), mode_of(path)) == ("new", 0o440)
    with atomic_write(tmp_path / "ordinary.toml", mode=ORDINARY_FILE):
        pass
    assert mode_of(tmp_path / "ordinary.toml") == 0o666


@pytest.mark.parametrize(
    ("system", "folder"),
    [("linux", ".local/state"), ("darwin", "Library/Application Support"), ("win32", "AppData/Local")],
)
def test_the_users_state_folder_is_where_the_system_wants_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, folder: str
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert state_folder() == tmp_path / folder / "ragtriage"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "own"))
    assert state_folder() == tmp_path / "own" / "ragtriage"


def test_without_a_home_there_is_no_state_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", none)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert not state_folder().exists()
    with pytest.raises(OSError, match="null"):
        private_folder(state_folder())
