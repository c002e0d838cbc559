"""In which order cases are shown: one for the list of cases, the worst of a component, and the worst of all."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ragtriage.core.metric import Metric
from ragtriage.core.record import Record
from ragtriage.core.verdicts import Score
from ragtriage.diagnosis.findings import UNDETERMINED, Finding
from ragtriage.diagnosis.rules import KINDS
from ragtriage.diagnosis.thresholds import distance_past_threshold
from ragtriage.metrics import metric_named

IdOrder = tuple[tuple[str | int, ...], str]
Rank = tuple[int, int, float, IdOrder]
"""Smaller is worse: kind of the most pressing finding, unsure behind sure, severity; equal ones by their id."""

_DIGITS = re.compile(r"([0-9]{1,15})")


def case_rank(
    record: Record,
    findings: Sequence[Finding],
    component: str,
    thresholds: Mapping[str, float],
    metrics: Sequence[Metric] = (),
) -> Rank:
    """Where a case stands among all of a run.

    Args:
        record: the case.
        findings: what was found on it.
        component: under which it is counted; see `headline`.
        thresholds: by which a case that no rule decides is ranked.
        metrics: where those stand that aren't built in.
    """
    undetermined = _distance_past_thresholds(record, thresholds, metrics) if component == UNDETERMINED else None
    return rank_of(record.case.id, findings, undetermined)


def rank_of(case: str, findings: Sequence[Finding], undetermined: float | None = None) -> Rank:
    """Where a case stands among others: failures first, sure ones before unsure, the severe before the slight.

    Args:
        case: its id.
        findings: the case's, or those that count.
        undetermined: for an undetermined case, how far its bad scores lie beyond their thresholds.
    """
    if findings:
        first = most_pressing(findings)
        total = sum(f.severity for f in findings if f.kind == first.kind)
        return KINDS.index(first.kind), int(not first.sure), -round(total, 6), _id_order(case)
    if undetermined is not None:
        return KINDS.index("doubt"), 1, -round(undetermined, 6), _id_order(case)
    return len(KINDS), 1, 0.0, _id_order(case)


def most_pressing(findings: Sequence[Finding]) -> Finding:
    """The finding by which a case is ranked."""
    return min(findings, key=lambda f: (KINDS.index(f.kind), not f.sure, -f.severity))


def needs_a_look(rank: Rank) -> bool:
    """Whether something was found on a case of this rank, or a score of it is bad."""
    kind, unsure, severity, _ = rank
    return kind < len(KINDS) and (kind, unsure, severity) != (KINDS.index("doubt"), 1, 0.0)


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
