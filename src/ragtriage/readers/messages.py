"""Earlier turns of a conversation, and queries that are given as a list of messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ragtriage.core.case import Turn
from ragtriage.readers.field_names import KEYS
from ragtriage.readers.problems import RowContext, RowProblem
from ragtriage.readers.text_values import clean, list_in, shown, text_of, unpacked

GUESSED_ROLES = "{rows}: the history is a list of texts without roles, read as user and assistant in turn"


class Messages(NamedTuple):
    """A list of messages taken apart at the last one of the user."""

    query: str
    history: tuple[Turn, ...]
    reply: str | None
    """What came after it, if it was one message."""


def is_message_list(value: Any) -> bool:
    """Whether a value, or the list that a text holds, is a non-empty list of messages with roles."""
    return all(_role(item) is not None for item in items) if (items := list_in(value)) else False


def turns_of(value: Any, field: str, context: RowContext) -> tuple[Turn, ...]:
    """The turns that a value holds: messages with role and content, pairs of texts, texts, or one text.

    Messages without text (calls of tools) are left out.

    Raises:
        RowProblem: it holds something else.
    """
    value = unpacked(value)
    if isinstance(value, str):
        return (Turn("transcript", text_of(field, value, context)),)
    if not isinstance(value, list | tuple):
        raise RowProblem(field, f"is {shown(value)}: write a list of {{'role': …, 'content': …}}")
    turns: list[Turn] = []
    for number, item in enumerate(value, 1):
        if isinstance(item, str):
            context.remarks.append(GUESSED_ROLES)
        from_the_end = len(value) - number
        pairs = _roles_and_texts(item, "user" if from_the_end % 2 else "assistant")
        if pairs is None:
            raise RowProblem(field, f"message {number} is {shown(item)}: it needs 'role' and 'content'")
        turns += [
            Turn(clean(role, context.remarks), text_of(field, text, context, f"message {number} "))
            for role, text in pairs
        ]
    return tuple(turns)


def messages_of(value: Any, context: RowContext) -> Messages:
    """A query that is given as a list of messages.

    Raises:
        RowProblem: no message is the user's.
    """
    if not is_message_list(value):
        raise RowProblem("query", f"is {shown(value)}: write the user's question as a text, or messages with roles")
    turns = turns_of(value, "query", context)
    last = max((index for index, turn in enumerate(turns) if turn.role.lower() in KEYS["user_roles"]), default=None)
    if last is None:
        raise RowProblem("query", "is a list of messages none of which is the user's: one needs the role 'user'")
    after = turns[last + 1 :]
    return Messages(turns[last].text, turns[:last], after[0].text if len(after) == 1 else None)


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
