"""Texts as they are kept, and values as they are shown in messages."""

from __future__ import annotations

import json
import math
import re
from datetime import date, datetime, time
from typing import Any

from ragtriage.readers.problems import Limits, RowProblem

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_BAD_BYTE = re.compile("[\udc80-\udcff]")  # what `surrogateescape` makes of bytes that aren't UTF-8
_DEEPEST = 64
REPLACED = "{rows}: NUL characters or halves of surrogate pairs, which no UTF-8 text can hold, were replaced by U+FFFD"


def clean(text: str, remarks: list[str]) -> str:
    """The text without the characters that databases and HTML can't hold: each becomes U+FFFD, and it is remarked."""
    if text.isascii() and "\x00" not in text:
        return text
    cleaned, count = _UNSTORABLE.subn("\ufffd", text)
    if count:
        remarks.append(REPLACED)
    return cleaned


def bad_byte(text: str) -> str | None:
    """The first byte that isn't UTF-8 in a text that was decoded with `surrogateescape`, as `0xe4`; None if none is."""
    if text.isascii() or not (match := _BAD_BYTE.search(text)):
        return None
    return f"0x{ord(match[0]) - 0xDC00:02x}"


def text_of(field: str, value: Any, limits: Limits, remarks: list[str], where: str = "") -> str:
    """A field's text.

    Args:
        field: our name of the field.
        value: what the file holds.
        limits: how long it may be.
        remarks: gets a sentence if characters were replaced.
        where: which part of the field it is, for the message, for example `"source 3 "`.

    Raises:
        RowProblem: it is not a text, or too long.
    """
    if not isinstance(value, str):
        raise RowProblem(field, f"{where}is {shown(value)}, not a text: write it as a text in quotes")
    if len(value) > limits.max_text:
        raise RowProblem(
            field,
            f"{where}has {len(value):,} characters, more than {limits.max_text:,}: "
            f"shorten it, or raise the limit with --max-text {len(value)}",
        )
    return clean(value, remarks)


def shown(value: Any) -> str:  # noqa: PLR0911 - one branch a kind of value
    """A value in plain words for a message: its kind and its beginning."""
    match value:
        case None:
            return "null"
        case bool():
            return f"a truth value ({str(value).lower()})"
        case int() | float():
            return f"a number ({shortened(repr(value), 30)})"
        case str():
            return f"a text ({shortened(value, 40)!r})"
        case list() | tuple():
            return "an empty list" if not value else f"a list of {len(value):,}"
        case dict():
            return f"an object with {', '.join(shortened(repr(key), 30) for key in list(value)[:5]) or 'no keys'}"
        case _:
            return f"a {type(value).__name__}"


def shortened(text: str, width: int = 100) -> str:
    """The text on one line, at most `width` characters, without characters that a terminal would act on."""
    line = " ".join(text[: 4 * width].split())
    line = "".join(char if char.isprintable() else "\ufffd" for char in line)
    return line if len(line) <= width and len(text) <= 4 * width else line[: width - 1].rstrip() + "…"


def plain(value: Any, remarks: list[str], depth: int = 0) -> Any:  # noqa: PLR0911 - one branch a kind of value
    """A tag's value as JSON can hold it: NaN and infinities become None, dates ISO 8601, bytes and the rest text.

    Raises:
        RowProblem: it is nested more than 64 levels deep.
    """
    if depth > _DEEPEST:
        raise RowProblem(None, f"a column is nested more than {_DEEPEST} levels deep: flatten it or leave it out")
    match value:
        case None | bool() | int():
            return value
        case str():
            return clean(value, remarks)
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {clean(str(key), remarks): plain(item, remarks, depth + 1) for key, item in value.items()}
        case list() | tuple():
            return [plain(item, remarks, depth + 1) for item in value]
        case datetime() | date() | time():
            return value.isoformat()
        case bytes():
            return clean(value.decode("utf-8", "replace"), remarks)
        case _:
            return clean(str(value), remarks)


def content_key(*parts: Any) -> str:
    """The parts as one text that differs where they differ, to be hashed."""
    return json.dumps(parts, ensure_ascii=True, separators=(",", ":"))
