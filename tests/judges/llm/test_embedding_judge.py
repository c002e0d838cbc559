"""Similarity by a provider's embeddings: few requests, each text once, the right neighbour, and no text lost."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from contract import CHECKS, Candidate, answers

from examples import examples
from ragtriage.core import questions as ask
from ragtriage.core.errors import ConfigError, JudgeError
from ragtriage.core.verdicts import Failure, Verdict
from ragtriage.judges.budget import Ledger
from ragtriage.judges.llm.channel import Channel
from ragtriage.judges.llm.embedding_judge import MOST_TEXTS, EmbeddingJudge, threshold_of
from ragtriage.judges.llm.options import (
    LLMOptions,
    ModelUnusable,
    Price,
    RateLimited,
    Reply,
    RequestRejected,
    TransientError,
    tokens_of,
)
from servers import Heard, Said, Server, embeddings, error

NAME = "openai:text-embedding-3-small"
BAD = "A text that the provider doesn't take."
QUESTIONS = (
    ask.similarity("north", ("north", "east", "nearly north"), 0),
    ask.similarity("east", ("north", "east", "nearly north"), 1),
    ask.similarity("south", ("north", "east")),
)
PLACES = {"north": (0.0, 2.0), "east": (3.0, 0.0), "south": (0.0, -1.0), "nearly north": (0.5, 1.0)}


class Embedder:
    """Makes vectors from a table, or from a text's letters, and remembers what it was asked."""

    def __init__(self, *failures: Exception) -> None:
        self.asked: list[list[str]] = []
        self._failures = list(failures)

    async def __call__(self, texts: Sequence[str]) -> tuple[list[list[float]], Reply]:
        """One request."""
        self.asked.append(list(texts))
        await asyncio.sleep(0)
        if self._failures:
            raise self._failures.pop(0)
        if BAD in texts:
            raise RequestRejected("it is too long")
        vectors = [PLACES.get(text, (len(text), text.count("e") - 3.5)) for text in texts]
        return [list(vector) for vector in vectors], Reply("", len(texts), 0, 0.25)


def judge(embed: Embedder | None = None, by: Channel | None = None, **options: Any) -> EmbeddingJudge:
    return EmbeddingJudge(NAME, LLMOptions(**options), by or channel(), embed or Embedder())


async def at_once(seconds: float) -> None:
    await asyncio.sleep(0)


def channel(ledger: Ledger | None = None) -> Channel:
    return Channel(LLMOptions(), ledger or Ledger(), sleep=at_once)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key, and no address."""
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_contract(check: Callable[[Candidate], None]) -> None:
    check(Candidate(judge, failing=ask.similarity(BAD, ("something else",))))


def test_the_score_is_the_highest_cosine_to_the_others() -> None:
    embed = Embedder()
    found = answers(judge(embed), QUESTIONS)

    assert [round(answer.score, 3) for answer in found] == [0.894, 0.447, 0.0]
    assert [answer.value for answer in found] == ["yes", "no", "no"]
    assert found[0].explanation == "closest text (0.89): “nearly north”"
    assert len(embed.asked) == 1
    assert sorted(embed.asked[0]) == sorted(PLACES)


def test_opposite_texts_reach_the_lowest_score() -> None:
    (found,) = answers(judge(), [ask.similarity("south", ("north",))])

    assert found.score == pytest.approx(-1.0)
    assert found.score >= -1.0


def test_a_long_closest_text_is_quoted_in_part() -> None:
    (found,) = answers(judge(), [ask.similarity("north", ("word " * 100,))])

    assert len(found.explanation) < 160
    assert found.explanation.endswith("word …”")


@pytest.mark.parametrize("question", [
    ask.similarity("north", ()),
    ask.similarity("north", ("north",), 0),
    ask.similarity("north", (" ",)),
    ask.similarity(" ", ("north",)),
])  # fmt: skip
def test_where_there_is_nothing_to_compare_nothing_is_asked(question: ask.Question) -> None:
    embed = Embedder()
    (found,) = answers(judge(embed), [question])

    assert found == Verdict("no", -1.0, explanation="there is nothing else to compare with")
    assert embed.asked == []


@pytest.mark.parametrize(
    ("name", "texts", "parts"),
    [
        (NAME, [f"text {i}" for i in range(MOST_TEXTS + 10)], [MOST_TEXTS, 10]),
        ("bedrock:amazon.titan-embed-text-v1", [*PLACES], [1] * 4),
        (NAME, ["x" * 80_000 + str(i) for i in range(4)], [2, 2]),
    ],
    ids=["the most texts", "one at a time", "the largest request"],
)
def test_texts_travel_in_as_few_requests_as_the_provider_takes(name: str, texts: list[str], parts: list[int]) -> None:
    embed = Embedder()
    one = EmbeddingJudge(name, LLMOptions(), channel(), embed)
    asked = [ask.similarity(texts[at], texts, at) for at in range(2)]
    found = answers(one, asked)

    assert [len(part) for part in embed.asked] == parts
    assert not [answer for answer in found if isinstance(answer, Failure)]
    assert one.estimate(asked).requests == len(parts)


def test_a_text_that_is_refused_fails_its_questions_and_no_others() -> None:
    asked = [*QUESTIONS, ask.similarity(BAD, ("north",)), ask.similarity("north", ("east", BAD))]
    found = answers(judge(), asked)

    assert all(isinstance(answer, Verdict) for answer in found[:3])
    assert found[3:] == [Failure("it is too long")] * 2


def test_what_fails_for_a_moment_is_asked_again_by_the_channel() -> None:
    ledger = Ledger()
    embed = Embedder(TransientError("broken"), RateLimited("slowly"))
    found = answers(judge(embed, channel(ledger)), QUESTIONS)

    assert all(isinstance(answer, Verdict) for answer in found)
    assert len(embed.asked) == 3
    assert (ledger.requests, ledger.cost) == (3, 0.25)


def test_a_refused_key_ends_everything() -> None:
    with pytest.raises(JudgeError, match="the key is refused"):
        answers(judge(Embedder(ModelUnusable("the key is refused"))), QUESTIONS)


@pytest.mark.parametrize("vectors", [[], [[1.0]] * 3, [[1.0]] * 3 + [[]], [[1.0]] * 3 + [[1.0, 2.0]],
                                     [[1.0]] * 3 + [[float("nan")]]])  # fmt: skip
def test_vectors_that_fit_no_texts_are_no_answer(vectors: list[list[float]]) -> None:
    async def embed(texts: Sequence[str]) -> tuple[list[list[float]], Reply]:
        return vectors, Reply("")

    with pytest.raises(JudgeError, match="malformed response: no 4 vectors of the same length"):
        answers(EmbeddingJudge(NAME, LLMOptions(), channel(), embed), QUESTIONS)


def test_other_kinds_are_refused_with_a_reason() -> None:
    one = judge()

    assert one.unsupported_reason("similarity", "zh") is None
    assert "similarity" in str(one.unsupported_reason("claims", "en"))
    assert answers(one, [ask.claims("It is so.")]) == [Failure(str(one.unsupported_reason("claims", "en")))]


def test_the_fingerprint_holds_the_model_and_its_threshold() -> None:
    one, other = judge(), EmbeddingJudge("openai:text-embedding-3-large", LLMOptions(), channel(), Embedder())

    assert "text-embedding-3-small" in one.fingerprint("similarity")
    assert one.fingerprint("similarity") != other.fingerprint("similarity")


def test_thresholds_go_by_the_model_whoever_serves_it() -> None:
    assert threshold_of("openai:text-embedding-3-small") == threshold_of("azure:text-embedding-3-small") != 0.85
    assert threshold_of("ollama:nomic-embed-text") == 0.85


def test_an_estimate_counts_each_text_once() -> None:
    words = {text for question in QUESTIONS for text in (question.subject, *question.evidence)}
    found = judge(price=Price(1_000_000.0, 0.0)).estimate([*QUESTIONS, *QUESTIONS])

    assert (found.requests, found.tokens_out) == (1, 0)
    assert found.tokens_in == found.price == sum(map(tokens_of, words))


def by_length(heard: Heard) -> Said:
    return embeddings([[float(len(text)), 1.0] for text in heard.body["input"]], tokens=len(heard.body["input"]))


@pytest.mark.parametrize("name", ["openai:e5", "ollama:nomic-embed-text"])
def test_a_server_is_asked_for_embeddings(name: str) -> None:
    ledger = Ledger()
    with Server(by_length) as server:
        options = LLMOptions(base_url=server.url, headers={"X-Team": "red"}, price=Price(1.0, 0.0))
        one = EmbeddingJudge(name, options, channel(ledger))
        first = answers(one, QUESTIONS)
        assert answers(one, QUESTIONS) == first

    assert all(isinstance(answer, Verdict) for answer in first)
    assert [heard.path for heard in server.heard] == ["/v1/embeddings"] * 2
    assert server.heard[0].headers["x-team"] == "red"
    assert server.heard[0].body["model"] == name.partition(":")[2]
    assert (ledger.requests, ledger.cost) == (2, pytest.approx(8 / 1_000_000))


@pytest.mark.parametrize(("said", "told"), [
    (error(401, "no"), "refuses the key"),
    (error(404, "no"), "no such model"),
])  # fmt: skip
def test_a_server_that_would_refuse_everything_ends_everything(said: Said, told: str) -> None:
    with Server(said) as server, pytest.raises(JudgeError, match=told) as raised:
        answers(EmbeddingJudge("openai:e5", LLMOptions(base_url=server.url), channel()), QUESTIONS)

    assert "sk-secret" not in str(raised.value)
    assert len(server.heard) == 1


def test_bedrock_titan_is_asked_text_by_text(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    for name in ("AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(name, raising=False)

    def titan(heard: Heard) -> Said:
        return Said({"embedding": list(PLACES[heard.body["inputText"]]), "inputTextTokenCount": 2})

    with Server(titan) as server:
        options = LLMOptions(base_url=server.root)
        found = answers(EmbeddingJudge("bedrock:amazon.titan-embed-text-v1", options, channel()), QUESTIONS)

    assert [round(answer.score, 3) for answer in found] == [0.894, 0.447, 0.0]
    assert {heard.path for heard in server.heard} == {"/model/amazon.titan-embed-text-v1/invoke"}
    assert len(server.heard) == 4
    assert json.dumps(server.heard[0].body)


def test_google_is_asked_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "k")

    def gemini(heard: Heard) -> Said:
        texts = [one["content"]["parts"][0]["text"] for one in heard.body["requests"]]
        return Said({"embeddings": [{"values": list(PLACES[text])} for text in texts]})

    with Server(gemini) as server:
        one = EmbeddingJudge("google:gemini-embedding-001", LLMOptions(base_url=server.root), channel())
        found = [*answers(one, QUESTIONS), *answers(one, QUESTIONS)]

    assert [round(answer.score, 3) for answer in found] == [0.894, 0.447, 0.0] * 2
    assert len(server.heard) == 2


@pytest.mark.parametrize("row", examples("models", "no embeddings"))
def test_a_name_that_cannot_be_asked_is_refused_when_the_judge_is_made(
    monkeypatch: pytest.MonkeyPatch, row: dict[str, Any]
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    for variable in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ConfigError, match=row["told"]):
        EmbeddingJudge(row["name"], LLMOptions(), channel())
