"""Verdicts as chances: the probability of yes behind a verdict, sums over several, and how likely a score is bad.

A verdict whose judge states no probability counts as 1 or 0, so everything here then gives what counting gives.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ragtriage.core.verdicts import Answered, Cell, Part, Verdict

CHECK = 0.5
"""Below this chance the verdict is no. Of the supported claims of natural cases one in twenty lies below (.059; in
domains that nothing was fitted on .022)."""
NOT_SUPPORTED = 0.16
"""Up to this chance a no is sure, and shown in red; between the two it is one to check. Of the claims up to here nine
in ten are unsupported, where one in ten is (.91; .95 in domains that nothing was fitted on)."""


def log_odds(chance: float) -> float:
    """Of a chance in (0, 1)."""
    return math.log(chance / (1.0 - chance))


def shifted(chance: float, by: float) -> float:
    """A chance whose log odds are moved; 0 and 1 stay, whatever moves them."""
    if chance in (0.0, 1.0):
        return chance
    return 1.0 / (1.0 + math.exp(-(log_odds(chance) + by)))


def chance_of(cell: Cell) -> float | None:
    """The probability of yes, in [0, 1]; None where nobody can tell: unknown, failed or not asked.

    A verdict without a stated chance is taken at its word.
    """
    if not isinstance(cell, Verdict) or cell.value == "unknown":
        return None
    return float(cell.value == "yes") if cell.chance is None else cell.chance


def with_chance(verdict: Verdict, chance: float, check: float = CHECK, not_supported: float = NOT_SUPPORTED) -> Verdict:
    """A verdict decided by a chance: its value, its confidence, and whether a no is sure.

    Args:
        verdict: what is kept of it is everything else.
        chance: of yes, in [0, 1].
        check: below it the verdict is no.
        not_supported: up to it a no is sure.
    """
    value: Answered = "yes" if chance >= check else "no"
    confidence = chance if value == "yes" else 1.0 - chance
    sure = value == "yes" or chance <= not_supported
    contradicted = verdict.contradicted and value == "no"
    return replace(verdict, value=value, confidence=confidence, sure=sure, contradicted=contradicted, chance=chance)


def good_chances(parts: Iterable[Part], good: Answered) -> list[float]:
    """The chance of each component that it speaks for the answer; those that nobody can tell are left out.

    Args:
        parts: components with their deciding cells.
        good: the verdict that speaks for the answer.
    """
    known = [chance for part in parts if (chance := chance_of(part.cell)) is not None]
    return known if good == "yes" else [1.0 - chance for chance in known]


def bad_chance(part: Part) -> float:
    """The probability that a component speaks against the answer, in [0, 1]; 0 where nobody can tell."""
    chance = chance_of(part.cell)
    if chance is None or part.good is None or not isinstance(part.cell, Verdict):
        return 0.0
    return 1.0 - chance if part.good == (part.cell.value == "yes") else chance


def is_doubtful(part: Part) -> bool:
    """Whether the verdict on a component may well be the wrong one: likelier than `NOT_SUPPORTED`.

    Of a verdict without a chance, whether its judge isn't sure of it.
    """
    if not isinstance(part.cell, Verdict) or part.cell.chance is None:
        return isinstance(part.cell, Verdict) and not part.cell.sure
    bad = bad_chance(part)
    return min(bad, 1.0 - bad) > NOT_SUPPORTED


def count_distribution(chances: Sequence[float]) -> list[float]:
    """How likely it is that 0, 1, … n of independent events happen (the Poisson-binomial distribution).

    Shape (n + 1,). Exact, one event after the other; the order of the chances doesn't matter.

    Args:
        chances: shape (n,), each in [0, 1].
    """
    found = [1.0]
    for chance in sorted(chances):
        found = [
            (1.0 - chance) * stays + chance * moves for stays, moves in zip([*found, 0.0], [0.0, *found], strict=True)
        ]
    return found
