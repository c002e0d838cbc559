"""`forget`, of runs in stores and in folders: what is left, what is shown afterwards, and what still holds texts."""

import json
import os
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
from forked import Child
from in_process import Said
from ragtriage import open_store
from ragtriage.core.errors import StoreError
from ragtriage.core.files import folder_at
from ragtriage.store.folder import read_manifest
from ragtriage.store.forgetting import cases_with_texts
from servers import Server

Command = Callable[..., Said]
EVALUATE = ("evaluate", "rows.jsonl", "--metrics", "groundedness,response_precision")
ON = ("evaluate", "rows.jsonl", "--on", "local:1", "--out", "set/")


def secret(at: int) -> dict[str, Any]:
    return row(
        at,
        question="What is the number of Zebulon?",
        contexts=["The number of Zebulon is 12."],
        answer="The number of Zebulon is 12, and Zebulon likes horses and Zebulon sings.",
    )


@pytest.fixture
def stored(command: Command, tmp_path: Path) -> Path:
    """The folder of a store with one run of three cases; a name stands in all texts of the second."""
    written(tmp_path / "rows.jsonl", [row(0), secret(1), row(2)])
    assert command(*EVALUATE).code == 0
    return tmp_path / ".ragtriage"


def held(folder: Path) -> set[str]:
    """The files of the store that hold the name."""
    return {path.name for path in folder.glob("runs.*") if b"Zebulon" in path.read_bytes()}


def left(store: Path, run: int = 1) -> int:
    """How many cases of a run have texts."""
    with open_store(store) as there:
        return len(cases_with_texts(there.database, run))


def test_what_is_shown_afterwards_says_so(command: Command, stored: Path) -> None:
    assert held(stored)
    command("forget", 1, "r0", "r1", "--yes")

    assert held(stored) == set()
    note = "note: run 1: the texts of 2 of its 3 cases were deleted (ragtriage forget); their scores stay\n"
    for shown in (("show",), ("show", "1", "r1"), ("export", "--with", "texts"), ("export", "-o", "rows.csv")):
        assert note in command(*shown).err
    assert note in command("report").err
    page = (stored / "run-1.html").read_text(encoding="utf-8")
    assert "The texts of 2 cases were deleted from the store; the scores stayed." in page
    assert "Zebulon" not in page
    command("forget", 1, "--yes")
    assert "note: run 1: the texts of its cases were deleted" in command("show").err


def test_the_default_report_and_what_was_evaluated_are_named(command: Command, stored: Path) -> None:
    told = command("forget", 1, "--yes").out

    assert [line for line in told.splitlines() if line.startswith("  ")] == [
        f"  {stored / 'run-1.html'}",
        f"  {stored.parent / 'rows.jsonl'}",
    ]

    (stored / "run-1.html").unlink()
    assert "run-1.html" not in command("forget", 1, "--yes").out


def test_texts_that_another_run_holds_stay_and_are_told(command: Command, stored: Path) -> None:
    changed = written(Path("rows.jsonl"), [row(1, question="What is the number of Zebulon?"), row(5)])
    assert command("evaluate", changed, "--repeat", "2", *EVALUATE[2:]).code == 0

    said = command("forget", 1, "--yes")

    assert "the same questions or answers stay in cases that aren't forgotten:\n" in said.out
    assert "  run 2: 1 case\n" in said.out
    assert held(stored)
    assert "Zebulon" in command("show", "2", "r1").out
    trials = command("forget", 2, "--yes").out  # the second trial goes with the first
    assert ("run 2 (" in trials, "run 3 (" in trials) == (True, True)
    assert held(stored) == set()


def test_old_runs_are_forgotten_by_their_age(command: Command, stored: Path) -> None:
    assert command(*EVALUATE).code == 0
    with closing(sqlite3.connect(stored / "runs.sqlite")) as there, there:
        there.execute("UPDATE runs SET finished = '2020-01-01T00:00:00+00:00' WHERE number = 1")

    dry = command("forget", "--older-than", "30d", "--dry-run").out
    assert ("run 1 (" in dry, "run 2 (" in dry) == (True, False)
    assert command("forget", "--older-than", "30d", "--yes").code == 0
    assert (left(stored, 1), left(stored, 2)) == (0, 3)
    again = command("forget", "--older-than", "30d", "--yes")
    assert "nothing to delete: no text in runs older than 30d is left" in again.out
    assert "run 2 (" in command("forget", "--older-than", "0d", "--dry-run").out


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pseudo-terminals")
@pytest.mark.parametrize(("typed", "cases"), [(b"y\n", 0), (b"\n", 3)])
def test_it_asks_at_a_terminal(stored: Path, typed: bytes, cases: int) -> None:
    import pty  # noqa: PLC0415  # there is none on Windows

    ours, theirs = pty.openpty()
    os.write(ours, typed)
    with Child("forget", "1", folder=stored.parent, stdin=theirs) as child:
        out, err = child.communicate()
    os.close(ours)
    os.close(theirs)

    assert child.returncode == 0, err
    assert "Delete these texts? Nothing can bring them back. [y/N] " in err
    assert ("nothing was deleted" in out) is bool(cases)
    assert left(stored) == cases


def in_folder(command: Command, *flags: str) -> None:
    """The run in `set/` of three cases and a row that can't be used, run 1 of the store."""
    written(Path("rows.jsonl"), [row(0), secret(1), row(2), row(3, contexts={"Zebulon": 7})])
    said = command(*ON, *flags)
    assert "run 1 of the store names it" in said.err, said.err


@pytest.fixture(params=[(), ("--texts",)], ids=["without", "texts"])
def evaluated(request: pytest.FixtureRequest, in_this_process: None, command: Command) -> bool:
    """A run in a folder; whether with texts."""
    in_folder(command, *request.param)
    return bool(request.param)


def held_in_folder(*, cases_only: bool = False) -> set[str]:
    """The files of the folder that hold the name, packed or not."""
    found = set()
    for path in Path("set").rglob("*"):
        if path.suffix == ".parquet":
            rows = pq.read_table(path).to_pylist()
            told = "".join(repr(one) + zlib.decompress(one["steps"]).decode() for one in rows if one["steps"])
            told += "".join(repr(one) for one in rows if not one["steps"] and not cases_only)
        else:
            told = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        if "Zebulon" in told:
            found.add(path.as_posix())
    return found


def numbers(command: Command) -> dict[str, Any]:
    found = command("show", "set/", "--json").json
    found.pop("texts_deleted", None)
    return found


def test_nothing_of_a_folder_s_texts_is_left_and_the_scores_stay(
    evaluated: bool, command: Command, tmp_path: Path
) -> None:
    name = "set/" if evaluated else "1"
    before = numbers(command)
    # of an attempt that was lost
    (part,) = Path("set/records").glob("*.parquet")
    shutil.copy(part, part.with_name(f"{part.stem.split('-')[0]}-dead.parquet"))
    assert held_in_folder()
    with (
        open_store() as store,
        pytest.raises(StoreError, match=r"its records lie in .*/set: `ragtriage forget 1` deletes their texts there"),
    ):
        store.forget_texts(1)

    dry = command("forget", name, "--dry-run").out
    assert ("the texts of 3 cases" if evaluated else "what the judge wrote, such as claims, and explained") in dry
    assert held_in_folder()
    said = command("forget", name, "--yes")

    assert (said.code, said.err) == (0, "")
    assert "deleted the texts of 3 cases; scores and verdicts stay" in said.out
    assert (
        f"files that hold such texts too (what was evaluated) stay: delete them yourself\n  {tmp_path}/rows.jsonl"
        in said.out
    )
    assert held_in_folder() == set()
    assert numbers(command) == before
    assert command("show", "set/", "--json").json["texts_deleted"] == 3
    assert command("store", "check", "set/").out == "1 part looked through: nothing is missing\n"
    assert command("forget", name, "--yes").out.startswith(f"nothing to delete: no text of {name.replace('1', 'run')}")


def test_texts_of_the_input_are_not_read_into_a_folder_again(evaluated: bool, command: Command) -> None:
    manifest = read_manifest(folder_at("set"))
    assert manifest is not None
    assert manifest.texts is evaluated
    command("forget", "set/", "--yes")

    texts = command("export", "set/", "--with", "texts,evidence")
    assert "Zebulon" not in texts.out
    assert "note: set/: the texts of its cases were deleted (ragtriage forget); their scores stay\n" in texts.err
    assert json.loads(texts.out.splitlines()[0])["query"] == "[text deleted]"
    command("store", "copy", "set/", "other")
    assert command("show", "1", "--json", "--store", "other").json["metrics"] == numbers(command)["metrics"]
    # the same command has nothing to do, and doesn't bring them back
    assert "nothing is left to be done" in command(*ON, *(["--texts"] if evaluated else [])).err
    assert held_in_folder() == set()


def test_one_case_loses_its_texts_and_the_others_keep_theirs(evaluated: bool, command: Command) -> None:
    before = numbers(command)
    command("report", "set/")
    assert f"  {Path.cwd()}/set/report.html\n" in command("forget", "set/", "--dry-run").out
    Path("set/report.html").unlink()
    said = command("forget", "set/", "r1", "--yes")

    assert (said.code, evaluated) == (0, evaluated)
    assert "deleted the texts of 1 case; scores and verdicts stay" in said.out
    # why a row can't be used belongs to no case
    assert held_in_folder(cases_only=True) == set()
    assert numbers(command) == before
    assert "Ticket 2" in command("show", "set/", "r2").out
    assert "the texts of 1 of its 3 cases were deleted" in command("show", "set/", "r1").err
    assert command("forget", "set/", "r1", "--yes").out.startswith("nothing to delete")


@pytest.mark.usefixtures("in_this_process")
def test_a_folder_may_be_gone_and_so_may_the_store(command: Command) -> None:
    in_folder(command, "--texts")
    command("evaluate", "rows.jsonl")
    Path("set").rename("elsewhere")
    said = command("forget", "--older-than", "0d", "--yes")

    assert said.code == 0
    assert "run 1: nothing of it is left to delete: " in said.out
    assert "deleted the texts of 3 cases" in said.out
    Path("elsewhere").rename("set")
    shutil.rmtree(".ragtriage")
    assert command("forget", "set/", "--yes").code == 0
    assert held_in_folder() == set()


@pytest.mark.usefixtures("openai", "in_this_process")
def test_what_the_store_remembers_of_a_models_answers_goes_too(command: Command) -> None:
    def remembered() -> int:
        with closing(sqlite3.connect(".ragtriage/runs.sqlite")) as store:
            return int(store.execute("SELECT count(*) FROM answers").fetchone()[0])

    written(Path("rows.jsonl"), [secret(0), row(1)])
    with Server(Model()) as server:
        evaluate = (*ON, "--metrics", "groundedness", *judging(server))
        assert command(*evaluate).code == 0
        asked = len(chats(server.heard))
        assert remembered() > 0
        assert command("forget", "set/", "r0", "--yes").code == 0
        assert remembered() > 0
        assert command("forget", "set/", "--yes").code == 0
        assert remembered() == 0
        assert held(Path(".ragtriage")) == set()

        again = command(*evaluate[:5], "other/", *evaluate[6:])
        assert again.code == 0, again.err
        assert len(chats(server.heard)) == 2 * asked
