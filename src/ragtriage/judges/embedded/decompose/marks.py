"""Citation marks and the markup inside a line: what they look like, and a sentence's text without them."""

from __future__ import annotations

import re

MARK = (
    r"(?:\[\^?\d{1,4}(?:\s?[,;–-]\s?\^?\d{1,4}){0,20}\](?!\()|\[\^[\w-]{1,40}\]|【[^】\n]{1,60}】|[⁰¹²³⁴-⁹]{1,6}|"
    r"<sup>[^<\n]{1,20}</sup>)"
)
"""`[1]`, `[1, 3]`, `[2-4]`, `[^1]`, `【1】`, superscripts: one mark."""

TAIL = re.compile(rf"(?:[\"'”’»›)\]}}*_`」』]|[ \t]{{0,2}}{MARK}|\[[^\]\[\n]{{1,40}}\](?!\())*[.!?…]*")
"""What may stand between a stop and the end of its sentence: closing quotes and brackets, marks, stops behind marks."""

_MARKS = re.compile(rf"[ \t]{{0,2}}{MARK}")
_LINK = re.compile(r"!?\[([^\]\[\n]{1,300})\]\([^()\s]{1,500}\)")
_BOLD = re.compile(r"\*\*|(?<![\w_])__(?=[^\W_])|(?<=[^\W_])__(?![\w_])|~~")
_STAR = re.compile(r"(?<![\w*\\])\*(?=[^\s*])([^*\n]{1,300}?)(?<=[^\s*])\*(?![\w*])")
_CODE = re.compile(r"`{1,3}")
_QUOTE = re.compile(r"\n[ \t]*>[ \t]?")
_SPACE = re.compile(r"\s+")


def plain(text: str) -> str:
    """The words of a text without citation marks, emphasis, link addresses and line breaks."""
    if "[" in text or "【" in text or "<" in text or not text.isascii():
        text = _LINK.sub(r"\1", _MARKS.sub("", text))
    if "*" in text or "_" in text or "~" in text:
        text = _STAR.sub(r"\1", _BOLD.sub("", text))
    if "`" in text:
        text = _CODE.sub("", text)
    if "\n" in text:
        text = _QUOTE.sub(" ", text)
    return _SPACE.sub(" ", text).strip()
