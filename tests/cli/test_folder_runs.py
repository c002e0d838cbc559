"""A run in a folder is read by the commands that read runs, and goes into stores."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cli_rows import row, written
from in_process import Said

pytestmark = pytest.mark.usefixtures("in_this_process")

Command = Callable[..., Said]
LEAN = ("--metrics", "groundedness,self_distinctness")
ON = ("--on", "local:1", "--out", "set/")


@pytest.fixture
def whole(command: Command, tmp_path: Path) -> Said:
    """The run in `set/`, of `rows.jsonl`, which is run 1 of the store; run 2 is the same without processes."""
    written(tmp_path / "rows.jsonl", [*(row(i) for i in range(5)), row(5, answer="The moon is made of cheese.")])
    said = command("evaluate", "rows.jsonl", *LEAN, *ON)
    assert said.code == 0, said.err
    assert command("evaluate", "rows.jsonl", *LEAN).code == 0
    return said


def unnumbered(said: Said) -> object:
    assert said.code == 0, said.err
    return said.json | {"run": 0}


def test_every_command_reads_it_as_the_run_that_it_is(whole: Said, command: Command, tmp_path: Path) -> None:
    assert "run 1 of the store names it" in whole.err
    shown = command("show", "set/", "--json")
    assert shown.json["run"] == "set/"
    assert unnumbered(shown) == unnumbered(command("show", "1", "--json")) == unnumbered(command("show", "2", "--json"))
    assert unnumbered(command("show", "set/", "--by", "topic", "--json")) == unnumbered(
        command("show", "2", "--by", "topic", "--json")
    )
    case = command("show", "set/", "--json").json and command("export", "set/").out.splitlines()[0]
    name = json.loads(case)["id"]
    assert command("show", "set/", name).out == command("show", "2", name).out
    for run in ("set/", "1", "2"):
        done = command("export", run, "-o", f"{run.strip('/')}.jsonl", "--with", "texts,evidence")
        assert done.code == 0, done.err
    first, *others = ((tmp_path / f"{name}.jsonl").read_text() for name in ("set", "1", "2"))
    assert others == [first, first]
    assert command("report", "set/").out == "set/report.html\n"
    assert "Grounded" in (tmp_path / "set" / "report.html").read_text()
    compared = command("compare", "set/", "2", "--json").json
    assert (compared["base"]["name"], compared["base"]["runs"], compared["new"]["runs"]) == ("set/", [], [2])
    assert compared["base"]["cases"] == compared["new"]["cases"] == 6
    assert command("compare", "2", "set/", "--json").json["base"]["name"] == "run 2"




def test_it_is_copied_into_a_store_once(whole: Said, command: Command) -> None:
    assert whole.code == 0
    copied = command("store", "copy", "set/", "other")
    assert (copied.code, copied.err) == (0, "set/ is run 1, 6 cases\n")
    assert command("store", "copy", "set/", "other").err == "set/ is there already as run 1\n"
    both = [command("show", "1", "--json", "--store", store) for store in ("other", ".ragtriage")]
    assert both[0].json == both[1].json
    assert command("store", "copy", "set/", "other", "--runs", "1").code == 2




def test_without_the_input_everything_but_the_texts_is_there(whole: Said, command: Command, tmp_path: Path) -> None:
    assert whole.code == 0
    before = command("show", "set/", "--json")
    (tmp_path / "rows.jsonl").unlink()
    after = command("show", "set/", "--json")

    assert "the texts of its cases can't be read, as the input is gone or has changed; their scores stay" in after.err
    assert after.json == before.json | {"texts_deleted": 6}
    assert command("show", "1", "--json").code == 0






def test_parts_that_nobody_committed_are_deleted_and_damage_is_told(
    whole: Said, command: Command, tmp_path: Path
) -> None:
    assert whole.code == 0
    assert command("store", "check", "set/").out == "1 part looked through: nothing is missing\n"
    (tmp_path / "set" / "records" / "0-0.parquet").write_bytes(b"half")
    found = command("store", "check", "set/")
    assert (found.code, found.out.splitlines()[0]) == (0, "1 file that nobody committed: deleted")
    (part,) = (tmp_path / "set" / "records").glob("*.parquet")
    part.write_bytes(part.read_bytes() + b"more")
    damaged = command("store", "check", "set/")
    assert damaged.code == 3
    assert "is not what was committed: delete done/" in damaged.out


def test_a_folder_can_be_named_by_a_url(command: Command, tmp_path: Path) -> None:
    written(tmp_path / "rows.jsonl", [row(i) for i in range(3)])
    out = f"{(tmp_path / 'a new folder').as_uri()}/set/"
    done = command("evaluate", "rows.jsonl", "--metrics", "self_distinctness", "--on", "local:1", "--out", out)

    assert done.code == 0, done.err
    folder = tmp_path / "a new folder" / "set"
    assert (folder / "summary.json").exists()
    assert folder.stat().st_mode & 0o777 == 0o700
    shown = [command("show", run, "--json").json | {"run": 0} for run in (out, str(folder), "1")]
    assert shown[0] == shown[1] == shown[2]
    assert command("store", "check", out).out.endswith("nothing is missing\n")
