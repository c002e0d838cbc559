"""A reply as answers: read by its schema and by nothing else, never guessed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer
from ragtriage.judges.llm.kinds import ASKED_KINDS
from ragtriage.judges.llm.messages import MalformedReply, Reply
from ragtriage.judges.llm.prompt_rendering import reply_names
from ragtriage.judges.llm.reply_forms import shortened
from ragtriage.judges.llm.request_grouping import Request


class TooFewQuestions(MalformedReply):
    """A reply that fits, but has fewer questions than were to be written."""


def parse_reply(request: Request, reply: Reply, *, fewer: bool = False) -> dict[Question, Answer]:
    """The answers in a reply.

    Args:
        request: what was asked.
        reply: what came back.
        fewer: take fewer written questions than were asked for. None at all are always taken: the response may answer
            nothing.

    Raises:
        TooFewQuestions: there are some, but fewer, and `fewer` doesn't hold.
        MalformedReply: the reply isn't an object with everything that was asked for; says what is wrong.
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


def json_object(text: str) -> Mapping[str, Any]:
    """The JSON object that a text is, words or marks of code around it apart.

    Raises:
        MalformedReply: there is none, or more than one, or one that says a thing twice.
    """
    for candidate in (text, text[text.find("{") : text.rfind("}") + 1]):
        try:
            found = _DECODER.decode(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
        break
    raise MalformedReply("the reply is not one JSON object" if text.strip() else "the reply is empty")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise MalformedReply(f"`{shortened(twice)}` stands there twice")
    return found


def _no_number(text: str) -> Any:
    raise MalformedReply(f"{text} is no JSON")


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_distinct, parse_constant=_no_number)
"""Takes line breaks inside texts, which models write; takes nothing that could be read in two ways."""
