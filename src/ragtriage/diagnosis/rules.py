"""The diagnosis table: THELMA's table 2, what it lacks, and thresholds; how likely scores are as a rule wants them.

A rule names the pattern of low and high scores that it reads, what the pattern means, which component to repair and
which scores' bad components are quoted as evidence. A user's own rules are further rows. A score is a share of
verdicts: how many are good is a sum of independent events, whose distribution is exact (Poisson-binomial). Scores that
count the same verdicts are looked at together, so that no verdict counts twice.
"""

import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import accumulate, product
from types import MappingProxyType
from typing import Any, Literal

from ragtriage.core.display import settled
from ragtriage.core.errors import ConfigError
from ragtriage.core.metric import Better, Metric
from ragtriage.core.steps import Step
from ragtriage.core.verdicts import Cell, Part, Score, Verdict, chance_of, count_distribution
from ragtriage.metrics import metric_named
from ragtriage.metrics.thelma import DECLINES, SUPPORTED_BY_CONVERSATION

Level = Literal["low", "high"]
BAD: Mapping[Better, Level] = MappingProxyType({"higher": "low", "lower": "high"})
"""Which direction is good → the level that is bad."""


def _read_table(name: str) -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath(name).read_text("utf-8"))


DEFAULTS: Mapping[str, float] = MappingProxyType(
    {name: row["value"] for name, row in _read_table("thresholds.toml").items()}
)
"""Metric name → the value at which a score is just good enough (see `level_of`); the reasons stand in the file.

A metric that isn't here has none and can't be low or high.
"""


def level_of(value: float, threshold: float, better: Better = "higher") -> Level:
    """Whether a score is low or high. One that lies at its threshold is good, whichever direction that is.

    Where higher is better: low below the threshold, high at or above it. Where lower is better: high above the
    threshold, low at or below it. A mean of verdicts such as 4/5 doesn't fall below 0.8 by rounding.
    """
    if better == "higher":
        return "low" if settled(value - threshold) < 0 else "high"
    return "high" if settled(value - threshold) > 0 else "low"


def is_bad(value: float | None, threshold: float | None, better: Better = "higher") -> bool:
    """Whether a value lies on the wrong side of its threshold; False if either isn't there."""
    return value is not None and threshold is not None and level_of(value, threshold, better) == BAD[better]


def distance_past_threshold(value: float | None, threshold: float | None, better: Better = "higher") -> float:
    """How far a value lies on the wrong side of its threshold; 0 if it doesn't, or either isn't there."""
    if value is None or threshold is None or not is_bad(value, threshold, better):
        return 0.0
    return abs(value - threshold)


def thresholds_with(own: Mapping[str, object]) -> dict[str, float]:
    """The defaults, overridden by a user's own values.

    Args:
        own: metric name → value; a name without a default is added.

    Raises:
        ConfigError: a value isn't a number in [-1, 1].
    """
    chosen: dict[str, float] = {}
    for name, value in own.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not -1 <= value <= 1:
            raise ConfigError(f"the threshold of {name!r} is {value!r}: give a number between -1 and 1")
        chosen[name] = float(value)
    return {**DEFAULTS, **chosen}


FindingKind = Literal["failure", "quality", "doubt", "waste", "right"]
KINDS: tuple[FindingKind, ...] = ("failure", "quality", "doubt", "waste", "right")
"""What a finding is, the most pressing first."""

BLAMING: tuple[FindingKind, ...] = ("failure", "quality")
"""The kinds that blame the answer."""
LIKELY = 0.5
"""From this probability on a finding that blames nothing is shown."""
SURE = 0.9
"""From this probability on a finding is sure."""

Origin = Literal["paper", "ours", "yours"]

RuleLevel = Literal["low", "high", "any"]
"""What a rule wants of a score; `any`: that it is defined."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What the two errors of a diagnosis cost, in any unit: only their proportion counts."""

    blame: float = 2.0
    """A sound answer that is blamed."""
    miss: float = 1.0
    """A fault that is missed."""

    @property
    def shown_from(self) -> float:
        """From which probability on a fault is shown: blame / (blame + 2 · miss), so that the default is a half.

        A finding is read before anybody acts on it, so that showing a wrong one costs half of a wrong blame.
        """
        return self.blame / (self.blame + 2.0 * self.miss)


COSTS = Costs()
"""The default."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the diagnosis table."""

    name: str
    """One word or two, for files and filters."""
    kind: FindingKind
    when: Mapping[str, RuleLevel]
    """Metric name → level; all must hold. An undefined score is neither low nor high, nor `any`."""
    reading: str
    """What the pattern means, in a sentence."""
    component: str
    advice: str
    quotes: tuple[str, ...] | None = ()
    """The metrics whose bad components are the evidence, in this order; None for those of `when` that are bad."""
    further: tuple[str, ...] = ()
    """Metrics that are named beside, where they were computed."""
    declines: bool = False
    """True: only for a response that declines to answer; False: only for one that doesn't."""
    origin: Origin = "ours"
    faults: tuple[str, ...] = ()
    """Only where a quoted component is bad in one of these ways, and only those are quoted: see `Metric.kinds`."""
    likely: tuple[float, float] | None = None
    """Shown from the first probability on and below the second; None: as its kind is, by the costs."""
    always: tuple[str, ...] = ()
    """Those of `faults` that count whether the response declines or not: a false citation is one in either."""

    def shown(self, probability: float, costs: Costs) -> bool:
        """Whether it is likely enough to be shown."""
        low, high = self.likely or (costs.shown_from if self.kind in BLAMING else LIKELY, math.inf)
        return low <= settled(probability) < high

    def reads_level(self) -> bool:
        """Whether it blames scores, and not single bad components beside scores that may be good."""
        better = {name: found.better for name in self.when if (found := metric_named(name))}
        return not self.faults or any(level == BAD[better.get(name, "higher")] for name, level in self.when.items())


def _read_rules() -> tuple[Rule, ...]:
    rows: list[dict[str, Any]] = _read_table("rules.toml")["rule"]
    tuples = ({key: tuple(value) for key, value in row.items() if isinstance(value, list)} for row in rows)
    return tuple(Rule(**{**row, **found}) for row, found in zip(rows, tuples, strict=True))


RULES: tuple[Rule, ...] = _read_rules()
"""The table, `rules.toml`."""


def most_telling(names: Iterable[str], rules: Iterable[Rule]) -> tuple[str, ...]:
    """Names of metrics in another order: first those that the most pressing rules read."""
    ordered = sorted(rules, key=lambda rule: KINDS.index(rule.kind))
    read = [name for rule in ordered for name in rule.when] + [name for rule in ordered for name in rule.further]
    places = {name: place for place, name in reversed([*enumerate(read)])}
    return tuple(sorted(names, key=lambda name: places.get(name, len(read))))


def needs_of(rules: Iterable[Rule]) -> tuple[Step, ...]:
    """The steps that rules need beside the metrics' own, so that a plan knows them."""
    rules = tuple(rules)
    told_apart = any("groundedness" in rule.when for rule in rules)
    return ((DECLINES,) if rules else ()) + ((SUPPORTED_BY_CONVERSATION,) if told_apart else ())


ENUMERATED = 12
"""Verdicts up to which all outcomes of scores that share some are gone through; beyond, they are drawn."""
DRAWS = 4096
"""Outcomes that are drawn then: the error of a probability is below .016 (95 %)."""
NOTHING: Mapping[int, float] = MappingProxyType({})
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class _Share:
    """A score as a share of uncertain verdicts."""

    cells: tuple[Cell, ...]
    by_yes: bool
    """Whether a yes raises the score; else a no does."""

    def chances(self, known: Mapping[int, float]) -> list[float]:
        """Of each verdict that it raises the score, in [0, 1].

        `known`: the `id` of a verdict → the chance of yes that it has instead of its own.
        """
        yes = [known.get(id(cell), chance_of(cell) or 0.0) for cell in self.cells]
        return yes if self.by_yes else [1.0 - chance for chance in yes]


class Likelihood:
    """The probabilities of one case's levels."""

    def __init__(
        self, scores: Mapping[str, Score], thresholds: Mapping[str, float], metrics: Mapping[str, Metric]
    ) -> None:
        self._thresholds = thresholds
        self._better = {name: metrics[name].better for name in scores if name in thresholds and name in metrics}
        self._shares = {n: share for n, better in self._better.items() if (share := share_of(scores[n], better))}
        self._values = {name: scores[name].value for name in self._better}
        self._found: dict[tuple[str, Level], float] = {}

    def of(self, wanted: Mapping[str, Level], known: Mapping[int, float] = NOTHING) -> float:
        """The probability that all these levels hold, in [0, 1]; 0 where a score or its threshold isn't there.

        Where no verdict has a chance it is 1 or 0: whether they hold. `known`: the `id` of a verdict → 1 or 0, if it is
        taken for granted that it should be yes or no.
        """
        if not wanted.keys() <= self._better.keys():
            return 0.0
        certain = [name for name in wanted if name not in self._shares]
        if any(self._level(name, self._values[name]) != wanted[name] for name in certain):
            return 0.0
        groups = self._sharing([name for name in wanted if name not in certain])
        return math.prod(
            self._one(group[0], wanted[group[0]], known) if len(group) == 1 else self._joint(group, wanted, known)
            for group in groups
        )

    def of_bad(self, wanted: Mapping[str, Level], bad: Sequence[Part]) -> float:
        """The probability that these levels hold and at least one of these components, each called bad, is bad indeed.

        The levels less the case that they hold with all of the components good, so that no verdict counts twice.
        """
        good = {id(part.cell): float(isinstance(part.cell, Verdict) and part.cell.value == "no") for part in bad}
        all_good = math.prod(map(doubt_of, bad))
        return max(0.0, self.of(wanted) - (all_good * self.of(wanted, good) if all_good else 0.0))

    def _level(self, name: str, value: float) -> Level:
        return level_of(value, self._thresholds[name], self._better[name])

    def _one(self, name: str, level: Level, known: Mapping[int, float]) -> float:
        if not known and (name, level) in self._found:
            return self._found[name, level]
        counts = count_distribution(self._shares[name].chances(known))
        n = len(counts) - 1
        likely = min(1.0, math.fsum(p for k, p in enumerate(counts) if self._level(name, k / n) == level))
        if not known:
            self._found[name, level] = likely
        return likely

    def _sharing(self, names: Sequence[str]) -> list[list[str]]:
        """The scores in groups that have no verdict in common."""
        groups: list[tuple[set[int], list[str]]] = []
        for name in names:
            cells, own = {id(cell) for cell in self._shares[name].cells}, [name]
            for group in [one for one in groups if one[0] & cells]:
                groups.remove(group)
                cells, own = cells | group[0], group[1] + own
            groups.append((cells, own))
        return [own for _, own in groups]

    def _joint(self, names: Sequence[str], wanted: Mapping[str, Level], known: Mapping[int, float]) -> float:
        """Of scores that share verdicts: each verdict comes out one way for all of them."""
        import numpy as np  # noqa: PLC0415 - rarely needed, and slow to import

        cells = [cell for name in names for cell in self._shares[name].cells]
        yes = {id(cell): known.get(id(cell), chance_of(cell) or 0.0) for cell in cells}
        open_ones = [cell for cell, chance in yes.items() if chance not in (0.0, 1.0)]
        if len(open_ones) <= ENUMERATED:
            outcomes = np.array([*product((True, False), repeat=len(open_ones))], dtype=bool).reshape(
                -1, len(open_ones)
            )
            chances = np.array([yes[cell] for cell in open_ones])
            weights = np.where(outcomes, chances, 1.0 - chances).prod(axis=1)
        else:
            drawn = np.random.default_rng(0).random((DRAWS, len(open_ones)))
            outcomes, weights = drawn < np.array([yes[cell] for cell in open_ones]), np.full(DRAWS, 1.0 / DRAWS)
        told = {cell: np.full(len(outcomes), chance == 1.0) for cell, chance in yes.items()}
        told |= {cell: outcomes[:, place] for place, cell in enumerate(open_ones)}
        holds = np.ones(len(outcomes), dtype=bool)
        for name in names:
            share = self._shares[name]
            values = np.mean([told[id(cell)] == share.by_yes for cell in share.cells], axis=0)
            holds &= np.array([self._level(name, float(value)) == wanted[name] for value in values])
        return float(weights[holds].sum())


def share_of(score: Score, better: Better) -> _Share | None:
    """A score as a share of uncertain verdicts; None where no verdict of it has a chance strictly between 0 and 1.

    Also None where the value isn't the mean of its parts' chances, as with an F1: it is then taken as it is.
    """
    known = [(part, chance) for part in score.parts if (chance := chance_of(part.cell)) is not None]
    if not any(0.0 < chance < 1.0 for _, chance in known):
        return None
    part = known[0][0]
    good_is_yes = part.good is (isinstance(part.cell, Verdict) and part.cell.value == "yes")
    share = _Share(tuple(part.cell for part, _ in known), good_is_yes is (better == "higher"))
    fits = abs(math.fsum(share.chances(NOTHING)) / len(known) - score.value) < _ROUNDING
    return share if fits else None


def score_interval(score: Score, better: Better) -> tuple[float, float] | None:
    """Between which values 95 % of what a score may come out at lie; None where no verdict of it has a chance.

    The 2.5 % and the 97.5 % point of the share of verdicts that come out for it (Poisson-binomial). It says how much
    the judge doubts this one score, and nothing of other cases.
    """
    share = share_of(score, better)
    if share is None:
        return None
    counts = count_distribution(share.chances(NOTHING))
    n, reached = len(counts) - 1, list(accumulate(counts))
    low, high = (next(k for k, p in enumerate(reached) if p >= at - _ROUNDING) for at in (0.025, 0.975))
    return low / n, high / n


def score_spread(score: Score, better: Better) -> tuple[float, float]:
    """How far a score may be off for its verdicts: (its variance, how far a step in all log odds moves it).

    With n verdicts Σp(1 − p) / n² and Σp(1 − p) / n; both 0 where no verdict has a chance, or the score isn't a share.
    """
    share = share_of(score, better)
    if share is None:
        return 0.0, 0.0
    chances = share.chances(NOTHING)
    spread = math.fsum(chance * (1.0 - chance) for chance in chances)
    return spread / len(chances) ** 2, spread / len(chances)


def doubt_of(part: Part) -> float:
    """The probability that the verdict on a component is the wrong one, in [0, 1]; 1 where there is none."""
    chance = chance_of(part.cell)
    return 1.0 if chance is None else min(chance, 1.0 - chance)
