"""Files and folders that the commands make are private to their owner, whatever the umask is."""

import io
import os
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli_rows import row, written
from modes import mode_of, wide
from ragtriage import open_store

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows knows no modes")

APP = """
def answer(query):
    if query.startswith("What does ticket 2"):
        raise ValueError("no")
    return {"response": "It is " + query, "sources": ["It is " + query]}
"""


@pytest.fixture
def given(tmp_path: Path) -> Iterator[set[Path]]:
    """What the user made, while every permission is given to what is made without one."""
    before = os.umask(0)
    written(tmp_path / "rows.jsonl", (row(i) for i in range(4)))
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    with sqlite3.connect(tmp_path / "library.db") as library:
        library.executescript(
            "CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, born INTEGER NOT NULL);"
            "INSERT INTO author (name, born) VALUES ('Ada', 1815), ('Bo', 1900), ('Cy', 1950);"
        )
    library.close()
    yield set(tmp_path.rglob("*"))
    os.umask(before)


EVALUATE = ("evaluate", "rows.jsonl", "--metrics", "groundedness,self_distinctness")
COLLECT = ("collect", "rows.jsonl", "--app", "app.py:answer", "--app-max-attempts", "1")
# what golden's rows, which look at every file, don't have
COMMANDS: dict[str, list[tuple[object, ...]]] = {
    "a new folder": [(*EVALUATE, "--store", "new/store/runs.db", "--report", "new/pages/deep/page.html")],
    "parquet": [EVALUATE, ("export", "-o", "out/rows.parquet")],
    "collect again": [(*COLLECT, "-o", "answers.jsonl", "--retry-failed")] * 2,
    "trust": [
        EVALUATE,
        ("trust", "label", "--n", "2", "-o", "new/labels.jsonl"),
        ("trust", "test", "rows.jsonl", "-o", "new/pairs.jsonl"),
        ("trust", "card", "-o", "cards/card.md"),
    ],
    "testset": [
        ("testset", "build", "library.db", "-o", "set"),
        ("testset", "phrase", "set", "--again"),
        ("testset", "example", "firm"),
    ],
}


@pytest.mark.parametrize("commands", COMMANDS.values(), ids=list(COMMANDS))
def test_nothing_that_a_command_made_is_open_to_others(
    command, given: set[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commands: list[tuple[object, ...]]
) -> None:
    if any("parquet" in str(part) for one in commands for part in one):
        pytest.importorskip("pyarrow")
    for arguments in commands:
        monkeypatch.setattr(sys, "stdin", io.StringIO("y\ny\n"))
        said = command(*arguments)
        assert said.code in {0, 3}, said.err

    assert set(tmp_path.rglob("*")) - given
    assert wide(tmp_path, given) == []


def test_the_files_beside_an_open_store_are_private_too(given: set[Path], tmp_path: Path) -> None:
    with open_store(tmp_path / "store") as store:
        assert store.runs() == []

        names = {path.name for path in (tmp_path / "store").iterdir()}
        assert names >= {"runs.sqlite", "runs.sqlite-wal", "runs.sqlite-shm"}
        assert wide(tmp_path, given) == []


def test_what_the_user_made_keeps_its_mode(command, given: set[Path], tmp_path: Path) -> None:
    (tmp_path / ".ragtriage").mkdir(0o755)
    for name, mode in {"rows.csv": 0o644, "page.html": 0o640, "answers.jsonl": 0o664}.items():
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)
    (tmp_path / "rows.csv").write_text("old", encoding="utf-8")

    assert command(*EVALUATE, "--report", "page.html").code == 0
    assert command("export", "-o", "rows.csv").code == 0
    command(*COLLECT, "-o", "answers.jsonl")
    again = command(*COLLECT, "-o", "answers.jsonl", "--retry-failed")

    assert again.code == 3
    assert (tmp_path / "rows.csv").read_text(encoding="utf-8").startswith("id,")
    found = {name: mode_of(tmp_path / name) for name in (".ragtriage", "rows.csv", "page.html", "answers.jsonl")}
    assert found == {".ragtriage": 0o755, "rows.csv": 0o644, "page.html": 0o640, "answers.jsonl": 0o664}
    assert mode_of(tmp_path / ".ragtriage" / "runs.sqlite") == 0o600
