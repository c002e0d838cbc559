"""Cases as rows, the worst first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragtriage.core.metric import Metric
from ragtriage.core.record import Record
from ragtriage.core.verdicts import Score, Undefined
from ragtriage.diagnosis import RULES, UNDETERMINED, Finding, Rule, any_applicable, headline
from ragtriage.diagnosis.ranking import Rank, case_rank, most_pressing
from ragtriage.text.sanitize import one_line

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
        first = most_pressing(findings)
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
        case_rank(record, findings, component, thresholds or {}, metrics),
    )


def worst_first(rows: Iterable[CaseRow]) -> list[CaseRow]:
    """Rows in the order of their rank."""
    return sorted(rows, key=lambda row: row.rank)
