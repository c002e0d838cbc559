"""Applications at an address: what is sent, what is read, and what happens when they fail."""

import gzip
import json
import time
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from asked import OUT, QUICK, ask, at, cases, rows_in

from ragtriage.adapters.opening import open_application
from ragtriage.collect.application import FIRST, Application, RequestPolicy
from ragtriage.collect.application_names import CHAT, ApplicationSpec
from ragtriage.core.case import Case, Source, Turn
from ragtriage.core.errors import ApplicationError, ConfigError
from ragtriage.core.validation import seconds_to_wait
from servers import Heard, Said, Server, chat

GOOD = Said({"answer": "yes", "contexts": ["one", {"text": "two", "id": "b"}]})
ONE = RequestPolicy(concurrency=1, timeout=10, pause=0.01)
NASTY = 'a "quoted" \\ line\nand {{id}} \u2028 “ü”'


def test_without_a_template_the_query_is_sent_and_usual_names_are_read(tmp_path: Path) -> None:
    with Server(GOOD) as server:
        rows = ask(tmp_path, at(server.root), cases("a", "b"))

    assert sorted(heard.body["query"] for heard in server.heard) == ["a", "b"]  # they are asked at once
    assert all(list(heard.body) == ["query"] for heard in server.heard)
    assert rows["a"]["response"] == "yes"
    assert rows["a"]["sources"] == [{"text": "one"}, {"text": "two", "id": "b"}]
    assert rows["a"]["seconds"] >= 0
    assert "retrieved" not in rows["a"]  # only one of the two has an id


def test_a_template_takes_values_as_values(tmp_path: Path) -> None:
    template = (
        '{"q": "{{query}}", "deep": [{"both": "{{ id }}: {{query}}"}], "h": "{{history}}", "n": 3, "t": "{{topic}}"}'
    )
    case = Case("1", NASTY, history=(Turn("user", "before"),))
    with Server(GOOD) as server:
        ask(tmp_path, at(server.root, template=template), [case])

    assert server.heard[0].body == {
        "q": NASTY,
        "deep": [{"both": f"1: {NASTY}"}],
        "h": [{"role": "user", "content": "before"}],
        "n": 3,
        "t": None,
    }


def test_paths_say_where_things_stand(tmp_path: Path) -> None:
    body = {"out": {"a.b": [{"x": "yes"}]}, "hits": [{"body": "one", "key": 7}, {"body": "two", "key": "k"}]}
    paths = {"response_path": "out['a.b'][0].x", "sources_path": "$.hits[*].body", "ids_path": "hits[*].key"}
    with Server(Said(body)) as server:
        rows = ask(tmp_path, at(server.root, **paths), cases("a"))

    assert rows["a"]["response"] == "yes"
    assert rows["a"]["sources"] == [{"text": "one", "id": "7"}, {"text": "two", "id": "k"}]
    assert rows["a"]["retrieved"] == ["7", "k"]


@pytest.mark.parametrize("packed", [False, True])
def test_a_reply_that_is_too_large_is_not_read_to_its_end(tmp_path: Path, *, packed: bool) -> None:
    body = json.dumps({"answer": "yes", "padding": "x" * 3_000_000}).encode()
    large = Said(gzip.compress(body), headers={"Content-Encoding": "gzip"}) if packed else Said(body)
    with Server(large, GOOD, large) as server:
        rows = ask(tmp_path, at(server.root, max_reply=2.5), cases("a", "b"), ONE)
        enough = ask(tmp_path / "enough", at(server.root, max_reply=3.5), cases("a"), ONE)

    assert rows["a"]["failure"] == "unreadable reply"
    assert rows["a"]["failure_detail"] == "the reply is larger than 2.5 MB: raise --max-reply"
    assert rows["b"]["response"] == enough["a"]["response"] == "yes"
    with Server(Said(b"no such thing " * 100_000, status=404)) as server, pytest.raises(ApplicationError) as refused:
        ask(tmp_path / "refused", at(server.root, max_reply=0.001), cases("a"), ONE)
    assert "answers HTTP 404: no such thing no such thing" in str(refused.value)


@pytest.mark.parametrize("address", ["/v1", "/v1/", f"/v1{CHAT}"])
def test_an_openai_compatible_server_is_asked_in_its_words(tmp_path: Path, address: str) -> None:
    turns = [("user", "hi"), ("assistant", "hello")]
    case = Case("1", "and now?", history=tuple(Turn(*turn) for turn in turns))
    with Server(chat("fine")) as server:
        rows = ask(tmp_path, at(server.root + address, openai_model="m-1"), [case])

    messages = [{"role": role, "content": content} for role, content in [*turns, ("user", "and now?")]]
    assert server.heard[0].path == f"/v1{CHAT}"
    assert server.heard[0].body == {"model": "m-1", "messages": messages}
    assert rows["1"]["response"] == "fine"


@pytest.mark.parametrize(
    "fault", [Said("slow down", 429, {"Retry-After": "0"}), Said("oops", 500), Said("", 503), Said(reset=True)]
)
def test_what_fails_for_the_moment_is_asked_again(tmp_path: Path, fault: Said) -> None:
    with Server(fault, GOOD) as server:
        rows = ask(tmp_path, at(server.root), cases("a"))

    assert len(server.heard) == 2
    assert rows["a"]["response"] == "yes"
    assert "failure" not in rows["a"]


def test_everybody_waits_as_long_as_the_server_asks_for_unless_that_is_an_hour(tmp_path: Path) -> None:
    times: list[float] = []

    def says(heard: Heard) -> Said:
        times.append(time.monotonic())
        return Said("", 429, {"Retry-After": "1"}) if len(times) == 1 else GOOD

    with Server(says) as server:
        ask(tmp_path, at(server.root), cases("a", "b"), ONE)
    assert len(times) == 3
    assert times[1] - times[0] >= 1

    with Server(Said("", 429, {"Retry-After": "3600"})) as server, pytest.raises(ApplicationError, match="HTTP 429"):
        ask(tmp_path / "hour", at(server.root), cases("a"))
    assert len(server.heard) == 1


def test_a_retry_after_may_be_a_date() -> None:
    assert seconds_to_wait("7") == 7
    assert seconds_to_wait(formatdate(time.time() + 60, usegmt=True)) == pytest.approx(60, abs=5)
    assert seconds_to_wait("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert [seconds_to_wait(text) for text in (None, "soon", "-3")] == [None, None, None]


def test_a_slow_answer_is_a_case_without_response_and_not_an_empty_one(tmp_path: Path) -> None:
    def says(heard: Heard) -> Said:
        return Said({"answer": ""}, after=30.0) if heard.body["query"] == "slow" else Said({"answer": ""})

    with Server(says) as server:
        rows = ask(tmp_path, at(server.root), cases("slow", "quick"), RequestPolicy(concurrency=1, timeout=0.4))

    assert rows["slow"]["response"] is None
    assert rows["slow"]["failure"] == "time-out"
    assert "0.4 s" in rows["slow"]["failure_detail"]
    assert rows["quick"]["response"] == ""
    assert len(server.heard) == 2


@pytest.mark.parametrize(
    ("said", "cause", "told"),
    [
        (Said('{"answer": "ye'), "unreadable reply", "isn't JSON; it begins with '{\"answer\": \"ye'"),
        (Said({"text": "x", "docs": []}), "unreadable reply", "its keys are text, docs: name the place with"),
        (Said({"answer": 3}), "unreadable reply", "the response of the reply is a number (3)"),
        (Said(["x"]), "unreadable reply", "a list of 1"),
        (Said({"answer": None}), "no answer in the reply", "null at 'answer'"),
        (Said({"answer": "x", "sources": 5}), "unreadable reply", "the sources of the reply is a number"),
        (Said({"answer": "x", "sources": ["t"], "ids": ["a", "b"]}), "unreadable reply", "one id a source"),
        (Said({"detail": "too long"}, 413), "HTTP 413", "too long"),
    ],
)
def test_a_reply_that_cannot_be_used_is_a_failure_of_its_case_only(
    tmp_path: Path, said: Said, cause: str, told: str
) -> None:
    with Server(GOOD, said, GOOD) as server:
        rows = ask(tmp_path, at(server.root), cases("a", "b", "c"), ONE)

    assert [rows[name]["response"] for name in "abc"] == ["yes", None, "yes"]
    assert rows["b"]["failure"] == cause
    assert told in rows["b"]["failure_detail"]
    assert len(server.heard) == 3


@pytest.mark.parametrize(
    ("paths", "told"),
    [
        ({"response_path": "data.text"}, "the reply has no 'data.text': it has the keys answer, hits"),
        ({"response_path": "answer.text"}, "its 'answer' is a text ('yes'), not an object"),
        ({"sources_path": "hits[*].body"}, "its 'hits[0]' has the keys text, id"),
        ({"sources_path": "hits[3]"}, "its 'hits' is a list of 1"),
        ({"ids_path": "answer[*]"}, "its 'answer' is a text ('yes'), not a list"),
    ],
)
def test_a_path_that_is_not_there_is_told_with_the_keys_that_are(
    tmp_path: Path, paths: dict[str, str], told: str
) -> None:
    reply = Said({"answer": "yes", "hits": [{"text": "t", "id": 1}]})
    with Server(reply) as server, pytest.raises(ApplicationError) as raised:
        ask(tmp_path, at(server.root, **paths), cases("a", "b"))

    assert told in str(raised.value)
    assert rows_in(tmp_path / OUT) == {}  # a wrong path isn't the questions' fault: they are asked again


@pytest.mark.parametrize("status", [401, 403, 404, 405, 400])
def test_when_all_fail_alike_it_stops_early_and_keeps_nothing_of_it(tmp_path: Path, status: int) -> None:
    with Server(Said({"error": "nobody here"}, status)) as server:
        with pytest.raises(ApplicationError, match=f"HTTP {status}: .*nobody here"):
            ask(tmp_path, at(server.root), cases(*map(str, range(100))))
        assert len(server.heard) <= FIRST + QUICK.concurrency

    assert rows_in(tmp_path / OUT) == {}
    with Server(GOOD) as server:
        assert len(ask(tmp_path, at(server.root), cases("1", "2"))) == 2


def test_an_outage_in_the_middle_stops_and_the_same_call_goes_on(tmp_path: Path) -> None:
    of, brief = cases(*map(str, range(60))), RequestPolicy(concurrency=2, attempts=2, pause=0.001)
    answered = [GOOD] * 5
    with Server(*answered, Said("down", 503)) as server, pytest.raises(ApplicationError, match="since its last answer"):
        ask(tmp_path, at(server.root), of, brief)
    assert len(rows_in(tmp_path / OUT)) == 5

    with Server(GOOD) as server:
        rows = ask(tmp_path, at(server.root), of)
    assert (len(server.heard), len(rows)) == (55, 60)
    assert not [row for row in rows.values() if row["response"] is None]


def test_a_redirect_is_told_and_not_followed_and_so_is_that_nobody_listens(tmp_path: Path) -> None:
    moved = Said("", 307, {"Location": "/new?key=hidden"})
    with Server(Said("", 302, {"Location": "http://[x"})) as server, pytest.raises(ApplicationError, match="has moved"):
        ask(tmp_path, at(server.root), cases("a"))
    with Server(moved) as server, pytest.raises(ApplicationError, match=r"has moved: name http://127.*/new with --app"):
        ask(tmp_path, at(server.root), cases("a"))

    assert len(server.heard) == 1
    with pytest.raises(ApplicationError, match="no connection"):
        ask(tmp_path, at(server.root), cases("a"))


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ({"template": '{"q": {{query}}}'}, "stands inside quotes"),
        ({"sources_path": "hits[*"}, "--sources-path 'hits[*' can't be read at '[*'"),
        ({"ids_path": "$"}, "--ids-path '$' is empty"),
    ],
)
def test_bad_settings_are_told_before_anything_is_sent(named: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as raised:  # others stand in tests/bad_input/collect.jsonl
        at("http://127.0.0.1:1/", **named)

    assert told in str(raised.value)


def test_secrets_are_sent_and_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_KEY", "sk-very-secret")
    monkeypatch.setenv("TENANT_KEY", "sk-very-secret-of-ours")  # the other one is its beginning

    def says(heard: Heard) -> Said:
        if heard.body["query"] == "good":
            return GOOD
        keys = f"{heard.headers['authorization']}, {heard.headers['x-tenant']}"
        return Said({"error": f"wrong keys {keys}. {'x' * 113} {keys}"}, 400)  # at 200 characters a key begins

    headers = ("Authorization=Bearer ${APP_KEY}", "X-Tenant=${TENANT_KEY}")
    with Server(says) as server:
        application = at(server.root + "/ask?token=t0ken-1", headers=headers)
        ask(tmp_path, application, cases("good", "bad"), ONE)

    assert server.heard[0].headers["authorization"] == "Bearer sk-very-secret"
    assert server.heard[0].path == "/ask?token=t0ken-1"
    written = (tmp_path / OUT).read_text(encoding="utf-8")
    assert "[hidden]" in written
    shown = written + application.name + at("http://user:pass-word@127.0.0.1:1/").name
    for secret in ("sk-very", "-of-ours", "pass-word", "t0ken-1"):
        assert secret not in shown


def given_sources(template: str | None, **named: Any) -> Application:
    """An application that answers from sources which it is given."""
    return open_application(ApplicationSpec(template=template, **named), ("query", "id"), 1, give_sources=True)


def test_a_template_has_given_sources_as_a_list_or_as_texts(tmp_path: Path) -> None:
    template = '{"q": "{{query}}", "docs": "{{sources}}", "prompt": "From {{context}}!"}'
    case = Case("1", "Who?", (Source("Ada did.", "d1"), Source("Bruno didn't.")))
    with Server(GOOD) as server:
        ask(tmp_path, given_sources(template, app=server.url), [case])

    docs = [{"text": "Ada did.", "id": "d1"}, {"text": "Bruno didn't."}]
    assert server.heard[0].body == {"q": "Who?", "docs": docs, "prompt": "From Ada did.\n\nBruno didn't.!"}


@pytest.mark.parametrize(
    ("template", "named", "reason"),
    [
        (None, {}, "add a --template with"),
        (None, {"openai_model": "m"}, "add a --template with"),
        ('{"q": "{{query}}"}', {}, "no place for given sources"),
        ('{"q": "{{sources}} {{nothing}}"}', {}, "no row has a column for"),
    ],
)
def test_an_address_without_a_place_for_given_sources_is_refused(template: str | None, named: Any, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        given_sources(template, app="http://127.0.0.1:1/v1", **named)
