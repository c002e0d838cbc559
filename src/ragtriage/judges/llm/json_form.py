"""A request whose reply is one JSON object: a member for each question, read by its schema and by nothing else."""

from dataclasses import dataclass

from ragtriage.core.questions import DECOMPOSITIONS, Kind, Question
from ragtriage.core.verdicts import Answer
from ragtriage.judges.llm.kinds import ASKED_KINDS, JsonSchema, SharedEvidence, object_schema
from ragtriage.judges.llm.messages import MalformedReply, Prompt, Reply
from ragtriage.judges.llm.prompts import Prompts
from ragtriage.judges.llm.reply_json import json_object
from ragtriage.judges.llm.requests import (
    LONGEST,
    THOUGHT,
    ReadReply,
    Request,
    check_all_written,
    list_tokens,
    questions_by_name,
    reply_names,
    written,
)

VERDICT_TOKENS = 60
"""About what a verdict takes: an explanation of one sentence, a quote, the form around them."""


@dataclass(frozen=True, slots=True)
class JsonForm:
    """Verdicts behind their explanations and quotes, and lists of texts. See `requests.Form`."""

    prompts: Prompts

    def identity(self, kind: Kind) -> str:  # noqa: ARG002  # the same for all
        """Nothing: it was the first form, and answers of it were stored."""
        return ""

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

    def read(self, request: Request, reply: Reply, *, fewer: bool = False) -> ReadReply:
        """The answers in a reply: all, or `MalformedReply`."""
        if reply.truncated:
            raise MalformedReply("the reply was cut off")
        said = json_object(reply.text)
        answers: dict[Question, Answer] = {}
        for name, question in reply_names(request):
            answers[question] = ASKED_KINDS[question.kind].reply.read(question, said, name)
        if not fewer:
            check_all_written(answers)
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
