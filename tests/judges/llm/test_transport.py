"""Prompts go to servers and replies come back; what goes wrong on the way has one of four names."""

import asyncio
import json
import math
import threading
from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai.providers.openai import OpenAIProvider

from examples import examples
from ragtriage.core.errors import ConfigError
from ragtriage.judges.llm.options import (
    ExchangeError,
    LLMOptions,
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


@pytest.mark.parametrize(
    ("key", "headers", "authorization"),
    [
        (KEY, {"Authorization": "Basic x"}, "Basic x"),
        (None, {"X-Team": "red"}, "Bearer none"),
        (KEY, {}, f"Bearer {KEY}"),
    ],
    ids=["a header replaces the key", "a server without a key gets none of ours", "the key"],
)
def test_headers_are_sent_with_every_request(
    monkeypatch: pytest.MonkeyPatch, key: str | None, headers: dict[str, str], authorization: str
) -> None:
    if key is None:
        monkeypatch.delenv("OPENAI_API_KEY")
    with Server(chat("{}")) as server:
        transport = transport_to(server, headers=headers)
        sent(transport)
        sent(transport)

    assert [heard.headers["authorization"] for heard in server.heard] == [authorization] * 2
    assert [heard.headers.get("x-team") for heard in server.heard] == [headers.get("X-Team")] * 2


FULL = ["response_format", "temperature", "max_tokens"]
BY_TEXT, HOT, NEWER = FULL[1:], [FULL[0], FULL[2]], [*FULL[:2], "max_completion_tokens"]
NO_SCHEMA = error(400, "response_format is not supported")
NO_TEMPERATURE = "Unsupported value: 'temperature' does not support 0 with this model."
NEW_NAME = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
EXTRA = {"detail": [{"loc": ["body", "response_format"], "msg": "extra fields not permitted"}]}


@pytest.mark.parametrize(
    ("script", "name", "options", "members"),
    [
        ([error(400, "response_format json_schema is not supported")], "m", {}, [FULL, BY_TEXT, BY_TEXT]),
        ([error(422, "Invalid parameter: 'text.format'")], "m", {}, [FULL, BY_TEXT, BY_TEXT]),
        ([error(501, "structured output is not implemented")], "m", {}, [FULL, BY_TEXT, BY_TEXT]),
        ([Said(EXTRA, 422)], "m", {}, [FULL, BY_TEXT, BY_TEXT]),
        ([error(400, "bad response_format"), error(400, "bad words")], "m", {}, [FULL, BY_TEXT, "rejected", FULL]),
        ([NO_SCHEMA] * 2, "m", {"reply": "schema"}, [FULL, "rejected", FULL, "rejected"]),
        ([], "m", {"reply": "text"}, [BY_TEXT] * 2),
        ([error(400, NO_TEMPERATURE)], "m", {}, [FULL, HOT, HOT]),
        ([error(400, NEW_NAME)], "m", {}, [FULL, NEWER, NEWER]),
        ([], "gpt-5-mini", {}, [[FULL[0], "max_completion_tokens"]] * 2),
        ([], "gpt-4o", {}, [FULL] * 2),
        ([], "m", {"temperature": None}, [HOT] * 2),
    ],
)  # fmt: skip
def test_what_a_server_refuses_or_a_model_lacks_is_left_out_from_then_on(
    script: list[Said], name: str, options: dict[str, Any], members: list[Any]
) -> None:
    """Two prompts are sent; a server that refuses something else keeps its schema mode, and it can be insisted on."""
    seen: list[Any] = []
    with Server(*script, chat("{}")) as server:
        transport = transport_to(server, f"openai:{name}", **options)
        for _ in range(2):
            before = len(server.heard)
            try:
                sent(transport)
                rejected = []
            except RequestRejected:
                rejected = ["rejected"]
            bodies = [heard.body for heard in server.heard[before:]]
            seen += [[one for one in (*FULL, "max_completion_tokens") if one in body] for body in bodies] + rejected

    assert seen == members


def test_by_text_the_schema_stands_at_the_end_of_the_message() -> None:
    with Server(chat("{}")) as server:
        sent(transport_to(server, reply="text"))

    role, user = texts(server.heard[0].body)[-1]
    assert role == "user"
    assert user.startswith(PROMPT.user)
    assert user.endswith(json.dumps(SCHEMA))


@pytest.mark.parametrize(("reply", "refused", "shown"), [("auto", "Sure!", "Sure!"), ("text", " ", "(nothing)")])
def test_a_refused_reply_is_shown_with_what_was_wrong_and_the_schema(reply: str, refused: str, shown: str) -> None:
    with Server(chat("{}")) as server:
        sent(transport_to(server, reply=reply), replace(PROMPT, refused=(refused, "it is no object.")))

    said = texts(server.heard[0].body)
    assert [role for role, _ in said] == ["system", "user", "assistant", "user"]
    assert said[1][1].startswith(PROMPT.user)
    assert said[2][1] == shown
    assert said[3][1].startswith("That reply doesn't fit: it is no object. Reply again with one JSON object")
    assert json.dumps(SCHEMA) in said[3][1]


def test_a_reply_that_was_cut_off_an_empty_one_and_one_that_nobody_counted_are_replies() -> None:
    with Server(chat('{"q1', "length"), chat(""), chat("x" * 400, usage=None)) as server:
        transport = transport_to(server)
        cut, empty, uncounted = (sent(transport) for _ in range(3))

    assert (cut.text, cut.truncated) == ('{"q1', True)
    assert (empty.text, empty.truncated) == ("", False)
    assert (uncounted.tokens_in, uncounted.tokens_out, uncounted.price) == (PROMPT.tokens, 100, None)


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


@pytest.mark.parametrize(("name", "most"), [("openai:m", 20), ("openai:gpt-5-mini", None)])
def test_where_there_are_no_probabilities_there_are_letters_all_the_same(name: str, most: int | None) -> None:
    """Models that take no such settings are asked without."""
    with Server(chat("1 Y")) as server:
        reply = sent(transport_to(server, name), LETTER)

    assert (reply.text, reply.tokens) == ("1 Y", ())
    assert probabilities(server) == [most]


def says(row: dict[str, Any]) -> Said:
    """What a row of `server_faults.jsonl` says: an error, a reply, anything else, or nothing."""
    if "message" in row:
        return error(row["status"], row["message"], row.get("code"))
    if "finish" in row:
        return chat(row["text"], row["finish"], **({"refusal": row["refusal"]} if "refusal" in row else {}))
    return Said(row.get("body", ""), row.get("status", 200), row.get("headers", {}), reset=row.get("reset", False))


@pytest.mark.parametrize("row", examples("server_faults"))
def test_what_goes_wrong_is_told_apart_and_never_tried_again_here(row: dict[str, Any]) -> None:
    with Server(says(row)) as server:
        failure = failed(transport_to(server))

    assert type(failure).__name__ == row["kind"], failure
    for words in row["told"]:
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


def test_keys_headers_and_what_may_be_secret_in_an_address_are_in_no_message_nor_is_a_long_answer_repeated() -> None:
    gone = failed(transport_to(f"{nobody()}?token={SECRET}"))
    told = f"you sent {KEY} and {SECRET}; " + "word " * 1000
    with Server(*(error(status, told) for status in (400, 401, 404, 429, 500))) as server:
        transport = transport_to(server, headers={"X-Gateway": SECRET})
        others = [str(failed(transport)) for _ in range(5)]

    assert isinstance(gone, TransientError)
    assert "no connection to http://127.0.0.1:" in str(gone)
    for said in (str(gone), *others):
        assert KEY not in said
        assert SECRET not in said
    assert len(others[-1]) < 300


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


AWS = {
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": KEY,
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@pytest.mark.parametrize(
    ("name", "environment", "script", "replied"),
    [
        (
            "anthropic:claude-sonnet-4-6",
            {"ANTHROPIC_API_KEY": KEY},
            [
                claude("{}"),
                Said({"type": "error", "error": {"type": "rate_limit_error", "message": "slowly"}}, 429),
                Said({"type": "error", "error": {"type": "overloaded_error", "message": "too much"}}, 529),
            ],
            "claude",
        ),
        (
            "google:gemini-2.5-flash",
            {"GOOGLE_API_KEY": KEY},
            [
                gemini("{}"),
                Said({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "slowly"}}, 429),
                Said({"error": {"code": 503, "status": "UNAVAILABLE", "message": "broken"}}, 503),
            ],
            "gemini",
        ),
        (
            "bedrock:us.amazon.nova-lite-v1:0",
            AWS,
            [
                converse("{}"),
                Said({"message": "slowly"}, 429, {"x-amzn-ErrorType": "ThrottlingException"}),
                Said({"message": "broken"}, 500, {"x-amzn-ErrorType": "InternalServerException"}),
            ],
            "us.amazon.nova-lite-v1:0",
        ),
    ],
    ids=["anthropic", "google", "bedrock"],
)
def test_other_providers_are_asked_in_their_own_words(
    monkeypatch: pytest.MonkeyPatch, name: str, environment: dict[str, str], script: list[Said], replied: str
) -> None:
    for variable in ("GEMINI_API_KEY", "AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    good, busy, broken = script
    busy = replace(busy, headers={**busy.headers, "retry-after": "4"})
    with Server(good, busy, broken) as server:
        transport = transport_to(server.root, name, headers={"X-Team": "red"})
        reply, limited, failure = sent(transport), failed(transport), failed(transport)

    assert reply == Reply("{}", 10, 5, None, model=replied)
    assert isinstance(limited, RateLimited)
    assert limited.after == 4.0
    assert isinstance(failure, TransientError)
    assert len(server.heard) == 3
    heard = server.heard[0]
    assert heard.headers["x-team"] == "red"
    if name.startswith("anthropic"):
        assert KEY in heard.headers.get("authorization", heard.headers.get("x-api-key"))
        assert (heard.path, heard.body["max_tokens"], heard.body["temperature"]) == ("/v1/messages", 100, 0.0)
        assert texts(heard.body)[0][0] == "user"
        assert "q1" in json.dumps(heard.body["output_config"]["format"])
    if name.startswith("google"):
        assert heard.body["generationConfig"]["responseMimeType"] == "application/json"


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
