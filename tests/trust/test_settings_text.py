"""Settings are changed, and nothing else in their file."""

import os
import tomllib
from pathlib import Path

import pytest

from modes import mode_of
from ragtriage.config import read_settings
from ragtriage.core.errors import InputError
from ragtriage.trust.label_fits import with_values, write_settings

THRESHOLDS = {"decision_thresholds.supported": {"judge": "embedded", "yes": 0.6, "no": 0.4}}
MINE = """# my settings
metrics = [
  "thelma",  # the default
]

[thresholds]   # strict
groundedness = 0.9  # legal asked for it
"response_precision" = 0.5

[map]
query = "question # not a comment"
"""


def test_a_value_is_changed_in_its_place_and_comments_stay() -> None:
    after = with_values(MINE, {"thresholds": {"groundedness": 0.85, "response_precision": 0.4}})

    assert after == MINE.replace("0.9 ", "0.85 ").replace("= 0.5", "= 0.4")


def test_a_key_is_added_to_its_table() -> None:
    after = with_values(MINE, {"thresholds": {"answer_f1": 0.7}})

    assert after == MINE.replace('"response_precision" = 0.5\n', '"response_precision" = 0.5\nanswer_f1 = 0.7\n')


def test_a_table_is_added_at_the_end() -> None:
    assert (
        with_values(MINE, THRESHOLDS)
        == MINE + '\n[decision_thresholds.supported]\njudge = "embedded"\nyes = 0.6\nno = 0.4\n'
    )


def test_twice_the_same_changes_nothing() -> None:
    once = with_values(MINE, THRESHOLDS)

    assert with_values(once, THRESHOLDS) == once


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("thresholds = { groundedness = 0.9 }\n", "thresholds = { groundedness = 0.8 }\n"),
        ("thresholds.groundedness = 0.9\n", "thresholds.groundedness = 0.8\n"),
        ("[thresholds]\ngroundedness = [\n  1,\n]\n", "[thresholds]\ngroundedness = 0.8\n"),
        (
            'note = """\n[thresholds]\ngroundedness = 0.9\n"""\n',
            'note = """\n[thresholds]\ngroundedness = 0.9\n"""\n\n[thresholds]\ngroundedness = 0.8\n',
        ),
    ],
)
def test_a_table_may_be_written_in_any_form(text: str, after: str) -> None:
    assert with_values(text, {"thresholds": {"groundedness": 0.8}}) == after


def test_a_table_that_goes_between_others_keeps_its_distance() -> None:
    text = "[tool.ragtriage]\nmetrics = ['thelma']\n\n[tool.other]\nx = 1 # one\n"

    assert with_values(text, {"tool.ragtriage.thresholds": {"groundedness": 0.8}}) == text.replace(
        "[tool.other]", "[tool.ragtriage.thresholds]\ngroundedness = 0.8\n\n[tool.other]"
    )


CURVE = {"chance_curves.supported": {"judge": "m", "points": [[0.0, 0.1], [1.0, 0.9]], "rate": 0.7}}
OLD = {"decision_thresholds.supported": "m"}


def test_a_table_that_is_replaced_goes_and_what_is_around_it_stays() -> None:
    text = (
        '# ours\n[decision_thresholds.supported]  # May\njudge = "m"\nyes = 0.6\nno = 0.4\n\n# of us\n[map]\nx = "y"\n'
    )
    new = '\n[chance_curves.supported]\njudge = "m"\npoints = [[0.0, 0.1], [1.0, 0.9]]\nrate = 0.7\n'

    assert with_values(text, CURVE, OLD) == '# ours\n# of us\n[map]\nx = "y"\n' + new
    assert with_values(text, CURVE, {"decision_thresholds.supported": "other"}) == text + new
    assert with_values(text.replace("\n", "\r\n"), CURVE, OLD).startswith("# ours\r\n# of us\r\n[map]\r\n")
    assert with_values("", CURVE, OLD) == new.lstrip()


@pytest.mark.parametrize(
    "text",
    [
        'decision_thresholds = {supported = {judge = "m", yes = 0.6, no = 0.4}}\n',
        '[decision_thresholds.supported]\njudge = "m"\n# strict\nyes = 0.6\nno = 0.4\n',
    ],
)
def test_a_table_whose_end_is_not_clear_is_left_and_said(text: str) -> None:
    with pytest.raises(ValueError, match=r"\[decision_thresholds.supported\] has to go, .*: take it out"):
        with_values(text, CURVE, OLD)


def test_a_table_that_names_a_judge_is_written_anew() -> None:
    before = '[chance_curves.supported]\njudge = "old"\na = 1.0\nb = 0.0  # even\n'

    assert tomllib.loads(with_values(before, CURVE)) == {
        "chance_curves": {"supported": CURVE["chance_curves.supported"]}
    }


def test_line_ends_stay_as_they_are() -> None:
    assert with_values("[bands]\r\nsupported = '0.1:0.9'\r\n", {"bands": {"supported": "0.2:0.8"}}) == (
        '[bands]\r\nsupported = "0.2:0.8"\r\n'
    )
    assert "\n" not in with_values("[map]\r\nx = 'y'\r\n", THRESHOLDS).replace("\r\n", "")


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
