"""What the detectors look at in a case, the baseline that they compare with, and whether a mean has fallen.

The last is told by a Shiryaev-Roberts e-detector, which may be looked at after every case. Shin, Ramdas and Rinaldo,
*E-detectors: a nonparametric framework for sequential change detection*, New England Journal of Statistics in Data
Science, 2024, article 59. It promises how many cases pass on average before a false alarm, for any distribution on
[0, 1], without independence.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np

from ragtriage.core.errors import ConfigError
from ragtriage.core.metric import Better, Metric
from ragtriage.core.statistics import IntervalEstimate, Numbers, student_quantile, wilson_interval
from ragtriage.core.verdicts import Outcome, Score
from ragtriage.diagnosis.headline import NONE, UNDETERMINED
from ragtriage.diagnosis.rules import Rule
from ragtriage.monitor.lots import CONVERSATION, NOT_RECORDED, as_text, is_drawn, stratum_of
from ragtriage.runs.case_row import CaseRow, Columns
from ragtriage.runs.run import Run

STEPS = (0.1, 0.2, 0.4, 0.8, 1.6)
"""How much is staked on a fall, from small lasting ones to large sudden ones."""
_MOST_STAKED = 0.95
"""Of what a detector has, so that no single case takes all of it."""
WORST = 3
"""Cases that an alarm names."""


def stakes(least: float) -> Numbers:
    """λ for a mean that is unchanged from `least` on, in (0, 1]: shape (5,)."""
    steps = np.array(STEPS)
    return steps if least >= 1 else np.minimum(steps, _MOST_STAKED / (1 - least))


def moved(values: Numbers, staked: Numbers, least: float, score: float | Numbers) -> Numbers:
    """The values of a detector, one a stake, after one more score: (M + 1) · (1 + λ (m − x)).

    The stakes are the first axis of `values` and `staked`; several detectors with their own scores may be further axes.
    While the mean of the scores is at least m, the mean of the values minus the number of scores is a supermartingale.
    """
    return (values + 1) * (1 + staked * (least - score))


def interval(values: Sequence[float], *, share: bool = False) -> IntervalEstimate:
    """The mean of scores in [0, 1] with its 95 % interval: Student's, of a share, or without any spread, Wilson's."""
    n = len(values)
    if not n:
        return IntervalEstimate(None)
    mean = math.fsum(values) / n
    spread = math.fsum((value - mean) ** 2 for value in values)
    return IntervalEstimate(mean, *bounds(mean, spread, n, share=share), n)


def bounds(mean: float, spread: float, n: int, *, share: bool = False) -> tuple[float, float]:
    """The 95 % interval of a mean, from the sum of the squared distances to it; see `interval`."""
    if share or n < 2 or not spread > 0:
        return wilson_interval(min(1.0, max(0.0, mean)), n)
    half = student_quantile(n - 1) * math.sqrt(spread / (n - 1) / n)
    return max(0.0, mean - half), min(1.0, mean + half)


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a detector compares with: the mean of the same score before. Higher is better, whatever the metric's way."""

    mean: float
    low: float
    """Lower end of the 95 % interval of the mean."""
    high: float
    cases: int


@dataclass(slots=True)
class Detector:
    """One score in one stratum, higher being better. As it is stored: every field is of JSON's types, or holds such."""

    baseline: Baseline
    least: float
    """The mean from which on nothing has changed: the lower end of the baseline's interval minus the tolerance."""
    values: list[float] = field(default_factory=lambda: [0.0] * len(STEPS))
    cases: int = 0
    """That have moved it."""
    evidence: list[float] = field(default_factory=lambda: [0.0] * len(STEPS))
    """Like the values, but of the likeliest beginning of a fall alone: max(W, 1) · (1 + λ (m − x)), a CUSUM."""
    since: str | None = None
    """The time, or the window, of the last case after which there was no evidence of a fall, W ≤ 1 as the mean over the
    stakes; None before the first. M itself doesn't tell: it sums over all beginnings, and seldom gets below 1 again."""
    below: int = 0
    """How many cases came since then."""
    worst: list[tuple[float, str]] = field(default_factory=list)
    """The lowest of their scores, with the ids of their cases, the lowest first."""
    blamed: dict[str, int] = field(default_factory=dict)
    """Component → how many of these cases are counted under it."""
    window: tuple[int, int, float, float] = (0, 0, 0.0, 0.0)
    """The number of the window's run; how many scores it has so far, their mean, and the sum of the squared distances
    to it."""

    @property
    def value(self) -> float:
        """M, the mean over the stakes."""
        return float(np.mean(self.values))

    def take(self, score: float, case: str, when: str | None, component: str, run: int) -> None:
        """Move it by one case, whose score is in [0, 1], higher is better; `component` is empty if none is blamed."""
        staked = stakes(self.least)
        self.values = [float(value) for value in moved(np.array(self.values), staked, self.least, score)]
        # `moved` adds 1 before it multiplies
        likeliest = np.maximum(np.array(self.evidence), 1.0) - 1.0
        self.evidence = [float(value) for value in moved(likeliest, staked, self.least, score)]
        self.cases += 1
        window, n, mean, spread = self.window if self.window[0] == run else (run, 0, 0.0, 0.0)
        n, step = n + 1, score - mean
        mean += step / n
        self.window = (window, n, mean, spread + step * (score - mean))
        if float(np.mean(self.evidence)) <= 1:
            self.since, self.below, self.worst, self.blamed = when, 0, [], {}
            return
        self.below += 1
        self.worst = sorted([*self.worst, (score, case)])[:WORST]
        if component:
            self.blamed[component] = self.blamed.get(component, 0) + 1

    def as_json(self) -> dict[str, Any]:
        """For `from_json`; floats come back bit for bit."""
        return asdict(self)

    @classmethod
    def from_json(cls, state: Mapping[str, Any]) -> Self:
        """Undo `as_json`."""
        run, n, mean, spread = state["window"]
        worst = [(float(score), str(case)) for score, case in state["worst"]]
        known = {"baseline": Baseline(**state["baseline"]), "window": (run, n, mean, spread), "worst": worst}
        return cls(**{**state, **known})


AT_START: Mapping[str, Any] = {
    "values": [0.0] * len(STEPS), "evidence": [0.0] * len(STEPS), "since": None, "below": 0, "worst": [], "blamed": {},
}  # fmt: skip
"""What the state of a detector has where it starts anew, after its alarm was acknowledged."""


UNDEFINED, FAILING = "undefined", "failing"
"""The scores beside the metrics: whether one of them is undefined or failed, whether a case has a failing finding."""
FIRST = 500
"""Drawn cases that are the baseline where none is named; see `ragtriage.monitor.replay.WatchOptions`."""
FEW = 50
"""With fewer cases a stratum has no detector, and a window no more than a hint."""
MOST_STRATA = 50
OTHER = "other"
"""All values of the tag but the `MOST_STRATA` most frequent ones of the baseline."""
_OBSERVED = Columns(scores=True, steps=True, headings=True)
"""Without the steps neither times nor which cases failed are read."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A score that is watched. Detectors see it as a number in [0, 1] of which higher is better."""

    name: str
    title: str
    better: Better
    range: tuple[float, float] = (0.0, 1.0)

    @property
    def is_share(self) -> bool:
        """Whether a case has all of it or nothing."""
        return self.name in {UNDEFINED, FAILING}

    def seen(self, value: float) -> float:
        """A score as detectors see it."""
        low, high = self.range
        part = min(1.0, max(0.0, (value - low) / (high - low)))
        return part if self.better == "higher" else 1.0 - part

    def shown(self, seen: float) -> float:
        """Undo `seen`."""
        low, high = self.range
        return low + (high - low) * (seen if self.better == "higher" else 1.0 - seen)

    def interval_shown(self, low: float, high: float) -> tuple[float, float]:
        """The ends of an interval of what detectors see, as people see them, the lower first."""
        ends = self.shown(low), self.shown(high)
        return min(ends), max(ends)


def watched_of(metrics: Sequence[Metric]) -> tuple[Watched, ...]:
    """What is watched where these metrics are computed."""
    own = (Watched(m.name, m.title, m.better, m.range) for m in metrics)
    shares = (
        Watched(UNDEFINED, "share of cases with an undefined or failed score", "lower"),
        Watched(FAILING, "share of cases with a failing finding", "lower"),
    )
    return (*own, *shares)


@dataclass(frozen=True, slots=True)
class Observation:
    """One case as detectors see it."""

    case: str
    """Its id."""
    when: str | None
    value: str
    """Of the tag that cases are parted by; empty where they aren't."""
    scores: tuple[float | None, ...]
    """As `Watched.seen`, one for each score that is watched; None where it is undefined."""
    component: str
    """Under which it is counted; empty where nothing is wrong, or it can't be told which."""


@dataclass(frozen=True, slots=True)
class Observer:
    """Turns judged cases into observations."""

    metrics: Sequence[Metric]
    rules: Sequence[Rule]
    stratify: str | None = None

    def observe(
        self,
        case: str,
        tags: Mapping[str, Any],
        time: str | None,
        outcomes: Mapping[str, Outcome],
        found: Iterable[str],
        component: str,
    ) -> Observation:
        """One case, with the rules of its findings and the component under which it is counted."""
        watched = watched_of(self.metrics)
        values = [outcomes.get(m.name) for m in self.metrics]
        scores = [one.seen(v.value) if isinstance(v, Score) else None for one, v in zip(watched, values, strict=False)]
        failing = {rule.name for rule in self.rules if rule.kind == "failure"}
        shares = (float(all(score is not None for score in scores)), float(failing.isdisjoint(found)))
        named = "" if component in {NONE, UNDETERMINED} else component
        return Observation(case, time, stratum_of(tags, time, self.stratify), (*scores, *shares), named)

    def observe_row(self, row: CaseRow) -> Observation:
        """A stored case."""
        rules, component = (row.heading.rules, row.heading.component) if row.heading else ((), NONE)
        return self.observe(row.id, row.tags, row.time, row.outcomes, rules, component)

    def stored(self, run: Run, positions: range | None = None) -> Iterator[tuple[int, bool, Observation]]:
        """The cases of a run: their place, whether one failed, and what is seen of it."""
        for row in run.place.read(_OBSERVED, positions):
            yield row.position, row.failed, self.observe_row(row)

    def baseline(
        self, runs: Iterable[Run], metrics: Sequence[str], fingerprints: Mapping[str, str]
    ) -> list[Observation]:
        """The cases of runs that detectors would look at: drawn by lot, one a conversation, with what was recorded."""
        found: list[Observation] = []
        conversations: set[str] = set()
        for run in runs:
            if run.info.fingerprints != fingerprints or not set(metrics) <= set(run.info.metrics):
                raise ConfigError(f"run {run.number} was judged differently: give a new baseline, judged as this is")
            for row in run.place.read(_OBSERVED):
                if not is_drawn(row.weight) or row.tags.get(NOT_RECORDED):
                    continue
                conversation = as_text(row.tags.get(CONVERSATION) or "")
                if conversation not in conversations or not conversation:
                    conversations.add(conversation)
                    found.append(self.observe_row(row))
        return found


@dataclass(frozen=True, slots=True)
class Strata:
    """The parts of the traffic that have detectors."""

    values: tuple[str, ...]
    """Values of the tag that are told apart; all others are `OTHER`."""
    detectors: Mapping[tuple[str, str], Detector]
    """By the name of what is watched, and the stratum."""
    without: Mapping[str, int]
    """Stratum without a detector, as it has too few cases in the baseline → how many it has."""

    @classmethod
    def of(cls, cases: Sequence[Observation], watched: Sequence[Watched], tolerance: float) -> Self:
        """The detectors that a baseline allows.

        A score that too few cases of a stratum have, or that can't get worse by more than the tolerance, has none.
        """
        counted = Counter(one.value for one in cases)
        values = tuple(sorted(counted, key=lambda value: (-counted[value], value))[:MOST_STRATA])
        parted: dict[str, list[Observation]] = {}
        for one in cases:
            parted.setdefault(one.value if one.value in values else OTHER, []).append(one)
        detectors: dict[tuple[str, str], Detector] = {}
        for stratum, own in sorted(parted.items()):
            for i, what in enumerate(watched if len(own) >= FEW else ()):
                scores = [score for one in own if (score := one.scores[i]) is not None]
                found = interval(scores, share=what.is_share)
                if found.n < FEW or found.value is None or found.low is None or found.high is None:
                    continue
                least = found.low - tolerance
                if least > 0:
                    baseline = Baseline(found.value, found.low, found.high, found.n)
                    detectors[what.name, stratum] = Detector(baseline, least)
        few = {stratum: len(own) for stratum, own in sorted(parted.items()) if len(own) < FEW}
        return cls(values, detectors, few)
