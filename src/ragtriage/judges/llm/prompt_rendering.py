"""A request as text: the evidence first, then what is asked about it, then the questions; and the schema of the reply.

The evidence stands first and is the same bytes in every request about it, so a provider can keep the beginning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragtriage.core.questions import DECOMPOSITIONS, Kind, Question
from ragtriage.judges.llm.fencing import fence, quoted
from ragtriage.judges.llm.messages import Prompt, tokens_of
from ragtriage.judges.llm.prompts import Prompts
from ragtriage.judges.llm.request_grouping import Evidence, Request

QUOTING: tuple[Kind, ...] = ("supported", "answered")
"""The kinds whose verdict comes with the words that decide it, which are looked up."""

LISTS: Mapping[Kind, tuple[str, ...]] = {kind: (kind,) for kind in DECOMPOSITIONS} | {"claims": ("claims", "remarks")}
"""Decomposition → the members of the reply that hold its texts."""

VERDICT_TOKENS = 60
"""About what a verdict takes: an explanation of one sentence, a quote, the form around them."""
LONGEST = 4.0
"""How many times its usual length a reply may have before it is cut off."""
THOUGHT = 4_000
"""Tokens that a model may think before it replies; they count as part of the reply."""


def render(request: Request, prompts: Prompts) -> Prompt:
    """Write a request as a prompt."""
    kinds = list(dict.fromkeys(question.kind for question in request.questions))
    evidence = "\n".join(_fences(request.evidence))
    instructions = "\n".join(f"{kind}: {prompts.kinds[kind]}" for kind in kinds)
    listed = "\n".join(_item(name, question, request.evidence) for name, question in _listed(request).items())
    user = f"{evidence}\n\n{instructions}\n\nQuestions:\n{listed}"
    return Prompt(prompts.head, user, _schema(request), THOUGHT + int(LONGEST * expected_reply_tokens(request)))


def reply_names(request: Request) -> list[tuple[str, Question]]:
    """Every question with its name in the reply: `q1`, `q2`, … for verdicts, the kind for a decomposition."""
    names: list[tuple[str, Question]] = []
    verdicts = 0
    for question in request.questions:
        if question.kind in DECOMPOSITIONS:
            names.append((question.kind, question))
        else:
            verdicts += 1
            names.append((f"q{verdicts}", question))
    return names


def expected_reply_tokens(request: Request) -> int:
    """About how many tokens the reply will have."""
    return sum(
        30 + tokens_of(question.subject) * 3 // 2 if question.kind in DECOMPOSITIONS else VERDICT_TOKENS
        for question in request.questions
    )


def _fences(about: Evidence) -> list[str]:
    texts = ("\n".join(about.texts),) if about.label == "conversation" else about.texts
    evidence = list(dict.fromkeys(fence(about.label, text) for text in texts))
    if not about.query:
        return evidence
    query = fence("query", about.query)
    return [query, *evidence] if about.label == "response" else [*evidence, query]


def _listed(request: Request) -> dict[str, Question]:
    """One line a name: where questions are to be written for several purposes, the longest list serves all."""
    listed: dict[str, Question] = {}
    for name, question in reply_names(request):
        if name not in listed or (question.at or 0) > (listed[name].at or 0):
            listed[name] = question
    return listed


def _item(name: str, question: Question, about: Evidence) -> str:
    kind = question.kind
    if kind == "questions_answered_by":
        return f"{kind}: {question.at} questions"
    if kind in DECOMPOSITIONS:
        return kind
    if kind == "declines":
        return f"{name} declines"
    if kind in {"essential", "relevant"} and about.label == "source":
        return f"{name} {kind}: the source as a whole"
    if kind == "same_answer":
        listed = "same_answer" if question.at is None else "same_answer, further responses"
        return f"{name} {listed}: {', '.join(quoted(truth) for truth in question.evidence)}"
    return f"{name} {kind}: {quoted(question.subject)}"


def _schema(request: Request) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    used: dict[str, Any] = {}
    for name, question in reply_names(request):
        if question.kind == "standalone":
            properties[name] = {"type": "string"}
        elif question.kind in DECOMPOSITIONS:
            properties |= {member: {"type": "array", "items": {"type": "string"}} for member in LISTS[question.kind]}
        else:
            form = "Q" if question.kind in QUOTING else "V"
            used[form] = _verdict("why", "quote") if form == "Q" else _verdict("why")
            properties[name] = {"$ref": f"#/$defs/{form}"}
    found = _object(properties)
    return found | {"$defs": used} if used else found


def _verdict(*words: str) -> dict[str, Any]:
    """The explanation comes before the verdict: a model writes in this order."""
    texts: dict[str, Any] = {word: {"type": "string"} for word in words}
    return _object(texts | {"verdict": {"type": "string", "enum": ["yes", "no", "unknown"]}})


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
