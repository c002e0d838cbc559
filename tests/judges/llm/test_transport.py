"""Prompts go to servers and replies come back; what goes wrong on the way has one of four names."""

import asyncio
import json
import math
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai.providers.openai import OpenAIProvider

from ragtriage.core.errors import ConfigError
from ragtriage.judges.llm.options import (
    ExchangeError,
    LLMOptions,
    ModelUnusable,
    Price,
    Prompt,
    RateLimited,
    Reply,
    RequestRejected,
    Token,
    TransientError,
)
from ragtriage.judges.llm.providers import _compatible_model, model_named
from ragtriage.judges.llm.transport import ModelTransport
from servers import Said, Server, chat, claude, converse, error, gemini, nobody, responses

SCHEMA = {
    "type": "object",
    "properties": {"q1": {"$ref": "#/$defs/V"}},
    "required": ["q1"],
    "additionalProperties": False,
    "$defs": {
        "V": {
            "type": "object",
            "properties": {"why": {"type": "string"}, "verdict": {"type": "string", "enum": ["yes", "no"]}},
            "required": ["why", "verdict"],
            "additionalProperties": False,
        }
    },
}
PROMPT = Prompt("You judge.", "<source>It is so.</source>\n\nIs it so?", SCHEMA, 100)
KEY, SECRET = "sk-a-very-secret-key", "header-secret"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """One key for OpenAI, whatever this machine has."""
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "OTEL_PYTHON_TRACER_PROVIDER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def transport_to(server: Server | str, name: str = "openai:m", **options: Any) -> ModelTransport:
    url = server if isinstance(server, str) else server.url
    return ModelTransport(name, LLMOptions(**{"base_url": url, "timeout": 20.0} | options))


def sent(transport: ModelTransport, prompt: Prompt = PROMPT) -> Reply:
    return asyncio.run(transport.send(prompt))


def failed(transport: ModelTransport, prompt: Prompt = PROMPT) -> ExchangeError:
    with pytest.raises(ExchangeError) as raised:
        sent(transport, prompt)
    return raised.value


def texts(body: Any) -> list[tuple[str, Any]]:
    return [(message["role"], message["content"]) for message in body["messages"]]


def test_a_prompt_goes_out_in_the_schema_mode_and_the_reply_comes_back() -> None:
    with Server(chat('{"q1": 1}', usage=(1_000_000, 2_000_000))) as server:
        reply = sent(transport_to(server, price=Price(1.0, 2.0)))

    assert reply == Reply('{"q1": 1}', 1_000_000, 2_000_000, 5.0, model="m")
    (heard,) = server.heard
    assert heard.path == "/v1/chat/completions"
    assert heard.headers["authorization"] == f"Bearer {KEY}"
    assert texts(heard.body) == [("system", PROMPT.system), ("user", PROMPT.user)]
    assert heard.body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answers", "schema": SCHEMA, "strict": True},
    }
    assert (heard.body["temperature"], heard.body["max_tokens"], heard.body["model"]) == (0.0, 100, "m")


def test_what_is_sent_is_what_the_providers_own_client_would_send() -> None:
    def usual(name: str, options: LLMOptions, http_client: Any) -> Any:
        provider = OpenAIProvider(base_url=options.base_url, api_key=KEY, http_client=http_client)
        return _compatible_model(name.partition(":")[2], provider)

    refused = replace(PROMPT, refused=("no", "it is no object"))
    with Server(chat("{}")) as server:
        options = LLMOptions(base_url=server.url, headers={"X-Team": "red"})
        for make in (model_named, usual):
            for prompt in (PROMPT, refused):
                sent(ModelTransport("openai:m", options, make), prompt)
    quick, quick_again, own, own_again = server.heard

    assert (quick.body, quick_again.body) == (own.body, own_again.body)
    for name in ("authorization", "x-team", "content-type", "accept"):
        assert quick.headers[name] == own.headers[name]


def test_headers_are_sent_with_every_request_and_a_server_without_a_key_gets_none_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with Server(chat("{}")) as server:
        transport = transport_to(server, headers={"X-Team": "red"})
        sent(transport)
        sent(transport)

    assert [heard.headers["x-team"] for heard in server.heard] == ["red", "red"]
    assert server.heard[0].headers["authorization"] == "Bearer none"


def test_a_header_replaces_the_key() -> None:
    with Server(chat("{}")) as server:
        sent(transport_to(server, headers={"Authorization": "Basic x"}))

    assert server.heard[0].headers["authorization"] == "Basic x"


def test_by_text_the_schema_stands_at_the_end_of_the_message() -> None:
    with Server(chat("{}")) as server:
        sent(transport_to(server, reply="text"))

    body = server.heard[0].body
    assert "response_format" not in body
    role, user = texts(body)[-1]
    assert role == "user"
    assert user.startswith(PROMPT.user)
    assert user.endswith(json.dumps(SCHEMA))


@pytest.mark.parametrize(
    "refusal",
    [
        error(400, "response_format json_schema is not supported"),
        error(422, "Invalid parameter: 'text.format'"),
        error(501, "structured output is not implemented"),
        Said({"detail": [{"loc": ["body", "response_format"], "msg": "extra fields not permitted"}]}, 422),
    ],
)
def test_a_server_without_a_schema_mode_is_asked_by_text_at_once_and_from_then_on(refusal: Said) -> None:
    with Server(refusal, chat("{}")) as server:
        transport = transport_to(server)
        sent(transport)
        sent(transport)

    assert ["response_format" in heard.body for heard in server.heard] == [True, False, False]


def test_a_server_that_refuses_something_else_keeps_its_schema_mode() -> None:
    with Server(error(400, "bad response_format"), error(400, "bad words"), chat("{}")) as server:
        transport = transport_to(server)
        failure = failed(transport)
        sent(transport)

    assert isinstance(failure, RequestRejected)
    assert ["response_format" in heard.body for heard in server.heard] == [True, False, True]


def test_the_schema_mode_can_be_insisted_on() -> None:
    with Server(error(400, "response_format is not supported"), chat("{}")) as server:
        failure = failed(transport_to(server, reply="schema"))

    assert isinstance(failure, RequestRejected)
    assert len(server.heard) == 1


def test_a_temperature_that_a_server_refuses_is_left_out_from_then_on() -> None:
    said = "Unsupported value: 'temperature' does not support 0 with this model."
    with Server(error(400, said), chat("{}")) as server:
        transport = transport_to(server)
        sent(transport)
        sent(transport)

    assert ["temperature" in heard.body for heard in server.heard] == [True, False, False]
    assert all("response_format" in heard.body for heard in server.heard)


def test_a_server_that_wants_the_new_name_of_the_largest_length_gets_it() -> None:
    said = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    with Server(error(400, said), chat("{}")) as server:
        sent(transport_to(server))

    assert "max_tokens" not in server.heard[1].body
    assert server.heard[1].body["max_completion_tokens"] == 100


@pytest.mark.parametrize(("name", "temperature"), [("openai:gpt-5-mini", False), ("openai:gpt-4o", True)])
def test_models_without_a_temperature_get_none_and_nobody_is_warned(name: str, temperature: bool) -> None:
    with Server(chat("{}")) as server:
        sent(transport_to(server, name))

    assert ("temperature" in server.heard[0].body) is temperature


def test_the_temperature_can_be_left_to_the_model() -> None:
    with Server(chat("{}")) as server:
        sent(transport_to(server, temperature=None))

    assert "temperature" not in server.heard[0].body


@pytest.mark.parametrize("reply", ["auto", "text"])
def test_a_refused_reply_is_shown_with_what_was_wrong_and_the_schema(reply: str) -> None:
    with Server(chat("{}")) as server:
        sent(transport_to(server, reply=reply), replace(PROMPT, refused=("Sure!", "it is no object.")))

    said = texts(server.heard[0].body)
    assert [role for role, _ in said] == ["system", "user", "assistant", "user"]
    assert said[1][1].startswith(PROMPT.user)
    assert said[2][1] == "Sure!"
    assert said[3][1].startswith("That reply doesn't fit: it is no object. Reply again with one JSON object")
    assert json.dumps(SCHEMA) in said[3][1]


def test_an_empty_refused_reply_is_not_sent_as_an_empty_message() -> None:
    with Server(chat("{}")) as server:
        sent(transport_to(server), replace(PROMPT, refused=(" ", "it is empty")))

    assert texts(server.heard[0].body)[2] == ("assistant", "(nothing)")


def test_a_reply_that_was_cut_off_and_an_empty_one_are_replies() -> None:
    with Server(chat('{"q1', "length"), chat("")) as server:
        transport = transport_to(server)
        cut, empty = sent(transport), sent(transport)

    assert (cut.text, cut.truncated) == ('{"q1', True)
    assert (empty.text, empty.truncated) == ("", False)


def test_tokens_are_guessed_where_a_server_does_not_count_them() -> None:
    with Server(chat("x" * 400, usage=None)) as server:
        reply = sent(transport_to(server))

    assert (reply.tokens_in, reply.tokens_out, reply.price) == (PROMPT.tokens, 100, None)


LETTER = Prompt("You judge.", "Is it so?", {}, 1, by_token=True)


def letter(text: str = "Y", finish: str = "length") -> Said:
    """A reply with the probabilities of its one token."""
    said = chat(text, finish)
    likely = [{"token": "Y", "bytes": [89], "logprob": -0.5}, {"token": " N", "bytes": [32, 78], "logprob": -1.0}]
    content = [{"token": text, "bytes": list(text.encode()), "logprob": -0.5, "top_logprobs": likely}]
    said.body["choices"][0]["logprobs"] = {"content": content, "refusal": None}
    return said


def probabilities(server: Server) -> list[int | None]:
    """How many of each token every request asked for."""
    return [heard.body.get("top_logprobs") if heard.body.get("logprobs") else None for heard in server.heard]


def test_the_probabilities_of_tokens_are_asked_for_where_letters_are() -> None:
    with Server(letter()) as server:
        transport = transport_to(server)
        one, json_one = sent(transport, LETTER), sent(transport)

    assert one.tokens == (Token(0, 1, (("Y", math.exp(-0.5)), (" N", math.exp(-1.0)))),)
    assert (one.text, one.truncated) == ("Y", True)
    assert json_one.tokens == ()
    assert probabilities(server) == [20, None]
    assert (server.heard[0].body["max_tokens"], "response_format" in server.heard[0].body) == (1, False)


@pytest.mark.parametrize(
    "refusal",
    [
        error(400, "top_logprobs must be at most 5"),
        error(403, "You are not allowed to request logprobs from this model."),
        error(500, "logprobs is not supported for models created with logits_all=False"),
        Said({"detail": [{"loc": ["body", "top_logprobs"], "msg": "extra fields not permitted"}]}, 422),
    ],
)
def test_fewer_probabilities_are_asked_for_or_none_where_a_server_refuses_and_that_is_kept(refusal: Said) -> None:
    with Server(refusal, letter(), letter()) as server:
        transport = transport_to(server)
        found = [sent(transport, LETTER) for _ in range(2)]
    assert probabilities(server) == [20, 5, 5]
    assert all(reply.tokens for reply in found)

    with Server(refusal, refusal, chat("Y"), chat("Y")) as server:
        transport = transport_to(server)
        found = [sent(transport, LETTER) for _ in range(2)]
    assert probabilities(server) == [20, 5, None, None]
    assert [(reply.text, reply.tokens) for reply in found] == [("Y", ())] * 2


def test_a_server_that_gives_no_probabilities_gives_letters_all_the_same() -> None:
    with Server(chat("1 Y")) as server:
        reply = sent(transport_to(server), LETTER)

    assert (reply.text, reply.tokens) == ("1 Y", ())
    assert probabilities(server) == [20]


@pytest.mark.filterwarnings("error")
def test_models_that_take_no_such_settings_are_asked_without() -> None:
    with Server(chat("Y")) as server:
        sent(transport_to(server, "openai:gpt-5-mini"), LETTER)

    assert probabilities(server) == [None]


REFUSALS: Sequence[tuple[Said, type[ExchangeError], Sequence[str]]] = (
    (error(429, "Rate limit reached", "rate_limit_exceeded"), RateLimited, ["slow down (429): Rate limit reached"]),
    (
        error(429, "You exceeded your quota", "insufficient_quota"),
        ModelUnusable,
        ["openai:m: the account's credit or quota", "used up (429)"],
    ),
    (error(402, "Pay"), ModelUnusable, ["used up (402)"]),
    (error(401, "Incorrect API key"), ModelUnusable, ["refuses the key (401): set OPENAI_API_KEY", "--header"]),
    (error(403, "Forbidden"), ModelUnusable, ["doesn't let the key use this model (403)"]),
    (error(404, "no model m", "model_not_found"), ModelUnusable, ["no such model or no such page (404)", "/v1"]),
    (Said("Not Found", 404), ModelUnusable, ["no such model or no such page"]),
    (error(405, "Method Not Allowed"), ModelUnusable, ["no such page (405)"]),
    (error(400, "Invalid model name passed in model=m"), ModelUnusable, ["no such model"]),
    (error(400, "too many", "context_length_exceeded"), RequestRejected, ["too long for the model (400): too many"]),
    (error(400, "This model's maximum context length is 10 tokens"), RequestRejected, ["too long"]),
    (error(413, "Payload"), RequestRejected, ["too long"]),
    (error(400, "blocked", "content_filter"), RequestRejected, ["content filter", "blocked"]),
    (error(400, "bad words"), RequestRejected, ["refused the request (400): bad words"]),
    (error(422, "no"), RequestRejected, ["refused the request (422): no"]),
    (error(418, "tea"), RequestRejected, ["refused the request (418): tea"]),
    (error(500, "broken"), TransientError, ["server error (500): broken"]),
    (error(502, "bad gateway"), TransientError, ["server error (502)"]),
    (error(503, "overloaded"), TransientError, ["server error (503)"]),
    (error(529, "overloaded"), TransientError, ["server error (529)"]),
    (error(408, "slow"), TransientError, ["server error (408)"]),
    (error(409, "conflict"), TransientError, ["server error (409)"]),
    (Said("{", 200), TransientError, ["malformed response"]),
    (Said("<html>hello</html>", 200, {"Content-Type": "text/html"}), TransientError, ["malformed response"]),
    (Said({"hello": "there"}), TransientError, ["malformed response"]),
    (Said(reset=True), TransientError, ["no connection to http://127.0.0.1:"]),
    (chat("", "content_filter"), RequestRejected, ["content filter stopped"]),
    (chat(None, refusal="I'd rather not."), RequestRejected, ["content filter stopped"]),
)


@pytest.mark.parametrize(("said", "kind", "told"), REFUSALS, ids=lambda one: None)
def test_what_goes_wrong_is_told_apart_and_never_tried_again_here(
    said: Said, kind: type[ExchangeError], told: Sequence[str]
) -> None:
    with Server(said) as server:
        failure = failed(transport_to(server))

    assert type(failure) is kind, failure
    for words in told:
        assert words in str(failure)
    assert "\n" not in str(failure)
    assert len(server.heard) == 1
    assert failure.__cause__ is None


@pytest.mark.parametrize(("status", "headers", "after"), [
    (429, {"Retry-After": "3"}, 3.0),
    (429, {"retry-after-ms": "250"}, 0.25),
    (429, {}, None),
    (503, {"Retry-After": "2"}, 2.0),
])  # fmt: skip
def test_a_server_is_heard_that_says_how_long_to_wait(status: int, headers: dict[str, str], after: float) -> None:
    with Server(error(status, "wait", headers=headers)) as server:
        failure = failed(transport_to(server))

    assert isinstance(failure, RateLimited if status == 429 else TransientError)
    assert failure.after == after


def test_a_long_silence_ends_at_the_timeout() -> None:
    with Server(Said(after=30.0)) as server:
        failure = failed(transport_to(server, timeout=0.2))

    assert isinstance(failure, TransientError)
    assert str(failure) == "no reply within 0.2 s"


def test_a_server_that_is_not_there_is_named_without_what_may_be_secret_in_its_address() -> None:
    failure = failed(transport_to(f"{nobody()}?token=secret"))

    assert isinstance(failure, TransientError)
    assert "no connection to http://127.0.0.1:" in str(failure)
    assert "secret" not in str(failure)


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_keys_and_headers_are_in_no_message(status: int) -> None:
    with Server(error(status, f"you sent {KEY} and {SECRET}")) as server:
        failure = failed(transport_to(server, headers={"X-Gateway": SECRET}))

    assert KEY not in str(failure)
    assert SECRET not in str(failure)


def test_a_long_answer_is_not_repeated_whole() -> None:
    with Server(error(500, "word " * 1000)) as server:
        assert len(str(failed(transport_to(server)))) < 300


def test_who_gives_up_waiting_is_not_held_back() -> None:
    async def leave(transport: ModelTransport) -> None:
        task = asyncio.create_task(transport.send(PROMPT))
        await asyncio.to_thread(server.asked.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with Server(Said(after=30.0)) as server:
        asyncio.run(leave(transport_to(server)))


def test_one_transport_serves_several_event_loops() -> None:
    async def several(count: int) -> None:
        await asyncio.gather(*(transport.send(PROMPT) for _ in range(count)))

    with Server(chat("{}")) as server:
        transport = transport_to(server)
        asyncio.run(several(3))
        asyncio.run(several(4))
        threads = [threading.Thread(target=lambda: asyncio.run(several(5))) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert len(server.heard) == 3 + 4 + 15


def test_the_responses_api_keeps_no_text_there() -> None:
    with Server(responses('{"q1": 1}'), responses("{", "incomplete")) as server:
        transport = transport_to(server, "openai-responses:gpt-4o")
        reply, cut = sent(transport), sent(transport, replace(PROMPT, refused=("Sure!", "it is no object")))

    assert (reply.text, reply.tokens_in, reply.tokens_out, reply.truncated) == ('{"q1": 1}', 10, 5, False)
    assert cut.truncated
    first, second = (heard.body for heard in server.heard)
    assert server.heard[0].path == "/v1/responses"
    assert first["store"] is False
    assert first["text"]["format"]["type"] == "json_schema"
    assert first["text"]["format"]["schema"] == SCHEMA
    assert (first["temperature"], first["max_output_tokens"]) == (0.0, 100)
    assert [message["role"] for message in second["input"]][-3:] == ["user", "assistant", "user"]


def test_anthropic_is_asked_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    busy = Said(
        {"type": "error", "error": {"type": "rate_limit_error", "message": "slowly"}}, 429, {"retry-after": "4"}
    )
    over = Said({"type": "error", "error": {"type": "overloaded_error", "message": "too much"}}, 529)
    with Server(claude("{}"), busy, over) as server:
        transport = transport_to(server.root, "anthropic:claude-sonnet-4-6", headers={"X-Team": "red"})
        reply, limited, overloaded = sent(transport), failed(transport), failed(transport)

    assert reply == Reply("{}", 10, 5, None, model="claude")
    assert isinstance(limited, RateLimited)
    assert limited.after == 4.0
    assert isinstance(overloaded, TransientError)
    heard = server.heard[0]
    assert KEY in heard.headers.get("authorization", heard.headers.get("x-api-key"))
    assert (heard.path, heard.headers["x-team"]) == ("/v1/messages", "red")
    assert texts(heard.body)[0][0] == "user"
    assert (heard.body["max_tokens"], heard.body["temperature"]) == (100, 0.0)
    assert "q1" in json.dumps(heard.body["output_config"]["format"])
    assert len(server.heard) == 3


def test_google_is_asked_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    busy = Said({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "slowly"}}, 429)
    with Server(gemini("{}"), busy) as server:
        transport = transport_to(server.root, "google:gemini-2.5-flash", headers={"X-Team": "red"})
        reply, limited = sent(transport), failed(transport)

    assert reply == Reply("{}", 10, 5, None, model="gemini")
    assert isinstance(limited, RateLimited)
    assert server.heard[0].headers["x-team"] == "red"
    assert server.heard[0].body["generationConfig"]["responseMimeType"] == "application/json"
    assert len(server.heard) == 2


def test_bedrock_is_asked_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": KEY,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
    busy = Said({"message": "slowly"}, 429, {"x-amzn-ErrorType": "ThrottlingException"})
    broken = Said({"message": "broken"}, 500, {"x-amzn-ErrorType": "InternalServerException"})
    with Server(converse("{}"), busy, broken) as server:
        transport = transport_to(server.root, "bedrock:us.amazon.nova-lite-v1:0", headers={"X-Team": "red"})
        reply, limited, failure = sent(transport), failed(transport), failed(transport)

    assert reply == Reply("{}", 10, 5, None, model="us.amazon.nova-lite-v1:0")
    assert isinstance(limited, RateLimited)
    assert isinstance(failure, TransientError)
    assert server.heard[0].headers["x-team"] == "red"
    assert len(server.heard) == 3


def test_ollama_at_a_bare_address_is_free() -> None:
    with Server(chat("{}")) as server:
        reply = sent(transport_to(server.root, "ollama:llama3.2:3b"))

    assert reply.price == 0.0
    assert server.heard[0].path == "/v1/chat/completions"
    assert server.heard[0].body["model"] == "llama3.2:3b"


def test_a_model_without_a_schema_mode_is_asked_by_text_or_not_at_all() -> None:
    with Server(chat("{}")) as server:
        sent(transport_to(server, "ollama:qwen3-cloud"))

        with pytest.raises(ConfigError, match="no schema mode: let the reply be auto or text"):
            transport_to(server, "ollama:qwen3-cloud", reply="schema")

    assert "response_format" not in server.heard[0].body
