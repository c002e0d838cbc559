"""How a case is headed: what is said of it in a line, the component under which it is counted, and its rank.

The order of cases is one for the list of cases, the worst of a component, and the worst of all.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Literal

from ragtriage.core.case import Record
from ragtriage.core.display import settled, told_apart
from ragtriage.core.metric import Metric
from ragtriage.core.steps import Decompose
from ragtriage.core.verdicts import Score, Undefined
from ragtriage.diagnosis.findings import Finding, declined
from ragtriage.diagnosis.rules import BAD, KINDS, RULES, FindingKind, Rule, distance_past_threshold, is_bad
from ragtriage.metrics import METRICS, metric_named
from ragtriage.metrics.thelma import response_query_coverage

NONE = "none"
"""The component of a case on which no fault was found."""
UNDETERMINED = "undetermined"
"""The component of a case on which no failure rule could be decided, or the judge can't tell."""
UNREAD = "no rule reads these scores"
"""Why nothing is found where every rule needs scores that weren't computed."""
MOST_LOW = 2
"""Bad scores that a heading names; more are counted."""

HeadlineKind = FindingKind | Literal["undetermined", "low-score", "no-fault"]
KIND_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "failure": "failure",
        "quality": "quality",
        "doubt": "doubt",
        "undetermined": "undetermined",
        "low-score": "low score",
        "waste": "waste",
        "right": "done right",
        "no-fault": "no fault found",
    }
)
"""What a case is headed by, the most pressing first, in words."""


@dataclass(frozen=True, slots=True)
class Headline:
    """How one case is headed; as a text, a sentence that says it all."""

    kind: HeadlineKind
    """Of its most pressing finding; else `low-score`, `no-fault`, or `undetermined` where nothing could be decided."""
    component: str
    """Under which it is counted: that of its most pressing finding, waste aside; else `none` or `undetermined`."""
    about: str
    """What is named beside the kind: the component to repair, what wastes, or the metrics whose scores are low."""
    reading: str
    """What it means; empty if nothing was found."""
    sure: bool

    def __str__(self) -> str:
        if self.kind in ("no-fault", "low-score"):
            return self.reading or KIND_WORDS[self.kind]
        said = " · ".join(filter(None, (KIND_WORDS[self.kind], self.about)))
        doubt = "" if self.sure or self.kind == "undetermined" else " (not sure)"
        return f"{said}: {self.reading}{doubt}" if self.reading else said + doubt


def headline(
    record: Record,
    findings: Sequence[Finding],
    thresholds: Mapping[str, float],
    rules: Sequence[Rule] = RULES,
    metrics: Sequence[Metric] = METRICS,
) -> Headline:
    """How a case is headed.

    A case on which nothing is to be repaired isn't headed as one without a fault if a score of its response, or one
    that a failure rule would blame, lies on the wrong side of its threshold and no finding reads it.

    Args:
        record: an evaluated case.
        findings: what `diagnose` found on it.
        thresholds: metric name → the value at which a score is just good enough.
        rules: those that the findings come from.
        metrics: where those stand that aren't built in.
    """
    component = component_of(record, findings, rules)
    first = most_pressing(findings) if findings else None
    if component == UNDETERMINED and (not first or first.kind != "doubt"):
        return Headline("undetermined", component, "", _why_undetermined(record, rules), sure=False)
    if first and first.kind not in ("waste", "right"):
        about = component if first.kind == "doubt" else first.component
        return Headline(first.kind, component, about, first.reading, first.sure)
    if low := sorted(_unread_low_scores(record, findings, thresholds, rules, metrics), key=itemgetter(0), reverse=True):
        titles = [title for _, title, _ in low]
        more = f" and {len(low) - MOST_LOW} more" if len(low) > MOST_LOW else ""
        reading = f"no fault found, but {', '.join(said for *_, said in low[:MOST_LOW])}{more}"
        return Headline("low-score", component, ", ".join(titles[:MOST_LOW]) + more, reading, sure=True)
    if first:
        return Headline(first.kind, component, first.component, first.reading, first.sure)
    return Headline("no-fault", component, "", "", sure=True)


def component_of(record: Record, findings: Sequence[Finding], rules: Sequence[Rule] = RULES) -> str:
    """The one component under which a case is counted.

    The most pressing finding's; `none` where no fault was found, also if it carries waste; `undetermined` where the
    judge contradicts itself, or where no failure rule could be decided because scores are undefined.
    """
    findings = [finding for finding in findings if finding.kind != "waste"]
    if findings:
        return UNDETERMINED if findings[0].kind == "doubt" else findings[0].component
    scores = {name: outcome for name, outcome in record.outcomes.items() if isinstance(outcome, Score)}
    failures = [rule for rule in rules if rule.kind == "failure" and rule.reads_level()]
    readable = [rule for rule in failures if scores.keys() >= rule.when.keys()]
    if declined(record) is None and any(_hangs_on_declining(rule, scores) for rule in readable):
        return UNDETERMINED
    return NONE if any(not rule.declines for rule in readable) else UNDETERMINED


def most_pressing(findings: Sequence[Finding]) -> Finding:
    """The finding that comes first: by its kind, the likelier before the less likely, the severe before the slight."""
    return min(
        findings, key=lambda f: (KINDS.index(f.kind), not f.sure, -settled(f.probability, 2), -settled(f.severity, 2))
    )


def any_applicable(rules: Sequence[Rule], computed: Collection[str]) -> bool:
    """Whether a rule's pattern of levels is about no other metrics than these, so that it could hold at all."""
    return any(rule.reads_level() and rule.when.keys() <= set(computed) for rule in rules)


def _hangs_on_declining(rule: Rule, scores: Mapping[str, Score]) -> bool:
    """Whether it makes a difference to a rule that the response declines or doesn't."""
    parts = [part for name in rule.when for part in scores[name].parts]
    return not rule.always or any(
        part.good is False and part.kind in rule.faults and part.kind not in rule.always for part in parts
    )


def _why_undetermined(record: Record, rules: Sequence[Rule]) -> str:
    if record.case.sources is None:
        return "the sources weren't recorded"
    failed = (o.reason for o in record.outcomes.values() if isinstance(o, Undefined) and o.failed)
    unread = "too many scores are undefined to tell" if any_applicable(rules, record.outcomes) else UNREAD
    return next(failed, unread)


def _unread_low_scores(
    record: Record,
    findings: Sequence[Finding],
    thresholds: Mapping[str, float],
    rules: Sequence[Rule],
    metrics: Sequence[Metric],
) -> Iterator[tuple[float, str, str]]:
    """The bad scores that no finding reads: how far beyond its threshold each lies, the metric's title, and a sentence.

    What the response doesn't cover isn't counted where it rightly declines.
    """
    read = {name for finding in findings for name in finding.scores}
    if any(finding.kind == "right" for finding in findings):
        read.add(response_query_coverage.name)
    blamed = {(name, level) for rule in rules if rule.kind == "failure" for name, level in rule.when.items()}
    for name, outcome in record.outcomes.items():
        metric, threshold = metric_named(name, metrics), thresholds.get(name)
        if name in read or metric is None or threshold is None or not isinstance(outcome, Score):
            continue
        bad = is_bad(outcome.value, threshold, metric.better)
        level = BAD[metric.better]
        if bad and (_reads_response(metric) or (name, level) in blamed):
            beyond = distance_past_threshold(outcome.value, threshold, metric.better)
            # as it is shown, so that of equally bad ones the order of the metrics decides on every processor
            yield (
                settled(beyond, 2),
                metric.title,
                f"{metric.title} is {level} ({told_apart(outcome.value, threshold)}, threshold {threshold:g})",
            )


def _reads_response(metric: Metric) -> bool:
    steps = metric.needs.values()
    return any(
        "response" in ((step.of,) if isinstance(step, Decompose) else (step.components.of, step.against))
        for step in steps
    )


IdOrder = tuple[tuple[str | int, ...], str]
Rank = tuple[int, int, float, IdOrder]
"""Smaller is worse: what the case is headed by, unsure behind sure, severity; equal ones by their id."""

_ORDER = tuple(KIND_WORDS)
_DIGITS = re.compile(r"([0-9]{1,15})")


def case_rank(
    record: Record,
    findings: Sequence[Finding],
    head: Headline,
    thresholds: Mapping[str, float],
    metrics: Sequence[Metric] = (),
) -> Rank:
    """Where a case stands among all of a run: failures first, sure ones before unsure, the severe before the slight.

    An undetermined case stands beside those in doubt, one with a low score before mere waste; both by how far their bad
    scores lie beyond their thresholds. `metrics` are those that aren't built in.
    """
    own = [finding for finding in findings if finding.kind == head.kind]
    if own or head.kind == "no-fault":
        return rank_of(record.case.id, own)
    order = _place("doubt" if head.kind == "undetermined" else head.kind)
    beyond = _distance_past_thresholds(record, thresholds, metrics)
    return order, 1, -settled(beyond, 2), _id_order(record.case.id)


def rank_of(case: str, findings: Sequence[Finding]) -> Rank:
    """Where a case stands among others by findings of it; the last of all without any."""
    if not findings:
        return _place("no-fault"), 1, 0.0, _id_order(case)
    first = most_pressing(findings)
    total = sum(finding.severity for finding in findings if finding.kind == first.kind)
    return _place(first.kind), int(not first.sure), -settled(total, 2), _id_order(case)


def needs_a_look(rank: Rank) -> bool:
    """Whether something was found on a case of this rank, or a score of it is bad."""
    kind, unsure, severity, _ = rank
    return kind < _place("no-fault") and (kind, unsure, severity) != (_place("doubt"), 1, 0.0)


def rank_from(told: Any) -> Rank:
    """A rank that was kept as JSON."""
    kind, unsure, severity, (parts, case) = told
    return kind, unsure, severity, (tuple(parts), case)


def _place(kind: HeadlineKind) -> int:
    return _ORDER.index(kind)


def _distance_past_thresholds(record: Record, thresholds: Mapping[str, float], metrics: Sequence[Metric]) -> float:
    scores = ((name, o.value) for name, o in record.outcomes.items() if isinstance(o, Score))
    known = ((metric_named(name, metrics), name, value) for name, value in scores)
    return sum(
        distance_past_threshold(value, thresholds.get(name), metric.better) for metric, name, value in known if metric
    )


def _id_order(case: str) -> IdOrder:
    """Numbers in an id count as numbers: `case-9` stands before `case-10`."""
    parts = _DIGITS.split(case)
    return tuple(int(part) if place % 2 else part for place, part in enumerate(parts)), case
