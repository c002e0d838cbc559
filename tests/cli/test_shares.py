"""What commands with `--share` say of their parts of a run in a folder."""

from collections.abc import Callable
from pathlib import Path

import pytest
from cli_models import Model, judging

from cli_rows import row, written
from in_process import Said
from servers import Server

pytestmark = pytest.mark.usefixtures("in_this_process")

Command = Callable[..., Said]


@pytest.fixture
def share(command: Command, tmp_path: Path) -> Callable[[str | None], Said]:
    """Evaluates a share of four files, each a part, into `set/`; the whole, if None."""
    (tmp_path / "rows").mkdir()
    for name in "abcd":
        written(tmp_path / "rows" / f"{name}.jsonl", [row(i, id=f"{name}{i}") for i in range(3)])
    flags = ("--on", "local:1", "--out", "set/", "--metrics", "self_distinctness")
    return lambda which: command("evaluate", "rows/", *flags, *(("--share", which) if which else ()))


def test_a_share_says_what_it_did_and_what_others_left(share: Callable[[str | None], Said]) -> None:
    first, again, second, after, whole = (share(which) for which in ("1/2", "1/2", "2/2", "1/2", None))

    assert [said.code for said in (first, again, second, after, whole)] == [3, 3, 0, 0, 0]
    assert "new run in set/: 4 parts, 2 of this share\n" in first.err
    assert "share 1/2 of set/: nothing is left to be done\n" in again.err
    for said in (first, again):
        assert said.err.endswith(
            "this share is done; the folder isn't complete, as 2 of 4 parts of other shares aren't done\n"
        )
        assert "give the same command again" not in said.err
    assert "share 2/2 of set/: 2 of 4 parts\n" in second.err
    assert "aren't done" not in second.err
    assert "share 1/2 of set/: nothing is left to be done\n" in after.err
    assert "\nset/: nothing is left to be done\n" in whole.err


def test_a_share_without_a_part_says_so(share: Callable[[str | None], Said]) -> None:
    said = share("6/8")

    assert said.code == 3
    assert "share 6/8 of set/ has no part, as there are only 4: there is nothing to do for it\n" in said.err
    assert "nothing is left" not in said.err
    assert said.err.endswith("as 4 of 4 parts of other shares aren't done\n")


@pytest.mark.usefixtures("openai")
def test_a_share_that_is_stopped_is_not_done(command: Command, share: Callable[[str | None], Said]) -> None:
    assert callable(share)  # the files are there
    with Server(Model()) as server:
        flags = ("--on", "local:1", "--out", "paid/", "--metrics", "groundedness", "--share", "1/2")
        said = command("evaluate", "rows/", *judging(server), *flags, "--max-requests", 2)

    assert said.code == 3
    assert "stopped after 1 requests, this share of --max-requests 2" in said.err
    assert "share is done" not in said.err


def test_a_share_that_goes_on_counts_its_own(share: Callable[[str | None], Said], tmp_path: Path) -> None:
    assert share("1/2").code == 3
    assert share("2/2").code == 0
    lost = min((tmp_path / "set" / "done").iterdir())
    lost.unlink()
    said = [share("1/2").err, share("2/2").err]

    (one,) = (text for text in said if "going on with" in text)
    assert f"going on with share {1 + said.index(one)}/2 of set/: 1 of 2 parts left, 3 cases done\n" in one
    assert lost.exists()
