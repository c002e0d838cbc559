"""Paraphrases by rules that keep the meaning of a sentence."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

_REWORDINGS: list[tuple[str, str]] = tomllib.loads(
    Path(__file__).with_name("rewordings.toml").read_text(encoding="utf-8")
)["rewordings"]
OPENING = "In other words: "
_LEADING = re.compile(r"^((?:In|On|At|During|Since|After|Before|From|By) [^,;:]{3,60}), (.+)\.$", re.DOTALL)
_TRAILING = re.compile(r"^(.{12,}?) ((?:in|since|during) (?:\d{4}|[A-Z][a-z]+ \d{4}|\d{1,2} [A-Z][a-z]+ \d{4}))\.$")
_LOWERED = re.compile(
    r"^(?:The|A|An|In|On|At|During|Since|After|Before|From|By|If|When|You|Your|There|All|Each|Every)\b"
)


def reworded(sentence: str) -> str:
    """The sentence with words and phrases exchanged or moved; "" where no rule applies.

    Numbers, names and negations stay as they are.
    """
    moved = sentence
    if leading := _LEADING.match(sentence):
        rest = leading[2]
        moved = f"{rest[0].upper()}{rest[1:]} {leading[1][0].lower()}{leading[1][1:]}."
    elif trailing := _TRAILING.match(sentence):
        time = trailing[2]
        moved = f"{time[0].upper()}{time[1:]}, {_lowered(trailing[1])}."
    found = _exchanged(moved)
    return found if found != sentence else ""


def paraphrased(sentence: str) -> str:
    """The sentence repeated, reworded where a rule applies, with an opening that says so."""
    return f"{OPENING}{reworded(sentence) or sentence}"


def is_copy(sentence: str, again: str) -> bool:
    """Whether a repeat has the very words of the sentence, since no rule has others."""
    return bool(sentence) and again.removeprefix(OPENING) == sentence


def _exchanged(text: str) -> str:
    """All words that have another form, exchanged in one pass, so that none undoes another."""
    spans: list[tuple[int, int, str]] = []
    for pattern, words in _REWORDINGS:
        for match in re.finditer(pattern, text):
            if all(match.end() <= start or match.start() >= end for start, end, _ in spans):
                spans.append((match.start(), match.end(), words))
    for start, end, words in sorted(spans, reverse=True):
        text = text[:start] + words + text[end:]
    return text


def _lowered(text: str) -> str:
    """With a small first letter, where the first word is no name."""
    return text[0].lower() + text[1:] if _LOWERED.match(text) else text
