"""Settings: where they are found, what comes before what, and that nothing wrong passes unseen."""

from pathlib import Path
from typing import Any

import pytest

from examples import examples
from ragtriage import RULES, ConfigError
from ragtriage.cli.evaluation_flags import evaluation_config
from ragtriage.cli.judge import JudgeFlags
from ragtriage.config import SETTINGS, Settings, find_settings, judge_config, named_numbers, read_settings
from ragtriage.diagnosis.rules import COSTS, Costs
from ragtriage.judges.decision_thresholds import BASE_RATES, check_base_rates
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.judges.llm.options import LLMOptions, Price
from ragtriage.runs.evaluation_config import to_stored
from ragtriage.runs.selection import RowSelection

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
    assert (Settings().judge, Settings().jury, Settings().cascade) == (("embedded",), None, None)
    assert Settings().llm == LLMOptions()
    assert Settings().rules == RULES
    assert Settings().thresholds["groundedness"] == 0.8
    assert read_settings(written(tmp_path, "")).thresholds == Settings().thresholds


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    assert read_settings(written(tmp_path, "\ufeffstore = 'runs'")).store == str(tmp_path / "runs")


def test_everything_in_a_file_is_read(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
metrics = ["thelma", "-fact_precision"]
store = "runs"
any_language = true
citation_mark = '\\[(\\d+)\\]'

[thresholds]
groundedness = 0.9
[fail_below]
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
    assert settings.citation_mark == r"\[(\d+)\]"
    assert settings.fail_below == {"groundedness": 0.7}
    rule = settings.rules[-1]
    assert (rule.name, rule.quotes, rule.origin) == ("thin_sources", None, "yours")


def test_how_models_are_asked_is_read(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
judge = ["embedded", "openai:gpt-5-mini", "anthropic:claude-haiku-4-5"]
jury = "majority"

[llm]
base_url = "http://localhost:8000/v1"
embeddings = "openai:text-embedding-3-small"
batch_size = 8
concurrency = 4
timeout = 30
rpm = 500
tpm = 200_000
budget = 2.5
max_requests = 1000
price = "0.25:2"
explain = "all"
decide_price = "0.1:0"
max_body = 65_536
prompts = "own"
guidance = "/etc/advice.txt"
reply = "text"
temperature = 0.5
headers = { X-Team = "red" }
""",
    )

    settings = read_settings(path)

    assert settings.judge == ("embedded", "openai:gpt-5-mini", "anthropic:claude-haiku-4-5")
    assert settings.jury == "majority"
    assert settings.llm == LLMOptions(
        base_url="http://localhost:8000/v1",
        headers={"X-Team": "red"},
        embeddings="openai:text-embedding-3-small",
        batch_size=8,
        concurrency=4,
        timeout=30,
        rpm=500,
        tpm=200_000,
        budget=2.5,
        max_requests=1000,
        price=Price(0.25, 2.0),
        explain="all",
        decide_price=Price(0.1, 0.0),
        max_body=65_536,
        prompts=tmp_path / "own",
        guidance=Path("/etc/advice.txt"),
        reply="text",
        temperature=0.5,
    )
    assert set(LLMOptions.__slots__) <= {word.split(" ")[0] for word in path.read_text("utf-8").splitlines()}


def test_one_judge_is_a_text_and_a_cascade_one_too(tmp_path: Path) -> None:
    settings = read_settings(written(tmp_path, 'judge = "openai:gpt-5-mini"\ncascade = "0.2:0.8"'))

    assert (settings.judge, settings.jury, settings.cascade) == (("openai:gpt-5-mini",), None, "0.2:0.8")


@pytest.mark.parametrize("text", ["judge = []", "[llm]"])
def test_what_is_left_empty_is_the_default(tmp_path: Path, text: str) -> None:
    settings = read_settings(written(tmp_path, text))

    assert (settings.judge, settings.llm) == (("embedded",), LLMOptions())


def test_a_wrong_header_is_told_without_its_value(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_settings(written(tmp_path, '[llm]\nheaders = [["Authorization", "secret"]]'))

    assert "secret" not in str(caught.value)


def choice(settings: Settings, **flags: Any) -> JudgeConfig:
    return judge_config(settings, JudgeFlags(**flags).given())


def test_flags_about_judges_come_before_the_file(tmp_path: Path) -> None:
    text = """
judge = ["openai:a", "openai:b"]
jury = "majority"
[llm]
base_url = "http://localhost:1/v1"
concurrency = 4
headers = { X-Team = "red" }
"""
    settings = read_settings(written(tmp_path, text))

    kept = choice(settings, concurrency=9)
    other = choice(settings, judge=["openai:c"], header=["X-Team=blue=green"], price="1:2")

    assert (kept.names, kept.jury) == (("openai:a", "openai:b"), "majority")
    assert (kept.options.concurrency, kept.options.base_url) == (9, "http://localhost:1/v1")
    assert (other.names, other.jury, other.cascade) == (("openai:c",), None, None)
    assert (other.options.headers, other.options.concurrency) == ({"X-Team": "blue=green"}, 4)
    assert other.options.price == Price(1.0, 2.0)


def test_a_cascade_in_the_file_is_for_the_judge_in_the_file(tmp_path: Path) -> None:
    settings = read_settings(written(tmp_path, 'judge = "openai:a"\ncascade = "shipped"'))

    assert choice(settings).cascade == "shipped"
    assert choice(settings, cascade="0.2:0.8").bands()["supported"].low == 0.2
    assert choice(settings, judge=["embedded"]).cascade is None


def test_settings_for_models_do_not_keep_the_embedded_judge_from_judging(tmp_path: Path) -> None:
    settings = read_settings(written(tmp_path, "[llm]\nconcurrency = 4"))

    assert choice(settings).names == ("embedded",)
    with pytest.raises(ConfigError, match="--max-requests is for language models only: name one with --judge"):
        choice(settings, max_requests=4)


def test_a_settings_flag_and_help_come_from_its_field() -> None:
    named = {name: (SETTINGS[name].name, SETTINGS[name].flag) for name in ("header", "mapping", "max_requests")}
    ends = {
        name: SETTINGS[name].text.partition(" [default: ")[2] for name in ("timeout", "judge", "rpm", "any_language")
    }

    assert named == {
        "header": ("headers", "--header"),
        "mapping": ("map", "--map"),
        "max_requests": ("max_requests", "--max-requests"),
    }
    assert ends == {"timeout": "120].", "judge": "embedded].", "rpm": "", "any_language": ""}


def test_the_nearest_folder_that_has_settings_counts(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    written(tmp_path, "[thresholds]\ngroundedness = 0.1")
    written(
        tmp_path / "a",
        '[tool.ragtriage.thresholds]\ngroundedness = 0.2\n[tool.other]\nx = "y"',
        "pyproject.toml",
    )
    written(inner, "[project]\nname = 'other'", "pyproject.toml")

    assert find_settings(inner).thresholds["groundedness"] == 0.2
    assert find_settings(tmp_path).thresholds["groundedness"] == 0.1


def test_in_one_folder_the_file_of_its_own_comes_before_the_project(tmp_path: Path) -> None:
    written(tmp_path, "[thresholds]\ngroundedness = 0.1")
    written(tmp_path, "[tool.ragtriage.thresholds]\ngroundedness = 0.2", "pyproject.toml")

    assert find_settings(tmp_path).thresholds["groundedness"] == 0.1


def test_flags_come_before_the_file_and_the_file_before_the_defaults(tmp_path: Path) -> None:
    path = written(tmp_path, 'metrics = ["groundedness"]\n[thresholds]\ngroundedness = 0.9\nsource_precision = 0.3')

    settings = JudgeFlags(config=path).settings(["groundedness=0.95"])

    assert settings.thresholds["groundedness"] == 0.95
    assert settings.thresholds["source_precision"] == 0.3
    assert settings.thresholds["self_distinctness"] == 0.75
    assert [m.name for m in evaluation_config(settings, None).metrics] == ["groundedness"]
    assert [m.name for m in evaluation_config(settings, "source_precision").metrics] == ["source_precision"]


@pytest.mark.parametrize("given", [",", "", " , "])
def test_a_flag_that_names_no_metric_is_refused(given: str) -> None:
    with pytest.raises(ConfigError, match="names no metric"):
        evaluation_config(find_settings(Path("/nonexistent")), given)


def test_flags_become_numbers_and_a_variant_may_have_a_threshold() -> None:
    found = named_numbers(["groundedness=0.8", " source_precision = 1"], "--threshold")
    assert found == {"groundedness": 0.8, "source_precision": 1.0}
    name = "retrieval_recall(k=5)"
    assert named_numbers([f"{name}=0.75"], "--threshold", ()) == {name: 0.75}


CHANCES = """
matching = "binary"
[base_rates]
supported = 0.9
[costs]
blame = 4
miss = 0.5
"""


def test_settings_about_chances_are_read_and_reach_the_judge_and_the_diagnosis(tmp_path: Path) -> None:
    settings = read_settings(written(tmp_path, CHANCES))

    assert (Settings().matching, Settings().base_rates, Settings().costs) == ("soft", {}, COSTS)
    assert (settings.matching, settings.base_rates, settings.costs) == ("binary", {"supported": 0.9}, Costs(4, 0.5))
    config = choice(settings)
    assert (config.matching, config.base_rates) == ("binary", {"supported": 0.9})
    assert evaluation_config(settings, None).costs == Costs(4, 0.5)


def test_one_of_the_two_costs_is_enough(tmp_path: Path) -> None:
    assert read_settings(written(tmp_path, "[costs]\nmiss = 2")).costs == Costs(COSTS.blame, 2)


def test_flags_about_chances_come_before_the_file(tmp_path: Path) -> None:
    settings = read_settings(written(tmp_path, CHANCES))

    config = choice(settings, matching="soft", base_rate=["answered=0.5", "supported = 0.8"])

    assert (config.matching, config.base_rates) == ("soft", {"supported": 0.8, "answered": 0.5})
    assert choice(settings, base_rate=["answered=0.5"]).base_rates == {"supported": 0.9, "answered": 0.5}


def test_costs_are_stored_with_a_run_where_they_are_not_the_default(tmp_path: Path) -> None:
    own = evaluation_config(read_settings(written(tmp_path, CHANCES)), None)

    assert to_stored(own, RowSelection(), {})["costs"] == {"blame": 4, "miss": 0.5}
    assert "costs" not in to_stored(evaluation_config(Settings(), None), RowSelection(), {})


def test_rates_of_the_kinds_that_are_calibrated_may_be_given() -> None:
    assert [*BASE_RATES] == ["supported", "answered"]
    check_base_rates({**BASE_RATES, "supported": 1e-9}, "here")


@pytest.mark.parametrize("row", examples("wrong_settings"))
def test_wrong_settings_are_said_with_the_file_and_the_table(tmp_path: Path, row: dict[str, Any]) -> None:
    path = written(tmp_path, row["settings"])

    with pytest.raises(ConfigError, match=row["said"]) as caught:
        read_settings(path)

    assert str(caught.value).startswith(f"{path}: ")
