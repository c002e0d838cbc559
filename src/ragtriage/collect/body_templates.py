"""The body of a request, with placeholders for what a row holds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ragtriage.core.errors import ConfigError, InputError

_PLACEHOLDER = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
DEFAULT = {"query": "{{query}}"}


@dataclass(frozen=True, slots=True)
class Template:
    """A JSON document whose texts may hold placeholders: `{{query}}`, `{{id}}`, or a column of the row."""

    body: Any

    @property
    def placeholders(self) -> tuple[str, ...]:
        """The names in it, each once."""
        return tuple(dict.fromkeys(_placeholders(self.body)))

    def check(self, columns: tuple[str, ...]) -> None:
        """Hold it against the columns that the rows have.

        Raises:
            ConfigError: it names one that they don't have.
        """
        for name in self.placeholders:
            if name not in columns:
                close = get_close_matches(name, columns, 1)
                hint = f" Did you mean {{{{{close[0]}}}}}?" if close else ""
                raise ConfigError(
                    f"--template: no row has a column for {{{{{name}}}}}.{hint} There are {', '.join(columns[:40])}."
                )

    def filled(self, row: Mapping[str, Any]) -> Any:
        """The document for one row: a value is put into the parsed document, so it stays a value whatever it holds.

        A placeholder that is a whole text becomes the value as it is (a list of messages stays one); within a longer
        text it is written as text. What the row doesn't have is null, or an empty text.
        """
        return _filled(self.body, row)


def template_from(given: str | None) -> Template:
    """Read a template.

    Args:
        given: JSON, or the path of a file that holds it; None is `{"query": "{{query}}"}`.

    Raises:
        ConfigError: it isn't JSON, or has no place for the query.
        InputError: the file can't be read.
    """
    if given is None:
        return Template(DEFAULT)
    text, where = given, "--template"
    if not given.lstrip().startswith(("{", "[", '"')):
        where = f"--template {given}"
        try:
            text = Path(given).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8"
            raise InputError(f"{where}: can't be read ({reason}): give JSON, or a file that holds it") from None
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        bare = ' (a placeholder stands inside quotes: "{{query}}")' if _PLACEHOLDER.search(text) else ""
        raise ConfigError(f"{where} is not JSON: {error}{bare}") from None
    template = Template(body)
    if not template.placeholders:
        raise ConfigError(f'{where} has no placeholder: put "{{{{query}}}}" where the query belongs')
    return template


def _placeholders(value: Any) -> list[str]:
    match value:
        case str():
            return _PLACEHOLDER.findall(value)
        case dict():
            return [name for item in value.values() for name in _placeholders(item)]
        case list():
            return [name for item in value for name in _placeholders(item)]
        case _:
            return []


def _filled(value: Any, row: Mapping[str, Any]) -> Any:
    match value:
        case str():
            whole = _PLACEHOLDER.fullmatch(value)
            return row.get(whole[1]) if whole else _PLACEHOLDER.sub(lambda found: _text(row.get(found[1])), value)
        case dict():
            return {key: _filled(item, row) for key, item in value.items()}
        case list():
            return [_filled(item, row) for item in value]
        case _:
            return value


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
