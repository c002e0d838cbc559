"""In which order cases are shown: one for the list of cases, the worst of a component, and the worst of all."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ragtriage.core.metric import Metric
from ragtriage.core.record import Record
from ragtriage.core.verdicts import Score
from ragtriage.diagnosis.findings import Finding
from ragtriage.diagnosis.headline import KIND_WORDS, Headline, HeadlineKind, most_pressing
from ragtriage.diagnosis.thresholds import distance_past_threshold
from ragtriage.metrics import metric_named

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
    scores lie beyond their thresholds.

    Args:
        record: the case.
        findings: what was found on it.
        head: how it is headed.
        thresholds: metric name → the value at which a score is just good enough.
        metrics: where those stand that aren't built in.
    """
    own = [finding for finding in findings if finding.kind == head.kind]
    if own or head.kind == "no-fault":
        return rank_of(record.case.id, own)
    order = _place("doubt" if head.kind == "undetermined" else head.kind)
    beyond = _distance_past_thresholds(record, thresholds, metrics)
    return order, 1, -round(beyond, 6), _id_order(record.case.id)


def rank_of(case: str, findings: Sequence[Finding]) -> Rank:
    """Where a case stands among others by findings of it; the last of all without any."""
    if not findings:
        return _place("no-fault"), 1, 0.0, _id_order(case)
    first = most_pressing(findings)
    total = sum(finding.severity for finding in findings if finding.kind == first.kind)
    return _place(first.kind), int(not first.sure), -round(total, 6), _id_order(case)


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
    """How far the bad scores lie beyond their thresholds, summed, whichever direction is good."""
    scores = ((name, o.value) for name, o in record.outcomes.items() if isinstance(o, Score))
    known = ((metric_named(name, metrics), name, value) for name, value in scores)
    return sum(
        distance_past_threshold(value, thresholds.get(name), metric.better) for metric, name, value in known if metric
    )


def _id_order(case: str) -> IdOrder:
    """Numbers in an id count as numbers: `case-9` stands before `case-10`."""
    parts = _DIGITS.split(case)
    return tuple(int(part) if place % 2 else part for place, part in enumerate(parts)), case
