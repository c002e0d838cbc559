"""The file of collected cases, after every kind of end."""

import json
from pathlib import Path

import pytest

from ragtriage.collect.answers_file import CollectedLines
from ragtriage.collect.application import ApplicationReply, answered_row
from ragtriage.core.case import Case
from ragtriage.core.errors import InputError

ROW = answered_row(Case("ü1", "q?"), ApplicationReply("ä\u2028\n"), 0.5)
LINE = json.dumps(ROW, ensure_ascii=False).encode()


@pytest.mark.parametrize("end", [*range(0, len(LINE), 7), len(LINE) - 1])
def test_a_line_that_was_cut_off_anywhere_is_asked_again(tmp_path: Path, end: int) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(LINE + b"\n" + LINE.replace(b"1", b"2", 1)[:end])

    with CollectedLines(path) as lines:
        assert lines.has(Case("ü1", "q?"))
        assert not lines.has(Case("ü2", "q?"))
        assert lines.before == 1
        lines.add({**ROW, "id": "ü3"})

    assert [json.loads(line)["id"] for line in path.read_bytes().splitlines()] == ["ü1", "ü3"]


def test_a_line_that_lacks_only_its_end_counts(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(LINE)

    with CollectedLines(path) as lines:
        assert lines.has(Case("ü1", "q?"))
        lines.add({**ROW, "id": "ü2"})

    assert [json.loads(line)["id"] for line in path.read_bytes().splitlines()] == ["ü1", "ü2"]


@pytest.mark.parametrize("line", [b'{"id": "1", "query": "q"}\n', b"[1]\n", b"{broken\n"])
def test_another_file_is_refused(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(LINE + b"\n" + line)

    with pytest.raises(InputError, match=r"out\.jsonl, line 2: is no collected case"):
        CollectedLines(path)


def test_a_place_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="can't be written"):
        CollectedLines(tmp_path / "file" / "out.jsonl")


def test_half_a_surrogate_pair_can_be_written(tmp_path: Path) -> None:
    with CollectedLines(tmp_path / "out.jsonl") as lines:
        lines.add({**ROW, "topic": "\ud83d"})

    assert json.loads((tmp_path / "out.jsonl").read_text(encoding="utf-8"))["topic"] == "?"
