"""JSON as other tools write it: NaN and infinities are read as null; every way to be broken is one exception."""

from __future__ import annotations

import json
from typing import Any


class BrokenJson(ValueError):
    """A text isn't JSON.

    Args:
        reason: what is wrong.
        at: the character at which it is wrong, from 0.
    """

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.at = at


def _nothing(_: str) -> None:
    return None


_DECODER = json.JSONDecoder(parse_constant=_nothing)


def parse_at(text: str, at: int) -> tuple[Any, int]:
    """The JSON value that begins at a character, and the character behind it.

    Raises:
        BrokenJson: there is none.
    """
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        raise BrokenJson(error.msg, error.pos) from None
    except RecursionError:
        raise BrokenJson("it is nested too deeply", at) from None
    except ValueError:
        raise BrokenJson("a number has too many digits", at) from None


def parse(text: str) -> Any:
    """The JSON value that a text holds.

    Raises:
        BrokenJson: it holds none, or more than one.
    """
    start = len(text) - len(text.lstrip(" \t\r\n"))
    value, end = parse_at(text, start)
    if text[end:].strip(" \t\r\n"):
        raise BrokenJson("Extra data", end)
    return value
