"""Typing mistakes, made inside words and never inside a placeholder."""

from __future__ import annotations

import random
import re

NEIGHBOURS = {
    "a": "sq", "b": "vn", "c": "xv", "d": "sf", "e": "wr", "f": "dg", "g": "fh", "h": "gj", "i": "uo", "j": "hk",
    "k": "jl", "l": "k", "m": "n", "n": "bm", "o": "ip", "p": "o", "q": "wa", "r": "et", "s": "ad", "t": "ry",
    "u": "yi", "v": "cb", "w": "qe", "x": "zc", "y": "tu", "z": "x",
}  # fmt: skip
"""Letter → those beside it on a keyboard."""
MOST = 4
_WORD = re.compile(r"\[[^\]]*\]\S*|[A-Za-z]{3,}")
"""A placeholder with what clings to it, or a word."""


def with_typos(text: str, chance: random.Random) -> str:
    """The text with a typing mistake in about every fourth word that has at least three letters, one to four in all.

    The first letter of a word stays, as it mostly does; a word gets one mistake at most.

    Args:
        text: with its placeholders.
        chance: what decides; the same state gives the same mistakes.
    """
    words = [found for found in _WORD.finditer(text) if not found[0].startswith("[")]
    long = [found for found in words if len(found[0]) >= 4] or words
    count = min(MOST, max(1, round(len(words) / 4)), len(long))
    for found in sorted(chance.sample(long, count), key=lambda found: found.start(), reverse=True):
        text = text[: found.start()] + _mistyped(found[0], chance) + text[found.end() :]
    return text


def _mistyped(word: str, chance: random.Random) -> str:
    """One mistake: letters swapped, one left out, doubled, or its neighbour hit."""
    place = chance.randrange(1, len(word))
    ways = [
        word[:place] + word[place + 1 :],
        word[:place] + word[place] + word[place:],
        word[:place] + chance.choice(NEIGHBOURS[word[place].lower()]) + word[place + 1 :],
    ]
    if place + 1 < len(word) and word[place] != word[place + 1]:
        ways += [word[:place] + word[place + 1] + word[place] + word[place + 2 :]] * 2
    return chance.choice(ways)
