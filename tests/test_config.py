"""Settings: where they are found, what comes before what, and that nothing wrong passes unseen."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragtriage import RULES, ConfigError
from ragtriage.cli.options import criteria_from, settings_from
from ragtriage.config import Settings, find_settings, named_numbers, read_settings

RULE = """
[[rules]]
name = "thin_sources"
kind = "quality"
when = { source_precision = "low", groundedness = "low" }
component = "retriever"
reading = "few sources are needed"
"""


def written(folder: Path, text: str, name: str = "ragtriage.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    assert Settings().judge == "embedded"
    assert Settings().rules == RULES
    assert Settings().thresholds["groundedness"] == 0.8
    assert read_settings(written(tmp_path, "")).thresholds == Settings().thresholds


def test_everything_in_a_file_is_read(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
metrics = ["thelma", "-fact_precision"]
store = "runs"
any_language = true

[thresholds]
groundedness = 0.9
[fail_under]
groundedness = 0.7
[map]
query = "frage"
"""
        + RULE,
    )

    settings = read_settings(path)

    assert settings.metrics == ("thelma", "-fact_precision")
    assert (settings.store, settings.any_language, settings.map) == (str(tmp_path / "runs"), True, {"query": "frage"})
    assert (settings.thresholds["groundedness"], settings.thresholds["source_precision"]) == (0.9, 0.5)
    assert settings.fail_under == {"groundedness": 0.7}
    rule = settings.rules[-1]
    assert (rule.name, rule.quotes, rule.origin) == ("thin_sources", ("source_precision", "groundedness"), "yours")


def test_the_nearest_folder_that_has_settings_counts(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    written(tmp_path, "[thresholds]\ngroundedness = 0.1")
    written(tmp_path / "a", '[tool.ragtriage.thresholds]\ngroundedness = 0.2\n[tool.other]\nx = "y"', "pyproject.toml")
    written(inner, "[project]\nname = 'other'", "pyproject.toml")

    assert find_settings(inner).thresholds["groundedness"] == 0.2
    assert find_settings(tmp_path).thresholds["groundedness"] == 0.1


def test_in_one_folder_the_file_of_its_own_comes_before_the_project(tmp_path: Path) -> None:
    written(tmp_path, "[thresholds]\ngroundedness = 0.1")
    written(tmp_path, "[tool.ragtriage.thresholds]\ngroundedness = 0.2", "pyproject.toml")

    assert find_settings(tmp_path).thresholds["groundedness"] == 0.1


def test_flags_come_before_the_file_and_the_file_before_the_defaults(tmp_path: Path) -> None:
    path = written(tmp_path, 'metrics = ["groundedness"]\n[thresholds]\ngroundedness = 0.9\nsource_precision = 0.3')

    settings = settings_from(path, ["groundedness=0.95"])

    assert settings.thresholds["groundedness"] == 0.95
    assert settings.thresholds["source_precision"] == 0.3
    assert settings.thresholds["self_distinctness"] == 0.75
    assert [m.name for m in criteria_from(settings, None).metrics] == ["groundedness"]
    assert [m.name for m in criteria_from(settings, "source_precision").metrics] == ["source_precision"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("treshold = 1", "no setting is called 'treshold': did you mean 'thresholds'"),
        ("[thresholds]\ngroundednes = 0.5", "did you mean 'groundedness'"),
        ("[thresholds]\ngroundedness = 'x'", "groundedness is 'x': give a number between 0 and 1"),
        ("[thresholds]\ngroundedness = true", "groundedness is True: give a number"),
        ("[thresholds]\ngroundedness = 80", "groundedness is 80: give a number between 0 and 1"),
        ("[thresholds]\ngroundedness = nan", "groundedness is nan: give a number"),
        ("[fail_under]\ngroundedness = nan", "groundedness is nan: give a number"),
        ("[fail_under]\ngroundedness = inf", "groundedness is inf: give a number"),
        ("thresholds = 1", "'thresholds' must be a table, not 1"),
        ("metrics = 'thelma'", "'metrics' must be a list of texts, not 'thelma'"),
        ("metrics = [1]", "'metrics' must be a list of texts"),
        ("judge = 1", "'judge' must be a text, not 1"),
        ("store = ['x']", "'store' must be a text"),
        ("any_language = 'no'", "'any_language' must be true or false, not 'no'"),
        ("[map]\nquery = 3", "map: query is 3: give the column's name as a text"),
        ("rules = 3", "'rules' must be a list of tables"),
        ("rules = [3]", "rule 1 must be a table, not 3"),
        ("[[rules]]\nname = 'x'", "rule 1 lacks kind, when, component, reading"),
        (RULE.replace("quality", "bad"), "kind is 'bad': use one of failure, quality"),
        (RULE.replace('groundedness = "low"', 'groundedness = "lo"'), "write a metric's name"),
        (RULE.replace("groundedness", "grounded"), "write a metric's name"),
        (RULE.replace("reading", "raeding"), "no setting is called 'raeding': did you mean 'reading'"),
        (RULE + "declines = 'no'", "'declines' must be true or false, not 'no'"),
        (RULE + "quotes = 'groundedness'", "'quotes' must be a list of texts"),
        ("thresholds = [", "can't be read"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place_and_value(tmp_path: Path, text: str, told: str) -> None:
    path = written(tmp_path, text)

    with pytest.raises(ConfigError) as caught:
        read_settings(path)

    assert told in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("text", ["tool = 3", "[tool]\nragtriage = 3"])
def test_a_project_file_with_something_else_in_our_place_is_refused(tmp_path: Path, text: str) -> None:
    written(tmp_path, text, "pyproject.toml")

    with pytest.raises(ConfigError, match="must be a table, not 3"):
        find_settings(tmp_path)


def test_a_file_that_is_not_there_or_not_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b'store = "caf\xe9"')

    for name in ("none.toml", "latin.toml"):
        with pytest.raises(ConfigError, match="can't be read"):
            read_settings(tmp_path / name)


@pytest.mark.parametrize("item", ["groundedness", "groundedness=", "groundedness=x", "groundedness=nan", "x=0.5", "=1"])
def test_a_flag_that_is_no_metric_with_a_number_is_refused(item: str) -> None:
    with pytest.raises(ConfigError, match="--fail-under"):
        named_numbers([item], "--fail-under")


def test_flags_become_numbers() -> None:
    assert named_numbers(["groundedness=0.8", " source_precision = 1"], "--threshold") == {
        "groundedness": 0.8,
        "source_precision": 1.0,
    }
