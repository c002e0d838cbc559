"""Files of labels: what is written is read back, the last word counts, and a broken line costs itself only."""

from pathlib import Path

import pytest

from ragtriage.core.errors import ConfigError, InputError
from ragtriage.trust.label_files import Label, LabelFile, read_labels

FIRST = Label("3", "q1", "groundedness", 0, "It takes 40 minutes.", True, "yes", 0.9, 0.5, "random", "Ana")
SECOND = Label("3", "q1", "groundedness", 1, "Dogs travel free — “mostly”.", None, "unknown", chance=0.5)


def test_labels_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "labels.jsonl"
    with LabelFile(path) as file:
        file.add(FIRST)
        file.add(SECOND)
    assert read_labels(path)[0] == (FIRST, SECOND)


def test_the_last_word_on_an_item_counts_and_keeps_its_place(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    changed = Label(**{name: getattr(FIRST, name) for name in FIRST.__slots__} | {"label": False})
    with LabelFile(path) as file:
        for label in (FIRST, SECOND, changed):
            file.add(label)
        assert file.labels == (changed, SECOND)
    assert read_labels(path)[0] == (changed, SECOND)


def test_two_people_may_label_one_item(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    other = Label(**{name: getattr(FIRST, name) for name in FIRST.__slots__} | {"by": "Ben", "label": False})
    with LabelFile(path) as file:
        file.add(FIRST)
        file.add(other)
    assert read_labels(path)[0] == (FIRST, other)


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_last_line_that_was_cut_off_is_taken_away(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "labels.jsonl"
    with LabelFile(path) as file:
        file.add(FIRST)
        file.add(SECOND)
    whole = path.read_bytes()
    path.write_bytes(whole[: -1 - cut])
    assert read_labels(path)[0] == (FIRST,)
    with LabelFile(path) as file:
        assert (file.labels, file.rejected) == ((FIRST,), ())
        file.add(SECOND)
    assert path.read_bytes() == whole


def test_a_whole_last_line_without_its_end_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    with LabelFile(path) as file:
        file.add(FIRST)
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    with LabelFile(path) as file:
        file.add(SECOND)
    assert read_labels(path)[0] == (FIRST, SECOND)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ('"chance": 0.5', '"chance": 0'),
        ('"chance": 0.5', '"chance": 1.5'),
        ('"label": true', '"label": "yes"'),
        ('"verdict": "yes"', '"verdict": "maybe"'),
        ('"component": 0', '"component": -1'),
        ('"component": 0', '"component": true'),
        ('"pick": "random"', '"pick": "mine"'),
        ('"score": 0.9', '"score": "0.9"'),
        ('"run": "3"', '"run": 3'),
    ],
)
def test_a_line_that_cannot_be_used_says_which_field_and_costs_itself_only(
    tmp_path: Path, wrong: str, field: str
) -> None:
    path = tmp_path / "labels.jsonl"
    with LabelFile(path) as file:
        file.add(FIRST)
        file.add(SECOND)
    text = path.read_text(encoding="utf-8")
    assert wrong in text
    path.write_text(text.replace(wrong, field, 1) + "[]\nnot JSON\n", encoding="utf-8")
    labels, rejected = read_labels(path)
    assert labels == (SECOND,)
    assert [one.row for one in rejected] == [1, 3, 4]
    assert str(rejected[0]).startswith(f"{path}, row 1: {field.split(chr(34))[1]} ")


def test_a_file_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"ends in \.jsonl"):
        LabelFile(tmp_path / "labels.csv")
    with pytest.raises(InputError, match="no such file"):
        read_labels(tmp_path / "labels.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(InputError, match=r"folder\.jsonl: can't be written"):
        LabelFile(tmp_path / "folder.jsonl")


def test_a_long_last_line_that_was_cut_off_is_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    with LabelFile(path) as file:
        file.add(FIRST)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"text": "' + b"x" * 200_000)
    with LabelFile(path) as file:
        assert (file.labels, file.rejected) == ((FIRST,), ())
    assert path.read_bytes() == whole
