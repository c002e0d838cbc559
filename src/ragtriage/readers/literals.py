"""Lists that a cell or a string holds as text: JSON, Python's notation, or a printed numpy array."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from itertools import pairwise
from typing import Any

from ragtriage.core.json_values import BrokenJson, parse

_LONGEST_LITERAL = 8_000_000  # characters; Python's parser needs some hundred bytes for each
_ARRAY = re.compile(r"array\((?P<list>\[.*\])\s*(,\s*dtype=[^()]*)?\)", re.DOTALL)
_SIDE_BY_SIDE = re.compile(r"""['"]\s*['"]""")
_LAYOUT = frozenset({tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER, tokenize.INDENT, tokenize.DEDENT})


class NotALiteral(ValueError):
    """A text that begins like a list or an object can't be read as one."""


def looks_like_list(text: str) -> bool:
    """Whether a text begins as a list of texts or objects, or as an object, does in JSON, Python or numpy."""
    return re.match(r"""\s*(\[\s*(["'\]{\[]|None\b|null\b)|\{\s*["'}]|array\(\[)""", text) is not None


def literal(text: str) -> Any:
    """What a text holds that looks like a list or an object.

    Raises:
        NotALiteral: it can't be read.
    """
    stripped = text.strip()
    try:
        return parse(stripped)
    except BrokenJson as error:
        first = f"{error.reason} at character {error.at + 1}"
    if len(stripped) > _LONGEST_LITERAL:
        raise NotALiteral(first)
    if match := _ARRAY.fullmatch(stripped):
        stripped = match["list"]
    try:
        # Python joins neighbouring strings, so that a printed array of three texts would be read as one
        if _SIDE_BY_SIDE.search(stripped) and (texts := _printed_array(stripped)) is not None:
            return texts
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.literal_eval(stripped)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise NotALiteral(first) from None


def _printed_array(text: str) -> list[str] | None:
    """The texts of `['a' 'b']` as numpy prints it; None if no two strings stand side by side.

    Raises:
        SyntaxError: strings stand side by side in something else.
    """
    try:
        tokens = [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type not in _LAYOUT]
    except (tokenize.TokenError, IndentationError) as error:
        raise SyntaxError(str(error)) from None
    strings = [token.type == tokenize.STRING for token in tokens]
    beside = [(a, b) for a, b in pairwise(tokens) if a.type == b.type == tokenize.STRING]
    if not beside:
        return None
    is_list = [tokens[0].string, tokens[-1].string] == ["[", "]"] and all(strings[1:-1])
    if not is_list or any(a.end == b.start for a, b in beside):
        raise SyntaxError("texts stand side by side without a comma")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [str(ast.literal_eval(token.string)) for token in tokens[1:-1]]
