"""From ways of asking to phrasings under a criterion: the same question in another tone, order or company."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import TypeVar

from ragtriage.testset.generation.phrasing.circumstances import (
    ASIDES_BEFORE,
    ASIDES_BEHIND,
    DIRECT,
    ENDINGS,
    REQUESTS,
    reasons_for,
)
from ragtriage.testset.generation.phrasing.english import contracted, small
from ragtriage.testset.generation.phrasing.typos import with_typos
from ragtriage.testset.generation.phrasing.wording import Wording

T = TypeVar("T")
Style = Callable[[Sequence[Wording], random.Random], Iterator[str]]
"""Ways of asking, the most natural first, and chance → phrasings without end or until there are no others."""

FEW = 11
"""Words of a clause up to which it may end with its verb."""
DIRECTIVE = (
    "Tell me {told}.", "Find out {told}.", "Please tell me {told}.", "Look up {told}.", "Let me know {told}.",
)  # fmt: skip
DIRECTIVE_NOUN = ("Give me {noun}.", "Show me {noun}.", "State {noun}.")
FORMAL = (
    "Could you please let me know {told}?",
    "I would be grateful if you could tell me {told}.",
    "Would you be so kind as to tell me {told}?",
    "I would appreciate it if you could tell me {told}.",
    "May I ask {embedded}?",
    "I am writing to ask {embedded}.",
)
FORMAL_NOUN = ("I kindly request that you provide {noun}.", "Could you please provide {noun}?")
CASUAL = (
    "Hey, {small}", "Hey, any idea {embedded}?", "Hi! Do you happen to know {embedded}? Thanks!",
    "Quick question: {small}", "Um, {small} Can't find it anywhere.", "So {small} Just wondering.",
    "Can't remember {embedded}, can you check? Thx", "Don't suppose you know {embedded}?",
)  # fmt: skip
INDIRECT = (
    "I would like to know {told}.", "I was wondering {embedded}.", "I'm trying to find out {told}.",
    "I can't remember {embedded}.", "I wonder {embedded}.", "I need to know {told}.", "I'm not sure {embedded}.",
    "It would help me to know {told}.",
)  # fmt: skip


def _framed(*frames: str) -> Style:
    """Every way of asking in every frame: the most natural ways first, the frames by chance."""

    def style(wordings: Sequence[Wording], chance: random.Random) -> Iterator[str]:
        for wording in wordings:
            for frame in _shuffled(frames, chance):
                if _fits(frame, wording):
                    yield _fill(frame, wording)

    return style


def _casual(wordings: Sequence[Wording], chance: random.Random) -> Iterator[str]:
    for wording in wordings:
        for frame in _shuffled(CASUAL, chance):
            if _fits(frame, wording):
                yield _fill(frame, wording, spoken=True)


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
    reasons = reasons_for(wordings[0].about)
    special = len(reasons) - len(reasons_for("thing"))
    for wording in wordings:
        first = _shuffled(reasons[:special], chance) + _shuffled(reasons[special:], chance)
        if chance.random() < 0.6:
            first = _shuffled(first, chance)
        for reason, (request, ending) in zip(
            first * 3, _shuffled(list(product(REQUESTS, ENDINGS)), chance), strict=False
        ):
            yield f"{reason} {_fill(request, wording)} {ending}"


def _distracting(wordings: Sequence[Wording], chance: random.Random) -> Iterator[str]:
    """Something else, the question, and something else again."""
    for wording in wordings:
        before, behind = _shuffled(ASIDES_BEFORE, chance), _shuffled(ASIDES_BEHIND, chance)
        for first, last, frame in zip(before, behind, _shuffled(DIRECT * 2, chance), strict=True):
            yield f"{first} {_fill(frame, wording)} {last}"


STYLES: Mapping[str, Style] = {
    "short": _short,
    "long": _long,
    "question": _question,
    "directive": _framed(*DIRECTIVE, *DIRECTIVE_NOUN),
    "formal": _framed(*FORMAL, *FORMAL_NOUN),
    "casual": _casual,
    "keywords": _keywords,
    "typos": _typos,
    "indirect": _framed(*INDIRECT),
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
    embedded = wording.embedded
    told = wording.told
    fill = {"question": f"{direct}?", "small": f"{small(direct)}?", "embedded": embedded, "told": told}
    # one pass: a placeholder can look like anything, but never like a field of a frame
    return frame.format(noun=wording.given, **fill)


def _shuffled(items: Sequence[T], chance: random.Random) -> list[T]:
    mixed = list(items)
    chance.shuffle(mixed)
    return mixed
