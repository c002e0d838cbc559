"""Histories, and queries that are lists of messages."""

import json
from typing import Any

import pytest

GOOD = {"query": "q", "sources": ["s"], "response": "r"}


def said(*messages: tuple[str, str]) -> list[dict[str, str]]:
    return [{"role": role, "content": text} for role, text in messages]


TURNS = [("user", "hi"), ("assistant", "hello")]


@pytest.mark.parametrize(
    "value",
    [
        said(*TURNS),
        [{"type": "user", "text": "hi"}, {"type": "assistant", "text": "hello"}],
        [{"from": "user", "value": "hi"}, {"from": "assistant", "value": "hello"}],
        ["hi", "hello"],
        [["hi", "hello"]],
        json.dumps(said(*TURNS)),
        str(said(*TURNS)),
        [
            *said(("user", "hi")),
            {"role": "assistant", "content": None, "tool_calls": []},
            *said(("assistant", "hello")),
        ],
        [
            {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image"}]},
            *said(("assistant", "hello")),
        ],
        said(*TURNS, ("user", "q")),
        said(*TURNS, ("user", "q"), ("assistant", "r")),
    ],
)
def test_histories(read: Any, value: Any) -> None:
    _, [case], _ = read([GOOD | {"chat_history": value}])
    assert [(turn.role, turn.text) for turn in case.history] == TURNS


@pytest.mark.parametrize("column", ["messages", "input", "query"])
def test_a_query_of_messages(read: Any, column: str) -> None:
    rows = [{column: said(*TURNS, ("user", "q")), "contexts": ["s"], "response": "r"}]
    file, [case], _ = read(rows)
    assert case.query == "q"
    assert [(turn.role, turn.text) for turn in case.history] == TURNS
    assert case.tags == {}
    assert file.mapping["query"] == column


def test_the_reply_in_the_messages_is_the_response_where_there_is_no_other(read: Any) -> None:
    file, [case], _ = read([{"messages": said(*TURNS, ("user", "q"), ("assistant", "r")), "contexts": ["s"]}])
    assert (case.query, case.response) == ("q", "r")
    assert len(case.history) == 2
    assert any("message after the user's last one" in note for note in file.notes)


def test_a_transcript_has_to_be_asked_for(read: Any) -> None:
    _, [case], _ = read([GOOD | {"conversation": "A: hi"}])
    assert case.history == ()
    assert case.tags == {"conversation": "A: hi"}
    _, [case], _ = read([GOOD | {"conversation": "A: hi"}], mapping={"history": "conversation"})
    assert [(turn.role, turn.text) for turn in case.history] == [("transcript", "A: hi")]


def test_the_same_question_in_two_conversations(read: Any) -> None:
    _, cases, rejected = read([GOOD, GOOD | {"history": said(*TURNS)}])
    assert len({case.id for case in cases}) == 2
    assert not rejected
