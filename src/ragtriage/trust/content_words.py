"""Words, numbers and names of a text, as far as rules have to tell what it is about."""

from __future__ import annotations

import re

from ragtriage.text.numbers import IN_FIGURES, NUMBER_WORDS, normalize_number
from ragtriage.text.words import STOP, fold, stem, tokens

_EMPTY = frozenset("per much many please tell say get yes".split())
"""Words that say as little about a topic as stop words do."""
NUMBER = re.compile(rf"(?<![\w.,]){IN_FIGURES}(?![\w])|(?<![\w.,]){IN_FIGURES}(?=(?:st|nd|rd|th|km|m|kg|%)\b)")
_NAME = re.compile(r"[A-Z][\w'’-]*[^\W\d_](?:\s+(?:of\s+|de\s+|van\s+|von\s+)?[A-Z][\w'’-]*[^\W\d_])*")


def content_words(text: str) -> list[str]:
    """The words and numbers that carry meaning, each in one form (folded, stemmed), in their order."""
    found = []
    for token in tokens(text):
        if token[0].isdigit():
            found.append(normalize_number(token))
            continue
        word = fold(token)
        if word in NUMBER_WORDS:
            found.append(NUMBER_WORDS[word])
        elif word not in STOP and word not in _EMPTY and len(word) > 1:
            found.append(stem(word))
    return found


def numbers(text: str) -> set[str]:
    """The numbers of a text, in digits or words, each in one form."""
    return {word for word in content_words(text) if word[0].isdigit()}


def names(text: str) -> list[str]:
    """Runs of capitalised words; a single one at the beginning of a sentence isn't taken for a name."""
    found = []
    for match in _NAME.finditer(text):
        before = text[: match.start()].rstrip()
        begins = not before or before[-1] in '.!?:\n#*|-•"“'
        first, _, rest = match[0].partition(" ")
        if rest or not begins:
            found.append(rest if begins and fold(first) in STOP else match[0])
    return found


def name_words(text: str) -> set[str]:
    """The words of a text's names, each in one form."""
    return {word for name in names(text) for word in content_words(name)}
