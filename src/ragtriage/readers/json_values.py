"""JSON as other tools write it: NaN and infinities are read as null; every way to be broken is a JSONDecodeError."""

from __future__ import annotations

from json import JSONDecodeError, JSONDecoder
from typing import Any

_DECODER = JSONDecoder(parse_constant=lambda _: None)


def parse_at(text: str, at: int) -> tuple[Any, int]:
    """The JSON value that begins at a character, and the character behind it.

    Raises:
        JSONDecodeError: there is none.
    """
    try:
        return _DECODER.raw_decode(text, at)
    except JSONDecodeError:
        raise
    except RecursionError:
        raise JSONDecodeError("it is nested too deeply", text, at) from None
    except ValueError:
        raise JSONDecodeError("a number has too many digits", text, at) from None


def parse(text: str) -> Any:
    """The JSON value that a text holds.

    Raises:
        JSONDecodeError: it holds none, or more than one.
    """
    start = len(text) - len(text.lstrip(" \t\r\n"))
    value, end = parse_at(text, start)
    if text[end:].strip(" \t\r\n"):
        raise JSONDecodeError("Extra data", text, end)
    return value
