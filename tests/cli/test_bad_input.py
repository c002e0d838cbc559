"""Bad input and bad flags: one clear sentence and an exit code, never a traceback, never a lost run."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli_rows import row, written

LEAN = ("--json", "--metrics", "self_distinctness")
"""Enough to run, and no question to the model for a response of one sentence."""


def is_clean(said) -> bool:
    return "Traceback" not in said.err and "Error:" not in said.err and "Traceback" not in said.out


def test_a_response_of_10_megabytes_is_rejected_with_what_to_do(command, tmp_path: Path) -> None:
    written(tmp_path / "rows.jsonl", [*(row(i) for i in range(10)), row(99, answer="It costs five. " * 700_000)])

    said = command("evaluate", "rows.jsonl", *LEAN)

    assert (said.code, said.json["cases"]) == (0, 10)
    assert "field 'response': has 10,500,000 characters" in said.err
    assert "--max-text 10500000" in said.err


def test_a_longer_text_is_judged_where_it_is_allowed(command, tmp_path: Path) -> None:
    written(tmp_path / "rows.jsonl", [row(0, answer="x" * 2000)])

    assert command("evaluate", "rows.jsonl", *LEAN, "--max-text", 1000).code == 2
    assert command("evaluate", "rows.jsonl", *LEAN, "--max-text", 2000).code == 0


def test_nul_bytes_and_half_surrogates_are_replaced_and_told(command, tmp_path: Path) -> None:
    bad = row(0, id="a\0", question="What\ud800?", contexts=["It\0 costs 5."], answer="5.\udfff", topic="\ud800")
    written(tmp_path / "rows.jsonl", [json.dumps(bad)])

    said = command("evaluate", "rows.jsonl", *LEAN)

    assert (said.code, said.json["cases"]) == (0, 1)
    assert "were replaced by U+FFFD" in said.err
    assert command("show", "last", "a\ufffd").code == 0
    assert command("export", "-o", "out.csv").code == 0


def test_ten_thousand_sources_are_rejected_unless_they_are_wanted(command, tmp_path: Path) -> None:
    written(tmp_path / "rows.jsonl", [row(0, contexts=[f"Ticket {i} costs {i} euros." for i in range(10_000)])])

    refused = command("evaluate", "rows.jsonl", *LEAN)
    said = command("evaluate", "rows.jsonl", "--max-sources", "10000", *LEAN)

    assert refused.code == 2
    assert "has 10,000 sources, more than 1,000: raise the limit by --max-sources" in refused.err
    assert (said.code, said.json["cases"]) == (0, 1)
    assert "10000 in all" in said.err


TWICE = '{"question": "no", "question": "What?", "contexts": ["It is.", "So."], "answer": "It is.", "id": "%s"}'


def test_the_last_value_of_a_key_counts_and_equal_keys_of_different_objects_are_fine(command, tmp_path: Path) -> None:
    written(tmp_path / "r.jsonl", [TWICE % "a"])
    written(tmp_path / "s.jsonl", [row(1, contexts=[{"text": "a"}, {"text": "b"}])])

    assert "query: “What?”" in command("evaluate", "r.jsonl", *LEAN).err
    assert "twice" not in command("evaluate", "s.jsonl", *LEAN).err


HEBREW = {
    "id": "he",
    "question": "כמה עולה הכרטיס לילדים?",
    "contexts": ["כרטיס לילדים עולה חמישה שקלים והוא תקף יום אחד."],
    "answer": "הכרטיס לילדים עולה חמישה שקלים.",
}
JAPANESE = {
    "id": "ja",
    "question": "子供の切符はいくらですか？",
    "contexts": ["子供の切符は五百円で、一日有効です。"],
    "answer": "子供の切符は五百円です。",
}


def test_right_to_left_and_cjk_texts_are_undefined_with_the_language_unless_any_is_allowed(
    command, tmp_path: Path
) -> None:
    written(tmp_path / "rows.jsonl", [HEBREW, JAPANESE])

    said = command("evaluate", "rows.jsonl", *LEAN)
    lifted = command("evaluate", "rows.jsonl", *LEAN, "--any-language")

    found = said.json["metrics"]["self_distinctness"]
    assert (said.code, found["n"], found["failed"]) == (0, 0, 0)
    assert sum(found["undefined"].values()) == 2
    assert any("Hebrew" in reason for reason in found["undefined"])
    assert any("Japanese" in reason for reason in found["undefined"])
    assert (lifted.code, lifted.json["metrics"]["self_distinctness"]["n"]) == (0, 2)
    assert command("show", "last", "ja").out.startswith("ja")


def test_a_store_path_that_is_another_file_is_told_and_the_file_left_alone(command, tmp_path: Path) -> None:
    path = written(tmp_path / "rows.jsonl", [row(0)])
    before = path.read_bytes()

    for store in ("rows.jsonl", "rows.jsonl/inside"):
        said = command("evaluate", "rows.jsonl", *LEAN, "--store", store)
        assert said.code == 3
        assert "choose another place with --store" in said.err
        assert is_clean(said)
    assert path.read_bytes() == before


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """A small file system of its own; skips the test where that isn't allowed."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except OSError:
        pytest.skip("there is no mount")
    if done.returncode:
        pytest.skip("mounting isn't allowed here")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def remount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(folder)], check=True)


def test_a_full_disk_and_a_read_only_store_lose_no_run(command, process, tmp_path: Path) -> None:
    sources = ["Ticket office. " * 100]
    written(tmp_path / "rows.jsonl", [row(i, contexts=[f"{i} {sources}"]) for i in range(150)])
    disk = tmp_path / "disk"
    with mounted(disk, "size=400k"):
        full = process("evaluate", "rows.jsonl", *LEAN, "--store", disk / "store")
        assert full.code == 3
        assert "the disk is full; what was kept so far is safe" in full.err
        assert is_clean(full)

        remount(disk, "size=20m")
        again = command("evaluate", "rows.jsonl", *LEAN, "--store", disk / "store")
        assert (again.code, again.json["cases"]) == (0, 150)
        assert "continuing run 1: " in again.err
        assert "continuing run 1: 0 of" not in again.err

        remount(disk, "ro")
        fixed = command("evaluate", "rows.jsonl", *LEAN, "--store", disk / "store")
        assert fixed.code == 3
        assert "can't be written: make it writable, or choose another place" in fixed.err
        assert command("show", "--json", "--store", disk / "store").json["cases"] == 150
        assert command("report", "--store", disk / "store").code == 2
