"""What a judge says and what becomes of it: components, verdicts and their chances, failures, scores.

A verdict whose judge states no probability counts as 1 or 0, so everything about chances then gives what counting
gives.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ragtriage.core.display import settled

Answered = Literal["yes", "no", "unknown"]
Span = tuple[int, int]
"""A place in a text: `[start, end)` in characters."""


@dataclass(frozen=True, slots=True)
class Citation:
    """One name in a citation mark, and what it names."""

    name: str
    """As it is written: a position, or the id of a source."""
    sources: tuple[int, ...] = ()
    """The sources that it names, by position from 0: several where they share an id; none where it names nothing."""


@dataclass(frozen=True, slots=True)
class Component:
    """One piece of a text: a claim, a fact, a sub-question, a sentence or a whole source."""

    text: str
    """Understandable by itself: pronouns and a left-out subject may have been filled in."""
    span: tuple[int, int] | None = None
    """Where it stands in the original text, `[start, end)` in characters; None for a paraphrase without a place."""
    source: int | None = None
    """The position (from 0) of the source that it was taken from; None if it wasn't taken from a source."""
    remark: bool = False
    """True for a remark about the sources or the answer ("the documents don't say"): shown, not judged as a claim."""
    citations: tuple[Citation, ...] = ()
    """What a segment of the response cites, in the order of its marks, each once."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One judgement on one component."""

    value: Answered
    """`unknown` where the judge can't tell; it leaves numerator and denominator and is counted."""
    score: float | None = None
    """What the judge measured: the probability of yes, in [0, 1] (similarity: the highest cosine, in [-1, 1]); None
    where it measures none."""
    confidence: float | None = None
    """The probability that `value` is right, in [0, 1]; None where the judge gives none."""
    explanation: str = ""
    """Why, in the judge's words; written before the verdict by an LLM."""
    sure: bool = True
    """False where the judge's precision on such verdicts is too low to show one in red: "check this"."""
    flag: str = ""
    """What a mechanical check found against the verdict, for example that a quote isn't in the source; kept with it."""
    contradicted: bool = False
    """With a no to whether a claim is supported: True where the evidence says otherwise, and not merely nothing."""
    chance: float | None = None
    """The calibrated probability of yes that scores and findings count with, in [0, 1]; None: the verdict is taken at
    its word. See `ragtriage.core.verdicts`."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A question that the judge could not answer. Never stored as a verdict: the next run asks again."""

    cause: str
    """What went wrong, in a sentence."""


Components = tuple[Component, ...]
"""A decomposition, in the order of the text."""

Answer = Verdict | Components | Failure
"""What a judge gives back for one question."""

Cell = Verdict | Failure | None
"""One place in a grid of verdicts; None where the question wasn't asked."""


def is_yes(cell: Cell) -> bool:
    """Whether it is a verdict of yes."""
    return isinstance(cell, Verdict) and cell.value == "yes"


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The verdicts of one Match step.

    Shape: (components, targets). One target for a match against a whole (`query`, `response`, all `sources` together),
    one a source for a match against every single source.
    """

    components: Components
    """The rows."""
    cells: tuple[tuple[Cell, ...], ...]
    """`cells[i][j]`: component i against target j."""

    def best(self) -> tuple[Cell, ...]:
        """One cell a component, the maximum over its targets (see `highest`); None if nothing was asked."""
        return tuple(highest(row) for row in self.cells)


@dataclass(frozen=True, slots=True)
class Missing:
    """A step that can't be taken on this case: its text isn't there, or holds nothing of the kind."""

    reason: str
    field: str
    """The field of the case that is to blame; `query` also where the query asks nothing."""
    failed: bool = False
    """True if a judge's failure is the cause."""


Known = Components | Verdicts | Missing
"""What a step found out about one case."""


@dataclass(frozen=True, slots=True)
class Part:
    """One component with the verdict that counted for a score."""

    component: Component
    cell: Cell
    good: bool | None
    """Whether it speaks for the answer; None if unknown or failed."""
    kind: str = ""
    """Which kind of bad component it is, where the metric tells several apart: see `Metric.kinds`."""


@dataclass(frozen=True, slots=True)
class Score:
    """A metric's value on one case."""

    value: float
    """In the metric's range; of shares the expected one, where verdicts have chances."""
    judged: int
    """How many components were judged yes or no: the denominator."""
    unknown: int = 0
    """How many were left out because the verdict was unknown; of written questions also those that weren't written."""
    parts: tuple[Part, ...] = field(default=(), repr=False)
    """What the value rests on, in the order of the text."""

    def __str__(self) -> str:
        return f"{self.value:.2f}"


@dataclass(frozen=True, slots=True)
class Undefined:
    """A score that can't be computed: not zero, not NaN."""

    reason: str
    failed: bool = False
    """True if a judge's failure is the cause; the next run may succeed."""

    def __str__(self) -> str:
        return f"{'failed' if self.failed else 'undefined'}: {self.reason}"


Outcome = Score | Undefined
"""What a metric gives for one case."""


def highest(cells: Sequence[Cell]) -> Cell:
    """The cell that decides a maximum: yes > failure > unknown > no > not asked; among equals the likeliest yes.

    A failure ranks above unknown and no because the question that failed might have been a yes.
    """

    def rank(cell: Cell) -> tuple[int, float, float]:
        match cell:
            case None:
                return 0, 0.0, 0.0
            case Failure():
                return 3, 0.0, 0.0
            case Verdict(value=value, score=score, chance=chance):
                likely = float(value == "yes") if chance is None else chance
                return {"no": 1, "unknown": 2, "yes": 4}[value], settled(likely), settled(score or 0.0)

    return max(cells, key=rank, default=None)


CHECK = 0.5
"""Below this chance the verdict is no. Of the supported claims of natural cases one in twenty lies below (.059; in
domains that nothing was fitted on .022)."""
NOT_SUPPORTED = 0.16
"""Up to this chance a no is sure, and shown in red; between the two it is one to check. Of the claims up to here nine
in ten are unsupported, where one in ten is (.91; .95 in domains that nothing was fitted on)."""


MOST_ODDS = 700.0
"""Of larger log odds the exponential isn't a number any more."""


def log_odds(chance: float) -> float:
    """Of a chance in (0, 1)."""
    return math.log(chance / (1.0 - chance))


def shifted(chance: float, by: float) -> float:
    """A chance whose log odds are moved; 0 and 1 stay, whatever moves them."""
    if chance in (0.0, 1.0):
        return chance
    against = min(-(log_odds(chance) + by), MOST_ODDS)
    return 1.0 / (1.0 + math.exp(against))


def chance_of(cell: Cell) -> float | None:
    """The probability of yes, in [0, 1]; None where nobody can tell: unknown, failed or not asked.

    A verdict without a stated chance is taken at its word.
    """
    if not isinstance(cell, Verdict) or cell.value == "unknown":
        return None
    return float(cell.value == "yes") if cell.chance is None else cell.chance


def with_chance(verdict: Verdict, chance: float) -> Verdict:
    """A verdict decided by a chance of yes, in [0, 1]: its value, its confidence, and whether a no is sure.

    Below `CHECK` the verdict is no; up to `NOT_SUPPORTED` a no is sure.
    """
    value: Answered = "yes" if chance >= CHECK else "no"
    confidence = chance if value == "yes" else 1.0 - chance
    sure = value == "yes" or chance <= NOT_SUPPORTED
    contradicted = verdict.contradicted and value == "no"
    return replace(verdict, value=value, confidence=confidence, sure=sure, contradicted=contradicted, chance=chance)


def good_chances(parts: Iterable[Part], good: Answered) -> list[float]:
    """The chance of each component that it speaks for the answer, as `good` does; what nobody can tell is left out."""
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
    return settled(min(bad, 1.0 - bad)) > NOT_SUPPORTED


def count_distribution(chances: Sequence[float]) -> list[float]:
    """How likely it is that 0, 1, … n of independent events happen (the Poisson-binomial distribution).

    Shape (n + 1,) for n chances, each in [0, 1]. Exact, one event after the other; the order of the chances doesn't
    matter.
    """
    found = [1.0]
    for chance in sorted(chances):
        found = [
            (1.0 - chance) * stays + chance * moves for stays, moves in zip([*found, 0.0], [0.0, *found], strict=True)
        ]
    return found
