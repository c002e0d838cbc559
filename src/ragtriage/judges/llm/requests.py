"""Questions as requests: which share one, and what every form of asking does alike.

Questions about the same evidence share a request, those of one kind or several. Its text is the evidence first, then
what is asked about it, then the questions. A form says how the reply is to be written, and reads it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Protocol

from ragtriage.core.questions import DECOMPOSITIONS, Kind, Question
from ragtriage.core.verdicts import Answer
from ragtriage.judges.llm.fencing import fence
from ragtriage.judges.llm.kinds import ASKED_KINDS, SharedEvidence, TextLabel, the_source_and_query
from ragtriage.judges.llm.options import Prompt, Reply, tokens_of


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
        requests += [asking(evidence, part) for part in _parts(asked, batch_size)]
    return requests


def _parts(asked: Sequence[Question], batch_size: int) -> Iterator[tuple[Question, ...]]:
    """Cut into equal parts, larger ones first: then any of them together would be cut in the same places again."""
    size, larger = divmod(len(asked), count := ceil(len(asked) / batch_size))
    start = 0
    for number in range(count):
        end = start + size + (number < larger)
        yield tuple(asked[start:end])
        start = end


def asking(evidence: SharedEvidence, part: tuple[Question, ...]) -> Request:
    """A request about the evidence as these questions need it: a source without the query, if none is about that."""
    about_query = evidence.label != "source" or any(ASKED_KINDS[question.kind].about_query for question in part)
    return Request(evidence if about_query else SharedEvidence(evidence.label, evidence.texts), part)


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


LONGEST = 4.0
"""How many times its usual length a reply may have before it is cut off."""
THOUGHT = 4_000
"""Tokens that a model may think before it replies; they count as part of the reply."""


@dataclass(frozen=True, slots=True)
class ReadReply:
    """What was read from one reply."""

    answers: Mapping[Question, Answer]
    again: tuple[Request, ...] = ()
    """What is to be asked in place of the rest of the request."""


class Form(Protocol):
    """How a request is written, and how its reply is read."""

    @property
    def kinds(self) -> Collection[Kind]:
        """What can be asked in it."""

    def identity(self, kind: Kind) -> str:
        """What an answer depends on beside the words of its prompt and the version of its kind."""

    def words(self, kind: Kind) -> str:
        """Changes with the words in which a kind is asked, and with its version."""

    def render(self, request: Request) -> Prompt:
        """Write a request as a prompt."""

    def reply_tokens(self, request: Request) -> int:
        """About how many tokens the reply will have."""

    def read(self, request: Request, reply: Reply) -> ReadReply:
        """Read a reply; fewer written questions than were asked for are taken. Raises `MalformedReply`."""


def written(evidence: SharedEvidence, *parts: str) -> str:
    """The text of a request: the evidence, then the rest, a part each, with an empty line between."""
    return "\n\n".join(("\n".join(_fences(evidence)), *parts))


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


def list_tokens(question: Question) -> int:
    """About how many tokens the reply to a decomposition will have."""
    return 30 + tokens_of(question.subject) * 3 // 2


def _fences(about: SharedEvidence) -> list[str]:
    texts = ("\n".join(about.texts),) if about.label == "conversation" else about.texts
    evidence = list(dict.fromkeys(fence(about.label, text) for text in texts))
    if not about.query:
        return evidence
    query = fence("query", about.query)
    return [query, *evidence] if about.label == "response" else [*evidence, query]


def questions_by_name(request: Request) -> dict[str, Question]:
    """One question a name: where questions are to be written for several purposes, the longest list serves all."""
    found: dict[str, Question] = {}
    for name, question in reply_names(request):
        if name not in found or (question.at or 0) > (found[name].at or 0):
            found[name] = question
    return found
