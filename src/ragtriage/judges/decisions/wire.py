"""How typed questions are written on the wire, and replies read, for the two protocols that decision servers speak.

Read are probabilities, usage and the model's name. A server's own `confidence` and `choice` are never read: several
formulas are in use for the one, and the other is a threshold of its own.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragtriage.judges.decisions.asking import REFUSED, Probabilities, TypedQuestion
from ragtriage.judges.decisions.models import Wire
from ragtriage.judges.llm.messages import MalformedReply


class NoDecisions(MalformedReply):
    """A reply that isn't one of a decision server."""

    advice = "look at its address: is that a server of decision models?"


MOST_TOKENS = 100_000_000
"""A reply that says that it took more is wrong."""
TypedAnswers = list[Probabilities | None]
"""One for each question, in order; None where the reply has none that can be read."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a reply says of itself."""

    tokens_in: int
    """0 where it doesn't say."""
    model: str
    """Empty where it doesn't say."""


@dataclass(frozen=True, slots=True)
class WireProtocol:
    """One of the two."""

    write: Callable[[str, Mapping[str, Any], Mapping[str, TypedQuestion]], Mapping[str, Any]]
    """The body, from the model's name, a state and the questions about it by their names."""
    read: Callable[[Mapping[str, Any], Mapping[str, TypedQuestion]], TypedAnswers]


def body_of(
    wire: Wire, model: str, state: Mapping[str, Any], questions: Sequence[TypedQuestion], prefix: str = "q"
) -> str:
    """The body of a request, as JSON; the names of questions are the prefix and a number."""
    return json.dumps(PROTOCOLS[wire].write(model, state, _named(questions, prefix)), ensure_ascii=False)


def reply_object(text: str) -> Mapping[str, Any]:
    """A reply as an object; `NoDecisions` if it is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise NoDecisions("the reply is no JSON" if text.strip() else "the reply is empty") from None
    if not isinstance(found, dict):
        raise NoDecisions("the reply is no JSON object")
    return found


def answers_in(wire: Wire, text: str, questions: Sequence[TypedQuestion], prefix: str = "q") -> TypedAnswers:
    """What a reply answers; `NoDecisions` if it is no reply of the protocol."""
    return PROTOCOLS[wire].read(reply_object(text), _named(questions, prefix))


def _named(questions: Sequence[TypedQuestion], prefix: str) -> Mapping[str, TypedQuestion]:
    return {f"{prefix}{number}": one for number, one in enumerate(questions, start=1)}


def usage_of(text: str) -> Usage:
    """What a reply took; nothing where it can't be read."""
    try:
        found = reply_object(text)
    except NoDecisions:
        return Usage(0, "")
    usage, model = found.get("usage"), found.get("model")
    tokens = usage.get("input_tokens") if isinstance(usage, dict) else None
    known = tokens if isinstance(tokens, int) and not isinstance(tokens, bool) and 0 < tokens < MOST_TOKENS else 0
    return Usage(known, model if isinstance(model, str) else "")


def _write_systemone(model: str, state: Mapping[str, Any], questions: Mapping[str, TypedQuestion]) -> Mapping[str, Any]:
    asked = {
        name: {
            "type": "choice" if one.is_choice else "noul",
            "instructions": one.instructions,
            "criteria": dict(one.criteria),
        }
        for name, one in questions.items()
    }
    return {"model": model, "state": state, "questions": asked}


def _read_systemone(reply: Mapping[str, Any], questions: Mapping[str, TypedQuestion]) -> TypedAnswers:
    answers = reply.get("answers")
    if not isinstance(answers, dict):
        raise NoDecisions("`answers` is missing or not an object")
    return [
        one.get("probabilities" if question.is_choice else "noul")
        if isinstance(one := answers.get(name), dict)
        else None
        for name, question in questions.items()
    ]


def _write_decisions(model: str, state: Mapping[str, Any], questions: Mapping[str, TypedQuestion]) -> Mapping[str, Any]:
    return {
        "model": model,
        "input": json.dumps(state, ensure_ascii=False),
        "questions": [_decision(name, one) for name, one in questions.items()],
    }


def _decision(name: str, question: TypedQuestion) -> Mapping[str, Any]:
    if question.is_choice:
        choices = [{"value": value, "description": said} for value, said in question.criteria.items()]
        return {"type": "choice", "name": name, "instructions": question.instructions, "choices": choices}
    meant = f"True: {question.criteria['true']} False: {question.criteria['false']}"
    return {"type": "predicate", "name": name, "instructions": f"{question.instructions} {meant}"}


def _read_decisions(reply: Mapping[str, Any], questions: Mapping[str, TypedQuestion]) -> TypedAnswers:
    answers = reply.get("answers")
    if not isinstance(answers, list):
        raise NoDecisions("`answers` is missing or not a list")
    if len(answers) != len(questions):
        raise NoDecisions(f"`answers` has {len(answers)} items for {len(questions)} questions")
    return [_read_decision(one, question) for one, question in zip(answers, questions.values(), strict=True)]


def _read_decision(answer: Any, question: TypedQuestion) -> Probabilities | None:
    if not isinstance(answer, dict):
        return None
    if answer.get("type") == "refusal":
        return REFUSED
    if not question.is_choice:
        return answer.get("probability")
    chances = answer.get("probabilities")
    pairs = [one for one in chances if isinstance(one, dict)] if isinstance(chances, list) else []
    return {str(one.get("value")): one.get("probability", -1.0) for one in pairs}


PROTOCOLS: Mapping[Wire, WireProtocol] = {
    "systemone": WireProtocol(_write_systemone, _read_systemone),
    "decisions": WireProtocol(_write_decisions, _read_decisions),
}
