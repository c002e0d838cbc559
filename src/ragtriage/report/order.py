"""Cases as rows, the worst first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragtriage.diagnosis import KINDS, NONE, RULES, UNDETERMINED, Finding, Rule, headline
from ragtriage.record import Record
from ragtriage.report.plain import one_line
from ragtriage.summary import Summary
from ragtriage.verdicts import Score, Undefined

Rank = tuple[int, int, float]
"""Smaller is worse: kind of the most pressing finding, unsure behind sure, severity."""

HEALTHY = "healthy"


@dataclass(frozen=True, slots=True)
class Row:
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


def row_of(record: Record, findings: Sequence[Finding], rules: Sequence[Rule] = RULES) -> Row:
    """A case on one line; `rules` are those that the findings come from."""
    component = headline(record, findings, rules)
    failed = [o.reason for o in record.outcomes.values() if isinstance(o, Undefined) and o.failed]
    scores = {name: o.value if isinstance(o, Score) else None for name, o in record.outcomes.items()}
    if findings and (component != UNDETERMINED or findings[0].kind == "doubt"):
        first = _most_pressing(findings)
        kind, reading, sure = str(first.kind), first.reading, first.sure
    elif component == UNDETERMINED:
        kind, sure = UNDETERMINED, False
        reading = failed[0] if failed else "too many scores are undefined to tell"
    else:
        kind, reading, sure = HEALTHY, "", True
    return Row(
        one_line(record.case.id, 80),
        one_line(record.case.query, 140),
        kind,
        findings[0].component if kind == "waste" else component,
        one_line(reading, 200),
        sure,
        scores,
        rank_of(findings, undetermined=component == UNDETERMINED),
    )


def rank_of(findings: Sequence[Finding], *, undetermined: bool = False) -> Rank:
    """Where a case stands among others: failures first, the severe before the slight, unsure ones later."""
    if findings:
        first = _most_pressing(findings)
        total = sum(f.severity for f in findings if f.kind == first.kind)
        return KINDS.index(first.kind), int(not first.sure), -round(total, 6)
    return (KINDS.index("doubt") if undetermined else len(KINDS)), 1, 0.0


def worst_first(rows: Iterable[Row]) -> list[Row]:
    """Rows in the order of their rank; equal ones stay as they came."""
    return sorted(rows, key=lambda row: row.rank)


def healthy_cases(summary: Summary) -> int:
    """How many cases need nothing."""
    return summary.diagnosis.get(NONE, 0)


def _most_pressing(findings: Sequence[Finding]) -> Finding:
    return min(findings, key=lambda f: (KINDS.index(f.kind), not f.sure, -f.severity))
