"""What a repeated evaluation amounts to, as values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ragtriage.core.metric import Better
from ragtriage.diagnosis.rules import Kind
from ragtriage.runs.expected import ExpectedCount


@dataclass(frozen=True, slots=True)
class CaseRepeat:
    """One metric on one case over all trials."""

    case: str
    mean: float
    spread: float
    """Standard deviation over trials (n − 1)."""
    flipped: bool
    """Whether it is low in one trial and high in another."""
    verdict_flips: int
    """How many of its component verdicts differ between trials."""


@dataclass(frozen=True, slots=True)
class MetricRepeat:
    """One metric over many cases and all trials."""

    name: str
    title: str
    better: Better
    mean: float | None
    """Mean over trials of the run's mean, which is weighted by the cases' weights; None without a score."""
    spread: float | None
    """Standard deviation (n − 1) over trials of the run's mean; None unless two trials have scores."""
    case_spread: float | None
    """Mean over cases of the standard deviation (n − 1) over trials; None unless a case has two scores."""
    flips: float | None
    """The share of cases that are low in one trial and high in another, in [0, 1], among those with two scores or more;
    None if there is none, or the metric has no threshold."""
    verdict_flips: float | None
    """The share of component verdicts that aren't the same in all trials, in [0, 1], among those whose component is
    found in all trials; None if there is none."""
    ranks: float | None
    """How far the trials rank the cases alike, in [-1, 1]: see `ragtriage.runs.repeats.statistics.rank_agreement`."""
    smallest: float | None
    """The smallest difference between two versions of an application that these cases can show; see
    `ragtriage.runs.repeats.statistics.smallest_difference`."""
    floor: float | None
    """The same for a change that moves all cases alike, so that nothing but the judge's noise hides it."""
    cases: int
    """How many cases have a score in some trial."""
    undefined: int
    """Scores that are left out because they are undefined: pairs of a case and a trial."""
    failed: int
    """Scores that are left out because the judge failed."""
    worst: tuple[CaseRepeat, ...]
    """The cases that are least alike, the worst first; none that is the same in all trials."""


@dataclass(frozen=True, slots=True)
class KindRepeat:
    """The verdicts on one kind of question, over all cases and trials."""

    kind: str
    """A relation: supported, essential, …"""
    verdicts: int
    """How many can be compared: those that were asked about a component in every trial."""
    flips: float | None
    """The share of them that aren't the same in all trials, in [0, 1]; None if there is none."""


@dataclass(frozen=True, slots=True)
class UnitRepeat:
    """What texts were broken into, over all cases and trials."""

    unit: str
    """A decomposition: claims(response), facts(sources), …"""
    components: int
    """How many different ones were found, in all trials together."""
    kept: float
    """The share of them that every trial found word for word, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class FindingRepeat:
    """The findings of one rule, over all cases and trials."""

    rule: str
    kind: Kind
    shown: float
    """In how many cases it is shown, the mean over trials."""
    spread: float
    """Standard deviation (n − 1) over trials of that number."""
    flips: float | None
    """The share of cases on which it is shown in one trial and not in another, in [0, 1], among those that were
    counted in two trials; None if there is none."""
    expected: ExpectedCount | None
    """How many cases have it by its probability, the mean over trials, also where that is too low to be shown; None
    where no verdict has a chance, and of a doubt."""
    expected_spread: float | None
    """Standard deviation (n − 1) over trials of the expected number."""


@dataclass(frozen=True, slots=True)
class RepeatSummary:
    """What a repeated evaluation amounts to."""

    trials: int
    cases: int
    metrics: tuple[MetricRepeat, ...]
    kinds: tuple[KindRepeat, ...] = ()
    units: tuple[UnitRepeat, ...] = ()
    same: bool = False
    """Whether two trials or more are there and differ in nothing: no score, no verdict, no component."""
    findings: tuple[FindingRepeat, ...] = ()
    """Of the rules that are shown in a trial, or expected of a case."""

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines: metrics, kinds, units and findings by name."""
        found: dict[str, Any] = {"trials": self.trials, "cases": self.cases, "same": self.same}
        for group, key, some in (
            ("metrics", "name", self.metrics),
            ("kinds", "kind", self.kinds),
            ("units", "unit", self.units),
            ("findings", "rule", self.findings),
        ):
            found[group] = {getattr(one, key): _without(asdict(one), key, "title") for one in some}
        return found


def _without(table: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in keys}
