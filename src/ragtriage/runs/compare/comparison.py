"""A comparison of two sides as a value: everything that the terminal, JSON and every other form of it reads.

*Base* is the old side, *new* the new one, and every difference is new − base in the metric's own unit; better and worse
are in the direction that is good for the metric.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ragtriage.core.metric import Better
from ragtriage.diagnosis.rules import FindingKind
from ragtriage.runs.compare.statistics import How, MeanDifference
from ragtriage.runs.metric_tally import ExpectedCount
from ragtriage.runs.run import About

ChangeVerdict = Literal[
    "worse",
    "better",
    "can't tell",
    "not touched",
    "undefined",
    "judged differently",
    "redefined",
    "only in base",
    "only in new",
]
"""What became of a metric or a finding. `not touched`: nothing that it is judged by changed on any pair. `undefined`:
no pair has it on both sides. The last four aren't compared."""
COMPARED: tuple[ChangeVerdict, ...] = ("worse", "can't tell", "better", "not touched", "undefined")
"""The verdicts on what was compared, in the order in which they are listed."""
SourceChange = Literal["same", "order", "set", "unknown"]
"""Whether two cases have the same sources: in the same order, in another one, others, or not known."""
PairedBy = Literal["id", "query"]
GateOutcome = Literal["worse", "can't tell", "no worse", "better", "fails", "passes"]
"""What a gate says: the first four of `--fail-if-worse`, the last two of the limits on one side; one on an expected
number can't tell either where the interval holds the limit."""


@dataclass(frozen=True, slots=True)
class SideHeader:
    """One side in a line."""

    name: str
    """`run 7`, `runs 4, 5 and 6`, `baseline ragtriage-baseline.json`."""
    runs: tuple[int, ...]
    """The runs that it consists of, further trials among them; of a baseline file the run that it was made from."""
    baseline: str | None
    """The file, as it was named; None for runs of the store."""
    input: str
    created: str
    """UTC, ISO 8601."""
    cases: int
    judge: str
    trials: int
    version: str
    incomplete: tuple[str, ...] = ()
    """Why it isn't complete, a sentence each."""
    about: About = field(default_factory=About)
    """Of its first run."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """How the cases of the two sides were paired."""

    paired: int
    by: PairedBy
    only_base: int
    only_new: int
    other_question: int
    """Pairs by id that were left out since they ask another question."""
    ambiguous: int
    """Pairs of which the same query occurs several times on a side, with other sources."""
    groups: int
    """Values of the cluster tag; `paired` where none was given."""
    cluster: str | None
    """The tag that says which cases aren't independent."""
    without_cluster: int = 0
    """Pairs that don't have the tag: each is a group of its own."""
    other_cluster: int = 0
    """Pairs of which the two sides have the tag with different values; new's counts."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs between the two sides, over the pairs and in how they were judged."""

    query: int
    history: int
    reference: int
    sources: int
    source_order: int
    response: int
    unknown: int
    """Pairs of which this isn't known: their texts were deleted, or a baseline was written without digests."""
    same_sources_other_response: int
    kinds: tuple[str, ...] = ()
    """Kinds of questions of which the judge's fingerprint differs."""
    judge: bool = False
    """Whether the judge differs in anything that a metric of both sides asks."""
    metrics: tuple[str, ...] = ()
    thresholds: tuple[str, ...] = ()
    """Metrics whose stored thresholds differ; both sides are read with new's."""
    rules: bool = False
    """Whether the rules that were stored differ; both sides are read with new's."""
    versions: tuple[str, str] | None = None
    """The versions of ragtriage of both sides, where they differ."""
    reading: str = ""


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """One metric of both sides."""

    name: str
    title: str
    better: Better
    range: tuple[float, float]
    verdict: ChangeVerdict
    perhaps: Literal["", "better", "worse"] = ""
    """Of `can't tell`: where the interval alone excludes 0, but Holm's correction doesn't agree."""
    base_mean: float | None = None
    """The mean of the whole side, weighted; `paired` has the means over the pairs."""
    new_mean: float | None = None
    paired: MeanDifference | None = None
    """Over the pairs that have both scores; None where there is none, or it isn't compared."""
    p: float | None = None
    p_adjusted: float | None = None
    """Holm's, over the metrics of both sides that were touched; None for one that isn't among them."""
    how: How | None = None
    defined: tuple[int, int] = (0, 0)
    """Pairs that have the score: on the base, on the new side."""
    lost: int = 0
    """Pairs that have it on the base side only."""
    lost_cases: tuple[str, ...] = ()
    """New's ids of them, at most `MOST_IDS`."""
    gained: int = 0
    p_defined: float | None = None
    """McNemar's exact test of lost against gained."""
    mention_undefined: bool = False
    """Whether so many were lost or gained that it is to be said."""
    bounds: tuple[float, float] | None = None
    """The difference if every lost score were the worst, and the best, of the range; None if none was lost."""
    failed: int = 0
    noise_se: float | None = None
    """The part of the standard error that the judge alone makes; None where no side has several trials."""
    corrected: tuple[float, float, float] | None = None
    """The difference of the means corrected by labels, and its interval; None unless both sides have them."""
    threshold: float | None = None
    why: str = ""

    @property
    def direction(self) -> int:
        """1 where higher is better, −1 where lower is: a difference times this is above 0 where it is better."""
        return 1 if self.better == "higher" else -1


@dataclass(frozen=True, slots=True)
class ExpectedChange:
    """By how much the expected number of cases with a finding changed, over the pairs on which it can be decided."""

    base: ExpectedCount
    new: ExpectedCount
    difference: float
    low: float | None
    """Ends of the 95 % interval: see `ragtriage.runs.compare.rows`. None with fewer than two groups, and
    where nothing changed on any pair."""
    high: float | None


@dataclass(frozen=True, slots=True)
class FindingComparison:
    """One rule of both sides, over the pairs on which it could be decided."""

    rule: str
    kind: FindingKind
    reading: str
    component: str
    verdict: ChangeVerdict
    base: float
    """Pairs that have the finding; of several trials the sum of the shares of trials that have it."""
    new: float
    fixed: int
    """Pairs that had it more than they have it now."""
    broken: int
    decided: int
    """Pairs on which it could be decided on both sides."""
    paired: MeanDifference | None = None
    p: float | None = None
    """None where too few groups changed to reach .05."""
    p_adjusted: float | None = None
    how: How | None = None
    fixed_cases: tuple[str, ...] = ()
    """New's ids, in the order of the new side; at most `MOST_IDS`."""
    broken_cases: tuple[str, ...] = ()
    sure: tuple[float, float] = (0.0, 0.0)
    """Of `base` and `new`: those that are sure."""
    expected: ExpectedChange | None = None
    """How many pairs have it by its probability, also where that is too low to be shown; None where no verdict has a
    chance, so that `base` and `new` say it, of a doubt, and where a side doesn't know it."""


@dataclass(frozen=True, slots=True)
class HeadlineMatrix:
    """Under which component the pairs are counted, every pair once."""

    components: tuple[str, ...]
    """Those that occur, as they are shown."""
    counts: tuple[tuple[int, ...], ...]
    """`counts[i][j]`: pairs with component i on the base side and j on the new one."""
    cases: tuple[tuple[tuple[str, ...], ...], ...] = ()
    """The ids in each cell, at most `MOST_IDS`."""


@dataclass(frozen=True, slots=True)
class SliceMetric:
    """One metric of the pairs with one value of a tag."""

    name: str
    verdict: ChangeVerdict
    paired: MeanDifference | None
    p: float | None = None
    """None where it isn't tested: too few pairs, or too few changed groups to reach .05."""
    p_adjusted: float | None = None


@dataclass(frozen=True, slots=True)
class Slice:
    """The pairs with one value of a tag, which is new's."""

    value: str
    pairs: int
    metrics: tuple[SliceMetric, ...]
    """In the order of `Comparison.metrics`, those that were compared."""


@dataclass(frozen=True, slots=True)
class GateResult:
    """What one gate says."""

    kind: Literal["fail_below", "fail_above", "fail_if_worse", "at_most"]
    name: str
    metric: str
    """The metric or the rule that it reads."""
    limit: float
    """The margin, or the limit."""
    outcome: GateOutcome
    failed: bool
    """Whether the command exits with 1 for it."""
    says: str
    low: float | None = None
    high: float | None = None
    level: float | None = None
    """Of the interval, which is wider the more gates there are."""
    value: float | None = None
    """The difference, the mean or the share that it was decided by."""
    slice: tuple[str, str] | None = None
    title: str = ""
    expected: bool = False
    """Of `at_most`: whether it reads the expected number of cases instead of the findings that are shown."""


@dataclass(frozen=True, slots=True)
class ChangedCase:
    """A pair that changed much."""

    id: str
    """New's."""
    base_id: str
    scores: tuple[tuple[str, float | None, float | None], ...]
    """Metric, base, new; those that changed, the one that the list is sorted by first."""
    sources: SourceChange
    headline: tuple[str, str]
    """What its heading reads on both sides: the rule, else a component; empty where findings weren't read."""
    direction: Literal["worse", "better"]


@dataclass(frozen=True, slots=True)
class ChangedCases:
    """The pairs that changed most by one metric, the most first."""

    metric: str
    of: int
    cases: tuple[ChangedCase, ...]


@dataclass(frozen=True, slots=True)
class FaultChange:
    """A pair whose faults changed."""

    id: str
    """New's."""
    base_id: str
    headline: tuple[str, str]
    """As in `ChangedCase`."""


@dataclass(frozen=True, slots=True)
class FaultChanges:
    """The pairs whose faults changed, each once, in the order of the new side; all are counted."""

    fixed: tuple[FaultChange, ...]
    """It had a fault, and has none."""
    broken: tuple[FaultChange, ...]
    """It had no fault, and has one."""
    others: tuple[FaultChange, ...]
    """It has another fault than before, or one more or less."""
    counts: tuple[int, int, int]
    """Of all fixed, broken and other ones."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Cases without a pair, by id, at most `MOST_IDS` each."""

    only_base: tuple[str, ...] = ()
    only_new: tuple[str, ...] = ()
    other_question: tuple[str, ...] = ()
    ambiguous: tuple[str, ...] = ()


MOST_IDS = 50
"""Ids that a list holds; all are counted."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sides compared: two versions of an application, or two applications on the same questions."""

    base: SideHeader
    new: SideHeader
    pairs: Pairs
    changes: Changes
    metrics: tuple[MetricComparison, ...]
    """In the order in which they are listed: worse, can't tell by |difference| / SE, better, not touched, others."""
    findings: tuple[FindingComparison, ...]
    """The same; empty where findings weren't read."""
    headlines: HeadlineMatrix | None
    gates: tuple[GateResult, ...] = ()
    slices: Mapping[str, tuple[Slice, ...]] = field(default_factory=dict)
    """Tag → its values, the largest first."""
    slices_left_out: int = 0
    """Values of the tag beyond those that are listed."""
    faults: FaultChanges | None = None
    """None where findings weren't read."""
    worse: ChangedCases | None = None
    """The cases that are worse by most, by the first metric that is worse, or else the one that lost most."""
    better: ChangedCases | None = None
    left_out: LeftOut = field(default_factory=LeftOut)
    notes: tuple[str, ...] = ()
    """What is to be known beside, a sentence each."""
    incomplete: tuple[str, ...] = ()
    """Why the comparison isn't complete (exit code 3), a sentence each; its gates then say little."""
    gated: bool = True
    """False where so few cases are paired, or the judge differs, that no gate is read."""
    family: int = 0
    """How many metrics Holm's correction counts."""
    finding_family: int = 0
    hint: str = ""
    """A tag by whose values the cases seem not to be independent; empty if none is seen."""

    @property
    def failing(self) -> tuple[GateResult, ...]:
        """The gates that failed."""
        return tuple(gate for gate in self.gates if gate.failed)

    def metric(self, name: str) -> MetricComparison | None:
        """One metric's row; None if no side has it."""
        return next((one for one in self.metrics if one.name == name), None)
