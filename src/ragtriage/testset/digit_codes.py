"""Texts of digits that are no numbers: postal codes, phone numbers, account numbers. Every digit counts."""

from __future__ import annotations

import re
from decimal import Decimal

from ragtriage.text.numbers import figures

_DIGITS = re.compile(r"\d+(?:\.\d+)?|[+(]?(?:\d[\s()+-]*){5,}")
"""As many of them that what stands between them may be taken for granted; 3-4 is something else."""
_DAY = re.compile(r"\d{4}-\d\d(?:-\d\d)?|\d{1,2}([./-])\d{1,2}\1\d{4}")
_LEADING_ZERO = re.compile(r"0\d+(?:[ -]\d+)*")
_BETWEEN = r"[\s()-]{0,3}"
"""What may stand between two digits of a long code."""
_LONG = 5
"""Digits from which a code may be written with blanks and dashes in it."""
_TAIL = 6
"""Last digits that two ways of writing one phone number have in common, with and without the code of its country."""


def is_code(text: str, *, declared: bool) -> bool:
    """Whether a whole text is made of digits that are no number.

    Args:
        text: a true answer.
        declared: whether the row says that it is a text. If not, only a leading zero tells.
    """
    bare = text.strip()
    return not _DAY.fullmatch(bare) and bool((_DIGITS if declared else _LEADING_ZERO).fullmatch(bare))


def holds_code(code: str, text: str) -> bool:
    """Whether a text has exactly the digits of a code, neither more nor fewer."""
    return bool(_pattern(code).search(text))


def without_code(code: str, text: str) -> str:
    """The text with a blank wherever the code stands."""
    return _pattern(code).sub(" ", text)


def may_be_code(code: str, text: str) -> bool:
    """Whether a text may give the code otherwise: without the code of a country, or as a number of the same value."""
    tail = _bare(code)[-_TAIL:]
    if len(tail) == _TAIL and re.search(r"[\s().-]{0,3}".join(tail) + r"(?!\d)", text):
        return True
    bare = _bare(code)
    return not re.match(r"0\d", bare) and any(one.value == Decimal(bare) for one in figures(text))


def _bare(code: str) -> str:
    """The digits alone, with the point of a decimal number."""
    return re.sub(r"[\s()+-]", "", code)


def _pattern(code: str) -> re.Pattern[str]:
    bare = _bare(code)
    between = _BETWEEN if len(bare) >= _LONG and "." not in bare else ""
    inner = between.join(map(re.escape, bare))
    return re.compile(rf"(?<![\w.,])\+?\(?{inner}(?![.,]?\d|['’]?s\b)")
