"""Decision models by name, key and words; requests and answers change only together with a version."""

from pathlib import Path
from typing import Any

import pytest
from record_golden_decisions import GROUPS, recorded, today

from examples import examples
from ragtriage.core.errors import ConfigError
from ragtriage.core.questions import KINDS
from ragtriage.judges.decisions.models import DECIDED, OWN, decision_model, is_decision_model, read_words
from ragtriage.judges.judge_config import JudgeConfig, with_decider

LOCAL = "systemone:kev@http://localhost:11434"


@pytest.mark.parametrize("row", examples("names", "address"))
def test_a_name_means_a_model_at_an_address(row: dict[str, Any]) -> None:
    found = decision_model(row["name"])

    assert (found.model, found.url) == (row["model"], row["url"])
    assert is_decision_model(row["name"])
    assert decision_model(found.name) == found


@pytest.mark.parametrize("row", examples("names", "refused"))
def test_a_name_that_cannot_be_used_is_refused_and_no_password_is_repeated(row: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=row["message"]) as told:
        decision_model(row["name"])
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    ("url", "sent"),
    [("https://x.org", True), ("http://127.0.0.1:1", True), ("http://[::1]:1", True), ("http://x.org", False)],
)
def test_the_key_goes_to_the_address_that_is_typed_but_never_in_the_open(
    monkeypatch: pytest.MonkeyPatch, url: str, *, sent: bool
) -> None:
    monkeypatch.setenv("SYSTEMONE_API_KEY", "sk-1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-2")

    assert dict(decision_model(f"systemone:m@{url}").authorization()) == (
        {"Authorization": "Bearer sk-1"} if sent else {}
    )


def test_a_service_has_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SYSTEMONE_API_KEY", "TYPESAFE_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    assert decision_model(LOCAL).authorization() == {}
    with pytest.raises(ConfigError, match="set the environment variable TYPESAFE_API_KEY"):
        decision_model("typesafe:jev-1").authorization()
    monkeypatch.setenv("TYPESAFE_API_KEY", "a\nb")
    with pytest.raises(ConfigError, match="line break") as told:
        decision_model("typesafe:jev-1").authorization()
    assert "a\nb" not in str(told.value)


def test_a_decider_completes_each_judge_that_has_none() -> None:
    assert with_decider([LOCAL]) == (f"embedded+decide:{LOCAL}",)
    assert with_decider(["embedded", f"openai:m+decide:{LOCAL}"], "typesafe:j") == (
        "embedded+decide:typesafe:j",
        f"openai:m+decide:{LOCAL}",
    )
    assert with_decider(["embedded"], "embedded") == ("embedded",)
    with pytest.raises(ConfigError, match="has a decider of its own"):
        with_decider([LOCAL], "typesafe:j")


@pytest.mark.parametrize("row", examples("names", "together"))
def test_what_does_not_fit_together_is_refused(row: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=row["message"]):
        JudgeConfig(**{**row["given"], "names": tuple(row["given"]["names"])})  # type: ignore[arg-type]  # a table of them


def test_a_server_on_this_machine_is_free_and_a_list_has_the_rest() -> None:
    prices = {name: decision_model(name).price for name in (LOCAL, "systemone:kev@https://x.org", "typesafe:jev-2")}

    assert [price and price.of(1_000_000, 9) for price in prices.values()] == [0, None, 0.042]
    assert decision_model("typesafe:jev-latest").moves


def test_requests_and_verdicts_are_those_that_were_recorded() -> None:
    assert today() == recorded(), (
        "raise VERSION in ragtriage/judges/decisions/judge.py, so that stored answers are asked again, and run "
        "`python tests/judges/decisions/record_golden_decisions.py`"
    )


def test_every_kind_with_a_verdict_is_asked() -> None:
    asked = {question.kind for group in GROUPS.values() for question in group}

    assert asked == set(DECIDED)
    assert set(DECIDED) < set(KINDS)


def test_words_of_ones_own_stand_in_place_of_the_projects_and_are_in_the_digest(tmp_path: Path) -> None:
    (tmp_path / OWN).write_text('[declines]\ntrue = "It says no."\n', "utf-8")
    own, plain = read_words(tmp_path), read_words()

    assert own.tables["declines"]["true"] == "It says no."
    assert own.tables["declines"]["false"] == plain.tables["declines"]["false"]
    assert own.digest("declines") != plain.digest("declines")
    assert own.digest("supported") == plain.digest("supported")
    assert read_words(guidance="A pass is a ticket.").digest("supported") != plain.digest("supported")


@pytest.mark.parametrize("row", examples("own_words"))
def test_words_that_cannot_be_used_are_refused_with_the_file_and_the_table(tmp_path: Path, row: dict[str, Any]) -> None:
    (tmp_path / OWN).write_text(row["text"], "utf-8")

    with pytest.raises(ConfigError, match=row["message"]) as told:
        read_words(tmp_path)
    assert OWN in str(told.value)
