"""Settings are changed, and nothing else in their file."""

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from examples import examples
from modes import mode_of
from ragtriage.config import read_settings
from ragtriage.core.errors import InputError
from ragtriage.trust.label_fits import with_values, write_settings

THRESHOLDS = {"decision_thresholds.supported": {"judge": "embedded", "yes": 0.6, "no": 0.4}}
CURVE = {"chance_curves.supported": {"judge": "m", "points": [[0.0, 0.1], [1.0, 0.9]], "rate": 0.7}}
OLD = {"decision_thresholds.supported": "m"}


@pytest.mark.parametrize("row", examples("settings_text"))
def test_values_are_changed_in_their_place_and_all_else_stays(row: dict[str, Any]) -> None:
    after = with_values(row["before"], row["values"], row.get("replaced", {}))

    assert after == row["after"]
    assert with_values(after, row["values"]) == after  # twice the same changes nothing
    if "\r\n" in row["before"]:
        assert "\n" not in after.replace("\r\n", "")


@pytest.mark.parametrize(
    "text",
    [
        'decision_thresholds = {supported = {judge = "m", yes = 0.6, no = 0.4}}\n',
        '[decision_thresholds.supported]  # May\njudge = "m"\nyes = 0.6\nno = 0.4\n',
    ],
)
def test_a_table_that_would_go_first_is_left_and_said(text: str) -> None:
    with pytest.raises(ValueError, match=r"\[decision_thresholds.supported\] of this judge has to go, .*: take it out"):
        with_values(text, CURVE, OLD)


@pytest.mark.parametrize(
    "text",
    [
        "thresholds = 3\n",
        "[[thresholds]]\ngroundedness = 0.9\n",
        "thresholds = [",
    ],
)
def test_what_cannot_be_changed_safely_is_left_and_said(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ragtriage.toml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(InputError, match=r"put this in yourself:\n\[thresholds\]\ngroundedness = 0.8"):
        write_settings(path, {"thresholds": {"groundedness": 0.8}})

    assert path.read_text(encoding="utf-8") == text
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_is_made_and_can_be_read(tmp_path: Path) -> None:
    write_settings(tmp_path / "new" / "ragtriage.toml", THRESHOLDS)

    assert read_settings(tmp_path / "new" / "ragtriage.toml").decision_thresholds["supported"].yes == 0.6


def test_in_a_project_file_they_stand_under_the_tool(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text('[project]\nname = "mine"\n\n[tool.ragtriage]\nmetrics = ["thelma"]\n', encoding="utf-8")

    write_settings(path, {"thresholds": {"groundedness": 0.7}} | THRESHOLDS)

    assert tomllib.loads(path.read_text(encoding="utf-8"))["project"] == {"name": "mine"}
    assert read_settings(path).thresholds["groundedness"] == 0.7
    assert read_settings(path).decision_thresholds["supported"].no == 0.4


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")

    with pytest.raises(InputError, match="can't be written"):
        write_settings(tmp_path / "file" / "ragtriage.toml", THRESHOLDS)


@pytest.mark.skipif(os.name == "nt", reason="Windows knows no modes")
def test_a_new_file_is_an_ordinary_one_and_another_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").touch()
    (tmp_path / "mine.toml").chmod(0o640)
    before = os.umask(0o022)
    try:
        for name in ("new.toml", "mine.toml"):
            write_settings(tmp_path / name, THRESHOLDS)
    finally:
        os.umask(before)

    assert (mode_of(tmp_path / "new.toml"), mode_of(tmp_path / "mine.toml")) == (0o644, 0o640)
