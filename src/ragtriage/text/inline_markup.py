"""Citation marks and the markup inside a line: what they look like, and a sentence's text without them."""

from __future__ import annotations

import re

from ragtriage.text.brackets import numbered

_SUPERSCRIPTS = r"(?:[⁰¹²³⁴-⁹]{1,6}|<sup>[^<\n]{1,20}</sup>)"
_BRACKETS = r"\[\^?\d{1,4}(?:\s?[,;–-]\s?\^?\d{1,4}){0,20}\](?!\()|\[\^[\w-]{1,40}\]|【[^】\n]{1,60}】"

TAIL = re.compile(
    rf"(?:[\"'”’»›)\]}}*_`」』]|[ \t]{{0,2}}(?:{_BRACKETS}|{_SUPERSCRIPTS})|\[[^\]\[\n]{{1,40}}\](?!\())*[.!?…]*"
)
"""What may stand between a stop and the end of its sentence: closing quotes and brackets, marks, stops behind marks."""

# behind a letter, a unit or a digit it is an exponent: 50 m², 10⁹
_RAISED = re.compile(rf"(?<=[.,;:!?…”\"»]){_SUPERSCRIPTS}|[ \t]{{0,2}}【\d[^】\n]{{0,60}}】")
_LINK = re.compile(r"!?\[([^\]\[\n]{1,300})\]\([^()\s]{1,500}\)")
_BOLD = re.compile(r"\*\*|(?<![\w_])__(?=[^\W_])|(?<=[^\W_])__(?![\w_])|~~")
_STAR = re.compile(r"(?<![\w*\\])\*(?=[^\s*])([^*\n]{1,300}?)(?<=[^\s*])\*(?![\w*])")
_CODE = re.compile(r"`{1,3}")
_QUOTE = re.compile(r"\n[ \t]*>[ \t]?")
_SPACE = re.compile(r"\s+")


def plain(text: str, *, marked: bool = True) -> str:
    """The words of a text without citation marks, emphasis, link addresses and line breaks.

    Only what can be nothing but a mark goes: no exponent, no years or interval in brackets, no index.

    Args:
        text: a sentence or a part of one.
        marked: whether marks may stand in it; False where they were cut already, and what stands in brackets is text.
    """
    if marked and ("[" in text or "【" in text or "<" in text or not text.isascii()):
        text = _RAISED.sub("", _unnumbered(text))
    if "[" in text:
        text = _LINK.sub(r"\1", text)
    if "*" in text or "_" in text or "~" in text:
        text = _STAR.sub(r"\1", _BOLD.sub("", text))
    if "`" in text:
        text = _CODE.sub("", text)
    if "\n" in text:
        text = _QUOTE.sub(" ", text)
    return _SPACE.sub(" ", text).strip()


def _unnumbered(text: str) -> str:
    """The text without numbers in brackets that are marks, and without the blanks before them."""
    if "[" not in text:
        return text
    kept, at = [], 0
    for start, end in numbered(text):
        kept.append(text[at:start].rstrip(" \t"))
        at = end
    return "".join([*kept, text[at:]])
