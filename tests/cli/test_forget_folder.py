"""`ragtriage forget` of a run in a folder: nothing of what was said of its cases is left in its files."""

import json
import shutil
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from cli_models import Model, chats, judging

from cli_rows import row, written
from in_process import Said
from ragtriage import open_store
from ragtriage.core.errors import StoreError
from ragtriage.core.files import folder_at
from ragtriage.store.folder import read_manifest
from servers import Server

pytestmark = pytest.mark.usefixtures("in_this_process")

Command = Callable[..., Said]
EVALUATE = ("evaluate", "rows.jsonl", "--on", "local:1", "--out", "set/")


def secret(at: int) -> dict[str, Any]:
    return row(
        at,
        question="What is the number of Zebulon?",
        contexts=["The number of Zebulon is 12."],
        answer="The number of Zebulon is 12, and Zebulon likes horses and Zebulon sings.",
    )


@pytest.fixture(params=[(), ("--texts",)], ids=["without", "texts"])
def evaluated(request: pytest.FixtureRequest, command: Command, tmp_path: Path) -> bool:
    """The run in `set/` of three cases and a row that can't be used, run 1 of the store; whether with texts."""
    evaluate(command, tmp_path, *request.param)
    return bool(request.param)


@pytest.fixture
def with_texts(command: Command, tmp_path: Path) -> None:
    """The same with texts, where it makes no difference."""
    evaluate(command, tmp_path, "--texts")


def evaluate(command: Command, tmp_path: Path, *flags: str) -> None:
    written(tmp_path / "rows.jsonl", [row(0), secret(1), row(2), row(3, contexts={"Zebulon": 7})])
    said = command(*EVALUATE, *flags)
    assert "run 1 of the store names it" in said.err, said.err


def held(folder: Path, word: str = "Zebulon", *, cases_only: bool = False) -> set[str]:
    """The files of a folder that hold a word, packed or not."""
    found = set()
    for path in folder.rglob("*"):
        if path.suffix == ".parquet":
            rows = pq.read_table(path).to_pylist()
            told = "".join(repr(one) + zlib.decompress(one["steps"]).decode() for one in rows if one["steps"])
            told += "".join(repr(one) for one in rows if not one["steps"] and not cases_only)
        else:
            told = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        if word in told:
            found.add(path.relative_to(folder).as_posix())
    return found


def numbers(command: Command) -> dict[str, Any]:
    found = command("show", "set/", "--json").json
    found.pop("texts_deleted", None)
    return found


@pytest.mark.parametrize("name", ["set/", "1"])
def test_nothing_of_what_was_said_is_left_and_the_scores_stay(
    evaluated: bool, command: Command, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "set"
    before = numbers(command)
    # of an attempt that was lost
    (part,) = (folder / "records").glob("*.parquet")
    shutil.copy(part, folder / "records" / f"{part.stem.split('-')[0]}-dead.parquet")
    assert held(folder)

    dry = command("forget", name, "--dry-run").out
    assert ("the texts of 3 cases" if evaluated else "what the judge wrote, such as claims, and explained") in dry
    assert held(folder)
    said = command("forget", name, "--yes")

    assert (said.code, said.err) == (0, "")
    assert "deleted the texts of 3 cases; scores and verdicts stay" in said.out
    assert (
        f"files that hold such texts too (what was evaluated) stay: delete them yourself\n  {tmp_path}/rows.jsonl"
        in (said.out)
    )
    assert held(folder) == set()
    assert numbers(command) == before
    assert command("show", "set/", "--json").json["texts_deleted"] == 3
    assert command("store", "check", "set/").out == "1 part looked through: nothing is missing\n"
    again = command("forget", name, "--yes")
    assert (again.code, again.out.splitlines()[0][:33]) == (
        0,
        "nothing to delete: no text of " + name.replace("1", "run")[:3],
    )


def test_texts_of_the_input_are_not_read_into_it_again(evaluated: bool, command: Command, tmp_path: Path) -> None:
    assert (tmp_path / "set").exists()
    command("forget", "set/", "--yes")

    texts = command("export", "set/", "--with", "texts,evidence")
    assert "Zebulon" not in texts.out
    assert "note: set/: the texts of its cases were deleted (ragtriage forget); their scores stay\n" in texts.err
    assert json.loads(texts.out.splitlines()[0])["query"] == "[text deleted]"
    command("store", "copy", "set/", "other")
    assert command("show", "1", "--json", "--store", "other").json["metrics"] == numbers(command)["metrics"]
    # the same command has nothing to do, and doesn't bring them back
    assert "nothing is left to be done" in command(*EVALUATE, *(["--texts"] if evaluated else [])).err
    assert held(tmp_path / "set") == set()


def test_one_case_loses_its_texts_and_the_others_keep_theirs(evaluated: bool, command: Command, tmp_path: Path) -> None:
    before = numbers(command)
    said = command("forget", "set/", "r1", "--yes")

    assert (said.code, evaluated) == (0, evaluated)
    assert "deleted the texts of 1 case; scores and verdicts stay" in said.out
    # why a row can't be used belongs to no case
    assert held(tmp_path / "set", cases_only=True) == set()
    assert numbers(command) == before
    assert "Ticket 2" in command("show", "set/", "r2").out
    assert "the texts of 1 of its 3 cases were deleted" in command("show", "set/", "r1").err
    assert command("forget", "set/", "r1", "--yes").out.startswith("nothing to delete")
    assert command("forget", "set/", "r9", "--yes").code == 2


@pytest.mark.usefixtures("with_texts")
def test_old_runs_are_forgotten_where_a_folder_is_gone(command: Command, tmp_path: Path) -> None:
    assert command("evaluate", "rows.jsonl").err is not None
    shutil.rmtree(tmp_path / "set")
    said = command("forget", "--older-than", "0d", "--yes")

    assert said.code == 0
    assert "run 1: nothing of it is left to delete: " in said.out
    assert "deleted the texts of 3 cases" in said.out


@pytest.mark.usefixtures("with_texts")
def test_a_folder_needs_no_store(command: Command, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / ".ragtriage")
    said = command("forget", "set/", "--yes")

    assert said.code == 0
    assert held(tmp_path / "set") == set()


@pytest.mark.usefixtures("with_texts")
def test_its_report_is_named(command: Command, tmp_path: Path) -> None:
    command("report", "set/")
    said = command("forget", "set/", "--dry-run")

    assert said.code == 0
    assert f"  {tmp_path}/set/report.html\n" in said.out


def test_the_store_says_where_the_records_are(evaluated: bool, tmp_path: Path) -> None:
    with (
        open_store(tmp_path / ".ragtriage") as store,
        pytest.raises(StoreError, match=r"its records lie in .*/set: `ragtriage forget 1` deletes their texts there"),
    ):
        store.forget_texts(1)
    manifest = read_manifest(folder_at(str(tmp_path / "set")))
    assert manifest is not None
    assert manifest.texts is evaluated


@pytest.mark.usefixtures("openai")
def test_what_the_store_remembers_of_a_models_answers_goes_too(command: Command, tmp_path: Path) -> None:
    written(tmp_path / "rows.jsonl", [secret(0), row(1)])
    with Server(Model()) as server:
        evaluate = (*EVALUATE, "--metrics", "groundedness", *judging(server))
        assert command(*evaluate).code == 0
        asked = len(chats(server.heard))
        assert remembered(tmp_path) > 0
        assert command("forget", "set/", "r0", "--yes").code == 0
        left = remembered(tmp_path)
        assert left > 0
        assert command("forget", "set/", "--yes").code == 0
        assert remembered(tmp_path) == 0
        assert b"Zebulon" not in (tmp_path / ".ragtriage" / "runs.sqlite").read_bytes()

        again = command(*evaluate[:5], "other/", *evaluate[6:])
        assert again.code == 0, again.err
        assert len(chats(server.heard)) == 2 * asked


def remembered(folder: Path) -> int:
    with closing(sqlite3.connect(folder / ".ragtriage" / "runs.sqlite")) as store:
        return int(store.execute("SELECT count(*) FROM answers").fetchone()[0])
