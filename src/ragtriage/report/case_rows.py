"""Cases as rows, the worst first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragtriage.core.metric import Metric
from ragtriage.core.record import Record
from ragtriage.core.verdicts import Score
from ragtriage.diagnosis import KIND_WORDS, RULES, Finding, HeadlineKind, Rule, headline, most_pressing
from ragtriage.diagnosis.thresholds import distance_past_threshold
from ragtriage.metrics import metric_named
from ragtriage.text.sanitize import one_line

Rank = tuple[int, int, float]
"""Smaller is worse: kind of the most pressing finding, unsure behind sure, severity."""

ORDER = tuple(KIND_WORDS)
"""What cases are headed by, the most pressing first."""


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
    beyond = _beyond(scores, thresholds or {}, metrics)
    return CaseRow(
        one_line(record.case.id, 80),
        one_line(record.case.query, 140),
        head.kind,
        head.about if head.kind == "waste" else head.component,
        one_line(head.about, 120),
        one_line(head.reading, 200),
        head.sure,
        scores,
        _rank(head.kind, findings, beyond),
    )


def _rank(kind: HeadlineKind, findings: Sequence[Finding], beyond: float) -> Rank:
    """Where a case stands among others: failures first, the severe before the slight, unsure ones later.

    An undetermined case stands beside those in doubt, one with a low score before mere waste; both by how far their bad
    scores lie beyond their thresholds.
    """
    order = ORDER.index("doubt" if kind == "undetermined" else kind)
    own = [finding for finding in findings if finding.kind == kind]
    if own:
        return order, int(not most_pressing(own).sure), -round(sum(finding.severity for finding in own), 6)
    return order, 1, -round(beyond, 6) if kind != "no-fault" else 0.0


def worst_first(rows: Iterable[CaseRow]) -> list[CaseRow]:
    """Rows in the order of their rank; equal ones stay as they came."""
    return sorted(rows, key=lambda row: row.rank)


def _beyond(scores: Mapping[str, float | None], thresholds: Mapping[str, float], metrics: Sequence[Metric]) -> float:
    """How far the bad scores lie beyond their thresholds, summed, whichever direction is good."""
    known = ((metric_named(name, metrics), name, value) for name, value in scores.items())
    return sum(
        distance_past_threshold(value, thresholds.get(name), metric.better) for metric, name, value in known if metric
    )
