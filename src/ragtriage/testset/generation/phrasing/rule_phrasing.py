"""Phrasings by rule: no model, no cost, the meaning kept by construction.

Ways of asking become phrasings under a criterion: the same question in another tone, order or company.
"""

import random
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import islice, product
from typing import TypeVar

from ragtriage.core.errors import ConfigError
from ragtriage.testset.generation.phrasing.criteria import (
    CRITERIA,
    Criterion,
    Refusal,
    Requirements,
    ValueLeakDetector,
    requirements_of,
)
from ragtriage.testset.generation.phrasing.nouns import Wording, contracted, small
from ragtriage.testset.generation.phrasing.questions import wordings_of
from ragtriage.testset.generation.phrasing.row_descriptions import Unnameable
from ragtriage.testset.generation.query_templates import QueryTemplate, TextTemplate
from ragtriage.testset.generation.schema import Schema

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


WRITTEN = "written"


@dataclass(frozen=True, slots=True)
class RefusedPhrasing:
    """A phrasing that can't be used, or one that couldn't be made."""

    template: str
    """The query template's id."""
    criterion: str
    """Empty where it is all of them."""
    reason: str
    text: str = ""
    """What was refused; empty where there is no text."""


@dataclass(frozen=True, slots=True)
class PhrasingResult:
    """What came of phrasing: usable phrasings, and what was refused."""

    texts: tuple[TextTemplate, ...] = ()
    """In the order of the templates, then of the criteria."""
    refused: tuple[RefusedPhrasing, ...] = ()
    without: tuple[RefusedPhrasing, ...] = ()
    """Where a template has fewer phrasings under a criterion than were asked for, with the reason."""
    stopped: str = ""
    """Why a model was asked no more; empty if it was asked for everything."""
    failed: int = 0
    """Templates for which a request to the model failed."""


def lacking(
    templates: Iterable[QueryTemplate],
    criteria: Sequence[Criterion],
    there: Iterable[TextTemplate],
    maker: str,
    count: int,
) -> list[QueryTemplate]:
    """The templates that have fewer than `count` phrasings under some criterion, by the maker or written by hand."""
    has = Counter((one.template, one.criterion) for one in there if one.made_by in {maker, WRITTEN})
    return [one for one in templates if any(has[one.id, criterion.name] < count for criterion in criteria)]


def added(
    templates: Sequence[QueryTemplate],
    criteria: Sequence[Criterion],
    there: Sequence[TextTemplate],
    new: Iterable[TextTemplate],
    count: int,
) -> tuple[TextTemplate, ...]:
    """New phrasings, by one maker, put beside those that there are, until there are `count` under each criterion.

    They stand by template, then by criterion, those of this call first; phrasings of other templates at the end.
    """
    taken: list[TextTemplate] = []
    has: dict[tuple[str, str, str], list[str]] = {}
    for old in there:
        has.setdefault((old.template, old.criterion, old.made_by), []).append(old.text)
    for one in new:
        own = has.setdefault((one.template, one.criterion, one.made_by), [])
        by_hand = has.get((one.template, one.criterion, WRITTEN), [])
        if len(own) + len(by_hand) < count and one.text not in own and one.text not in by_hand:
            own.append(one.text)
            taken.append(one)
    places = {template.id: n for n, template in enumerate(templates)}
    order = {criterion.name: n for n, criterion in enumerate(criteria)}
    texts = sorted(
        (*there, *taken), key=lambda one: (places.get(one.template, len(places)), order.get(one.criterion, len(order)))
    )
    return tuple(texts)


RULES = "rules"
"""Who makes them."""
TRIED = 60
"""Candidates for one criterion after which no more are tried."""


def phrase(
    schema: Schema,
    templates: Iterable[QueryTemplate],
    criteria: Sequence[Criterion] = CRITERIA,
    *,
    per_criterion: int = 1,
    seed: int = 0,
    values: Mapping[str, Sequence[str]] | None = None,
) -> PhrasingResult:
    """Phrasings by rule of every query template under every criterion.

    The same arguments always give the same phrasings; those of a template don't depend on the other templates.
    Templates without a shape are refused, and so are a user's own criteria, which need a model. Fewer than
    `per_criterion` (at least 1) are made where the rules know no others; the seed says which are taken. `values` has
    for `table.column` what will be filled in or asked for, or a sample of it: none of it may stand in a phrasing, and
    its length is that of a placeholder.
    """
    if per_criterion < 1:
        raise ConfigError(f"--per-criterion {per_criterion}: give at least 1")
    known = dict(values or {})
    leaks = ValueLeakDetector(known)
    texts: list[TextTemplate] = []
    refused: list[RefusedPhrasing] = []
    without: list[RefusedPhrasing] = []
    for template in templates:
        try:
            wordings = wordings_of(schema, template)
        except Unnameable as error:
            without.append(RefusedPhrasing(template.id, "", str(error)))
            continue
        required = requirements_of(schema, template, [f"{one.direct}?" for one in wordings], known, leaks)
        used: set[str] = set()
        for criterion in criteria:
            if criterion.own:
                without.append(RefusedPhrasing(template.id, criterion.name, "rules can't write it: give --judge"))
                continue
            chance = random.Random(f"{seed}:{template.id}:{criterion.name}")  # noqa: S311  # a choice of words
            candidates = islice(STYLES[criterion.name](wordings, chance), TRIED)
            found, bad = _chosen(candidates, required, criterion, per_criterion, used)
            texts += found
            refused += bad
            used |= {one.text for one in found}
            if len(found) < per_criterion:
                why = bad[-1].reason if bad and not found else f"rules know {len(found)} of {per_criterion}"
                without.append(RefusedPhrasing(template.id, criterion.name, why))
    return PhrasingResult(tuple(texts), tuple(refused), tuple(without))


def _chosen(
    candidates: Iterable[str], required: Requirements, criterion: Criterion, count: int, used: set[str]
) -> tuple[list[TextTemplate], list[RefusedPhrasing]]:
    """The first usable candidates: those that no other criterion has taken before those that one has."""
    new: dict[str, TextTemplate] = {}
    again: dict[str, TextTemplate] = {}
    bad: dict[str, RefusedPhrasing] = {}
    for text in candidates:
        if text in new or text in again or text in bad:
            continue
        try:
            measures = required.verify(text, criterion)
        except Refusal as error:
            bad[text] = RefusedPhrasing(required.template.id, criterion.name, str(error), text)
            continue
        (again if text in used else new)[text] = TextTemplate(
            required.template.id, criterion.name, text, RULES, measures
        )
        if len(new) == count:
            break
    return [*new.values(), *again.values()][:count], list(bad.values())
