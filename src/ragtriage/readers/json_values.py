"""JSON as other tools write it: NaN and infinities are read as null; every way to be broken is a JSONDecodeError."""

from __future__ import annotations

from json import JSONDecodeError, JSONDecoder
from typing import Any


class JsonReader:
    """Reads values one after the other.

    Attributes:
        repeated: the first key that came twice in one object of the last value, at any depth; None if none did. Of the
            values of such a key the last one is kept.
    """

    def __init__(self) -> None:
        self.repeated: str | None = None
        self._decoder = JSONDecoder(parse_constant=lambda _: None, object_pairs_hook=self._object)

    def value_at(self, text: str, at: int) -> tuple[Any, int]:
        """The JSON value that begins at a character, and the character behind it.

        Raises:
            JSONDecodeError: there is none.
        """
        self.repeated = None
        try:
            return self._decoder.raw_decode(text, at)
        except JSONDecodeError:
            raise
        except RecursionError:
            raise JSONDecodeError("it is nested too deeply", text, at) from None
        except ValueError:
            raise JSONDecodeError("a number has too many digits", text, at) from None

    def value(self, text: str) -> Any:
        """The JSON value that a text holds.

        Raises:
            JSONDecodeError: it holds none, or more than one.
        """
        start = len(text) - len(text.lstrip(" \t\r\n"))
        value, end = self.value_at(text, start)
        if text[end:].strip(" \t\r\n"):
            raise JSONDecodeError("Extra data", text, end)
        return value

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs) and self.repeated is None:
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    self.repeated = key
                    break
                seen.add(key)
        return made


def parse(text: str) -> Any:
    """The JSON value that a text holds.

    Raises:
        JSONDecodeError: it holds none, or more than one.
    """
    return JsonReader().value(text)
