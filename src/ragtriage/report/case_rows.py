"""Cases as rows, the worst first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragtriage.core.metric import Metric
from ragtriage.core.record import Record
from ragtriage.core.verdicts import Score
from ragtriage.diagnosis import RULES, Finding, HeadlineKind, Rule, headline
from ragtriage.diagnosis.headline import Rank, case_rank
from ragtriage.text.sanitize import one_line


@dataclass(frozen=True, slots=True)
class CaseRow:
    """One case on one line."""

    id: str
    query: str
    kind: HeadlineKind
    component: str
    """Under which it is counted, or what wastes."""
    about: str
    """What is named beside the kind: see `ragtriage.diagnosis.Headline`."""
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
        thresholds: by which a score is low, and a case is ranked that no rule decides.
        metrics: where those stand that aren't built in: they say which direction is good.
    """
    head = headline(record, findings, thresholds or {}, rules, metrics)
    scores = {name: o.value if isinstance(o, Score) else None for name, o in record.outcomes.items()}
    return CaseRow(
        one_line(record.case.id, 80),
        one_line(record.case.query, 140),
        head.kind,
        head.about if head.kind == "waste" else head.component,
        one_line(head.about, 120),
        one_line(head.reading, 200),
        head.sure,
        scores,
        case_rank(record, findings, head, thresholds or {}, metrics),
    )


def worst_first(rows: Iterable[CaseRow]) -> list[CaseRow]:
    """Rows in the order of their rank."""
    return sorted(rows, key=lambda row: row.rank)
