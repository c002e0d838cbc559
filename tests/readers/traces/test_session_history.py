"""What was said before a question: in its own messages, or in earlier traces of its conversation."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from otlp_lines import file_of, span
from trace_cases import ANSWER, QUERY, TEXTS, alone, chain, read

from ragtriage.readers.traces.files import case_row
from ragtriage.readers.traces.tree import TraceOptions


def conversation(*inputs: str, documents: Mapping[int, list[str]] | None = None) -> list[Mapping[str, Any]]:
    """A trace for each input, all of one conversation; without documents where `documents` says so."""
    spans: list[Mapping[str, Any]] = []
    for at, asked in enumerate(inputs):
        ids = {"trace": f"{at + 1:032x}", "attributes": {"session.id": "c"}}
        spans.append(span(10 * at + 1, input=asked, output=f"Answer {at}.", **ids))
        found = (documents or {}).get(at, TEXTS)
        spans += (
            [span(10 * at + 2, 10 * at + 1, kind="RETRIEVER", documents=found, trace=ids["trace"])] if found else []
        )
    return spans


BY_SESSION = TraceOptions(history="session")


def test_at_most_20_turns_are_kept_and_a_lost_beginning_is_told(path: Path) -> None:
    cases = read(file_of(path, *conversation(*(f"Question {at}?" for at in range(12)))), traces=BY_SESSION)
    assert [len(case.history) for case in cases] == [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 20]
    assert [turn.text for turn in cases[11].history][:2] == ["Question 1?", "Answer 1."]
    assert [case.tags.get("history") for case in cases] == [None] * 11 + ["cut"]
    assert case_row(cases[11])["metadata.history"] == "cut"
    assert len(case_row(cases[11])["history"]) == 20

    said = [{"role": "user", "content": f"Question {at}?"} for at in range(21)]
    tools = [{"role": "tool", "content": "x"}] * 30
    case = alone(file_of(path, *chain(input=json.dumps([*said, *tools, {"role": "user", "content": QUERY}]))))
    assert [turn.text for turn in case.history] == [f"Question {at}?" for at in range(1, 21)]
    assert case.tags["history"] == "cut"


def test_a_conversation_that_began_before_the_file_is_cut_and_unusable_traces_are_part_of_it(path: Path) -> None:
    earlier = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi!"}]
    asked = json.dumps([*earlier, {"role": "user", "content": QUERY}])
    file_of(path, *conversation(asked, "And long?"))
    assert [case.tags.get("history") for case in read(path, traces=BY_SESSION)] == ["cut", "cut"]
    assert [case.tags.get("history") for case in read(path)] == [None, None]
    file_of(path, *conversation("__REDACTED__", "And long?"))
    assert [case.tags.get("history") for case in read(path, traces=BY_SESSION)] == ["cut"]

    file_of(path, *conversation(QUERY, "And long?", "And wide?", documents={1: []}))
    cases = read(path, traces=BY_SESSION)
    assert [case.query for case in cases] == [QUERY, "And wide?"]
    assert [turn.text for turn in cases[1].history] == [QUERY, "Answer 0.", "And long?", "Answer 1."]
    assert "history" not in cases[1].tags


def test_earlier_messages_or_traces_are_the_history(path: Path) -> None:
    said = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello"}]
    said += [{"role": "assistant", "content": "Hi!"}, {"role": "user", "content": QUERY}]
    conversation = {"session.id": "c"}
    spans = chain(attributes=conversation, input=json.dumps(said))
    spans += [span("a", trace="c" * 32, attributes=conversation, input="And long?", output="Ten.")]
    spans += [span("b", "a", kind="RETRIEVER", trace="c" * 32, documents=["x"])]
    file_of(path, *spans)
    beside = {"input": QUERY, "chat_history": [["human", "Hello"], ["ai", "Hi!"]]}

    by_messages, by_session = read(path), read(path, traces=TraceOptions(history="session"))
    assert [[turn.text for turn in case.history] for case in by_messages] == [["Hello", "Hi!"], []]
    assert [[turn.text for turn in case.history] for case in by_session] == [[], [QUERY, ANSWER]]
    assert [turn.text for turn in alone(file_of(path, *chain(input=json.dumps(beside)))).history] == ["Hello", "Hi!"]
