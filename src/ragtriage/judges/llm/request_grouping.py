"""Which questions share a request: those about the same evidence, of one kind or several.

Grouping depends on nothing but the questions of one call, so the same call always makes the same requests, whatever
fails or arrives first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Literal, NamedTuple

from ragtriage.core.questions import Kind, Question

LONG = 800
"""Characters from which on a text that is asked about by itself is evidence of its own, not an item in a list."""

Label = Literal["source", "query", "response", "conversation"]

LEADING: Mapping[Label, tuple[Kind, ...]] = {"source": ("essential",), "response": ("questions",)}
"""The kinds that are asked about this evidence only if others are; they stand before those, so that wherever a group is
cut, they and one of the others are in the same request."""

ABOUT_THE_QUERY: tuple[Kind, ...] = ("essential", "relevant", "needed_sentences")
"""The kinds that need the query beside a source."""


class Home(NamedTuple):
    """The evidence that a question is asked about; questions with the same home share a request."""

    label: Label
    texts: tuple[str, ...]
    """The evidence. Sources stand in an order that doesn't depend on the retriever's."""
    query: str = ""
    """The user's words, where a question needs them beside the evidence."""


@dataclass(frozen=True, slots=True)
class Request:
    """Questions that are asked together."""

    home: Home
    questions: tuple[Question, ...]
    """Distinct; those of `LEADING` first, else in the order in which they came."""


def group_questions(questions: Sequence[Question], batch_size: int) -> list[Request]:
    """Group questions by what they are asked about, into as few requests as possible.

    Leaving out whole requests changes no other one, so a run that goes on asks what it would have asked.

    Args:
        questions: in any order, about one case; equal ones are asked once.
        batch_size: the most questions in a request; a fuller group is cut into parts that differ by one at most.
    """
    distinct = list(dict.fromkeys(questions))
    groups: dict[Home, list[Question]] = {}
    for question, home in zip(distinct, _homes(distinct, alone=batch_size == 1), strict=True):
        groups.setdefault(home, []).append(question)
    requests = []
    for home, asked in groups.items():
        asked.sort(key=lambda question: question.kind not in LEADING.get(home.label, ()))
        requests += [Request(_shown(home, part), part) for part in _parts(asked, batch_size)]
    return requests


@lru_cache(8)
def in_order(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Distinct texts in an order of their own, so that a verdict can't depend on how they were retrieved."""
    return tuple(sorted(set(texts), key=lambda text: hashlib.blake2b(text.encode("utf-8", "surrogatepass")).digest()))


def _parts(asked: Sequence[Question], batch_size: int) -> Iterator[tuple[Question, ...]]:
    """Cut into equal parts, larger ones first: then any of them together would be cut in the same places again."""
    size, larger = divmod(len(asked), count := ceil(len(asked) / batch_size))
    start = 0
    for number in range(count):
        end = start + size + (number < larger)
        yield tuple(asked[start:end])
        start = end


def _shown(home: Home, part: Sequence[Question]) -> Home:
    """The home as a part of its questions needs it: a source without the query, if none of them is about the query."""
    about_query = home.label != "source" or any(question.kind in ABOUT_THE_QUERY for question in part)
    return home if about_query else Home(home.label, home.texts)


def _given(question: Question) -> Home | None:
    """The sources that a question names as its evidence; None if it names none."""
    match question.kind:
        case "facts":
            return Home("source", (question.subject,))
        case "needed_sentences":
            return Home("source", (question.subject,), question.query)
        case "supported":
            return Home("source", in_order(question.evidence))
        case "answered" | "holds" if not question.query:
            return Home("source", in_order(question.evidence))
        case _:
            return None


def _homes(questions: Sequence[Question], *, alone: bool) -> list[Home]:
    """Where each question is asked, beside the others: some go along with others to evidence that shows more.

    Args:
        questions: distinct.
        alone: whether each is asked by itself, so that none goes along.
    """
    given = [] if alone else [home for home in map(_given, questions) if home]
    homes = [_home(question, {home.texts[0] for home in given if len(home.texts) == 1}) for question in questions]
    if alone:
        return homes
    roomier: dict[tuple[Label, tuple[str, ...]], Home] = {}
    for home in homes:
        if home.query and home.label == "source":
            roomier.setdefault(("source", home.texts), home)
        elif home.query and home.label == "response":
            roomier.setdefault(("query", (home.query,)), home)
    return [
        # what else is about the query alone stays there: a response beside it could only mislead
        home if home.query or (home.label == "query" and question.kind != "questions")
        else roomier.get((home.label, home.texts), home)
        for question, home in zip(questions, homes, strict=True)
    ]  # fmt: skip


def _home(question: Question, known: Collection[str]) -> Home:  # noqa: PLR0911  # one for each kind of evidence
    """Where a question is asked.

    Args:
        question: which.
        known: single sources that others are asked about.
    """
    given = _given(question)
    if given:
        return given
    match question.kind:
        case "essential" | "relevant":
            if question.context:
                return Home("response", (question.context,), question.query)
            if len(question.subject) >= LONG or (question.kind == "essential" and question.subject in known):
                return Home("source", (question.subject,), question.query)
            return Home("query", (question.query,))
        case "claims" | "declines" | "same_answer":
            return Home("response", (question.subject,), question.query)
        case "answered" | "holds":
            return Home("response", question.evidence, question.query)
        case "questions_answered_by" | "reworded" | "altered":
            return Home("response", (question.subject,))
        case "standalone":
            return Home("conversation", question.evidence, question.subject)
        case _:
            return Home("query", (question.subject,))
