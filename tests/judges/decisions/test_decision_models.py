"""Names of decision models: what they mean, which are refused, and where a key goes."""

import pytest

from ragtriage.core.errors import ConfigError
from ragtriage.judges.decisions.models import decision_model, is_decision_model
from ragtriage.judges.judge_config import JudgeConfig, with_decider

LOCAL = "systemone:kev@http://localhost:11434"


@pytest.mark.parametrize(
    ("name", "model", "url"),
    [
        (LOCAL, "kev", "http://localhost:11434/v1/systemone"),
        (f"{LOCAL}/", "kev", "http://localhost:11434/v1/systemone"),
        (f"{LOCAL}/v1/systemone", "kev", "http://localhost:11434/v1/systemone"),
        ("systemone:me@work/kev@https://x.org/there", "me@work/kev", "https://x.org/there/v1/systemone"),
        ("systemone:kev@http://[::1]:1", "kev", "http://[::1]:1/v1/systemone"),
        ("typesafe:jev-1.13.0", "jev-1.13.0", "https://api.typesafe.ai/v1/systemone"),
        ("openai-decisions:gpt-6-luna", "gpt-6-luna", "https://api.openai.com/v1/decisions"),
        (
            "openrouter-decisions:typesafe/jev-1.13",
            "typesafe/jev-1.13",
            "https://openrouter.ai/api/alpha/decisions",
        ),
    ],
)
def test_a_name_means_a_model_at_an_address(name: str, model: str, url: str) -> None:
    found = decision_model(name)

    assert (found.model, found.url) == (model, url)
    assert is_decision_model(name)
    assert decision_model(found.name) == found


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("systemone:kev", "lacks its address: write for example systemone:kev@http://localhost:11434"),
        ("systemone:@http://x", "lacks its model"),
        ("systemone:", "lacks its model"),
        ("systemone:kev@http://me:secret@x.org", "no address"),
        ("systemone:kev@http://x.org/?a,b", "no address"),
        ("systemone:kev@http://x.org/a,b", "no address"),
        ("systemone:kev@http://:99999", "no address"),
        ("typesafe:jev@http://x.org", "have an address of their own"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused_and_no_password_is_repeated(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as told:
        decision_model(name)
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


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"names": ("embedded+decide:same",)}, "gives its verdicts itself"),
        ({"names": (f"openai:m+decide:{LOCAL}",), "protocol": "paper"}, "asks for verdicts itself"),
        ({"names": (f"{LOCAL}+decide:typesafe:j",)}, "no address|several deciders|comma"),
        ({"names": ("openai:m",), "cascade": "shipped", "first": f"embedded+decide:{LOCAL}"}, "give a band"),
        ({"names": (LOCAL,), "batch_api": True}, "a batch API is for language models"),
    ],
)
def test_what_does_not_fit_together_is_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        JudgeConfig(**given)  # type: ignore[arg-type]  # a table of them


def test_a_server_on_this_machine_is_free_and_a_list_has_the_rest() -> None:
    prices = {name: decision_model(name).price for name in (LOCAL, "systemone:kev@https://x.org", "typesafe:jev-2")}

    assert [price and price.of(1_000_000, 9) for price in prices.values()] == [0, None, 0.042]
    assert decision_model("typesafe:jev-latest").moves
