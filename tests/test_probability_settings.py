"""Settings and flags about chances: base rates, matching and what errors cost."""

from pathlib import Path
from typing import Any

import pytest

from examples import examples
from ragtriage import ConfigError
from ragtriage.cli.evaluation_flags import evaluation_config
from ragtriage.cli.judge import JudgeFlags
from ragtriage.config import Settings, judge_config, read_settings
from ragtriage.diagnosis.rules import COSTS, Costs
from ragtriage.judges.decision_thresholds import BASE_RATES, check_base_rates
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.runs.evaluation_config import to_stored
from ragtriage.runs.selection import RowSelection

EVERYTHING = """
matching = "binary"
[base_rates]
supported = 0.9
[costs]
blame = 4
miss = 0.5
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "ragtriage.toml"
    path.write_text(text, encoding="utf-8")
    return path


def chosen(settings: Settings, **flags: Any) -> JudgeConfig:
    return judge_config(settings, JudgeFlags(**flags).given())


def test_without_settings_chances_count_as_they_are(tmp_path: Path) -> None:
    for settings in (Settings(), read_settings(written(tmp_path, ""))):
        assert (settings.matching, settings.base_rates, settings.costs) == ("soft", {}, COSTS)


def test_everything_in_a_file_is_read_and_reaches_the_judge_and_the_diagnosis(tmp_path: Path) -> None:
    settings = read_settings(written(tmp_path, EVERYTHING))

    assert (settings.matching, settings.base_rates, settings.costs) == ("binary", {"supported": 0.9}, Costs(4, 0.5))
    config = chosen(settings)
    assert (config.matching, config.base_rates) == ("binary", {"supported": 0.9})
    assert evaluation_config(settings, None).costs == Costs(4, 0.5)


def test_one_of_the_two_costs_is_enough(tmp_path: Path) -> None:
    assert read_settings(written(tmp_path, "[costs]\nmiss = 2")).costs == Costs(COSTS.blame, 2)


def test_flags_come_before_the_file(tmp_path: Path) -> None:
    settings = read_settings(written(tmp_path, EVERYTHING))

    config = chosen(settings, matching="soft", base_rate=["answered=0.5", "supported = 0.8"])

    assert (config.matching, config.base_rates) == ("soft", {"supported": 0.8, "answered": 0.5})
    assert chosen(settings, base_rate=["answered=0.5"]).base_rates == {"supported": 0.9, "answered": 0.5}


def test_costs_are_stored_with_a_run_where_they_are_not_the_default(tmp_path: Path) -> None:
    own = evaluation_config(read_settings(written(tmp_path, EVERYTHING)), None)

    assert to_stored(own, RowSelection(), {})["costs"] == {"blame": 4, "miss": 0.5}
    assert "costs" not in to_stored(evaluation_config(Settings(), None), RowSelection(), {})


@pytest.mark.parametrize("row", examples("probability_settings"))
def test_wrong_settings_are_said_with_the_file_and_the_table(tmp_path: Path, row: dict[str, Any]) -> None:
    path = written(tmp_path, row["settings"])

    with pytest.raises(ConfigError, match=row["said"]) as caught:
        read_settings(path)

    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("items", "said"),
    [
        (["supported"], "--base-rate 'supported': write it as NAME=NUMBER, for example --base-rate supported=0.9"),
        (["supported=most"], "--base-rate 'supported=most': write it as NAME=NUMBER"),
        (["supported=nan"], "--base-rate 'supported=nan': write it as NAME=NUMBER"),
        (["relevant=0.5"], "--base-rate: 'relevant' has no base rate: there are supported, answered"),
        (["supported=1"], "--base-rate: supported is 1: give a share between 0 and 1"),
        (["supported=0.5", "supported=0.6"], "--base-rate names supported twice"),
    ],
)
def test_wrong_flags_are_said(items: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        chosen(Settings(), base_rate=items)


def test_rates_of_the_kinds_that_are_calibrated_may_be_given() -> None:
    assert [*BASE_RATES] == ["supported", "answered"]
    check_base_rates({**BASE_RATES, "supported": 1e-9}, "here")
