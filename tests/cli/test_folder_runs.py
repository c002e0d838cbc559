"""A run in a folder (`--on`, `--share`): read by the commands that read runs, and what stores say of it follows it."""

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


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return written(tmp_path / "rows.jsonl", [row(i) for i in range(12)])


@pytest.fixture
def whole(command: Command, rows: Path) -> Said:
    """The run in `set/` of these rows, which is run 1 of the store."""
    said = command("evaluate", rows.name, *LEAN, *ON)
    assert said.code == 0, said.err
    return said


def listed(command: Command, store: str = ".ragtriage") -> list[tuple[object, ...]]:
    """Every run of a store in numbers, the newest first."""
    found = command("runs", "--json", "--store", store).json
    return [(one["number"], one["state"], one["done"], one["failed"], one["means"]) for one in found]


def test_every_command_reads_it_as_the_run_that_it_is(whole: Said, command: Command, rows: Path) -> None:
    assert "run 1 of the store names it" in whole.err
    assert command("evaluate", rows.name, *LEAN).code == 0  # run 2 is the same without processes
    shown = [command("show", run, "--json", "--by", "topic").json for run in ("set/", "1", "2")]
    assert [found.pop("run") for found in shown] == ["set/", 1, 2]
    assert shown[0] == shown[1] == shown[2]
    assert command("show", "set/", "r3").out == command("show", "2", "r3").out
    first, *others = (command("export", run, "--with", "texts,evidence").out for run in ("set/", "1", "2"))
    assert others == [first, first]
    assert command("report", "set/").out == "set/report.html\n"
    compared = command("compare", "set/", "2", "--json").json
    assert (compared["base"]["name"], compared["base"]["runs"], compared["new"]["runs"]) == ("set/", [], [2])


def test_without_the_input_everything_but_the_texts_is_there(whole: Said, command: Command, rows: Path) -> None:
    before = command("show", "set/", "--json")
    rows.unlink()
    after = command("show", "set/", "--json")

    assert "the texts of its cases can't be read, as the input is gone or has changed; their scores stay" in after.err
    assert after.json == before.json | {"texts_deleted": 12}
    assert command("show", "1", "--json").code == 0


def test_parts_that_nobody_committed_are_deleted_and_damage_is_told(whole: Said, command: Command) -> None:
    assert command("store", "check", "set/").out == "1 part looked through: nothing is missing\n"
    Path("set/records/0-0.parquet").write_bytes(b"half")
    found = command("store", "check", "set/")
    assert (found.code, found.out.splitlines()[0]) == (0, "1 file that nobody committed: deleted")
    (part,) = Path("set/records").glob("*.parquet")
    part.write_bytes(part.read_bytes() + b"more")
    damaged = command("store", "check", "set/")
    assert damaged.code == 3
    assert "is not what was committed: delete done/" in damaged.out


def test_a_folder_can_be_named_by_a_url(command: Command, tmp_path: Path, rows: Path) -> None:
    out = f"{(tmp_path / 'a new folder').as_uri()}/set/"
    done = command("evaluate", rows.name, *LEAN, "--on", "local:1", "--out", out)

    assert done.code == 0, done.err
    folder = tmp_path / "a new folder" / "set"
    assert (folder / "summary.json").exists()
    assert folder.stat().st_mode & 0o777 == 0o700
    shown = [command("show", run, "--json").json | {"run": 0} for run in (out, str(folder), "1")]
    assert shown[0] == shown[1] == shown[2]
    assert command("store", "check", out).out.endswith("nothing is missing\n")


class Failing:
    """Replies that can't be read to whatever is asked about three of the tickets, as long as it is on."""

    on = True

    def __call__(self, heard: Heard, _: int) -> Reply | None:
        """Instead of an answer."""
        asked = json.dumps(heard.body)
        return chat("no JSON") if self.on and any(f"icket {i} " in asked for i in (1, 4, 9)) else None


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


def test_a_folder_is_copied_once_and_another_of_the_same_input_is_another_run(command: Command, rows: Path) -> None:
    first, again = (command("evaluate", rows, *LEAN, *ON, *more) for more in (["--into-store"], []))
    second = command("evaluate", rows, *LEAN, "--on", "local:1", "--out", "set-2/", "--threshold", "groundedness=.3")
    assert (first.code, again.code, second.code) == (0, 0, 0), second.err

    assert "run 1 of the store holds it\n" in first.err
    assert "run 1 of the store holds it\n" in again.err  # which needs no row that names it
    assert "run 2 of the store names it\n" in second.err
    copied = [command("store", "copy", name, "other").err for name in ("set/", "set-2/", "set/")]
    assert copied == ["set/ is run 1, 12 cases\n", "set-2/ is run 2, 12 cases\n", "set/ is there already as run 1\n"]
    assert command("store", "copy", "set/", "other", "--runs", "1").code == 2


def test_copying_says_where_texts_are_gone(whole: Said, command: Command, rows: Path) -> None:
    content = rows.read_bytes()
    rows.unlink()
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
    rows.write_bytes(content)
    os.utime(rows, ns=(int(stamp), int(stamp)))
    assert command("store", "delete", "1", "--yes", "--store", "other").code == 0
    assert command("store", "copy", "set/", "other").err == "set/ is run 2, 12 cases\n"
    assert "texts_deleted" not in command("show", "2", "--json", "--store", "other").json


def test_a_record_set_that_is_half_in_a_store_is_not_listed(
    whole: Said, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
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


@pytest.fixture
def share(command: Command, tmp_path: Path) -> Callable[[str | None], Said]:
    """Evaluates a share of four files, each a part, into `set/`; the whole, if None."""
    (tmp_path / "rows").mkdir()
    for name in "abcd":
        written(tmp_path / "rows" / f"{name}.jsonl", [row(i, id=f"{name}{i}") for i in range(3)])
    return lambda which: command("evaluate", "rows/", *LEAN, *ON, *(("--share", which) if which else ()))


def test_a_share_says_what_it_did_and_what_others_left(share: Callable[[str | None], Said]) -> None:
    none = share("6/8")
    first, again, second, after, whole = (share(which) for which in ("1/2", "1/2", "2/2", "1/2", None))

    assert "share 6/8 of set/ has no part, as there are only 4: there is nothing to do for it\n" in none.err
    assert none.err.endswith("as 4 of 4 parts of other shares aren't done\n")
    assert [said.code for said in (none, first, again, second, after, whole)] == [3, 3, 3, 0, 0, 0]
    assert "share 1/2 of set/: nothing is left to be done\n" in again.err
    for said in (first, again):
        assert said.err.endswith(
            "this share is done; the folder isn't complete, as 2 of 4 parts of other shares aren't done\n"
        )
        assert "give the same command again" not in said.err
    assert "share 2/2 of set/: 2 of 4 parts" in second.err
    assert "aren't done" not in second.err
    assert "share 1/2 of set/: nothing is left to be done\n" in after.err
    assert "\nset/: nothing is left to be done\n" in whole.err


@pytest.mark.usefixtures("openai")
def test_a_share_that_is_stopped_is_not_done(command: Command, share: Callable[[str | None], Said]) -> None:
    assert callable(share)  # the files are there
    with Server(Model()) as server:
        flags = ("--on", "local:1", "--out", "paid/", "--metrics", "groundedness", "--share", "1/2")
        said = command("evaluate", "rows/", *judging(server), *flags, "--max-requests", 2)

    assert said.code == 3
    assert "stopped after 1 requests, this share of --max-requests 2" in said.err
    assert "share is done" not in said.err


def test_a_share_that_goes_on_counts_its_own(share: Callable[[str | None], Said]) -> None:
    assert share("1/2").code == 3
    assert share("2/2").code == 0
    lost = min(Path("set/done").iterdir())
    lost.unlink()
    said = [share("1/2").err, share("2/2").err]

    (one,) = (text for text in said if "going on with" in text)
    assert f"going on with share {1 + said.index(one)}/2 of set/: 1 of 2 parts left, 3 cases done\n" in one
    assert lost.exists()
