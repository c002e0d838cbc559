"""What speaks against the answer in scores that no other part of a case's picture shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragtriage.core.metric import Better, Metric
from ragtriage.core.record import Record
from ragtriage.core.verdicts import Score, Verdict
from ragtriage.metrics import CITATIONS, THELMA, metric_named
from ragtriage.metrics.generator import hallucination
from ragtriage.metrics.ragas import ragas_faithfulness
from ragtriage.metrics.reference import answer_f1, answer_precision
from ragtriage.report.coverage import verdict_report
from ragtriage.text.sanitize import one_line

ELSEWHERE = frozenset(m.name for m in (*THELMA, *CITATIONS, hallucination, ragas_faithfulness))
"""The claims, the segments, the sources and the table of sub-questions show what these rest on."""
MOST = 8
"""Components that are listed for one metric."""


@dataclass(frozen=True, slots=True)
class PartReport:
    """One component that speaks against the answer."""

    text: str
    note: str
    """Why, in the judge's words; empty if it gave none."""
    sure: bool
    """Whether the judge is sure of its verdict."""


@dataclass(frozen=True, slots=True)
class FaultReport:
    """One metric's bad components, of one kind where it tells several apart."""

    title: str
    better: Better
    fault: str
    """What is wrong with each, in plain words; empty where the metric doesn't say."""
    parts: tuple[PartReport, ...]
    left_out: int


def fault_reports(record: Record, metrics: Sequence[Metric] = ()) -> tuple[FaultReport, ...]:
    """The bad components of the scores that are shown nowhere else; metrics that found the same are listed once.

    Args:
        record: the case.
        metrics: where those stand that aren't built in.
    """
    found: dict[tuple[str, tuple[str, ...]], FaultReport] = {}
    for name, outcome in record.outcomes.items():
        metric = metric_named(name, metrics)
        if metric is None or name in ELSEWHERE or not isinstance(outcome, Score):
            continue
        if name == answer_f1.name and answer_precision.name in record.outcomes:
            continue  # the two that it is the mean of are listed
        bad = [part for part in outcome.parts if part.good is False]
        for fault in dict.fromkeys(metric.fault_of(part) for part in bad):
            alike = [part for part in bad if metric.fault_of(part) == fault]
            key = fault or name, tuple(part.component.text for part in alike)
            shown = tuple(
                PartReport(
                    one_line(part.component.text, 300),
                    verdict_report(part.cell).note,
                    part.cell.sure if isinstance(part.cell, Verdict) else True,
                )
                for part in alike[:MOST]
            )
            title, left_out = one_line(metric.title, 60), len(alike) - len(shown)
            found.setdefault(key, FaultReport(title, metric.better, one_line(fault, 80), shown, left_out))
    return tuple(found.values())
