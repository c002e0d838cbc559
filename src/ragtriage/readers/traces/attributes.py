"""What a span says, whichever convention wrote it: its kind, its texts, the documents that it found.

Where each convention keeps what stands in `attributes.toml`.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from itertools import chain
from json import JSONDecodeError
from typing import Any, Literal, TypeVar

from ragtriage.readers.field_values import ALIASES, KEYS
from ragtriage.readers.text_values import parse, unpacked
from ragtriage.readers.traces.spans import Attributes, TraceSpan

T = TypeVar("T")
SpanKind = Literal["retrieval", "rerank", "model", "tool", "agent", "chain", "ignored", "other"]

_TABLE = tomllib.loads(files(__package__).joinpath("attributes.toml").read_text("utf-8"))
NAMES: Mapping[str, tuple[str, ...]] = {of: tuple(names) for of, names in _TABLE.items() if isinstance(names, list)}
"""What is looked for → under which names."""
_KINDS: Mapping[str, SpanKind] = {name: kind for kind, names in _TABLE["kinds"].items() for name in names}
_ENDS: Mapping[str, SpanKind] = {end: kind for kind, end in _TABLE["ends"].items()}
SWITCHES: Mapping[str, Mapping[str, str]] = _TABLE["switches"]
"""By which attribute a convention says a span's kind → query, response or sources → what makes it record them."""
_QUERY = (*ALIASES["query"], *_TABLE["keys"]["query"])
_RESPONSE = (*ALIASES["response"], *_TABLE["keys"]["response"])
_ID, _SCORE = _TABLE["keys"]["id"], _TABLE["keys"]["score"]
_TEXT = KEYS["source_text"]

_MASK = re.compile(r"\s*(?:__REDACTED__|\[?REDACTED\]?|<REDACTED>|\*+)\s*")
_OBJECT = re.compile(r"<[\w. ]+(?: at 0x[0-9a-f]+)?>|[A-Z]\w*\(\w+=.*(?:\)|\.\.\.)", re.DOTALL)
"""How Python prints an object."""
_REASONED = re.compile(r"\s*Thought:.*?^Answer:\s*(.+)", re.DOTALL | re.MULTILINE)
"""The reply of an agent that reasons aloud (ReAct) before it answers."""
VAGUE = frozenset({"task"})
"""What Traceloop calls any step, a retrieval too: another convention on the same span may say more."""
DEEPEST = 6
"""Levels of a value that are looked into."""
USER = frozenset({"user", "human"})
ROLES = USER | {"assistant", "ai", "model", "system", "developer", "tool", "function"}
_NAMES = re.compile(r"(?:^|_)(?:id|uuid|key|name)$")
"""Keys whose values name something and say nothing."""


@dataclass(frozen=True, slots=True)
class FoundValue:
    """A value, and the name under which it was found."""

    value: Any
    name: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message to or from a model."""

    role: str
    """In small letters."""
    text: str | None
    """None for one without a text, such as the call of a tool."""
    calls: bool = False
    """Whether it calls a tool."""
    others: bool = False
    """Whether it has parts that are no text, such as an image."""


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """One retrieved text."""

    text: str | None
    """None if it wasn't recorded."""
    id: str | None = None
    score: float | None = None


def kind_of(span: TraceSpan) -> SpanKind:
    """What kind of span it is; `other` if no convention says."""
    if said := kinds_said(span):
        first = said[0][1]
        by_end: SpanKind = next((known for end, known in _ENDS.items() if first.endswith(end)), "other")
        return _KINDS.get(first, by_end)
    if found(span, "documents"):
        return "retrieval"
    return "chain" if any(name.startswith("haystack.pipeline.") for name in span.attributes) else "other"


def kinds_said(span: TraceSpan) -> list[tuple[str, str]]:
    """The attributes by which conventions say the span's kind, each with what it says; the first counts."""
    values = ((name, decoded(span.attributes.get(name))) for name in NAMES["kind"])
    said = [(name, value.strip().lower()) for name, value in values if isinstance(value, str) and value.strip()]
    return sorted(said, key=lambda one: one[1] in VAGUE)


def found(span: TraceSpan, what: str) -> FoundValue | None:
    """The first value that the span has under the names for this."""
    return next(all_found(span, what), None)


def all_found(span: TraceSpan, what: str) -> Iterator[FoundValue]:
    """Every value that the span has under the names for this, in their order."""
    for name in NAMES[what]:
        value = _under(span, name)
        if value is not None:
            yield FoundValue(value, name.removesuffix(".*").removeprefix("@"))


def _under(span: TraceSpan, name: str) -> Any:
    if name.startswith("@"):
        return [event.attributes for event in span.events if event.name == name[1:]] or None
    if name.endswith(".*"):
        return numbered(span.attributes, name[:-2])
    return span.attributes.get(name)


def numbered(attributes: Attributes, name: str) -> Any:
    """The list that is written as `NAME.0.…`, `NAME.1.…`, in the order of the numbers, or as a list under the name.

    Numbers may be missing. None if there is neither; what is no list as it is.
    """
    whole = attributes.get(name)
    if whole is not None:
        value = decoded(whole)
        return [_nested(item) for item in value] if isinstance(value, list | tuple) else whole
    start = f"{name}."
    items: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        if key.startswith(start):
            number, _, rest = key[len(start) :].partition(".")
            if number.isdecimal():
                items.setdefault(int(number), {})[rest] = value
    return [_nested(items[number]) for number in sorted(items)] if items else None


def _nested(item: Any) -> Any:
    """`{"document.content": …}` → `{"document": {"content": …}}`, and lists by their numbers."""
    if not isinstance(item, Mapping):
        return item
    made: dict[str, Any] = {}
    for key, value in item.items():
        at, *rest = str(key).split(".")
        here = made
        for step in rest:
            below = here.setdefault(at, {})
            here, at = (below, step) if isinstance(below, dict) else ({}, step)
        here[at] = _nested(value) if isinstance(value, Mapping) else value
    return _lists(made)


def _lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    inner = {key: _lists(one) for key, one in value.items()}
    if inner and all(key.isdecimal() for key in inner):
        return [inner[key] for key in sorted(inner, key=int)]
    return inner


def decoded(value: Any) -> Any:
    """What a text in JSON, or in Python's notation, holds; any other value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] == '"':
        with suppress(JSONDecodeError):
            return parse(value)
    return unpacked(value)


def mapping_in(value: Any) -> Mapping[str, Any]:
    """The object that a value holds, also as JSON or as a list of pairs; empty if it holds none."""
    value = decoded(value)
    if isinstance(value, list | tuple) and all(isinstance(one, list | tuple) and len(one) == 2 for one in value):
        value = {str(name): one for name, one in value}
    return value if isinstance(value, Mapping) else {}


def is_masked(text: str) -> bool:
    """Whether a text was taken out before it was recorded."""
    return bool(_MASK.fullmatch(text))


def is_recorded(value: Any) -> bool:
    """Whether a value was recorded: it is there, and no mask."""
    return value is not None and not (isinstance(value, str) and is_masked(value))


def messages_in(value: Any) -> list[Message] | None:
    """The messages that a value holds; None if it is no list of messages."""
    value = decoded(value)
    if isinstance(value, Mapping):
        return messages_in(value["messages"]) if "messages" in value else None
    if not isinstance(value, list | tuple) or not value:
        return None
    if all(map(_is_turn, value)):  # a question and its answer each, as LangChain's history was written
        return [Message(role, text) for turn in value for role, text in zip(("user", "assistant"), turn, strict=True)]
    pairs = [one for one in value if isinstance(one, list | tuple)]
    if len(pairs) == len(value) and not all(map(_is_pair, pairs)):  # one conversation of a batch
        return messages_in(value[0])
    found = [_message(one) for one in value]
    return None if None in found else [one for one in found if one is not None]


def _is_pair(item: Any) -> bool:
    """Whether it is a role and a text, as LangChain takes a message."""
    return _is_two_texts(item) and item[0].lower() in ROLES


def _is_turn(item: Any) -> bool:
    return _is_two_texts(item) and item[0].lower() not in ROLES


def _is_two_texts(item: Any) -> bool:
    return isinstance(item, list | tuple) and len(item) == 2 and all(isinstance(one, str) for one in item)


def _message(item: Any) -> Message | None:
    if _is_pair(item):
        return Message(item[0].lower(), item[1])
    if not isinstance(item, Mapping):
        return None
    item = item.get("message") if isinstance(item.get("message"), Mapping) else item
    inner = item.get("kwargs") if isinstance(item.get("kwargs"), Mapping) else item.get("data")
    item = {**item, **inner} if isinstance(inner, Mapping) else item
    parts = next((item[key] for key in ("content", "contents", "parts", "_content") if key in item), None)
    role = item.get("role", item.get("_role", item.get("type")))
    if isinstance(item.get("id"), list) and item["id"]:  # how LangChain writes an object: the path of its class
        role = str(item["id"][-1]).removesuffix("Chunk").removesuffix("Message")
    if parts is None and "tool_calls" not in item and "role" not in item:
        return None
    if not isinstance(role, str):
        return None
    kinds = [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, list | tuple) else []
    said = {str(part.get("type", "")).lower() for part in map(_part, kinds)}
    calls = bool(item.get("tool_calls") or item.get("function_call")) or bool(said & {"tool_call", "tool_use"})
    text = _joined(parts)
    return Message(role.lower(), text, calls, bool(said - {"", "text", "tool_call", "tool_use", "reasoning"}))


def _part(part: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = part.get("message_content")
    return inner if isinstance(inner, Mapping) else part


def _joined(parts: Any) -> str | None:
    """The text of a message: as it is, or of its parts that are one."""
    if isinstance(parts, str):
        return parts
    if not isinstance(parts, list | tuple):
        return None
    texts = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping):
            own = _part(part)
            if str(own.get("type", "text")).lower() in {"text", "input_text", "output_text"}:
                texts += [own[key] for key in ("text", "content") if isinstance(own.get(key), str)][:1]
    return "\n".join(texts) if texts else None


UserQuestion = tuple[str, Sequence[Message]]
"""A question, and the messages before it."""


def query_in(value: Any, depth: int = 0) -> UserQuestion | None:
    """The question that an input holds; None if there is none.

    Of a conversation it is the last message of the user's; of an object the text under the first known name.
    """
    value = decoded(value)
    if isinstance(value, str):
        return value, ()
    if (messages := messages_in(value)) is not None:
        last = max((at for at, one in enumerate(messages) if one.role in USER and one.text), default=None)
        return None if last is None else (messages[last].text or "", messages[:last])
    if isinstance(value, Mapping) and depth < DEEPEST:
        asked = _under_name(value, _QUERY, query_in, depth)
        earlier = (messages_in(one) for name, one in value.items() if str(name).lower() in ALIASES["history"])
        before = next(filter(None, earlier), ())
        return asked if asked is None or asked[1] else (asked[0], before)
    texts = [one for one in value if isinstance(one, str)] if isinstance(value, list | tuple) else []
    return (texts[0], ()) if len(texts) == 1 else None


def response_in(value: Any, depth: int = 0) -> str | None:
    """The answer that an output holds; None if there is none, as in the call of a tool."""
    value = decoded(value)
    if isinstance(value, str):
        reasoned = _REASONED.fullmatch(value)
        return None if _OBJECT.fullmatch(value.strip()) else reasoned[1] if reasoned else value
    if (messages := messages_in(value)) is not None:
        said = [one for one in messages if one.role not in USER | {"system", "tool"}]
        return said[-1].text if said and not said[-1].calls else None
    if isinstance(value, list | tuple) and len(value) == 1 and depth < DEEPEST:
        return response_in(value[0], depth + 1)
    if not isinstance(value, Mapping) or depth >= DEEPEST:
        return None
    message = _message(value)
    if message is not None and message.text is not None:
        return None if message.calls else message.text
    return _under_name(value, _RESPONSE, response_in, depth)


def _under_name(
    value: Mapping[str, Any], names: Sequence[str], look: Callable[[Any, int], T | None], depth: int
) -> T | None:
    """What is under the first known name; else the only text; else what the objects in it hold, if that is one."""
    by_name = {str(key).lower(): one for key, one in value.items()}
    for name in names:
        held = by_name.get(name)
        if name == "args" and isinstance(held, list | tuple):  # of a function's arguments the first text
            held = next((one for one in held if isinstance(one, str)), None)
        if held is not None and (inner := look(held, depth + 1)) is not None:
            return inner
    texts = [one for name, one in value.items() if isinstance(one, str) and not _NAMES.search(str(name).lower())]
    if len(value) == 1 and texts and not depth:
        return look(texts[0], depth + 1)
    below = [one for one in value.values() if isinstance(one, Mapping)]
    inside = [one for one in (look(one, depth + 1) for one in below) if one is not None]
    return inside[0] if inside and all(one == inside[0] for one in inside) else None


def documents_of(span: TraceSpan, what: str = "documents") -> tuple[list[FoundDocument], str] | None:
    """The documents of a retrieval or a rerank, and the name under which they stand; None if none were recorded."""
    there = found(span, what)
    if there is not None:
        items = decoded(there.value)
        if isinstance(items, str):
            raise ValueError(f"documents can't be read: {there.name} is no JSON")
        if isinstance(items, Mapping):
            items = items.get("documents", [items])
        if not isinstance(items, list | tuple):
            raise ValueError(f"documents can't be read: {there.name} is no list")
        return [_document(item) for item in items], there.name
    if what != "documents":
        return None
    output = found(span, "output")
    if output is None or not is_recorded(output.value):
        return None
    listed = documents_in(output.value)
    return None if listed is None else (listed, output.name)


def documents_in(value: Any) -> list[FoundDocument] | None:
    """The documents that an output holds, as a list or under `documents` or `nodes`; None if it holds none."""
    value = decoded(value)
    if isinstance(value, Mapping):
        by_name = {str(key).lower(): one for key, one in value.items()}
        for name in ("documents", "nodes", "results", "matches", "hits"):
            if by_name.get(name) is not None:
                return documents_in(by_name[name])
        if len(value) == 1:
            return documents_in(next(iter(value.values())))
        return None
    if not isinstance(value, list | tuple):
        return None
    if value and all(isinstance(one, list | tuple) for one in value):
        scored = all(len(one) == 2 and isinstance(one[0], Mapping) and isinstance(one[1], int | float) for one in value)
        value = [{"score": one[1], **one[0]} for one in value] if scored else list(chain.from_iterable(value))
    made = [_document(item) for item in value]
    return made if all(one.text is not None for one in made) else None


def _document(item: Any) -> FoundDocument:
    """One document of any convention."""
    item = decoded(item) if isinstance(item, str) and item.lstrip()[:1] == "{" else item
    if isinstance(item, str):
        return FoundDocument(None if is_masked(item) else item)
    if not isinstance(item, Mapping):
        return FoundDocument(None)
    for wrapper in ("document", "node", "kwargs", "db.query.result"):
        inner = item.get(wrapper)
        if isinstance(inner, Mapping):
            item = {**item, **inner}
    if any(str(key).startswith("db.query.result.") for key in item):
        item = {str(key).removeprefix("db.query.result."): value for key, value in item.items()}
        item = {"text": item.get("document"), **item}
    metadata = decoded(item.get("metadata", item.get("meta")))
    metadata = metadata if isinstance(metadata, Mapping) else {}
    places = ((held.get(key) for key in _TEXT) for held in (item, metadata))
    text = next((one for one in chain.from_iterable(places) if isinstance(one, str)), None)
    known = [metadata.get("doc_uri"), *(item.get(key) for key in ("id", "id_"))]
    ids = chain(known, (metadata.get(key) for key in _ID), [item.get("url")])
    number = next((one for one in chain(_scores(item), _scores(metadata)) if one is not None), None)
    own = next(
        (str(one) for one in ids if isinstance(one, str | int) and not isinstance(one, bool) and one != ""), None
    )
    return FoundDocument(None if text is None or is_masked(text) else text, own, number)


def _scores(item: Mapping[str, Any]) -> Iterator[float | None]:
    for key in _SCORE:
        value = item.get(key)
        yield float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
