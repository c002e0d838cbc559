"""Steps of a procedure: who asks how something is done needs each of them, whatever its words."""

from __future__ import annotations

import re
from functools import lru_cache

_HOW = re.compile(
    r"\bhow (?:do|does|can|could|should|would|must|to)\b|\b(?:the|all|which|what) (?:steps|instructions|procedure)\b"
    r"|\b(?:steps?|instructions?|procedure|guide|walk) (?:to|for|me|through)\b",
    re.IGNORECASE,
)
_STEP = re.compile(r"^[ \t>]*(?:#+ )?(?:\*\*)?(?:step )?(\d{1,2})[.):]\s", re.IGNORECASE | re.MULTILINE)
_END = re.compile(r"\n[ \t]*\n(?=[^\s\d#>`*-])")
"""Where a paragraph follows that is neither a step nor part of one."""
_ENDING = 6
"""Words by which a claim is found again: what it begins with may have been filled in."""


def is_step(query: str, claim: str, response: str) -> bool:
    """Whether a claim stands in the numbered steps of a response to a query that asks how something is done."""
    if not _HOW.search(query):
        return False
    ending = " ".join(_words(claim)[-_ENDING:])
    return bool(ending) and f" {ending} " in _steps(response)


@lru_cache(256)  # each claim of a response asks
def _steps(response: str) -> str:
    """The words of a response from its first numbered step to the end of its last; empty if it has no two."""
    marks = list(_STEP.finditer(response))
    if len({mark[1] for mark in marks}) < 2 or marks[0][1] != "1":
        return ""
    end = _END.search(response, marks[-1].end())
    return f" {' '.join(_words(response[marks[0].start() : end.start() if end else None]))} "


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
