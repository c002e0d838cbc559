"""Texts as they are kept, JSON and lists that a text holds, and values as they are shown in messages.

JSON as other tools write it: NaN and infinities are read as null; every way to be broken is a JSONDecodeError.
"""

import ast
import io
import math
import re
import tokenize
import warnings
from collections.abc import Sequence
from datetime import date, datetime, time
from itertools import pairwise
from json import JSONDecodeError, JSONDecoder
from typing import Any

from ragtriage.core.display import one_line
from ragtriage.readers.problems import RowContext, RowProblem

_DECODER = JSONDecoder(parse_constant=lambda _: None)


def value_at(text: str, at: int) -> tuple[Any, int]:
    """The JSON value that begins at a character, and the character behind it."""
    try:
        return _DECODER.raw_decode(text, at)
    except JSONDecodeError:
        raise
    except RecursionError:
        raise JSONDecodeError("it is nested too deeply", text, at) from None
    except ValueError:
        raise JSONDecodeError("a number has too many digits", text, at) from None


def parse(text: str) -> Any:
    """The JSON value that a text holds; a JSONDecodeError if it holds none, or more than one."""
    value, end = value_at(text, len(text) - len(text.lstrip(" \t\r\n")))
    if text[end:].strip(" \t\r\n"):
        raise JSONDecodeError("Extra data", text, end)
    return value


_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_BAD_BYTE = re.compile("[\udc80-\udcff]")  # what `surrogateescape` makes of bytes that aren't UTF-8
_DEEPEST = 64
REPLACED = "{rows}: NUL characters or halves of surrogate pairs, which no UTF-8 text can hold, were replaced by U+FFFD"

_LONGEST_LITERAL = 8_000_000  # characters; Python's parser needs some hundred bytes for each
_LIST_START = re.compile(r"""\s*(\[\s*(["'\]{\[]|None\b|null\b)|\{\s*["'}]|array\(\[)""")
_ARRAY = re.compile(r"array\((?P<list>\[.*\])\s*(,\s*dtype=[^()]*)?\)", re.DOTALL)
_SIDE_BY_SIDE = re.compile(r"""['"]\s*['"]""")
_PRINTED_CALL = re.compile(r"\b(?:np|numpy|datetime)\.\w+\(|\bTimestamp\(")
_LAYOUT = frozenset({tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER, tokenize.INDENT, tokenize.DEDENT})


def clean(text: str, remarks: list[str]) -> str:
    """The text without the characters that databases and HTML can't hold: each becomes U+FFFD, and it is remarked."""
    if text.isascii() and "\x00" not in text:
        return text
    cleaned, count = _UNSTORABLE.subn("\ufffd", text)
    if count:
        remarks.append(REPLACED)
    return cleaned


def first_invalid_byte(text: str) -> str | None:
    """The first byte that isn't UTF-8 in a text that was decoded with `surrogateescape`, as `0xe4`; None if none is."""
    if text.isascii() or not (match := _BAD_BYTE.search(text)):
        return None
    return f"0x{ord(match[0]) - 0xDC00:02x}"


def text_of(field: str, value: Any, context: RowContext, where: str = "") -> str:
    """A field's text; `where` says for the message which part of the field it is, for example `"source 3 "`.

    The context gets a remark if characters were replaced.
    """
    if not isinstance(value, str):
        raise RowProblem(field, f"{where}is {described(value)}, not a text: write it as a text in quotes")
    if len(value) > context.limits.max_text:
        raise RowProblem(
            field,
            f"{where}has {len(value):,} characters, more than {context.limits.max_text:,}: "
            f"shorten it, or raise the limit with --max-text {len(value)}",
        )
    return clean(value, context.remarks)


class NotALiteral(ValueError):
    """A text that begins like a list or an object can't be read as one."""


def looks_like_list(value: Any) -> bool:
    """Whether a value is a text that begins as a list of texts or objects, or an object, in JSON, Python or numpy."""
    return isinstance(value, str) and _LIST_START.match(value) is not None


def parse_literal(text: str) -> Any:
    """What a text holds that looks like a list or an object: JSON, Python's notation, or a printed numpy array."""
    stripped = text.strip()
    try:
        return parse(stripped)
    except JSONDecodeError as error:
        first = f"{error.msg} at character {error.pos + 1}"
    if len(stripped) > _LONGEST_LITERAL:
        raise NotALiteral(first)
    if match := _ARRAY.fullmatch(stripped):
        stripped = match["list"]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Python joins neighbouring strings, so that a printed array of three texts would be read as one
            printed = _printed_array(stripped) if _SIDE_BY_SIDE.search(stripped) else None
            if printed is None and _PRINTED_CALL.search(stripped):
                return ast.literal_eval(_Plain().visit(ast.parse(stripped, mode="eval")))
            return ast.literal_eval(stripped) if printed is None else printed
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise NotALiteral(first) from None


class _Plain(ast.NodeTransformer):
    """Makes plain values of numbers and times that numpy, pandas and datetime print as calls.

    A call with one value becomes that value, `datetime.datetime(2026, 1, 2)` None.
    """

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if not _PRINTED_CALL.match(f"{ast.unparse(node.func)}("):
            return node
        return node.args[0] if len(node.args) == 1 else ast.Constant(None)


def unpacked(value: Any) -> Any:
    """The list or object that a text holds; any other value as it is."""
    # what was cut off on its way ends otherwise, and would take long to try
    if not looks_like_list(value) or not value.rstrip().endswith(("]", "}", ")")):
        return value
    try:
        return parse_literal(value)
    except NotALiteral:
        return value


def list_in(value: Any) -> Sequence[Any] | None:
    """A value that is a list, or the list that a text holds; else None."""
    held = unpacked(value)
    return held if isinstance(held, list | tuple) else None


def _printed_array(text: str) -> list[str] | None:
    """The texts of `['a' 'b']` as numpy prints it; None if no two strings stand side by side."""
    try:
        tokens = [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type not in _LAYOUT]
    except (tokenize.TokenError, IndentationError) as error:
        raise SyntaxError(str(error)) from None
    beside = [(a, b) for a, b in pairwise(tokens) if a.type == b.type == tokenize.STRING]
    if not beside:
        return None
    strings = tokens[1:-1]
    is_list = [tokens[0].string, tokens[-1].string] == ["[", "]"] and all(t.type == tokenize.STRING for t in strings)
    if not is_list or any(a.end == b.start for a, b in beside):
        raise SyntaxError("texts stand side by side without a comma")
    return [str(ast.literal_eval(token.string)) for token in strings]


def described(value: Any) -> str:  # noqa: PLR0911 - one branch a kind of value
    """A value in plain words for a message: its kind and its beginning."""
    match value:
        case None:
            return "null"
        case bool():
            return f"a truth value ({str(value).lower()})"
        case int() | float():
            return f"a number ({one_line(repr(value), 30)})"
        case str():
            return f"a text ({one_line(value, 40)!r})"
        case list() | tuple():
            return "an empty list" if not value else f"a list of {len(value):,}"
        case dict():
            return f"an object with {', '.join(one_line(repr(key), 30) for key in list(value)[:5]) or 'no keys'}"
        case _:
            return f"a {type(value).__name__}"


def as_json_value(value: Any, remarks: list[str], depth: int = 0) -> Any:  # noqa: PLR0911 - one branch a kind of value
    """A tag's value as JSON can hold it: NaN and infinities become None, dates ISO 8601, bytes and the rest text."""
    if depth > _DEEPEST:
        raise RowProblem(None, f"a column is nested more than {_DEEPEST} levels deep: flatten it or leave it out")
    match value:
        case None | bool() | int():
            return value
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {clean(str(key), remarks): as_json_value(item, remarks, depth + 1) for key, item in value.items()}
        case list() | tuple():
            return [as_json_value(item, remarks, depth + 1) for item in value]
        case datetime() | date() | time():
            return value.isoformat()
        case bytes():
            return clean(value.decode("utf-8", "replace"), remarks)
        case _:
            return clean(str(value), remarks)
