"""Requests whose reply is one JSON object; the liberties that models take, where they read in one way only."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ragtriage.core.questions import DECOMPOSITIONS, Kind, Question
from ragtriage.core.verdicts import Answer
from ragtriage.judges.llm.kinds import ASKED_KINDS, JsonSchema, SharedEvidence, object_schema, shortened
from ragtriage.judges.llm.options import MalformedReply, Prompt, Reply
from ragtriage.judges.llm.prompts import Prompts
from ragtriage.judges.llm.requests import (
    LONGEST,
    THOUGHT,
    ReadReply,
    Request,
    list_tokens,
    questions_by_name,
    reply_names,
    written,
)

_THOUGHTS = re.compile(r"<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_END_OF_THOUGHTS = re.compile(r".*?</(?:think|thinking|thought|reasoning)>", re.DOTALL | re.IGNORECASE)
_TOKEN = re.compile(
    r"""\s+|(?P<double>"(?:[^"\\]|\\.)*")|'(?P<single>(?:[^'\\]|\\.)*)'|(?P<word>[A-Za-z]+)|(?P<other>[-+.\w]+|[{}\[\],:])""",
    re.DOTALL,
)
_LITERALS = {"None": "null", "True": "true", "False": "false", "null": "null", "true": "true", "false": "false"}


def without_thoughts(text: str) -> str:
    """A reply without what a reasoning model thought before it, in a block of its own.

    A server may have cut off the tag that begins it; a block that doesn't end is all there is.
    """
    said = text.lstrip("\ufeff \t\r\n")
    if found := _THOUGHTS.match(said) or _END_OF_THOUGHTS.match(said):
        return said[found.end() :]
    return text


def json_object(text: str) -> Mapping[str, Any]:
    """The JSON object that a text is, thoughts before it and words or marks of code around it apart.

    A comma behind the last item, single quotes and Python's literals are read. `MalformedReply` if there is no object,
    or more than one, or one that says a thing twice.
    """
    for candidate in _candidates(text):
        try:
            found = _DECODER.decode(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
        break
    raise MalformedReply("the reply is not one JSON object" if text.strip() else "the reply is empty")


def _candidates(text: str) -> Iterator[str]:
    """The text, what it says behind thoughts, the part of that in braces, and that part in JSON's own notation."""
    yield text
    said = without_thoughts(text)
    yield said
    part = said[said.find("{") : said.rfind("}") + 1]
    yield part
    if (rewritten := _in_json(part)) is not None:
        yield rewritten


def _in_json(text: str) -> str | None:
    """An object in Python's notation, or with a comma behind the last item, as JSON; None if it is something else."""
    parts: list[str] = []
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            return None
        at = found.end()
        token = _as_json(found)
        if token is None:
            return None
        if token in ("}", "]") and len(parts) > 1 and parts[-1] == "," and parts[-2] not in ("{", "[", ","):
            parts.pop()
        if token:
            parts.append(token)
    return "".join(parts)


def _as_json(token: re.Match[str]) -> str | None:
    """A piece of text between two others, empty for a space; None for a word that is no literal."""
    if (single := token["single"]) is not None:
        return '"' + re.sub(r'\\(.)|"', _escaped, single, flags=re.DOTALL) + '"'
    if token["word"]:
        return _LITERALS.get(token["word"])
    return token["double"] or token["other"] or ""


def _escaped(found: re.Match[str]) -> str:
    """A quote or an escape of a text in single quotes, as it stands in double ones."""
    return "'" if found[1] == "'" else found[0] if found[1] else '\\"'


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


VERDICT_TOKENS = 60
"""About what a verdict takes: an explanation of one sentence, a quote, the form around them."""


@dataclass(frozen=True, slots=True)
class JsonForm:
    """Verdicts behind their explanations and quotes, and lists of texts. See `requests.Form`."""

    prompts: Prompts
    kinds: ClassVar[Collection[Kind]] = ASKED_KINDS

    def identity(self, kind: Kind) -> str:  # noqa: ARG002  # the same for all
        """Nothing: it was the first form, and answers of it were stored."""
        return ""

    def words(self, kind: Kind) -> str:
        """The digest of the kind's prompt, and its version."""
        return self.prompts.versioned_digest(kind)

    def render(self, request: Request) -> Prompt:
        """Write a request as a prompt, with the schema of its reply."""
        kinds = list(dict.fromkeys(question.kind for question in request.questions))
        instructions = "\n".join(f"{kind}: {self.prompts.kinds[kind]}" for kind in kinds)
        named = questions_by_name(request).items()
        items = "\n".join(_item(name, question, request.evidence) for name, question in named)
        user = written(request.evidence, instructions, f"Questions:\n{items}")
        most = THOUGHT + int(LONGEST * self.reply_tokens(request))
        return Prompt(self.prompts.head, user, _schema(request), most, thought=THOUGHT)

    def reply_tokens(self, request: Request) -> int:
        """About how many tokens the reply will have."""
        return sum(
            list_tokens(question) if question.kind in DECOMPOSITIONS else VERDICT_TOKENS
            for question in request.questions
        )

    def read(self, request: Request, reply: Reply) -> ReadReply:
        """The answers in a reply: all, or `MalformedReply`."""
        if reply.truncated:
            raise MalformedReply("the reply was cut off")
        said = json_object(reply.text)
        answers: dict[Question, Answer] = {}
        for name, question in reply_names(request):
            answers[question] = ASKED_KINDS[question.kind].reply.read(question, said, name)
        return ReadReply(answers)


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
