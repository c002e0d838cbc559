"""What a store says of a run in a folder follows it: one row, its present numbers, and whether its texts are there."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_models import Model, judging

from cli_rows import row, written
from in_process import Said
from ragtriage.core.errors import StoreError
from ragtriage.store import RunWriter
from servers import Heard, Server, chat
from servers import Said as Reply

pytestmark = pytest.mark.usefixtures("in_this_process")

Command = Callable[..., Said]
LEAN = ("--metrics", "self_distinctness")
ON = ("--on", "local:1", "--out", "set/")


class Failing:
    """Replies that can't be read to whatever is asked about three of the tickets, as long as it is on."""

    on = True

    def __call__(self, heard: Heard, _: int) -> Reply | None:
        """Instead of an answer."""
        asked = json.dumps(heard.body)
        return chat("no JSON") if self.on and any(f"icket {i} " in asked for i in (1, 4, 9)) else None


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return written(tmp_path / "rows.jsonl", [row(i) for i in range(12)])


def listed(command: Command, store: str = ".ragtriage") -> list[tuple[object, ...]]:
    """Every run of a store in numbers, the newest first."""
    found = command("runs", "--json", "--store", store).json
    return [(one["number"], one["state"], one["done"], one["failed"], one["means"]) for one in found]


@pytest.mark.usefixtures("openai")
@pytest.mark.parametrize("how", ["named", "held"])
def test_failed_scores_that_are_asked_again_reach_the_row_that_names_the_folder(
    command: Command, rows: Path, how: str
) -> None:
    failing = Failing()
    with Server(Model(failing)) as server:
        flags = (*judging(server), "--metrics", "groundedness", *ON, *(["--into-store"] if how == "held" else []))
        assert command("evaluate", rows, *flags).code == 3
        ((number, state, done, failed, means),) = before = listed(command)
        assert (number, state, done, failed) == (1, "finished", 9, 3)
        failing.on = False
        second = command("evaluate", rows, *flags)

    assert second.code == 0, second.err
    if how == "held":
        assert "run 1 of the store holds it\nnote: run 1 holds it as it was before failed scores" in second.err
        assert listed(command) == before
        assert command("store", "delete", "1", "--yes").code == 0
        assert command("store", "copy", "set/", ".ragtriage").err == "set/ is run 2, 12 cases\n"
    ((_, state, done, failed, present),) = listed(command)
    assert (state, done, failed) == ("finished", 12, 0)
    assert present != means
    assert command("show", "last", "--json").json | {"run": "set/"} == command("show", "set/", "--json").json
    cases = [command("export", run).out for run in ("last", "set/")]
    assert cases[0] == cases[1]




def test_another_folder_of_the_same_input_is_another_run(command: Command, rows: Path) -> None:
    first = command("evaluate", rows, *LEAN, *ON, "--into-store")
    second = command("evaluate", rows, *LEAN, "--on", "local:1", "--out", "set-2/", "--threshold", "groundedness=.3")
    assert (first.code, second.code) == (0, 0), second.err

    assert "run 2 of the store names it\n" in second.err
    copied = [command("store", "copy", name, "other").err for name in ("set/", "set-2/", "set/")]
    assert copied == ["set/ is run 1, 12 cases\n", "set-2/ is run 2, 12 cases\n", "set/ is there already as run 1\n"]


@pytest.mark.parametrize("change", [Path.unlink, lambda path: written(path, [row(i) for i in range(1, 12)])])
def test_copying_says_where_texts_are_gone(command: Command, rows: Path, change: Callable[[Path], object]) -> None:
    assert command("evaluate", rows, *LEAN, *ON).code == 0
    whole = rows.read_bytes()
    change(rows)
    copied = command("store", "copy", "set/", "other")

    assert copied.code == 0
    assert copied.err == (
        "set/ is run 1, 12 cases\n"
        "note: 12 cases were stored without texts, as the input is gone or has changed; to have them, bring it back, "
        "delete run 1 (ragtriage store delete), and give this command again\n"
    )
    shown = command("show", "1", "--json", "--store", "other")
    assert shown.json["texts_deleted"] == 12
    assert "the texts of its cases weren't there when it was stored, or were deleted since" in shown.err
    assert command("store", "check", "other").code == 0
    assert "nothing to delete" in command("forget", "1", "--yes", "--store", "other").out

    # with the same file again, as the note says
    stamp = json.loads((Path("set") / "plan.json").read_text())["files"][0]["version"]
    rows.write_bytes(whole)
    os.utime(rows, ns=(int(stamp), int(stamp)))
    assert command("store", "delete", "1", "--yes", "--store", "other").code == 0
    assert command("store", "copy", "set/", "other").err == "set/ is run 2, 12 cases\n"
    assert "texts_deleted" not in command("show", "2", "--json", "--store", "other").json


def test_a_record_set_that_is_half_in_a_store_is_not_listed(
    command: Command, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command("evaluate", rows, *LEAN, *ON).code == 0
    with monkeypatch.context() as patched:

        def fails(*_: object, **__: object) -> None:
            raise StoreError("the disk is full")

        patched.setattr(RunWriter, "finish", fails)
        assert command("store", "copy", "set/", "other").err == "ragtriage: the disk is full\n"
    assert listed(command, "other") == []
    checked = command("store", "check", "other")
    assert checked.code == 0
    assert checked.out.startswith("run 1 is half a copy: give its `ragtriage store copy` again, or")
    assert command("store", "copy", "set/", "other").err == "set/ is run 1, 12 cases\n"
    assert [one[:4] for one in listed(command, "other")] == [(1, "finished", 12, 0)]
