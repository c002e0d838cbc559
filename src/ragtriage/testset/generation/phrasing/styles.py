"""From ways of asking to phrasings under a criterion: the same question in another tone, order or company."""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import product
from typing import TypeVar

from ragtriage.testset.generation.english import contracted, small
from ragtriage.testset.generation.phrasing.nouns import Wording

T = TypeVar("T")
Style = Callable[[Sequence[Wording], random.Random], Iterator[str]]
"""Ways of asking, the most natural first, and chance → phrasings without end or until there are no others."""

_TABLE = tomllib.loads(files(__package__).joinpath("styles.toml").read_text("utf-8"))
FRAMES: Mapping[str, Sequence[str]] = _TABLE["frames"]
AROUND: Mapping[str, Sequence[str]] = _TABLE["around"]
REASONS: Mapping[str, Sequence[str]] = _TABLE["reasons"]
_NEIGHBOURS: Mapping[str, str] = _TABLE["neighbours"]
FEW = 11
"""Words of a clause up to which it may end with its verb."""
MOST_TYPOS = 4
_WORD_OR_SLOT = re.compile(r"\[[^\]]*\]\S*|[A-Za-z]{3,}")
"""A placeholder with what clings to it, or a word."""


def _framed(name: str, *, spoken: bool = False) -> Style:
    """Every way of asking in every frame: the most natural ways first, the frames by chance."""

    def style(wordings: Sequence[Wording], chance: random.Random) -> Iterator[str]:
        for wording in wordings:
            for frame in _shuffled(FRAMES[name], chance):
                if _fits(frame, wording):
                    yield _fill(frame, wording, spoken=spoken)

    return style


def _short(wordings: Sequence[Wording], chance: random.Random) -> Iterator[str]:  # noqa: ARG001  # nothing to choose
    """The plainest question first, the others by their length."""
    first, *others = (f"{wording.direct}?" for wording in wordings)
    yield first
    yield from sorted(others, key=len)


def _question(wordings: Sequence[Wording], chance: random.Random) -> Iterator[str]:  # noqa: ARG001  # nothing to choose
    """The plain questions; where there is but one, which a short phrasing has too, one more."""
    yield from (f"{wording.direct}?" for wording in wordings)
    if len(wordings) == 1:
        yield f"Can you tell me {wordings[0].told}?"


def _keywords(wordings: Sequence[Wording], chance: random.Random) -> Iterator[str]:
    for keys in dict.fromkeys(wording.keys for wording in wordings):
        yield keys
        front, placeholder, behind = keys.partition("[")
        slots, bracket, word = behind.rpartition("]")
        if word.strip() and chance.random() < 0.9:  # what is asked for may stand in front as well
            yield f"{word.strip()} {front}{placeholder}{slots}{bracket}"


def _typos(wordings: Sequence[Wording], chance: random.Random) -> Iterator[str]:
    for wording in wordings:
        for _ in range(3):
            yield with_typos(f"{wording.direct}?", chance)


def _long(wordings: Sequence[Wording], chance: random.Random) -> Iterator[str]:
    """A reason to ask, the request, and what kind of answer is wanted."""
    about = wordings[0].about
    special = REASONS[about] if about != "thing" else ()
    for wording in wordings:
        reasons = _shuffled(special, chance) + _shuffled(REASONS["thing"], chance)
        if chance.random() < 0.6:
            reasons = _shuffled(reasons, chance)
        pairs = _shuffled(list(product(FRAMES["requests"], AROUND["endings"])), chance)
        for reason, (request, ending) in zip(reasons * 3, pairs, strict=False):
            yield f"{reason} {_fill(request, wording)} {ending}"


def _distracting(wordings: Sequence[Wording], chance: random.Random) -> Iterator[str]:
    """Something else, the question, and something else again."""
    for wording in wordings:
        before, behind = _shuffled(AROUND["asides_before"], chance), _shuffled(AROUND["asides_behind"], chance)
        for first, last, frame in zip(before, behind, _shuffled([*FRAMES["direct"]] * 2, chance), strict=True):
            yield f"{first} {_fill(frame, wording)} {last}"


STYLES: Mapping[str, Style] = {
    "short": _short,
    "long": _long,
    "question": _question,
    "directive": _framed("directive"),
    "formal": _framed("formal"),
    "casual": _framed("casual", spoken=True),
    "keywords": _keywords,
    "typos": _typos,
    "indirect": _framed("indirect"),
    "distracting": _distracting,
}
"""Criterion → how its phrasings are made."""


def _fits(frame: str, wording: Wording) -> bool:
    """Whether the frame has what it needs, and doesn't leave a lonely "is" behind a long noun."""
    if "{noun}" in frame:
        return wording.noun != ""
    long = len(wording.embedded.split()) > FEW or " whose " in wording.embedded
    return "{embedded}" not in frame or not wording.trailing or not long


def _fill(frame: str, wording: Wording, *, spoken: bool = False) -> str:
    direct = contracted(wording.direct) if spoken else wording.direct
    return frame.format(  # one pass: a placeholder can look like anything, but never like a field of a frame
        question=f"{direct}?",
        small=f"{small(direct)}?",
        embedded=wording.embedded,
        told=wording.told,
        noun=wording.given,
    )


def _shuffled(items: Sequence[T], chance: random.Random) -> list[T]:
    mixed = list(items)
    chance.shuffle(mixed)
    return mixed


def with_typos(text: str, chance: random.Random) -> str:
    """The text with a typing mistake in about every fourth word that has at least three letters, one to four in all.

    The first letter of a word stays, as it mostly does; a word gets one mistake at most, a placeholder none.
    """
    words = [found for found in _WORD_OR_SLOT.finditer(text) if not found[0].startswith("[")]
    long = [found for found in words if len(found[0]) >= 4] or words
    count = min(MOST_TYPOS, max(1, round(len(words) / 4)), len(long))
    for found in sorted(chance.sample(long, count), key=lambda found: found.start(), reverse=True):
        text = text[: found.start()] + _mistyped(found[0], chance) + text[found.end() :]
    return text


def _mistyped(word: str, chance: random.Random) -> str:
    """One mistake: letters swapped, one left out, doubled, or its neighbour hit."""
    place = chance.randrange(1, len(word))
    ways = [
        word[:place] + word[place + 1 :],
        word[:place] + word[place] + word[place:],
        word[:place] + chance.choice(_NEIGHBOURS[word[place].lower()]) + word[place + 1 :],
    ]
    if place + 1 < len(word) and word[place] != word[place + 1]:
        ways += [word[:place] + word[place + 1] + word[place] + word[place + 2 :]] * 2
    return chance.choice(ways)
