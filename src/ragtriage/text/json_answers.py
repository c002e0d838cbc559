"""An answer in JSON, read field by field: each field with a value becomes a line with the field's name.

Fields about the answer itself (confidence, type, id) and the wrong options of a quiz claim nothing; what is asked for
by name does. A question with its answer is one line. Single quotes, a comma too many and Python's literals are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragtriage.core.verdicts import Span
from ragtriage.text.lexicon import JSON
from ragtriage.text.words import STOP, fold, stem, tokens

_TOKEN = re.compile(
    r"\s*(?:(?P<mark>[{}\[\],:])|(?P<text>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')"
    r"|(?P<bare>-?\d[\d.eE+-]*|true|false|null|None|True|False|NaN))",
    re.DOTALL,
)
_PIECE = re.compile(r"\\u[dD][89abAB]\w\w\\u\w{4}|\\u\w{4}|\\.|.", re.DOTALL)
_FENCED = re.compile(
    r"(?P<before>[^`{}]*?)```[ \t]*(?:json[c5]?|python)?[ \t]*\n(?P<body>.*?)\n[ \t]*```(?P<behind>[^`{}]*)\Z",
    re.DOTALL | re.IGNORECASE,
)
_BESIDE = 200
"""Characters of words before or behind a fence that may only lead to it."""
_WORDS = re.compile(r"\w+\W+\w+\W+\w+")
_STOPS = tuple(".!?…")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+|-+|\s+")
_NEUTRAL, _QUESTION, _ANSWER = (JSON.words(name) for name in ("answer_names", "question_names", "truth_names"))
_ABOUT, _OPTIONS, _NAMES = (JSON.words(name) for name in ("names_about_the_answer", "option_names", "naming"))
_NOTHING = JSON.words("nothing")
_TRUTH: Mapping[str, bool] = dict.fromkeys(JSON.words("true_words"), True) | dict.fromkeys(
    JSON.words("false_words"), False
)

Placed = list[tuple[str, int]]
"""Characters, each with its place in the response."""


@dataclass(frozen=True, slots=True)
class _Text:
    """A value without fields of its own: what it says, with its place."""

    said: Placed
    span: Span
    quoted: bool


@dataclass(frozen=True, slots=True)
class _Object:
    fields: tuple[tuple[_Text, _Value], ...]


@dataclass(frozen=True, slots=True)
class _List:
    items: tuple[_Value, ...]


_Value = _Text | _Object | _List


class _NotJson(ValueError):
    pass


def json_as_text(text: str, query: str) -> Placed | None:
    """What an answer in JSON says, a line a field; None if the response isn't a JSON object, or a list of them.

    It may stand in a code fence, with words that only lead to it.
    """
    found = _body(text)
    if found is None:
        return None
    start, end = found
    try:
        value, at = _read(text, start, 0)
    except _NotJson:
        return None
    if text[at:end].strip() or not _holds_fields(value):
        return None
    asked = frozenset(stem(fold(word)) for word in tokens(query))
    lines = [*_lines(value, (), asked)] or [*_lines(value, (), None)]
    return [char for line in lines for char in [*line, ("\n", line[-1][1])]]


def _body(text: str) -> Span | None:
    """Where the JSON stands."""
    begin = len(text) - len(text.lstrip())
    if text[begin : begin + 1] in {"{", "["}:
        return begin, len(text)
    fenced = _FENCED.match(text)
    if fenced is None or any(len(fenced[name].strip()) > _BESIDE for name in ("before", "behind")):
        return None
    return fenced.span("body") if not fenced["before"].strip() or fenced["before"].rstrip().endswith(":") else None


def _read(text: str, at: int, depth: int) -> tuple[_Value, int]:
    """The value that begins at or behind a place, and where it ends."""
    token = _TOKEN.match(text, at)
    if token is None or depth > 50:
        raise _NotJson
    at = token.end()
    if token["bare"]:
        span = token.span("bare")
        return _Text([(char, span[0] + i) for i, char in enumerate(token["bare"])], span, quoted=False), at
    if token["text"]:
        return _string(token.span("text"), text), at
    if token["mark"] == "[":
        items: list[_Value] = []
        while not (close := _mark(text, at, "]")):
            item, at = _read(text, at, depth + 1)
            items.append(item)
            at = _mark(text, at, ",") or _must(text, at, "]")
        return _List(tuple(items)), close
    if token["mark"] != "{":
        raise _NotJson
    fields: list[tuple[_Text, _Value]] = []
    while not (close := _mark(text, at, "}")):
        key, at = _read(text, at, depth + 1)
        if not isinstance(key, _Text):
            raise _NotJson
        value, at = _read(text, _mark(text, at, ":") or _must(text, at, ":"), depth + 1)
        fields.append((key, value))
        at = _mark(text, at, ",") or _must(text, at, "}")
    return _Object(tuple(fields)), close


def _mark(text: str, at: int, mark: str) -> int:
    """Where the reading goes on behind a sign; 0 if it doesn't come next."""
    token = _TOKEN.match(text, at)
    return token.end() if token and token["mark"] == mark else 0


def _must(text: str, at: int, mark: str) -> int:
    if not _mark(text, at, mark):
        raise _NotJson
    return at


def _string(span: Span, text: str) -> _Text:
    said: Placed = []
    for piece in _PIECE.finditer(text, span[0] + 1, span[1] - 1):
        escaped = piece[0] if piece[0] != "\\'" else "'"
        try:
            char = json.loads(f'"{escaped}"') if escaped.startswith("\\") else escaped
        except ValueError:
            raise _NotJson from None
        said += [(one, piece.start()) for one in char]
    if said:  # where the last one ends, be it written as an escape
        said[-1] = said[-1][0], span[1] - 2
    return _Text(said, span, quoted=True)


def _holds_fields(value: _Value) -> bool:
    return isinstance(value, _Object) or (
        isinstance(value, _List) and bool(value.items) and all(isinstance(item, _Object) for item in value.items)
    )


def _plain(value: _Text) -> str:
    return " ".join("".join(char for char, _ in value.said).split())


def _key(key: _Text) -> str:
    return "_".join(part.lower() for part in _CAMEL.split(_plain(key)) if part)


def _lines(value: _Value, path: Sequence[str], asked: frozenset[str] | None) -> Iterator[Placed]:
    """The lines of a value under these names; `asked` are the stems of the query, None to read all fields."""
    if isinstance(value, _Text):
        yield from _line(value, path, value.span[0])
    elif isinstance(value, _List):
        for item in value.items:
            named = _named(item) if len(value.items) > 1 else None
            yield from _lines(item, (*path[:-1], named) if named else path, asked)
    else:
        yield from _fields(value, path, asked)


def _named(item: _Value) -> str | None:
    """By what an object in a list is told from the others: its name, its title."""
    if not isinstance(item, _Object):
        return None
    texts = [(_key(key), value) for key, value in item.fields if isinstance(value, _Text) and value.quoted]
    return next((_plain(value) for key, value in texts if key in _NAMES), None)


def _fields(value: _Object, path: Sequence[str], asked: frozenset[str] | None) -> Iterator[Placed]:
    named = [(_key(key), key, inner) for key, inner in value.fields]
    question = next(((key, inner) for name, key, inner in named if name in _QUESTION), None)
    answer = next((inner for name, _, inner in named if name in _ANSWER), None)
    paired = question is not None and isinstance(question[1], _Text) and isinstance(answer, _Text)
    if question and isinstance(question[1], _Text) and isinstance(answer, _Text):
        yield _answered(question[1], answer, question[0].span[0])
    for name, key, inner in named:
        if paired and (name in _QUESTION or name in _ANSWER or name in _OPTIONS):
            continue
        if asked is not None and _is_about(name, asked):
            continue
        if name in _NEUTRAL:
            yield from _lines(inner, path, asked)
        elif isinstance(inner, _Text) and path[-1:] == (_plain(inner),):
            yield from _line(inner, (*path[:-1], _words(key)), key.span[0])
        elif isinstance(inner, _Text):
            yield from _line(inner, (*path, _words(key)), key.span[0])
        else:
            yield from _lines(inner, (*path, _words(key)), asked)


def _is_about(name: str, asked: frozenset[str]) -> bool:
    """Whether a field is about the answer itself, and not what was asked for."""
    last = name.rpartition("_")[2]
    return (name in _ABOUT or last in {"id", "ids"}) and stem(last) not in asked


def _words(key: _Text) -> str:
    return " ".join(part if part.isupper() else part.lower() for part in _CAMEL.split(_plain(key)) if part)


def _answered(question: _Text, answer: _Text, start: int) -> Placed:
    """A question with its answer, or a statement that is called true or false, as one line."""
    asked, said = _plain(question), _plain(answer)
    truth = _TRUTH.get(said.lower().strip(" ."))
    if asked.endswith("?") or truth is None:
        return _row([*_at(f"{asked.rstrip('.')}{'' if asked.endswith('?') else ':'} ", start), *answer.said])
    small = asked.partition(" ")[0].lower() in STOP
    stated = asked if truth else f"It is not true that {asked[:1].lower() if small else asked[:1]}{asked[1:]}"
    return _row([*_at(stated[:-1], start), (stated[-1:], answer.span[1] - 1)])


def _line(value: _Text, path: Sequence[str], start: int) -> Iterator[Placed]:
    said = _plain(value)
    if not said or (said.lower() in _NOTHING and (path or not value.quoted)):
        return
    if not value.quoted and said.lower() in _TRUTH:
        shown = _at("yes" if _TRUTH[said.lower()] else "no", value.span[0])
    else:
        shown = value.said
    names = ": ".join(path)
    lead = _at(f"{names[:1].upper()}{names[1:]}: ", start) if path else []
    if value.quoted and (_is_sentence(said) or not path):
        yield [*lead, *shown, ("\n", value.span[1] - 1)]  # a paragraph of its own
    else:
        yield _row([*lead, *shown])


def _is_sentence(said: str) -> bool:
    return said.rstrip('"”’) \n').endswith(_STOPS) and _WORDS.search(said) is not None


def _row(said: Placed) -> Placed:
    """A row of a table without a header, which nobody breaks into parts."""
    inside = [(" " if char in "\r\n" else "/" if char == "|" else char, place) for char, place in said]
    return [*_at("| ", inside[0][1]), *inside, *_at(" |", inside[-1][1])]


def _at(said: str, place: int) -> Placed:
    return [(char, place) for char in said]
