"""A reply as answers: read by its schema and by nothing else, never guessed."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.verdicts import Answer, Answered, Component, Components, Verdict
from ragtriage.judges.llm.fencing import visible
from ragtriage.judges.llm.messages import MalformedReply, Reply
from ragtriage.judges.llm.prompt_rendering import LISTS, QUOTING, reply_names
from ragtriage.judges.llm.request_grouping import Request
from ragtriage.text.sentences import split_sentences

SHOWN = 80
"""Characters of a quote that are shown."""
CLOSE = 0.5
"""The share of a component's words that a sentence must hold to be where it was taken from."""
_VALUES: Mapping[str, Answered] = {"yes": "yes", "no": "no", "unknown": "unknown"}
"""Capital letters and spaces around are no other word; everything else is."""
_WORD = re.compile(r"\w+")
_IN_ASCII = bytes(code if chr(code).isalnum() or chr(code) == "_" else ord(" ") for code in range(128)).decode()
"""What `_WORD` takes, and a space for everything else; as a table it is several times as quick."""
_JOINING = re.compile("[\u200c\u200d\ufe00-\ufe0f]+")
_ELLIPSIS = re.compile(r"\s*(?:\.\.\.|…|\[\.\.\.\]|\[…\])\s*")


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
        if question.kind in DECOMPOSITIONS:
            answers[question] = _components(question, said)
        else:
            answers[question] = _verdict(question, said.get(name), name)
    if not fewer:
        _all_written(answers)
    return answers


def _all_written(answers: Mapping[Question, Answer]) -> None:
    """Check that as many questions were written as asked for, or none."""
    for question, answer in answers.items():
        if question.kind == "questions_answered_by" and isinstance(answer, tuple):
            wanted = question.at or 0
            if 0 < len(answer) < wanted:
                raise TooFewQuestions(f"`questions_answered_by` has {len(answer)} different questions, not {wanted}")


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


def texts_in(said: Mapping[str, Any], member: str) -> tuple[str, ...]:
    """The texts of one list of a reply, each once, without what nobody sees.

    Raises:
        MalformedReply: it isn't a list of texts.
    """
    items = said.get(member)
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise MalformedReply(f"`{member}` is missing or not a list of texts")
    return tuple(text for text in dict.fromkeys(visible(item).strip() for item in items) if text)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise MalformedReply(f"`{_short(twice)}` stands there twice")
    return found


def _no_number(text: str) -> Any:
    raise MalformedReply(f"{text} is no JSON")


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_distinct, parse_constant=_no_number)
"""Takes line breaks inside texts, which models write; takes nothing that could be read in two ways."""


def _components(question: Question, said: Mapping[str, Any]) -> Components:
    if question.kind == "standalone":
        text = said.get("standalone")
        if not isinstance(text, str) or not visible(text).strip():
            raise MalformedReply("`standalone` is missing or not a text")
        return (Component(visible(text).strip()),)
    found: list[Component] = []
    for member in LISTS[question.kind]:
        texts = texts_in(said, member)
        found += [Component(text, _place(text, question.subject), remark=member == "remarks") for text in texts]
    if question.kind == "questions_answered_by":
        return tuple(found[: question.at])
    return tuple(found)


def _verdict(question: Question, said: Any, name: str) -> Verdict:
    if not isinstance(said, dict):
        raise MalformedReply(f"`{name}` is missing or not an object")
    answer, why, quote = said.get("verdict"), said.get("why"), said.get("quote")
    value = _VALUES.get(answer.strip().lower()) if isinstance(answer, str) else None
    if value is None:
        raise MalformedReply(f"the verdict of `{name}` is not yes, no or unknown")
    if not isinstance(why, str):
        raise MalformedReply(f"`why` of `{name}` is missing or not a text")
    if question.kind not in QUOTING:
        quote = ""
    elif not isinstance(quote, str):
        raise MalformedReply(f"`quote` of `{name}` is missing or not a text")
    flag = ""
    if value == "yes" and quote.strip() and not quote_occurs(quote, question.evidence):
        flag = f"the quote is not in the text: “{_short(quote)}”"
    said_why = visible(why).strip()
    if value == "yes" and question.kind == "supported" and len(question.evidence) > 1 and quote.strip() and not flag:
        said_why = f"{said_why} (“{_short(quote)}”)".strip()  # tells which of several texts supports it
    return Verdict(value, explanation=said_why, flag=flag)


def quote_occurs(quote: str, texts: Sequence[str]) -> bool:
    """Whether every piece of a quote (an ellipsis parts pieces) stands in one of the texts, case and spaces apart."""
    pieces = [plain for piece in _ELLIPSIS.split(quote) if (plain := _plain(piece))]
    plain_texts = _all_plain(tuple(texts))
    return all(any(piece in text for text in plain_texts) for piece in pieces)


@lru_cache(8)
def _all_plain(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Remembered, since all quotes of a request are looked up in the same texts."""
    return tuple(_plain(text) for text in texts)


def _plain(text: str) -> str:
    """The words in small letters with a space between, as a comparison needs them; what nobody sees parts no word."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _JOINING.sub("", visible(text)))
    text = text.casefold()
    return " ".join(text.translate(_IN_ASCII).split() if text.isascii() else _WORD.findall(text))


def _short(text: str) -> str:
    text = " ".join(visible(text).split())
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def _place(text: str, whole: str) -> tuple[int, int] | None:
    """Where a component was taken from: verbatim, else the sentence that holds most of its words, at least half."""
    start = whole.find(text)
    if start >= 0:
        return start, start + len(text)
    words = set(_plain(text).split())
    alike = [(span, len(words & own)) for span, own in _sentences(whole)]
    span, shared = max(alike, key=itemgetter(1), default=(None, 0))
    return span if words and shared >= CLOSE * len(words) else None


@lru_cache(8)
def _sentences(text: str) -> list[tuple[tuple[int, int], set[str]]]:
    """Each sentence with its words; remembered, since all components of a reply are looked up in the same text."""
    return [(one.span, set(_plain(one.text).split())) for one in split_sentences(text) if one.span]
