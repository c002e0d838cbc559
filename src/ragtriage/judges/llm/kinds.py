"""The kinds of question that a language model is asked, one row each: about what, in which words, with which reply.

The words of a kind's instructions are in `prompts/KIND.md`. When the same question is sent in other words, or the same
reply is read another way, raise the versions of its kinds here: stored answers of an older version are asked again.
`tests/judges/llm/test_golden_requests.py` fails if a request or an answer changed and its version didn't.

A form says what a reply holds for a question: the part of its schema, and how that part is read.
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from ragtriage.core.questions import Kind, Question
from ragtriage.core.verdicts import Answer, Answered, Component, Components, Verdict
from ragtriage.judges.llm.fencing import quoted, visible
from ragtriage.judges.llm.options import MalformedReply
from ragtriage.text.sentences import split_sentences

JsonSchema = dict[str, Any]

SHOWN = 80
"""Characters of a quote that are shown."""
CLOSE = 0.5
"""The share of a component's words that a sentence must hold to be where it was taken from."""
_VALUES: Mapping[str, Answered] = {"yes": "yes", "no": "no", "unknown": "unknown"}
"""Capital letters, and spaces and marks around, are no other word; everything else is."""
_MARKS = " \t\r\n.,;:!*_`'\"“”"
_WORD = re.compile(r"\w+")
_IN_ASCII = bytes(code if chr(code).isalnum() or chr(code) == "_" else ord(" ") for code in range(128)).decode()
"""What `_WORD` takes, and a space for everything else; as a table it is several times as quick."""
_JOINING = re.compile("[\u200c\u200d\ufe00-\ufe0f]+")
_ELLIPSIS = re.compile(r"\s*(?:\.\.\.|…|\[\.\.\.\]|\[…\])\s*")


@dataclass(frozen=True, slots=True)
class ReplyForm:
    """One form of a reply to a question."""

    read: Callable[[Question, Mapping[str, Any], str], Answer]
    """The answer, from the question, the reply, and the name that the question has in it. Raises MalformedReply."""
    properties: Callable[[str], JsonSchema]
    """The members of the reply that hold it, by the question's name."""
    definitions: JsonSchema = field(default_factory=dict)
    """The parts of the schema that these refer to."""
    quotes: bool = False
    """Whether a verdict comes with the words that decide it, which are looked up."""
    cites: bool = False
    """Whether these tell which of several texts says so, and are shown with a yes."""


def object_schema(properties: Mapping[str, Any]) -> JsonSchema:
    """An object of exactly these members."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def lists(*members: str) -> ReplyForm:
    """Lists of texts; those in `remarks` aren't claims."""
    return ReplyForm(partial(_components, members), partial(_list_properties, members))


def texts_in(said: Mapping[str, Any], member: str) -> tuple[str, ...]:
    """The texts of one list of a reply, each once, without what nobody sees.

    `MalformedReply` if it isn't a list of texts.
    """
    items = said.get(member)
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise MalformedReply(f"`{member}` is missing or not a list of texts")
    return tuple(text for text in dict.fromkeys(visible(item).strip() for item in items) if text)


def _list_properties(members: Sequence[str], name: str) -> JsonSchema:  # noqa: ARG001  # the members are named by the kind
    return {member: {"type": "array", "items": {"type": "string"}} for member in members}


def _components(members: Sequence[str], question: Question, said: Mapping[str, Any], name: str) -> Components:  # noqa: ARG001
    found: list[Component] = []
    for member in members:
        texts = texts_in(said, member)
        found += [Component(text, _place(text, question.subject), remark=member == "remarks") for text in texts]
    return tuple(found)


def _first(question: Question, said: Mapping[str, Any], name: str) -> Components:
    return _components((name,), question, said, name)[: question.at]


def _text(question: Question, said: Mapping[str, Any], name: str) -> Components:  # noqa: ARG001  # read alike for all
    text = said.get(name)
    if not isinstance(text, str) or not visible(text).strip():
        raise MalformedReply(f"`{name}` is missing or not a text")
    return (Component(visible(text).strip()),)


def _verdict(
    question: Question, reply: Mapping[str, Any], name: str, *, quotes: bool = False, cites: bool = False
) -> Verdict:
    """A verdict; with a quote that is looked up, which `cites` the one of several texts that says so."""
    said = reply.get(name)
    if not isinstance(said, dict):
        raise MalformedReply(f"`{name}` is missing or not an object")
    answer, why, quote = said.get("verdict"), said.get("why"), said.get("quote")
    value = _VALUES.get(answer.strip(_MARKS).lower()) if isinstance(answer, str) else None
    if value is None:
        raise MalformedReply(f"the verdict of `{name}` is not yes, no or unknown")
    if not isinstance(why, str):
        raise MalformedReply(f"`why` of `{name}` is missing or not a text")
    if not quotes:
        quote = ""
    elif not isinstance(quote, str):
        raise MalformedReply(f"`quote` of `{name}` is missing or not a text")
    flag = ""
    if value == "yes" and quote.strip() and not quote_occurs(quote, question.evidence):
        flag = f"the quote is not in the text: “{shortened(quote)}”"
    said_why = visible(why).strip()
    if value == "yes" and cites and len(question.evidence) > 1 and quote.strip() and not flag:
        said_why = f"{said_why} (“{shortened(quote)}”)".strip()  # tells which of several texts supports it
    otherwise = cites and value == "no" and _plain(quote) != "" and quote_occurs(quote, question.evidence)
    return Verdict(value, explanation=said_why, flag=flag, contradicted=otherwise)


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


def shortened(text: str) -> str:
    """A text on one line, cut if it is long."""
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


def _verdict_form(name: str, *words: str, quotes: bool = False, cites: bool = False) -> ReplyForm:
    """A verdict behind its explanation: a model writes in this order."""
    texts: JsonSchema = {word: {"type": "string"} for word in words}
    schema = object_schema(texts | {"verdict": {"type": "string", "enum": ["yes", "no", "unknown"]}})
    read = partial(_verdict, quotes=quotes, cites=cites)
    return ReplyForm(
        read, lambda question: {question: {"$ref": f"#/$defs/{name}"}}, {name: schema}, quotes=quotes, cites=cites
    )


VERDICT = _verdict_form("V", "why")
QUOTING_VERDICT = _verdict_form("Q", "why", "quote", quotes=True)
"""With the words that decide it, which are looked up."""
CITING_VERDICT = _verdict_form("Q", "why", "quote", quotes=True, cites=True)
"""With the words that decide it, which are shown where they tell which of several texts says so."""
WRITTEN_QUESTIONS = ReplyForm(_first, lambda name: _list_properties((name,), name))
STANDALONE = ReplyForm(_text, lambda name: {name: {"type": "string"}})


LONG = 800
"""Characters from which on a text that is asked about by itself is evidence of its own, not an item in a list."""

TextLabel = Literal["source", "query", "response", "conversation"]


class SharedEvidence(NamedTuple):
    """The evidence that a question is asked about; questions with the same share a request."""

    label: TextLabel
    texts: tuple[str, ...]
    """The evidence. Sources stand in an order that doesn't depend on the retriever's."""
    query: str = ""
    """The user's words, where a question needs them beside the evidence."""


def the_source(question: Question) -> SharedEvidence:
    """The source that is the question's subject; with the user's words only for what is asked about them."""
    return SharedEvidence("source", (question.subject,))


def the_source_and_query(question: Question) -> SharedEvidence:
    """The source that is the question's subject, and the user's words."""
    return SharedEvidence("source", (question.subject,), question.query)


def the_sources(question: Question) -> SharedEvidence:
    """The texts that the question's subject is held against."""
    return SharedEvidence("source", in_order(question.evidence))


def the_texts(question: Question) -> SharedEvidence:
    """A response to the user's words if the question has these, else sources."""
    return SharedEvidence("response", question.evidence, question.query) if question.query else the_sources(question)


def the_response(question: Question) -> SharedEvidence:
    """The response that is the question's subject."""
    return SharedEvidence("response", (question.subject,), question.query)


def the_query(question: Question) -> SharedEvidence:
    """The query that is the question's subject."""
    return SharedEvidence("query", (question.subject,))


def the_conversation(question: Question) -> SharedEvidence:
    """The messages before the query that is the question's subject."""
    return SharedEvidence("conversation", question.evidence, question.subject)


def around_the_text(question: Question) -> SharedEvidence:
    """The response that a text was taken from; else the text itself if it is long, or the query if it is short."""
    if question.context:
        return SharedEvidence("response", (question.context,), question.query)
    if len(question.subject) >= LONG:
        return the_source_and_query(question)
    return SharedEvidence("query", (question.query,))


@lru_cache(8)
def in_order(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Distinct texts in an order of their own, so that a verdict can't depend on how they were retrieved."""
    return tuple(sorted(set(texts), key=lambda text: hashlib.blake2b(text.encode("utf-8", "surrogatepass")).digest()))


def _nothing(question: Question, about: SharedEvidence) -> str:  # noqa: ARG001  # what is asked follows from the evidence
    return ""


def _subject(question: Question, about: SharedEvidence) -> str:  # noqa: ARG001  # the same beside any evidence
    return f": {quoted(question.subject)}"


def _subject_or_source(question: Question, about: SharedEvidence) -> str:
    return ": the source as a whole" if about.label == "source" else _subject(question, about)


def _true_answers(question: Question, about: SharedEvidence) -> str:  # noqa: ARG001  # the same beside any evidence
    """The answers that are known to be true, or the further responses."""
    which = "" if question.at is None else ", further responses"
    return f"{which}: {', '.join(quoted(truth) for truth in question.evidence)}"


def _count(question: Question, about: SharedEvidence) -> str:  # noqa: ARG001  # the same beside any evidence
    return f": {question.at} questions"


@dataclass(frozen=True, slots=True)
class AskedKind:
    """How questions of one kind are asked, and how replies to them are read."""

    evidence: Callable[[Question], SharedEvidence]
    """What it is asked about."""
    item: Callable[[Question, SharedEvidence], str]
    """What stands behind its name in the list of questions."""
    reply: ReplyForm
    version: int = 1
    """Of everything but the words of its prompt."""
    about_query: bool = False
    """Whether it needs the query beside a source."""
    joins: TextLabel | None = None
    """The evidence about which it is asked only if others are; it stands before those, so that wherever a group is cut,
    it and one of the others are in the same request."""


ASKED_KINDS: Mapping[Kind, AskedKind] = {
    "claims": AskedKind(the_response, _nothing, lists("claims", "remarks")),
    "facts": AskedKind(the_source, _nothing, lists("facts")),
    "questions": AskedKind(the_query, _nothing, lists("questions"), joins="response"),
    "essential": AskedKind(around_the_text, _subject_or_source, VERDICT, about_query=True, joins="source"),
    "relevant": AskedKind(around_the_text, _subject_or_source, VERDICT, about_query=True),
    "answered": AskedKind(the_texts, _subject, QUOTING_VERDICT),
    "supported": AskedKind(the_sources, _subject, CITING_VERDICT),
    "same_answer": AskedKind(the_response, _true_answers, VERDICT),
    "declines": AskedKind(the_response, _nothing, VERDICT),
    "standalone": AskedKind(the_conversation, _nothing, STANDALONE),
    "questions_answered_by": AskedKind(the_response, _count, WRITTEN_QUESTIONS),
    "needed_sentences": AskedKind(the_source_and_query, _nothing, lists("needed_sentences"), about_query=True),
    "holds": AskedKind(the_texts, _subject, VERDICT),
}
"""All but those that no model is asked: rules split sentences, embeddings compare."""
