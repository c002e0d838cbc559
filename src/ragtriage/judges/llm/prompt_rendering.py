"""A request as text: the evidence first, then what is asked about it, then the questions; and the schema of the reply.

The evidence stands first and is the same bytes in every request about it, so a provider can keep the beginning.
"""

from __future__ import annotations

from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.judges.llm.fencing import fence
from ragtriage.judges.llm.kinds import ASKED_KINDS
from ragtriage.judges.llm.messages import Prompt, tokens_of
from ragtriage.judges.llm.prompts import Prompts
from ragtriage.judges.llm.reply_forms import Schema, object_schema
from ragtriage.judges.llm.request_evidence import Evidence
from ragtriage.judges.llm.request_grouping import Request

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
    items = "\n".join(_item(name, question, request.evidence) for name, question in _questions_by_name(request).items())
    user = f"{evidence}\n\n{instructions}\n\nQuestions:\n{items}"
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


def _questions_by_name(request: Request) -> dict[str, Question]:
    """One question a name: where questions are to be written for several purposes, the longest list serves all."""
    found: dict[str, Question] = {}
    for name, question in reply_names(request):
        if name not in found or (question.at or 0) > (found[name].at or 0):
            found[name] = question
    return found


def _item(name: str, question: Question, about: Evidence) -> str:
    what = ASKED_KINDS[question.kind].item(question, about)
    return f"{name}{what}" if name == question.kind else f"{name} {question.kind}{what}"


def _schema(request: Request) -> Schema:
    properties: Schema = {}
    definitions: Schema = {}
    for name, question in reply_names(request):
        form = ASKED_KINDS[question.kind].reply
        properties |= form.properties(name)
        definitions |= form.definitions
    found = object_schema(properties)
    return found | {"$defs": definitions} if definitions else found
