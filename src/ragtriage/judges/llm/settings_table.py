"""The table `[llm]` of a user's settings."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from ragtriage.core.errors import ConfigError
from ragtriage.judges.llm.options import LLMOptions
from ragtriage.judges.llm.pricing import parse_price

_TEXTS = ("base_url", "embeddings", "prompts", "guidance", "price", "reply")
_WHOLE = ("batch_size", "concurrency", "rpm", "tpm", "max_requests")
_NUMBERS = ("timeout", "budget", "temperature")


def options_from(table: Mapping[str, Any], where: str, folder: Path) -> LLMOptions:
    """The options in a table.

    Args:
        table: keys as in `LLMOptions`; `headers` is a table of its own, `price` a text `IN:OUT`.
        where: the file, for messages.
        folder: what relative paths start from.

    Raises:
        ConfigError: a key isn't known or a value is of the wrong type or out of range; says which.
    """
    known = [one.name for one in fields(LLMOptions)]
    found: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
            raise ConfigError(f"{where}: [llm]: no setting is called {key!r}: {hint}")
        found[key] = _value(key, value, f"{where}: [llm]: {key}", folder)
    try:
        return LLMOptions(**found)
    except ConfigError as error:
        raise ConfigError(f"{where}: [llm]: {error}") from error


def _value(key: str, value: Any, where: str, folder: Path) -> Any:
    if key == "headers":
        if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
            raise ConfigError(f"{where} must be a table of texts")
        return dict(value)
    if key in _TEXTS:
        if not isinstance(value, str):
            raise ConfigError(f"{where} must be a text, not {value!r}")
        if key == "price":
            try:
                return parse_price(value)
            except ConfigError as error:
                raise ConfigError(f"{where}: {error}") from error
        if key == "reply" and value not in {"auto", "schema", "text"}:
            raise ConfigError(f"{where} is {value!r}: use schema, text or auto")
        return folder / value if key in {"prompts", "guidance"} else value
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole and (key in _WHOLE or not isinstance(value, float)):
        raise ConfigError(f"{where} must be a number, not {value!r}")
    return value
