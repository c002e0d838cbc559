"""Questions as requests: which share one, the request as text, and its reply as answers.

Questions about the same evidence share a request, those of one kind or several. Its text is the evidence first, then
what is asked about it, then the questions; and the schema of the reply. A reply is read by its schema and by nothing
else, never guessed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.verdicts import Answer
from ragtriage.judges.llm.fencing import fence
from ragtriage.judges.llm.kinds import (
    ASKED_KINDS,
    JsonSchema,
    SharedEvidence,
    TextLabel,
    object_schema,
    the_source_and_query,
)
from ragtriage.judges.llm.messages import MalformedReply, Prompt, Reply, tokens_of
from ragtriage.judges.llm.prompts import Prompts
from ragtriage.judges.llm.reply_json import json_object


@dataclass(frozen=True, slots=True)
class Request:
    """Questions that are asked together."""

    evidence: SharedEvidence
    questions: tuple[Question, ...]
    """Distinct; those of kinds that only join others first, else in the order in which they came."""


def group_questions(questions: Sequence[Question], batch_size: int) -> list[Request]:
    """Group questions by what they are asked about, into as few requests as possible.

    Leaving out whole requests changes no other one, so a run that goes on asks what it would have asked.

    They are about one case; equal ones are asked once. A group of more than `batch_size` is cut into parts that differ
    by one at most.
    """
    distinct = list(dict.fromkeys(questions))
    groups: dict[SharedEvidence, list[Question]] = {}
    for question, evidence in zip(distinct, _evidence_of_all(distinct, alone=batch_size == 1), strict=True):
        groups.setdefault(evidence, []).append(question)
    requests = []
    for evidence, asked in groups.items():
        asked.sort(key=lambda question: ASKED_KINDS[question.kind].joins != evidence.label)
        requests += [Request(_shown(evidence, part), part) for part in _parts(asked, batch_size)]
    return requests


def _parts(asked: Sequence[Question], batch_size: int) -> Iterator[tuple[Question, ...]]:
    """Cut into equal parts, larger ones first: then any of them together would be cut in the same places again."""
    size, larger = divmod(len(asked), count := ceil(len(asked) / batch_size))
    start = 0
    for number in range(count):
        end = start + size + (number < larger)
        yield tuple(asked[start:end])
        start = end


def _shown(evidence: SharedEvidence, part: Sequence[Question]) -> SharedEvidence:
    """The evidence as these questions need it: a source without the query, if none of them is about the query."""
    about_query = evidence.label != "source" or any(ASKED_KINDS[question.kind].about_query for question in part)
    return evidence if about_query else SharedEvidence(evidence.label, evidence.texts)


def _evidence_of_all(questions: Sequence[Question], *, alone: bool) -> list[SharedEvidence]:
    """What each question is asked about, beside the others: some join others whose evidence shows more."""
    placed = [ASKED_KINDS[question.kind].evidence(question) for question in questions]
    if alone:
        return placed
    shown = {evidence.texts[0] for evidence in placed if evidence.label == "source" and len(evidence.texts) == 1}
    placed = [_joined(*pair, shown) for pair in zip(questions, placed, strict=True)]
    with_query: dict[tuple[TextLabel, tuple[str, ...]], SharedEvidence] = {}
    for evidence in placed:
        if evidence.query and evidence.label == "source":
            with_query.setdefault(("source", evidence.texts), evidence)
        elif evidence.query and evidence.label == "response":
            with_query.setdefault(("query", (evidence.query,)), evidence)
    return [
        # what else is about the query alone stays there: a response beside it could only mislead
        evidence if evidence.query or (evidence.label == "query" and ASKED_KINDS[question.kind].joins != "response")
        else with_query.get((evidence.label, evidence.texts), evidence)
        for question, evidence in zip(questions, placed, strict=True)
    ]  # fmt: skip


def _joined(question: Question, evidence: SharedEvidence, shown: Collection[str]) -> SharedEvidence:
    """A source in place of the query, where others are asked about the question's subject as a source."""
    joins = ASKED_KINDS[question.kind].joins == "source" and evidence.label == "query" and question.subject in shown
    return the_source_and_query(question) if joins else evidence


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


def _fences(about: SharedEvidence) -> list[str]:
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


def _item(name: str, question: Question, about: SharedEvidence) -> str:
    what = ASKED_KINDS[question.kind].item(question, about)
    return f"{name}{what}" if name == question.kind else f"{name} {question.kind}{what}"


def _schema(request: Request) -> JsonSchema:
    properties: JsonSchema = {}
    definitions: JsonSchema = {}
    for name, question in reply_names(request):
        form = ASKED_KINDS[question.kind].reply
        properties |= form.properties(name)
        definitions |= form.definitions
    found = object_schema(properties)
    return found | {"$defs": definitions} if definitions else found


class TooFewQuestions(MalformedReply):
    """A reply that fits, but has fewer questions than were to be written."""

    fits = True


def parse_reply(request: Request, reply: Reply, *, fewer: bool = False) -> dict[Question, Answer]:
    """The answers in a reply.

    With fewer written questions than were asked for, it is `TooFewQuestions` unless `fewer` is taken. None at all are
    always taken: the response may answer nothing.
    """
    if reply.truncated:
        raise MalformedReply("the reply was cut off")
    said = json_object(reply.text)
    answers: dict[Question, Answer] = {}
    for name, question in reply_names(request):
        answers[question] = ASKED_KINDS[question.kind].reply.read(question, said, name)
    if not fewer:
        _all_written(answers)
    return answers


def _all_written(answers: Mapping[Question, Answer]) -> None:
    """Check that as many questions were written as asked for, or none."""
    for question, answer in answers.items():
        if ASKED_KINDS[question.kind].reply.counted and isinstance(answer, tuple):
            wanted = question.at or 0
            if 0 < len(answer) < wanted:
                raise TooFewQuestions(f"`{question.kind}` has {len(answer)} different questions, not {wanted}")
