"""From a choice to a judge: what may be chosen together, what trials share, how a judge is closed, and one offline."""

import re
from pathlib import Path

import pytest
from contract import answers

from ragtriage import Failure, LLMOptions, Verdict
from ragtriage.core.errors import ConfigError, StoreError
from ragtriage.core.questions import KINDS, Question
from ragtriage.judges import judge_config
from ragtriage.judges.build import BuiltJudge, build_judge
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.judge_config import BATCH_WINDOW, EMBEDDED_WINDOW, JudgeConfig
from ragtriage.judges.llm.models import options_for
from ragtriage.judges.session import JudgeSession
from ragtriage.judges.wrappers.cached import AnswerKeys, CachedAnswer, InMemory

MODEL = LLMOptions(base_url="http://127.0.0.1:9/v1", concurrency=100)


class Noting(InMemory):
    """A memory, and a resource, that note what is done with them."""

    def __init__(self, broken: bool = False) -> None:
        super().__init__()
        self.done: list[str] = []
        self._broken = broken

    def flush(self) -> None:
        """See `AnswerMemory`."""
        if self._broken:
            raise StoreError("the disk is full")
        self.done.append("answers kept")

    def close(self) -> None:
        """See `BatchQueue`."""
        self.done.append("tickets dropped")


def test_the_judges_of_all_trials_share_one_ledger() -> None:
    session = JudgeSession.of(JudgeConfig(("openai:m",), options=MODEL))
    trials = [build_judge(session, trial=number) for number in range(2)]

    assert all(built.ledger is session.ledger for built in trials)
    assert trials[0].judge is not trials[1].judge
    assert trials[0].memory is not trials[1].memory


def test_a_judge_that_costs_nothing_has_no_ledger() -> None:
    built = build_judge(JudgeSession.of(JudgeConfig()))

    assert (built.ledger, built.cascade, built.window) == (None, None, EMBEDDED_WINDOW)


def test_a_built_cascade_is_the_judge() -> None:
    built = build_judge(JudgeSession.of(JudgeConfig(("openai:m",), cascade="shipped", options=MODEL)))

    assert built.cascade is built.judge


def test_enough_cases_are_in_flight_for_the_requests() -> None:
    assert JudgeConfig(options=MODEL).window == EMBEDDED_WINDOW
    assert JudgeConfig(("openai:m",), options=MODEL).window == 200
    assert JudgeConfig(("openai:m",), options=MODEL, batch_api=True).window == BATCH_WINDOW


def test_tickets_are_dropped_after_their_answers_are_kept_and_stay_where_they_cannot_be() -> None:
    memory, broken = Noting(), Noting(broken=True)
    BuiltJudge(FakeJudge({}), memory, resources=(memory,)).close()
    with pytest.raises(StoreError, match="the disk is full"):
        BuiltJudge(FakeJudge({}), broken, resources=(broken,)).close()
    assert (memory.done, broken.done) == (["answers kept", "tickets dropped"], [])


def test_the_embedded_judge_may_sit_beside_a_model() -> None:
    built = build_judge(JudgeSession.of(JudgeConfig(("embedded", "openai:m"), jury="majority", options=MODEL)))

    assert "embedded" in built.judge.name()
    assert "openai:m" in built.judge.name()


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
        ({"batch_api": True}, "a batch API is for language models"),
        ({"cascade": "shipped"}, "a cascade passes on from the embedded judge to a model"),
        *(
            ({"names": (name,)}, f"there is no judge '{name}': use embedded, embedded:fast or PROVIDER:MODEL")
            for name in ("embedded:slow", "embedded:fst", "embeded")
        ),
    ],
)
def test_what_does_not_fit_together_is_refused(given, message) -> None:
    with pytest.raises(ConfigError, match=message) as raised:
        JudgeConfig(**given)
    assert "--" not in str(raised.value)
    assert "wait" not in given or raised.value.settings == ("wait", "batch_api")


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


def test_a_configuration_is_a_value_that_knows_nothing_of_what_builds() -> None:
    assert BUILDERS.findall(Path(judge_config.__file__).read_text(encoding="utf-8")) == []


WITH_EMBEDDINGS = LLMOptions(embeddings="openai:text-embedding-3-small")
CONFIGS = (
    JudgeConfig(("openai:gpt-5-mini",)),
    JudgeConfig(("openai:gpt-5-mini",), options=WITH_EMBEDDINGS),
    JudgeConfig(("openai:gpt-5-mini", "embedded"), jury="majority"),
)
CLAIM = Question("supported", "Cats purr.", evidence=("Cats purr.",))


@pytest.mark.parametrize("config", CONFIGS, ids=["alone", "with embeddings", "in a jury"])
def test_fingerprints_are_those_of_the_model_without_its_key(
    monkeypatch: pytest.MonkeyPatch, config: JudgeConfig
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    asked = build_judge(JudgeSession.of(config)).judge
    monkeypatch.delenv("OPENAI_API_KEY")
    offline = build_judge(JudgeSession.of(config, offline="not now")).judge

    assert [offline.fingerprint(kind) for kind in KINDS] == [asked.fingerprint(kind) for kind in KINDS]


def test_what_is_remembered_is_known_and_all_else_fails_with_the_reason() -> None:
    memory = InMemory()
    built = build_judge(JudgeSession.of(CONFIGS[1], offline="not now"), memory)
    other = Question("supported", "Cats bark.", evidence=("Cats purr.",))
    alike = Question("similarity", "Cats purr.", evidence=("Cats bark.", "Dogs bark."))
    key = AnswerKeys(built.judge.fingerprint).key(CLAIM)
    memory.remember([CachedAnswer(key, "supported", built.judge.fingerprint("supported"), Verdict("yes"))])

    assert answers(built.judge, [CLAIM, other, alike]) == [Verdict("yes"), Failure("not now"), Failure("not now")]
