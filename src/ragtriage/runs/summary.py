"""A run in numbers: means with intervals, what is undefined and why, and the diagnosis counted."""

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from ragtriage.core.case import Record
from ragtriage.core.display import plural
from ragtriage.core.errors import ConfigError
from ragtriage.core.metric import Better, Metric
from ragtriage.core.statistics import ExactSum, Numbers, ranked
from ragtriage.core.verdicts import Missing, Undefined, Verdict, Verdicts
from ragtriage.diagnosis.findings import Assessment, Finding, assess
from ragtriage.diagnosis.headline import (
    KIND_WORDS,
    NONE,
    UNDETERMINED,
    Rank,
    case_rank,
    headline,
    needs_a_look,
    rank_from,
    rank_of,
)
from ragtriage.diagnosis.rules import COSTS, KINDS, RULES, Costs, FindingKind, Rule
from ragtriage.metrics.aggregate import SEGMENTS
from ragtriage.planning.relations import CITES_NOTHING
from ragtriage.runs.metric_tally import ExpectedCount, MetricSummary, MetricTally

WORST = 5


@dataclass(frozen=True, slots=True)
class FindingCount:
    """What a rule says, and of how many cases."""

    text: str
    cases: int
    advice: str


@dataclass(frozen=True, slots=True)
class Group:
    """All findings of one kind on one component."""

    component: str
    kind: str
    cases: int
    sure: int
    """Cases of which at least one finding is sure."""
    readings: tuple[FindingCount, ...]
    tokens: int
    """Waste only."""
    worst: tuple[str, ...]
    expected: ExpectedCount | None = None
    """How many cases have such a finding, also those where it is too unlikely to be shown; None where the verdicts have
    no chances, so that `cases` says it."""

    @property
    def told(self) -> bool:
        """Whether the expected number says more than the count."""
        return self.expected is not None and self.expected.told

    @property
    def count(self) -> str:
        """How many cases, and how many are expected, in a few characters: `12 · 19 (9–29)`."""
        if not self.told or self.expected is None:
            return f"{self.cases:,}"
        return f"{self.cases:,} · {self.expected.value:,.0f} ({self.expected.low:,.0f}–{self.expected.high:,.0f})"


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run amounts to; as a text, its means and how many cases are counted under which component."""

    cases: int
    metrics: tuple[MetricSummary, ...]
    diagnosis: Mapping[str, int]
    """Component → cases, every case counted once: see `ragtriage.diagnosis.headline`."""
    groups: tuple[Group, ...]
    """By kind, the most pressing first, then by how many cases, and how many of them are sure."""
    failed: int
    flagged: int = 0
    """Verdicts that a mechanical check speaks against, for example a quote that isn't in the source."""
    low_scores: int = 0
    """Cases counted under `none` with a low score that no finding reads: see `ragtriage.diagnosis.headline`."""
    wasteful: int = 0
    """Cases counted under `none` that are headed by waste."""
    citing: tuple[int, int] | None = None
    """(Responses that cite something, responses): the cases behind the means of the citation metrics. None if no
    response was looked through for citations."""
    worst: str | None = None
    """The id of the case that the list of cases begins with; None if nothing is wrong with any."""

    def __str__(self) -> str:
        width = max((len(m.title) for m in self.metrics), default=0)
        lines = [f"{plural(self.cases, 'case')}"]
        for m in self.metrics:
            told = "–" if m.mean is None else f"{m.mean:.2f}, 95 % {m.low:.2f}–{m.high:.2f}"
            lines.append(f"  {m.title:{width}}  {told} ({plural(m.n, 'case')})")
        for component, count in self.diagnosis.items():
            lines.append(f"  {plural(count, 'case')}: {KIND_WORDS['no-fault'] if component == NONE else component}")
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines: metrics and diagnosis, without the run's number."""
        names = ("better", "mean", "low", "high", "n", "undefined", "failed")
        metrics = {m.name: {name: getattr(m, name) for name in names} for m in self.metrics}
        for m in self.metrics:
            if m.sampling:
                metrics[m.name]["sampling"] = dict(zip(("low", "high"), m.sampling, strict=True))
        found: dict[str, Any] = {"cases": self.cases, "metrics": metrics, "diagnosis": dict(self.diagnosis)}
        if any(m.normal for m in self.metrics):
            found["intervals"] = "normal"
        if self.low_scores:
            found["low_scores"] = self.low_scores
        if self.citing:
            found["citing"] = {"responses": self.citing[1], "cite": self.citing[0]}
        return found | ({"flagged": self.flagged} if self.flagged else {})

    def findings_as_json(self) -> list[dict[str, Any]]:
        """How many cases have the findings of each group: shown, sure and expected; without what they say."""
        names = ("component", "kind", "cases", "sure")
        return [
            {name: getattr(group, name) for name in names}
            | {"expected": asdict(group.expected) if group.expected else None}
            for group in self.groups
        ]


@dataclass
class _GroupCounts:
    cases: int = 0
    sure: int = 0
    tokens: int = 0
    readings: Counter[tuple[str, str]] = field(default_factory=Counter)
    worst: list[tuple[Rank, str]] = field(default_factory=list)
    expected: ExactSum = field(default_factory=ExactSum)
    spread: ExactSum = field(default_factory=ExactSum)
    """Σp(1 − p): the variance of the number of cases, and by how much a step in the log odds of all moves it."""


class Tally:
    """Counts records as they come; holds one number a score and case, nothing else of a case."""

    def __init__(
        self,
        metrics: Sequence[Metric],
        thresholds: Mapping[str, float],
        rules: Sequence[Rule] = RULES,
        costs: Costs = COSTS,
    ) -> None:
        self._metrics = tuple(metrics)
        self._thresholds = thresholds
        self._rules = rules
        self._costs = costs
        self._columns = {m.name: MetricTally(m) for m in metrics}
        self._groups: dict[tuple[str, str], _GroupCounts] = {}
        self._components: Counter[str] = Counter()
        self._cases = self._failed = self._flagged = self._low_scores = self._wasteful = 0
        self._citing: Counter[bool] = Counter()
        self._worst: tuple[Rank, str] | None = None

    def add(self, record: Record, assessed: Assessment | None = None) -> tuple[Finding, ...]:
        """Count one record, assessed by the same rules already or now, and return its findings."""
        assessed = assessed or assess(record, self._thresholds, self._rules, self._metrics, self._costs)
        findings = assessed.findings
        self._cases += 1
        self._failed += any(isinstance(o, Undefined) and o.failed for o in record.outcomes.values())
        self._flagged += sum(
            isinstance(cell, Verdict) and bool(cell.flag)
            for known in record.steps.values()
            if isinstance(known, Verdicts)
            for row in known.cells
            for cell in row
        )
        if (cites := _cites(record)) is not None:
            self._citing[cites] += 1
        head = headline(record, findings, self._thresholds, self._rules, self._metrics)
        self._components[head.component] += 1
        self._low_scores += head.kind == "low-score" and head.component == NONE
        self._wasteful += head.kind == "waste" and head.component == NONE
        rank = case_rank(record, findings, head, self._thresholds, self._metrics)
        if needs_a_look(rank):
            self._worst = min(filter(None, (self._worst, (rank, record.case.id))))
        for name, column in self._columns.items():
            column.add(record.outcomes.get(name), record.case.weight)
        self._count_probabilities(assessed)
        for key in dict.fromkeys((finding.component, finding.kind) for finding in findings):
            self._count_group(key, [f for f in findings if (f.component, f.kind) == key], record.case.id)
        return findings

    def counts(self) -> dict[str, Any]:
        """What was counted so far, but for the single scores; of JSON's types, for `take`."""
        groups = [
            [
                *key,
                one.cases,
                one.sure,
                one.tokens,
                [[*told, count] for told, count in one.readings.items()],
                one.worst,
                one.expected.parts,
                one.spread.parts,
            ]
            for key, one in self._groups.items()
        ]
        return {
            "metrics": {name: column.counts() for name, column in self._columns.items()},
            "groups": groups,
            "components": dict(self._components),
            "numbers": [self._cases, self._failed, self._flagged, self._low_scores, self._wasteful],
            "citing": [self._citing[True], self._citing[False]],
            "worst": self._worst,
        }

    def take(self, counts: Mapping[str, Any], *, moments: bool = False) -> None:
        """Add what another tally of the same metrics and rules counted.

        Unless its scores count by their sums (`moments`), `add_scores` has to add them one by one.
        """
        for name, told in counts["metrics"].items():
            self._columns[name].take(told, moments=moments)
        for component, kind, cases, sure, tokens, readings, worst, expected, spread in counts["groups"]:
            one = self._groups.setdefault((component, kind), _GroupCounts())
            one.cases += cases
            one.sure += sure
            one.tokens += tokens
            for text, advice, count in readings:
                one.readings[text, advice] += count
            one.worst = heapq.nsmallest(WORST, [*one.worst, *((rank_from(rank), case) for rank, case in worst)])
            one.expected.add(*expected)
            one.spread.add(*spread)
        self._components.update(counts["components"])
        cases, failed, flagged, low_scores, wasteful = counts["numbers"]
        self._cases += cases
        self._failed += failed
        self._flagged += flagged
        self._low_scores += low_scores
        self._wasteful += wasteful
        cite, others = counts["citing"]
        self._citing.update({known: count for known, count in ((True, cite), (False, others)) if count})
        if counts["worst"]:
            rank, case = counts["worst"]
            self._worst = min(filter(None, (self._worst, (rank_from(rank), case))))

    def sum_up(self) -> None:
        """From now on scores count by their sums; see `take`."""
        for column in self._columns.values():
            column.sum_up()

    def add_scores(self, metric: str, values: Numbers, weights: Numbers) -> None:
        """Add the single scores of one metric, with their cases' weights; see `take`."""
        self._columns[metric].add_scores(values, weights)

    def summary(self, *, suspected: bool = False) -> Summary:
        """What was counted so far.

        With `suspected`, groups are listed too of which no finding is shown, and of which it may be that no case has
        one.
        """
        order = [*(rule.component for rule in self._rules if rule.kind != "doubt"), UNDETERMINED, NONE]
        counts = {name: self._components[name] for name in dict.fromkeys(order) if self._components[name]}
        groups = [self._group(*one) for one in self._groups.items()]
        least = 0 if suspected else 1
        groups = [group for group in groups if group.cases or (group.expected and round(group.expected.low) >= least)]
        return Summary(
            self._cases,
            tuple(column.summary() for column in self._columns.values()),
            counts,
            tuple(sorted(groups, key=lambda g: (KINDS.index(g.kind), -g.cases, -g.sure, g.component))),
            self._failed,
            self._flagged,
            self._low_scores,
            self._wasteful,
            (self._citing[True], self._citing.total()) if self._citing else None,
            self._worst[1] if self._worst else None,
        )

    def _count_probabilities(self, assessed: Assessment) -> None:
        """Add up how likely a case is to have a finding of each group: of several rules, that at least one holds.

        Rules are taken for independent. A doubt is about the judge, not about the answer, and isn't expected of a case.
        """
        without: dict[tuple[str, FindingKind], float] = {}
        for rule in self._rules:
            if rule.kind != "doubt" and (p := assessed.probabilities.get(rule.name)):
                key = (rule.component, rule.kind)
                without[key] = without.get(key, 1.0) * (1.0 - p)
        for group, none in without.items():
            counts = self._groups.setdefault(group, _GroupCounts())
            counts.expected.add(1.0 - none)
            counts.spread.add(none * (1.0 - none))

    def _count_group(self, key: tuple[str, str], findings: Sequence[Finding], case: str) -> None:
        """Count one case under one component and kind; it may have several findings there."""
        counts = self._groups.setdefault(key, _GroupCounts())
        counts.cases += 1
        counts.sure += any(finding.sure for finding in findings)
        counts.tokens += max(finding.tokens for finding in findings)
        counts.readings.update((finding.reading, finding.advice) for finding in findings)
        counts.worst = heapq.nsmallest(WORST, [*counts.worst, (rank_of(case, findings), case)])

    def _group(self, key: tuple[str, str], counts: _GroupCounts) -> Group:
        worst = tuple(case for _, case in counts.worst)
        readings = tuple(FindingCount(text, count, advice) for (text, advice), count in ranked(counts.readings).items())
        spread = counts.spread.value
        expected = ExpectedCount.of(counts.expected.value, spread, self._cases) if spread else None
        return Group(*key, counts.cases, counts.sure, readings, counts.tokens, worst, expected)


def _cites(record: Record) -> bool | None:
    """Whether the response cites something; None if nobody looked, or there is no response."""
    known = record.steps.get(str(SEGMENTS))
    if isinstance(known, Missing):
        return False if known in CITES_NOTHING else None
    return known is not None or None


FLAGS: Mapping[Better, Literal["--fail-below", "--fail-above"]] = {"higher": "--fail-below", "lower": "--fail-above"}
"""Which direction of a metric is good → the flag that sets its gate."""


@dataclass(frozen=True, slots=True)
class Gates:
    """Limits on the means of a run."""

    fail_below: Mapping[str, float]
    """Metric name → its lowest allowed mean."""
    fail_above: Mapping[str, float]
    """The highest allowed mean of a metric of which lower is better."""

    def check(self, metrics: Sequence[Metric]) -> None:
        """Refuse a gate on a metric that isn't computed, or in its wrong direction, before anything is judged."""
        directions = {m.name: m.better for m in metrics}
        for better, flag in FLAGS.items():
            limits = self.fail_below if better == "higher" else self.fail_above
            for name, limit in limits.items():
                if name not in directions:
                    raise ConfigError(f"{flag} {name}: it isn't computed here; add it to --metrics")
                if directions[name] != better:
                    other = FLAGS[directions[name]]
                    raise ConfigError(f"{flag} {name}: {directions[name]} is better, so write {other} {name}={limit:g}")

    def failing(self, summary: Summary) -> list[str]:
        """One sentence for every gate that fails; a mean that can't be computed fails its gate."""
        means = {m.name: m.mean for m in summary.metrics}
        lines = []
        for limits, side, word in ((self.fail_below, 1, "least"), (self.fail_above, -1, "most")):
            for name, limit in limits.items():
                mean = means[name]
                if mean is None:
                    lines.append(f"gate failed: {name} is undefined on every case, at {word} {limit:g} was asked for")
                elif side * (mean - limit) < -1e-9:
                    lines.append(f"gate failed: mean {name} is {mean:.3f}, at {word} {limit:g} was asked for")
        return lines
