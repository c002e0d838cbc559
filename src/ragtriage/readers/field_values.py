"""What the fields of a row hold, retrieved texts in many shapes; what can't be read is a RowProblem.

Under which names other tools' files hold our fields stands in `fields.toml`.
"""

import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import lru_cache
from importlib.resources import files
from typing import Any

from ragtriage.core.case import LEAST_WEIGHT, MOST_WEIGHT, Source, Turn
from ragtriage.readers.paths import is_missing
from ragtriage.readers.problems import RowContext, RowProblem
from ragtriage.readers.text_values import (
    NotALiteral,
    clean,
    described,
    list_in,
    looks_like_list,
    parse_literal,
    text_of,
    unpacked,
)

_TABLE = tomllib.loads(files(__package__).joinpath("fields.toml").read_text("utf-8"))

ALIASES: Mapping[str, tuple[str, ...]] = {field: tuple(row["names"]) for field, row in _TABLE["fields"].items()}
"""Our field to its names, the one that is preferred first."""

HOLDS: Mapping[str, str] = {field: row["holds"] for field, row in _TABLE["fields"].items()}
"""Our field to the kind of value that it holds, in words."""

KEYS: Mapping[str, tuple[str, ...]] = {of: tuple(keys) for of, keys in _TABLE["keys"].items()}
"""What is looked for in an object to the keys under which it may stand there."""

NOT_SOURCES: Mapping[str, str] = _TABLE["not_sources"]
"""A column near the sources, by its normalized name or our field, to what is said where nothing else holds them."""

_FIELDS = {alias: field for field, aliases in ALIASES.items() for alias in aliases}


@lru_cache(maxsize=4096)
def normalized(name: str) -> str:
    """A column's name in one spelling: `userInput`, `User Input` and `user-input` are `user_input`."""
    return re.sub(r"[\s_-]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())).lower()


def field_named(column: str) -> str | None:
    """Our field that a column's name stands for, or None."""
    return _FIELDS.get(normalized(column))


_TEXT_KEYS, _ID_KEYS, _WRAPPERS = KEYS["source_text"], KEYS["source_id"], KEYS["source_wrapper"]

ONE_TEXT = (
    "{rows}: the sources are one text, taken as one source; "
    "if it joins several, say what stands between them: --split-sources '\\n\\n'"
)
NESTED = "{rows}: the sources were a list of lists, taken as one list"
NULLS = "{rows}: a source is null, left out"
SPLIT = "{rows}: the sources were one text, split by --split-sources"
NOT_SPLIT = "{rows}: the sources are a list already, --split-sources left it alone"
_TEACH = "write a list of texts, or of objects with 'text' and 'id'; write [] if nothing was retrieved"


def sources_of(
    value: Any, context: RowContext, ids: Sequence[str | None] | None = None, place: str = "sources"
) -> tuple[Source, ...]:
    """The sources that a value holds, without nulls.

    It is a list of texts or objects, an object of id to text, one object, one text, or a list as text. `ids` stand in a
    column of their own, by position; a source without one there keeps its own. The context gets a remark for each
    liberty taken. `place` is where it stands, for messages.
    """
    most = f"{context.limits.max_sources:,}"
    if isinstance(value, str) and not looks_like_list(value):
        items: list[Any] = _parts(value, context)
        too_many = f"splits into {len(items):,} sources, more than {most}: another separator, or --max-sources?"
    else:
        items = _items(_unpacked(value), context.remarks)
        too_many = f"has {len(items):,} sources, more than {most}: raise the limit by --max-sources"
        if context.split is not None:
            context.remarks.append(NOT_SPLIT)
    if len(items) > context.limits.max_sources:
        raise RowProblem("sources", too_many)
    kept = [
        None if is_missing(item) else _source(item, f"source {n} ", context, place) for n, item in enumerate(items, 1)
    ]
    sources = tuple(source for source in kept if source is not None)
    if len(sources) < len(kept):
        context.remarks.append(NULLS)
    if ids is None:
        return sources
    if len(ids) not in {len(kept), len(sources)}:
        reason = (
            f"the number of ids is {len(ids):,}, that of sources {len(sources):,}: write one id a source, null for one "
            "that has none (--map source_ids= leaves the ids out)"
        )
        raise RowProblem("source_ids", reason)
    named = zip(kept if len(ids) == len(kept) else sources, ids, strict=True)
    return tuple(source if name is None else Source(source.text, name) for source, name in named if source is not None)


def _parts(text: str, context: RowContext) -> list[str]:
    if not text.strip():
        raise RowProblem("sources", f"is an empty text: {_TEACH}")
    if context.split is None:
        context.remarks.append(ONE_TEXT)
        return [text]
    context.remarks.append(SPLIT)
    return [part.strip() for part in text.split(context.split) if part.strip()]


def _unpacked(value: Any) -> Any:
    try:
        return parse_literal(value) if isinstance(value, str) else value
    except NotALiteral as error:
        reason = f"looks like a list in a text but can't be read as JSON or Python ({error}): was it cut off?"
        raise RowProblem("sources", reason) from None


def _items(value: Any, remarks: list[str]) -> list[Any]:
    if isinstance(value, Mapping):
        if _text(value) is not None:
            return [value]
        if value and all(isinstance(text, str) for text in value.values()):
            return [{"id": key, "text": text} for key, text in value.items()]
    if not isinstance(value, list | tuple):
        raise RowProblem("sources", f"is {described(value)}: {_TEACH}")
    if value and all(_is_list_of_sources(item) for item in value):
        remarks.append(NESTED)
        return [text for item in value for text in item]
    return list(value)


def _is_list_of_sources(item: Any) -> bool:
    return isinstance(item, list | tuple) and all(isinstance(inner, str | Mapping) for inner in item)


def _source(item: Any, where: str, context: RowContext, place: str) -> Source:
    if isinstance(item, str):
        return Source(text_of("sources", item, context, where))
    if not isinstance(item, Mapping):
        raise RowProblem("sources", f"{where}is {described(item)}, not a text: {_TEACH}")
    text = _text(item)
    if text is None:
        if key := next((key for key in _TEXT_KEYS if key in item), None):
            reason = f"{where}is an object whose {key!r} is {described(item[key])}, not a text: {_TEACH}"
            raise RowProblem("sources", reason)
        key = max((k for k, v in item.items() if isinstance(v, str)), key=lambda k: len(item[k]), default="KEY")
        looked = f"its text was looked for under {', '.join(_TEXT_KEYS)}"
        raise RowProblem("sources", f"{where}is {described(item)}; {looked}: --map 'sources={place}[*].{key}' takes it")
    name = _id_of_source(item)
    return Source(text_of("sources", text, context, where), None if name is None else clean(name, context.remarks))


def _text(item: Mapping[str, Any]) -> str | None:
    for key in _TEXT_KEYS:
        if isinstance(text := item.get(key), str):
            return text
    for key in _WRAPPERS:
        if isinstance(inner := item.get(key), Mapping) and (text := _text(inner)) is not None:
            return text
    return None


def _id_of_source(item: Mapping[str, Any], depth: int = 0) -> str | None:
    for key in _ID_KEYS:
        name = item.get(key)
        if (isinstance(name, str) and name) or (isinstance(name, int) and not isinstance(name, bool)):
            return str(name)
    for key in ("metadata", *_WRAPPERS):
        if (
            depth < 2
            and isinstance(inner := item.get(key), Mapping)
            and (found := _id_of_source(inner, depth + 1)) is not None
        ):
            return found
    return None


SEVERAL_REFERENCES = "{rows}: there are several reference answers; the first is used, all of them are kept as a tag"
GUESSED_ROLES = "{rows}: the history is a list of texts without roles, read as user and assistant in turn"
NO_TIME = "{rows}: the time can't be read as ISO 8601 or as a number; it is kept as a tag"
_EARLIEST = 100_000_000  # 1973 in seconds: smaller numbers are durations


def _case_id(value: Any, field: str, context: RowContext) -> str | None:
    """A name: a text or a whole number; None if it is missing or empty."""
    if isinstance(value, float) and value.is_integer():  # what a table makes of whole numbers when one is missing
        value = int(value)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise RowProblem(field, f"is {described(value)}: write a text or a whole number")
    return clean(str(value), context.remarks)


def _ids(value: Any, field: str, context: RowContext) -> tuple[str | None, ...] | None:
    """Ids in their order, None for an empty one; None if there are none."""
    if value is None:
        return None
    items = list_in(value)
    if items is None and isinstance(value, str) and ("," in value or ";" in value):
        raise RowProblem(field, f"is {described(value)}: write several ids as a JSON list")
    return tuple(_case_id(item, field, context) for item in ([value] if items is None else items))


def _relevant_ids(value: Any, context: RowContext) -> tuple[str | None, ...] | None:
    ids = _ids(value, "relevant_ids", context)
    if ids is not None and None in ids:
        raise RowProblem("relevant_ids", "holds an empty id: leave it out")
    return ids


def _reference(value: Any, context: RowContext) -> str | None:
    """The reference answer; the first of several, which is remarked."""
    answers = list_in(value)
    if answers is None:
        return None if value is None else text_of("reference", value, context)
    texts = [text_of("reference", text, context, f"answer {number} ") for number, text in enumerate(answers, 1)]
    if len(texts) > 1:
        context.remarks.append(SEVERAL_REFERENCES)
    return texts[0] if texts else None


def _samples(value: Any, context: RowContext) -> tuple[str, ...]:
    texts = list_in(value)
    if texts is None and value is not None:
        raise RowProblem("samples", f"is {described(value)}: write a list of texts")
    return tuple(text_of("samples", text, context, f"sample {number} ") for number, text in enumerate(texts or (), 1))


def _time(value: Any, context: RowContext) -> str | None:
    """The time as ISO 8601, from that or from seconds, milli-, micro- or nanoseconds since 1970; else remarked."""
    if value is None or isinstance(value, datetime | date):
        return value.isoformat() if value else None
    if isinstance(value, str):
        try:
            datetime.fromisoformat(value.strip())
            return value.strip()
        except ValueError:
            value = None
    if isinstance(value, int | float) and not isinstance(value, bool) and _EARLIEST <= value < 1e19:
        seconds = float(value)
        while seconds > 1e11:
            seconds /= 1000
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    context.remarks.append(NO_TIME)
    return None


def _weight(value: Any) -> float:
    if value is None:
        return 1.0
    try:
        weight = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        weight = math.nan
    if not (math.isfinite(weight) and weight > 0):
        raise RowProblem("weight", f"is {described(value)}: write a number above 0")
    if not LEAST_WEIGHT <= weight <= MOST_WEIGHT:
        raise RowProblem("weight", f"is {described(value)}: write a number from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}")
    return weight


PARSERS: Mapping[str, Callable[[Any, RowContext], Any]] = {
    "source_ids": lambda value, context: _ids(value, "source_ids", context),
    "history": lambda value, context: () if value is None else turns_of(value, "history", context),
    "reference": _reference,
    "time": _time,
    "id": lambda value, context: _case_id(value, "id", context),
    "samples": _samples,
    "relevant_ids": _relevant_ids,
    "weight": lambda value, _: _weight(value),
    "trace_id": lambda value, context: _case_id(value, "trace_id", context),
}
"""A field to what makes its value of what a file holds, where None is that it holds nothing."""


def is_message_list(value: Any) -> bool:
    """Whether a value, or the list that a text holds, is a non-empty list of messages with roles."""
    return all(_role(item) is not None for item in items) if (items := list_in(value)) else False


def turns_of(value: Any, field: str, context: RowContext) -> tuple[Turn, ...]:
    """The turns that a value holds: messages with role and content, pairs of texts, texts, or one text.

    Messages without text (calls of tools) are left out.
    """
    value = unpacked(value)
    if isinstance(value, str):
        return (Turn("transcript", text_of(field, value, context)),)
    if not isinstance(value, list | tuple):
        raise RowProblem(field, f"is {described(value)}: write a list of {{'role': …, 'content': …}}")
    turns: list[Turn] = []
    for number, item in enumerate(value, 1):
        if isinstance(item, str):
            context.remarks.append(GUESSED_ROLES)
        from_the_end = len(value) - number
        pairs = _roles_and_texts(item, "user" if from_the_end % 2 else "assistant")
        if pairs is None:
            raise RowProblem(field, f"message {number} is {described(item)}: it needs 'role' and 'content'")
        turns += [
            Turn(clean(role, context.remarks), text_of(field, text, context, f"message {number} "))
            for role, text in pairs
        ]
    return tuple(turns)


def messages_of(value: Any, context: RowContext) -> tuple[str, tuple[Turn, ...], str | None]:
    """A query that is given as a list of messages: it, those before it, and the one after it, if it is one."""
    if not is_message_list(value):
        raise RowProblem("query", f"is {described(value)}: write the user's question as a text, or messages with roles")
    turns = turns_of(value, "query", context)
    last = max((index for index, turn in enumerate(turns) if turn.role.lower() in KEYS["user_roles"]), default=None)
    if last is None:
        raise RowProblem("query", "is a list of messages none of which is the user's: one needs the role 'user'")
    after = turns[last + 1 :]
    return turns[last].text, turns[:last], after[0].text if len(after) == 1 else None


def _role(item: Any) -> str | None:
    """The role of a message; None if it isn't one."""
    if not isinstance(item, Mapping) or not any(key in item for key in KEYS["message_text"]):
        return None
    return next((role for key in KEYS["message_role"] if isinstance(role := item.get(key), str) and role), None)


def _roles_and_texts(item: Any, guessed: str) -> list[tuple[str, Any]] | None:
    """The turns in one item of a conversation, none for a message without a text; None if it isn't a message."""
    if isinstance(item, str):
        return [(guessed, item)]
    if isinstance(item, list | tuple) and len(item) == 2 and all(isinstance(text, str) for text in item):
        return [("user", item[0]), ("assistant", item[1])]
    role = _role(item)
    if role is None:
        return None
    content = next((item[key] for key in KEYS["message_text"] if item.get(key) is not None), None)
    if isinstance(content, list | tuple):  # OpenAI's and Anthropic's parts; images and tool calls have no text
        content = "\n".join(_texts(content)) or None
    return [] if content is None else [(role, content)]


def _texts(parts: list[Any] | tuple[Any, ...]) -> Iterator[str]:
    texts = (part.get("text") if isinstance(part, Mapping) else part for part in parts)
    return (text for text in texts if isinstance(text, str))


JUDGED = ("query", "response", "sources")
"""The fields that make a case; the others may be missing without a word."""


def is_usable(field: str, value: Any) -> bool:
    """Whether a value, which is there, is of the kind that a field holds."""
    if field in JUDGED:
        shapes = str | list | tuple | dict if field == "sources" else str
        return isinstance(value, shapes) or (field == "query" and is_message_list(value))
    if field == "history" and isinstance(value, str) and not is_message_list(value):
        return False  # one text may be anything, an id for example
    try:
        found = PARSERS[field](value, RowContext())
    except RowProblem:
        return False
    return bool(found) or field not in {"history", "time"}
