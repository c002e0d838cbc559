"""What a user may choose together, and what goes where."""

import re
from pathlib import Path

import pytest

from ragtriage.core.errors import ConfigError
from ragtriage.judges import judge_config
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.judges.llm.models import options_for
from ragtriage.judges.llm.options import LLMOptions

BUILDERS = re.compile(
    r"^from ragtriage\.judges\.(?!chance_curves|decision_thresholds|decisions\.models|llm\.options|llm\.models)",
    re.MULTILINE,
)
OWN = LLMOptions(base_url="http://127.0.0.1:1/v1", headers={"X-Gate": "secret"})


@pytest.mark.parametrize("name", ["anthropic:claude-haiku-4-5", "bedrock:amazon.titan-embed-text-v1", "azure:m"])
def test_another_provider_s_key_and_texts_never_go_to_an_address_of_ones_own(name: str) -> None:
    options = options_for(name, OWN)

    assert (options.base_url, dict(options.headers)) == (None, {})


@pytest.mark.parametrize("name", ["openai:m", "openai-chat:m", "ollama:m"])
def test_a_model_that_speaks_the_protocol_is_asked_there(name: str) -> None:
    assert options_for(name, OWN) is OWN


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"names": ("anthropic:m",), "options": OWN}, "an address is for judges and embeddings openai:NAME"),
        (
            {"names": ("openai:m", "anthropic:m"), "jury": "majority", "options": LLMOptions(headers={"X": "y"})},
            "headers would go to several providers",
        ),
        ({"names": ("openai:m", "openai:n")}, "several judges need a jury: majority"),
        ({"names": ("openai:m",), "wait": True}, "only a batch API is waited for"),
    ],
)
def test_what_does_not_fit_together_is_refused(given, message) -> None:
    with pytest.raises(ConfigError, match=message):
        JudgeConfig(**given)


@pytest.mark.parametrize(
    "given",
    [
        {"names": ("embedded",)},
        {"names": ("openai:m",), "cascade": "shipped"},
        {"names": ("embedded", "openai:m"), "jury": "majority"},
    ],
)
def test_embeddings_are_asked_whoever_judges(given) -> None:
    config = JudgeConfig(**given, options=LLMOptions(embeddings="openai:e"))

    assert (config.embeddings, config.paid) == ("openai:e", True)


def test_messages_name_settings_apart_from_any_flag() -> None:
    with pytest.raises(ConfigError) as raised:
        JudgeConfig(("openai:m",), wait=True)

    assert raised.value.settings == ("wait", "batch_api")
    assert "--" not in str(raised.value)


def test_a_configuration_is_a_value_that_knows_nothing_of_what_builds() -> None:
    assert BUILDERS.findall(Path(judge_config.__file__).read_text(encoding="utf-8")) == []
