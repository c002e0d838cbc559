"""The diagnosis table: THELMA's table 2, and what it lacks, and from which value on a score counts as good.

A rule names the pattern of low and high scores that it reads, what the pattern means, which component to repair and
which scores' bad components are quoted as evidence. A user's own rules are further rows.

The default thresholds, each with its reason, stand in `thresholds.toml`, the rules in `rules.toml`.
"""

import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal

from ragtriage.core.display import settled
from ragtriage.core.errors import ConfigError
from ragtriage.core.metric import Better
from ragtriage.core.steps import Step
from ragtriage.metrics import metric_named
from ragtriage.metrics.thelma import DECLINES, SUPPORTED_BY_CONVERSATION

Level = Literal["low", "high"]
BAD: Mapping[Better, Level] = MappingProxyType({"higher": "low", "lower": "high"})
"""Which direction is good → the level that is bad."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """The value at which a score is just good enough; see `level_of`."""

    value: float
    why: str


def _read_thresholds() -> Mapping[str, Threshold]:
    rows = tomllib.loads(files(__package__).joinpath("thresholds.toml").read_text("utf-8"))
    return MappingProxyType({name: Threshold(**row) for name, row in rows.items()})


DEFAULTS: Mapping[str, Threshold] = _read_thresholds()
"""Metric name → default threshold; a metric that isn't here has none and can't be low or high."""


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
    return {name: threshold.value for name, threshold in DEFAULTS.items()} | chosen


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
    rows: list[dict[str, Any]] = tomllib.loads(files(__package__).joinpath("rules.toml").read_text("utf-8"))["rule"]
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
