"""Claims that a query needs because of what it requests, whatever words they share with it.

A query that asks how to do something needs every numbered step. A query that asks what belongs to something needs each
item of a list whose lead-in names it: "Eggshells" alone shares no word with the question. A request for a summary, a
comparison or a letter needs everything about its topic.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ragtriage.judges.embedded.rules import RULES
from ragtriage.text.words import STOP, fold, stem, tokens

_STEP = re.compile(r"^[ \t>]*(?:#+ )?(?:\*\*)?(?:step )?(\d{1,2})[.):]\s", re.IGNORECASE | re.MULTILINE)
_END = re.compile(r"\n[ \t]*\n(?=[^\s\d#>`*-])")
"""Where a paragraph follows that is neither a step nor part of one."""
_ITEM = re.compile(r"[ \t>]*(?:[-*•–+]|\(?\d{1,2}[.)])\s*\S")
_ENDING = 6
"""Words by which a claim is found again: what it begins with may have been filled in."""
_NAMES_IT = 0.5
"""The share of the query's words that the words before a list have, if it is what was asked for."""
_CAPTION = 4
"""Words of a line that heads a part of a list, at most."""


def is_step(query: str, claim: str, response: str) -> bool:
    """Whether a claim stands in the numbered steps of a response to a query that asks how something is done."""
    return RULES["how_to"].search(query) is not None and _stands_in(claim, _steps(response))


def is_item(query: str, claim: str, response: str) -> bool:
    """Whether a claim stands in a list whose lead-in names what the query asks for."""
    return any(_names(lead, query) and _stands_in(claim, items) for lead, items in _lists(response))


def is_open_ended(query: str) -> bool:
    """Whether a query asks for all that there is to say: a summary, a comparison, a story, a letter."""
    return RULES["open_request"].search(query) is not None


def _stands_in(claim: str, words: str) -> bool:
    ending = " ".join(_words(claim)[-_ENDING:])
    return bool(ending) and f" {ending} " in words


def _names(lead: str, query: str) -> bool:
    """Whether the words before a list hold at least two, and half, of those that a query asks with."""
    asked, there = ({stem(word) for word in map(fold, tokens(text)) if word not in STOP} for text in (query, lead))
    return len(asked & there) > 1 and len(asked & there) >= _NAMES_IT * len(asked)


@lru_cache(256)  # each claim of a response asks
def _steps(response: str) -> str:
    """The words of a response from its first numbered step to the end of its last; empty if it has no two."""
    marks = list(_STEP.finditer(response))
    if len({mark[1] for mark in marks}) < 2 or marks[0][1] != "1":
        return ""
    end = _END.search(response, marks[-1].end())
    return f" {' '.join(_words(response[marks[0].start() : end.start() if end else None]))} "


@lru_cache(256)
def _lists(response: str) -> tuple[tuple[str, str], ...]:
    """The lists of a response: the line with a colon before one, and the words of all its items.

    What stands between items and is no longer than a caption heads a part of the same list.
    """
    found: list[tuple[str, list[str]]] = []
    for line in filter(str.strip, response.splitlines()):
        words = _words(line)
        if line.rstrip(" *_").endswith(":") and not _ITEM.match(line) and len(words) > _CAPTION:
            found.append((line, []))
        elif found and (_ITEM.match(line) or line[:2].isspace() or len(words) <= _CAPTION):
            found[-1][1].extend(words)
        elif found and found[-1][0]:
            found.append(("", []))
    return tuple((lead, f" {' '.join(words)} ") for lead, words in found)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
