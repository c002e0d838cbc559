"""`ragtriage forget`: texts go, scores stay, and what still holds the texts is named."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cli_rows import row, written
from forked import Child
from ragtriage import open_store
from ragtriage.store.forgetting import cases_with_texts

SENTINEL = b"Zebulon"
EVALUATE = ("evaluate", "rows.jsonl", "--metrics", "groundedness,response_precision")


@pytest.fixture
def stored(command, tmp_path: Path) -> Path:
    """The folder of a store with one run of three cases; a name stands in all texts of the second."""
    secret = {
        "question": "What is the number of Zebulon?",
        "contexts": ["The number of Zebulon is 12."],
        "answer": "The number of Zebulon is 12. Zebulon likes horses.",
    }
    written(tmp_path / "rows.jsonl", [row(0), row(1, **secret), row(2)])
    assert command(*EVALUATE).code == 0
    return tmp_path / ".ragtriage"


def held(folder: Path, word: bytes = SENTINEL) -> set[str]:
    """The files of the store that hold a word, answers and components in plain text included."""
    return {path.name for path in folder.iterdir() if path.name.startswith("runs.") and word in path.read_bytes()}


def test_one_case_loses_its_texts_and_keeps_its_scores(command, stored: Path) -> None:
    before = command("show", "1", "--json").json["metrics"]
    assert held(stored)

    said = command("forget", "last", "r1", "--yes")

    assert (said.code, said.err) == (0, "")
    assert "the texts of 1 case\n" in said.out
    assert "deleted the texts of 1 case; scores and verdicts stay" in said.out
    assert held(stored) == set()
    assert command("show", "1", "--json").json["metrics"] == before
    assert "Ticket 2" in command("show", "1", "r2").out
    with open_store(stored) as store:
        assert cases_with_texts(store.database, 1) == ["r0", "r2"]


def test_a_whole_run_leaves_no_byte_of_its_texts(command, stored: Path) -> None:
    said = command("forget", 1, "--yes")

    assert said.code == 0
    assert "the texts of 3 cases" in said.out
    assert held(stored) == held(stored, b"euros") == set()
    again = command("forget", 1, "--yes")
    assert (again.code, again.out.splitlines()[0]) == (0, "nothing to delete: no text of run 1 is left")


def test_what_is_shown_afterwards_says_so(command, stored: Path) -> None:
    command("forget", 1, "r0", "r1", "--yes")

    note = "note: run 1: the texts of 2 of its 3 cases were deleted (ragtriage forget); their scores stay\n"
    for shown in (("show",), ("show", "1", "r1"), ("export", "--with", "texts"), ("export", "-o", "rows.csv")):
        assert note in command(*shown).err
    assert note in command("report").err
    page = (stored / "run-1.html").read_text(encoding="utf-8")
    assert "The texts of 2 cases were deleted from the store; the scores stayed." in page
    assert "Zebulon" not in page
    command("forget", 1, "--yes")
    assert "note: run 1: the texts of its cases were deleted" in command("show").err


def test_the_default_report_and_what_was_evaluated_are_named(command, stored: Path) -> None:
    told = command("forget", 1, "--yes").out

    assert [line for line in told.splitlines() if line.startswith("  ")] == [
        f"  {stored / 'run-1.html'}",
        f"  {stored.parent / 'rows.jsonl'}",
    ]

    (stored / "run-1.html").unlink()
    assert "run-1.html" not in command("forget", 1, "--yes").out


def test_texts_that_another_run_holds_stay_and_are_told(command, stored: Path) -> None:
    changed = written(Path("rows.jsonl"), [row(1, question="What is the number of Zebulon?"), row(5)])
    assert command(*EVALUATE[:1], changed, *EVALUATE[2:]).code == 0

    said = command("forget", 1, "--yes")

    assert "the same questions or answers stay in cases that aren't forgotten:\n  run 2: 1 case\n" in said.out
    assert held(stored)
    assert "Zebulon" in command("show", "2", "r1").out
    command("forget", 2, "--yes")
    assert held(stored) == set()


def test_the_trials_of_a_repeated_run_go_with_it(command, stored: Path) -> None:
    written(Path("rows.jsonl"), [row(7, answer="Zebulon and ticket 7.")])
    command("forget", 1, "--yes")
    assert command(*EVALUATE, "--repeat", "2", "--json").code == 0

    said = command("forget", "last", "r7", "--yes")

    assert "run 2 (" in said.out
    assert "run 3 (" in said.out
    assert held(stored) == set()


def test_a_dry_run_deletes_nothing(command, stored: Path) -> None:
    before = command("export", "--with", "texts").out

    said = command("forget", 1, "--dry-run")

    assert said.code == 0
    assert "the texts of 3 cases" in said.out
    assert said.out.endswith("nothing was deleted (--dry-run)\n")
    assert command("export", "--with", "texts").out == before


def test_old_runs_are_forgotten_by_their_age(command, stored: Path) -> None:
    assert command(*EVALUATE).code == 0
    with closing(sqlite3.connect(stored / "runs.sqlite")) as there, there:
        there.execute("UPDATE runs SET finished = '2020-01-01T00:00:00+00:00' WHERE number = 1")

    dry = command("forget", "--older-than", "30d", "--dry-run").out
    assert ("run 1 (" in dry, "run 2 (" in dry) == (True, False)
    assert command("forget", "--older-than", "30d", "--yes").code == 0
    with open_store(stored) as store:
        assert (cases_with_texts(store.database, 1), len(cases_with_texts(store.database, 2))) == ([], 3)
    again = command("forget", "--older-than", "30d", "--yes")
    assert "nothing to delete: no text in runs older than 30d is left" in again.out
    assert "run 2 (" in command("forget", "--older-than", "0d", "--dry-run").out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "name a run (its number, or last) or give --older-than 30d, one of the two"),
        (("1", "--older-than", "30d", "--yes"), "one of the two"),
        (("--older-than", "30", "--yes"), "--older-than 30: write a number of days, for example 30d"),
        (("1",), "nobody can answer here: give --yes, or look first with --dry-run"),
        (("9", "--yes"), "there is no run 9"),
        (("1", "r0", "r9", "--yes"), "run 1 holds no case 'r9'"),
    ],
)
def test_what_cannot_be_done_is_a_sentence_and_deletes_nothing(command, stored: Path, arguments, told: str) -> None:
    said = command("forget", *arguments)

    assert (said.code, said.out) == (2, "")
    assert told in said.err
    with open_store(stored) as store:
        assert len(cases_with_texts(store.database, 1)) == 3


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pseudo-terminals")
@pytest.mark.parametrize(("typed", "left"), [(b"y\n", 0), (b"\n", 3), (b"no\n", 3)])
def test_it_asks_at_a_terminal(stored: Path, typed: bytes, left: int) -> None:
    import pty  # noqa: PLC0415  # there is none on Windows

    ours, theirs = pty.openpty()
    os.write(ours, typed)
    with Child("forget", "1", folder=stored.parent, stdin=theirs) as child:
        out, err = child.communicate()
    os.close(ours)
    os.close(theirs)

    assert child.returncode == 0, err
    assert "Delete these texts? Nothing can bring them back. [y/N] " in err
    assert ("nothing was deleted" in out) is bool(left)
    with open_store(stored) as store:
        assert len(cases_with_texts(store.database, 1)) == left
