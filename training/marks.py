"""Marked responses (`authored/claims`): where atomic claims begin, what is a remark, and the nouns that claims need.

The marks are described in `authored/README.md`.
"""

import re
from itertools import pairwise
from typing import Any

_MARK = re.compile(r"\^([cpralemd]) ?|~|@")
_END = re.compile(r"[.!?…][\"”’')\]*]*\s+(?=[\"“‘'(\[*]*[A-Z0-9£$€])|\n+")
_NOT_END = re.compile(
    r"(?:\b(?:Dr|Mr|Mrs|Ms|St|No|vs|e\.g|i\.e|approx|Prof|Art|Sec|Inc|Ltd|Co|Fig|a\.m|p\.m)|\b[A-Z])\.\s+$"
)


def ends(text: str) -> list[int]:
    """Where the sentences of a text end."""
    found = [m.end() for m in _END.finditer(text) if not _NOT_END.search(text[: m.end()])]
    return [*found, len(text)] if not found or found[-1] < len(text) else found


def parsed(marked: str) -> tuple[str, dict[str, Any]]:
    """The plain text, and its marks: `cuts` (place, letter), `subjects` and `nouns` (spans), `kinds` (spans)."""
    plain, at = "", 0
    cuts: list[tuple[int, str]] = []
    spans: dict[str, list[tuple[int, int]]] = {"~": [], "@": []}
    begun: dict[str, int] = {}
    for m in _MARK.finditer(marked):
        inside = re.search(r"\w$", marked[: m.start()]) and re.match(r"\w", marked[m.end() :])
        if m[0] == "@" and inside and "@" not in begun:
            continue  # of an e-mail address
        plain += marked[at : m.start()]
        at = m.end()
        if m[1]:
            cuts.append((len(plain), m[1]))
        elif m[0] in begun:
            spans[m[0]].append((begun.pop(m[0]), len(plain)))
        else:
            begun[m[0]] = len(plain)
    plain += marked[at:]
    kinds: list[tuple[int, int, str]] = []
    borders = sorted({0, *(place for place, _ in cuts), *ends(plain)})
    letters = dict(cuts)
    sentence_ends, kind = set(ends(plain)), "claim"
    for start, end in pairwise(borders):
        letter = letters.get(start)
        if letter is not None or start in sentence_ends or start == 0:
            kind = {"m": "remark", "d": "declines"}.get(letter or "", "claim")
        kinds.append((start, end, kind))
    return plain, {"cuts": cuts, "subjects": spans["~"], "nouns": spans["@"], "kinds": kinds}
