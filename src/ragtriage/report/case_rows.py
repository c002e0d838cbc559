"""Cases as rows, the worst first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragtriage.core.metric import Metric
from ragtriage.core.record import Record
from ragtriage.core.verdicts import Score, Undefined
from ragtriage.diagnosis import KINDS, RULES, UNDETERMINED, Finding, Rule, any_applicable, headline
from ragtriage.diagnosis.thresholds import distance_past_threshold
from ragtriage.metrics import metric_named
from ragtriage.text.sanitize import one_line

Rank = tuple[int, int, float]
"""Smaller is worse: kind of the most pressing finding, unsure behind sure, severity."""

HEALTHY = "healthy"
UNREAD = "no rule reads these scores"
"""Why nothing is found where every rule needs scores that weren't computed."""


@dataclass(frozen=True, slots=True)
class CaseRow:
    """One case on one line."""

    id: str
    query: str
    kind: str
    """Of its most pressing finding; `undetermined` or `healthy` if there is none."""
    component: str
    """Under which it is counted, or what wastes; `none` for a healthy case without waste."""
    reading: str
    sure: bool
    scores: Mapping[str, float | None]
    """Metric name → value, None where it is undefined."""
    rank: Rank


def case_row(
    record: Record,
    findings: Sequence[Finding],
    rules: Sequence[Rule] = RULES,
    thresholds: Mapping[str, float] | None = None,
    metrics: Sequence[Metric] = (),
) -> CaseRow:
    """A case on one line.

    Args:
        record: the case.
        findings: what was found on it.
        rules: those that the findings come from.
        thresholds: by which a case that no rule decides is ranked.
        metrics: where those stand that aren't built in: they say which direction is good.
    """
    component = headline(record, findings, rules)
    failed = [o.reason for o in record.outcomes.values() if isinstance(o, Undefined) and o.failed]
    scores = {name: o.value if isinstance(o, Score) else None for name, o in record.outcomes.items()}
    if findings and (component != UNDETERMINED or findings[0].kind == "doubt"):
        first = _most_pressing(findings)
        kind, reading, sure = str(first.kind), first.reading, first.sure
    elif component == UNDETERMINED:
        kind, sure = UNDETERMINED, False
        unread = UNREAD if not any_applicable(rules, record.outcomes) else "too many scores are undefined to tell"
        reading = failed[0] if failed else unread
    else:
        kind, reading, sure = HEALTHY, "", True
    return CaseRow(
        one_line(record.case.id, 80),
        one_line(record.case.query, 140),
        kind,
        findings[0].component if kind == "waste" else component,
        one_line(reading, 200),
        sure,
        scores,
        rank_of(findings, _beyond(scores, thresholds or {}, metrics) if component == UNDETERMINED else None),
    )


def rank_of(findings: Sequence[Finding], undetermined: float | None = None) -> Rank:
    """Where a case stands among others: failures first, the severe before the slight, unsure ones later.

    Args:
        findings: the case's.
        undetermined: for an undetermined case, how far its bad scores lie beyond their thresholds.
    """
    if findings:
        first = _most_pressing(findings)
        total = sum(f.severity for f in findings if f.kind == first.kind)
        return KINDS.index(first.kind), int(not first.sure), -round(total, 6)
    if undetermined is not None:
        return KINDS.index("doubt"), 1, -round(undetermined, 6)
    return len(KINDS), 1, 0.0


def worst_first(rows: Iterable[CaseRow]) -> list[CaseRow]:
    """Rows in the order of their rank; equal ones stay as they came."""
    return sorted(rows, key=lambda row: row.rank)


def _beyond(scores: Mapping[str, float | None], thresholds: Mapping[str, float], metrics: Sequence[Metric]) -> float:
    """How far the bad scores lie beyond their thresholds, summed, whichever direction is good."""
    known = ((metric_named(name, metrics), name, value) for name, value in scores.items())
    return sum(
        distance_past_threshold(value, thresholds.get(name), metric.better) for metric, name, value in known if metric
    )


def _most_pressing(findings: Sequence[Finding]) -> Finding:
    return min(findings, key=lambda f: (KINDS.index(f.kind), not f.sure, -f.severity))
