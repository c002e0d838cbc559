"""An application as a user names it, and one at a URL made of that."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragtriage.collect.application import ReplyPaths, asked_row, source_rows
from ragtriage.collect.http import MAX_REPLY, HttpApplication, headers_from
from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.core.validation import near_names
from ragtriage.readers.paths import path_from

CHAT = "/chat/completions"
CHAT_RESPONSE = "choices[0].message.content"


@dataclass(frozen=True, slots=True)
class ApplicationSpec:
    """An application as a user names it."""

    app: str
    """`module:name`, `path/to/file.py:name`, either with `()` behind it, or a URL."""
    template: str | None = None
    """The body of a request: JSON, or a file that holds it."""
    openai_model: str | None = None
    response_path: str | None = None
    sources_path: str | None = None
    ids_path: str | None = None
    headers: tuple[str, ...] = ()
    """`NAME=VALUE`; a value may hold `${VARIABLE}`."""
    max_reply: float | None = None
    """The largest reply that is read, in megabytes; None for `MAX_REPLY`."""
    input: str | None = None
    """Where an object of a framework takes the question."""


GIVEN = ("sources", "context")
"""Placeholders for sources that an application is given: a list of {text, id}, and the texts with blank lines between
them."""
TEMPERATURE = "temperature"
"""The placeholder for the temperature at which an application is to answer."""
RESPONSE_TEMPERATURE = 0
"""What stands there for the response itself, where the rows have no column of this name (GRAMMAR's setting)."""


def application_at(
    named: ApplicationSpec, columns: tuple[str, ...], concurrency: int, *, give_sources: bool = False
) -> HttpApplication:
    """The application at a URL that a user named, for rows with these columns.

    Where it is to answer from the sources of each case (`give_sources`), a template has them as `{{sources}}` or
    `{{context}}`. Nothing is sent yet: what is wrong or doesn't go together is a ConfigError, a file that can't be read
    an InputError.
    """
    if named.input is not None:
        raise ConfigError("--app-input is for objects of a framework; at a URL a --template says where the query goes")
    headers, hide = headers_from(named.headers)
    path, mark, query = named.app.partition("?")
    chat = path.rstrip("/").endswith(CHAT) or named.openai_model is not None
    if named.openai_model is not None and not path.rstrip("/").endswith(CHAT):
        path = path.rstrip("/") + CHAT
    places = ReplyPaths(
        path_from(named.response_path or CHAT_RESPONSE, "--response-path") if named.response_path or chat else None,
        path_from(named.sources_path, "--sources-path") if named.sources_path else None,
        path_from(named.ids_path, "--ids-path") if named.ids_path else None,
    )
    body, takes_temperature = _body(named, columns, chat=chat, give_sources=give_sources)
    return HttpApplication(
        path + mark + query,
        body,
        places,
        headers,
        hide,
        concurrency,
        named.max_reply or MAX_REPLY,
        takes_temperature=takes_temperature,
    )


Body = Callable[[Case, float | None], Any]


def _body(named: ApplicationSpec, columns: tuple[str, ...], *, chat: bool, give_sources: bool) -> tuple[Body, bool]:
    """What is sent for a case at a temperature, and whether a temperature changes it."""
    if give_sources and named.template is None:
        where = "{{sources}}, a list of {text, id}, or {{context}}, their texts"
        raise ConfigError(f"--app {named.app.partition('?')[0]}: can't be given sources: add a --template with {where}")
    if chat and named.template is None:
        model = {"model": named.openai_model} if named.openai_model else {}

        def conversation(case: Case, temperature: float | None) -> Any:
            before = [{"role": turn.role, "content": turn.text} for turn in case.history]
            at = {} if temperature is None else {"temperature": temperature}
            return {**model, "messages": [*before, {"role": "user", "content": case.query}], **at}

        return conversation, True
    if named.openai_model is not None:
        raise ConfigError("--openai-model and --template: name the model in the template")
    template = _template(named.template)
    names = tuple(dict.fromkeys(_placeholders(template)))
    if give_sources and not set(GIVEN) & set(names):
        raise ConfigError("--template: has no place for given sources: put {{sources}} or {{context}} into it")
    _check(names, (*columns, *(GIVEN if give_sources else ()), TEMPERATURE))

    def filled(case: Case, temperature: float | None) -> Any:
        row = {TEMPERATURE: RESPONSE_TEMPERATURE} | asked_row(case)
        if temperature is not None:
            row[TEMPERATURE] = temperature
        if give_sources:
            context = "\n\n".join(source.text for source in case.known_sources)
            row |= {"sources": source_rows(case), "context": context}
        return _filled(template, row)

    return filled, TEMPERATURE in names


_PLACEHOLDER = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
DEFAULT = {"query": "{{query}}"}


def _template(given: str | None) -> Any:
    """A JSON document whose texts hold placeholders: from JSON, from a file that holds it, or `DEFAULT`."""
    if given is None:
        return DEFAULT
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
    if not _placeholders(body):
        raise ConfigError(f'{where} has no placeholder: put "{{{{query}}}}" where the query belongs')
    return body


def _check(names: Iterable[str], columns: tuple[str, ...]) -> None:
    for name in names:
        if name not in columns:
            close = near_names(name, columns)
            hint = f" Did you mean {{{{{close[0]}}}}}?" if close else ""
            raise ConfigError(
                f"--template: no row has a column for {{{{{name}}}}}.{hint} There are {', '.join(columns[:40])}."
            )


def _placeholders(value: Any) -> list[str]:
    if isinstance(value, str):
        return _PLACEHOLDER.findall(value)
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [name for item in items for name in _placeholders(item)]


def _filled(value: Any, row: Mapping[str, Any]) -> Any:
    """The document for one row: a value is put into the parsed document, so it stays a value whatever it holds.

    A placeholder that is a whole text becomes the value as it is (a list of messages stays one); within a longer text
    it is written as text. What the row doesn't have is null, or an empty text.
    """
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
