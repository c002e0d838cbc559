"""Earlier turns of a conversation, and queries that are given as a list of messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragtriage.core.case import Turn
from ragtriage.readers.literals import NotALiteral, literal, looks_like_list
from ragtriage.readers.problems import Limits, RowProblem
from ragtriage.readers.text_values import shown, text_of

_TEXT_KEYS = ("content", "text", "value", "message")
_ROLE_KEYS = ("role", "type", "from", "sender", "speaker")
_USERS = frozenset({"user", "human", "customer"})
GUESSED_ROLES = "{rows}: the history is a list of texts without roles, read as user and assistant in turn"


@dataclass(frozen=True, slots=True)
class Messages:
    """A list of messages taken apart at the last one of the user."""

    history: tuple[Turn, ...]
    query: str
    reply: str | None
    """What came after it, if it was one message."""


def is_message_list(value: Any) -> bool:
    """Whether a value, or the list that a text holds, is a non-empty list of messages with roles."""
    value = _read(value)
    return isinstance(value, list | tuple) and bool(value) and all(_is_message(item) for item in value)


def turns_of(value: Any, field: str, limits: Limits, remarks: list[str]) -> tuple[Turn, ...]:
    """The turns that a value holds: messages with role and content, pairs of texts, texts, or one text.

    Messages without text (calls of tools) are left out.

    Raises:
        RowProblem: it holds something else.
    """
    value = _read(value)
    if isinstance(value, str):
        return (Turn("transcript", text_of(field, value, limits, remarks)),)
    if not isinstance(value, list | tuple):
        raise RowProblem(field, f"is {shown(value)}: write a list of {{'role': …, 'content': …}}")
    turns: list[Turn] = []
    for index, item in enumerate(value, 1):
        turns += _turns(item, index, len(value), field, limits, remarks)
    return tuple(turns)


def messages_of(value: Any, limits: Limits, remarks: list[str]) -> Messages:
    """A query that is given as a list of messages.

    Raises:
        RowProblem: no message is the user's.
    """
    if not is_message_list(value):
        raise RowProblem("query", f"is {shown(value)}: write the user's question as a text, or messages with roles")
    turns = turns_of(value, "query", limits, remarks)
    last = max((index for index, turn in enumerate(turns) if turn.role.lower() in _USERS), default=None)
    if last is None:
        raise RowProblem("query", "is a list of messages none of which is the user's: one needs the role 'user'")
    after = turns[last + 1 :]
    return Messages(turns[:last], turns[last].text, after[0].text if len(after) == 1 else None)


def _read(value: Any) -> Any:
    if isinstance(value, str) and looks_like_list(value):
        try:
            return literal(value)
        except NotALiteral:
            return value
    return value


def _is_message(item: Any) -> bool:
    return isinstance(item, Mapping) and _role(item) is not None and any(key in item for key in _TEXT_KEYS)


def _role(item: Mapping[str, Any]) -> str | None:
    return next((role for key in _ROLE_KEYS if isinstance(role := item.get(key), str) and role), None)


def _turns(item: Any, index: int, count: int, field: str, limits: Limits, remarks: list[str]) -> list[Turn]:
    where = f"message {index} "
    if isinstance(item, str):
        remarks.append(GUESSED_ROLES)
        role = "assistant" if (count - index) % 2 == 0 else "user"
        return [Turn(role, text_of(field, item, limits, remarks, where))]
    if isinstance(item, list | tuple) and len(item) == 2 and all(isinstance(text, str) for text in item):
        pair = zip(("user", "assistant"), item, strict=True)
        return [Turn(role, text_of(field, text, limits, remarks, where)) for role, text in pair]
    if not _is_message(item):
        raise RowProblem(field, f"{where}is {shown(item)}: it needs 'role' and 'content'")
    text = _content(item)
    if text is None:
        return []
    return [
        Turn(
            text_of(field, _role(item), limits, remarks, where),
            text_of(field, text, limits, remarks, where),
        )
    ]


def _content(item: Mapping[str, Any]) -> Any:
    content = next((item[key] for key in _TEXT_KEYS if item.get(key) is not None), None)
    if isinstance(content, list | tuple):  # OpenAI's and Anthropic's parts; images and tool calls have no text
        texts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
        return "\n".join(text for text in texts if isinstance(text, str)) or None
    return content
