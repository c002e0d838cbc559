"""The linguistic criteria: what a phrasing under each is to be like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from ragtriage.core.errors import ConfigError

SHORTEST_LONG = 30
"""Words from which on a phrasing is long: the paper's."""
LONGEST_SHORT = 15
"""Words up to which a phrasing is short; a name in it counts with its words."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """One way of putting a question."""

    name: str
    says: str
    """What a phrasing under it is like; for people, and for the language model that writes one."""
    own: bool = False
    """Whether it is a user's, in words: nothing but the placeholders is measured of it then."""


CRITERIA: tuple[Criterion, ...] = (
    Criterion("short", f"one plain question in as few words as possible, at most {LONGEST_SHORT}"),
    Criterion(
        "long",
        f"at least {SHORTEST_LONG} words: why somebody asks, without a hint at the answer, and the question",
    ),
    Criterion("question", "one plain question, complete, with a question mark at its end"),
    Criterion("directive", 'a command such as "Tell me …" or "Give me …", without a question mark'),
    Criterion("formal", "polite and formal, as in a letter: full sentences, no contractions, no slang"),
    Criterion("casual", "as in a chat with a colleague: contractions or casual words, still clear"),
    Criterion("keywords", "what somebody types into a search box: key words only, no sentence, no question mark"),
    Criterion("typos", "the plain question with one to four typing mistakes, none of them in a placeholder"),
    Criterion("indirect", 'the question inside a statement, such as "I would like to know when …"'),
    Criterion("distracting", "the plain question between sentences that have nothing to do with it"),
)
"""All that come with the package, in the order in which they are shown."""
NAMES = tuple(criterion.name for criterion in CRITERIA)


def criteria_named(names: Sequence[str] = (), own: Sequence[str] = ()) -> tuple[Criterion, ...]:
    """Criteria by their names, and a user's own.

    Args:
        names: of those that come with the package; all of them if neither these nor own ones are given.
        own: in words: "as a child would ask".

    Raises:
        ConfigError: there is no such criterion, one is named twice, or one of a user's own is empty.
    """
    by_name = {criterion.name: criterion for criterion in CRITERIA}
    for name in names:
        if name not in by_name:
            near = next(iter(get_close_matches(name, NAMES)), "")
            hint = f"did you mean {near}? " if near else ""
            raise ConfigError(
                f"there is no criterion {name!r}: {hint}there are {', '.join(NAMES)}; "
                f"one of your own goes into --own, in words"
            )
    said = [" ".join(words.split()) for words in own]
    if "" in said:
        raise ConfigError('--own is empty: say in words how to ask, for example --own "as a child would ask"')
    every = [*names, *said]
    double = next((one for one in every if every.count(one) > 1), None)
    if double:
        raise ConfigError(f"the criterion {double!r} is named twice")
    if not every:
        return CRITERIA
    return (*(by_name[name] for name in names), *(Criterion(words, words, own=True) for words in said))
