"""Files of labels: what is written is read back, the last word counts, and a broken line costs itself only."""

from dataclasses import replace
from pathlib import Path

import pytest

from examples import examples
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.trust.label_files import Label, LabelFile, read_labels

FIRST = Label("3", "q1", "groundedness", 0, "It takes 40 minutes.", True, "yes", 0.9, 0.5, "Ana")
SECOND = Label("3", "q1", "groundedness", 1, "Dogs travel free — “mostly”.", None, "unknown", chance=0.5)


def written(path: Path, *labels: Label) -> Path:
    """A file that people wrote these labels into."""
    with LabelFile(path) as file:
        for label in labels:
            file.add(label)
    return path


def test_labels_are_read_back_and_the_last_word_of_each_on_an_item_counts_and_keeps_its_place(tmp_path: Path) -> None:
    other, changed = replace(FIRST, by="Ben", label=False), replace(FIRST, label=False)
    path = written(tmp_path / "folder" / "labels.jsonl", FIRST, SECOND, other)
    assert read_labels(path)[0] == (FIRST, SECOND, other)
    written(path, changed)
    assert read_labels(path)[0] == LabelFile(path).labels == (changed, SECOND, other)


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_last_line_that_was_cut_off_is_taken_away(tmp_path: Path, cut: int) -> None:
    path = written(tmp_path / "labels.jsonl", FIRST, SECOND)
    whole = path.read_bytes()
    for rest in (whole[: -1 - cut], whole.partition(b"\n")[0] + b'\n{"text": "' + b"x" * 200_000):
        path.write_bytes(rest)
        assert read_labels(path)[0] == (FIRST,)
        with LabelFile(path) as file:
            assert (file.labels, file.rejected) == ((FIRST,), ())
            file.add(SECOND)
        assert path.read_bytes() == whole
    path.write_bytes(whole.rstrip(b"\n"))  # a whole last line without its end is kept
    written(path, replace(FIRST, case="q2"))
    assert read_labels(path)[0] == (FIRST, SECOND, replace(FIRST, case="q2"))


@pytest.mark.parametrize("row", examples("label_files"))
def test_a_line_that_cannot_be_used_says_which_field_and_costs_itself_only(tmp_path: Path, row: dict[str, str]) -> None:
    path = written(tmp_path / "labels.jsonl", FIRST, SECOND)
    text = path.read_text(encoding="utf-8")
    assert row["right"] in text
    path.write_text(text.replace(row["right"], row["wrong"], 1) + "[]\nnot JSON\n", encoding="utf-8")
    labels, rejected = read_labels(path)
    assert labels == (SECOND,)
    assert [one.row for one in rejected] == [1, 3, 4]
    assert str(rejected[0]).startswith(f"{path}, row 1: {row['wrong'].split(chr(34))[1]} ")


def test_a_file_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"ends in \.jsonl"):
        LabelFile(tmp_path / "labels.csv")
    with pytest.raises(InputError, match="no such file"):
        read_labels(tmp_path / "labels.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(InputError, match=r"folder\.jsonl: can't be written"):
        LabelFile(tmp_path / "folder.jsonl")
