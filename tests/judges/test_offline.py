"""A model that may not be asked: its remembered answers are found, and nothing is sent."""

import asyncio

import pytest

from ragtriage import Failure, LLMOptions, Verdict
from ragtriage.core.questions import KINDS, Question
from ragtriage.core.verdicts import Answer
from ragtriage.judges.build import BuiltJudge, build_judge
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.judges.session import JudgeSession
from ragtriage.judges.wrappers import CachedAnswer, InMemory
from ragtriage.judges.wrappers.cached import AnswerKeys

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

    assert answers(built, [CLAIM, other, alike]) == {0: Verdict("yes"), 1: Failure("not now"), 2: Failure("not now")}


def answers(built: BuiltJudge, questions: list[Question]) -> dict[int, Answer]:
    async def ask() -> dict[int, Answer]:
        return {position: answer async for position, answer in built.judge.ask(questions)}

    return asyncio.run(ask())
