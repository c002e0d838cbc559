"""What speaks against the answer in scores that no other part of a case's picture shows."""

from __future__ import annotations

from dataclasses import dataclass

from ragtriage.metrics import THELMA, metric_named
from ragtriage.metrics.generator import hallucination
from ragtriage.metrics.ragas import ragas_faithfulness
from ragtriage.metrics.reference import answer_f1, answer_precision
from ragtriage.record import Record
from ragtriage.report.coverage import place_of
from ragtriage.report.plain import one_line
from ragtriage.verdicts import Score

ELSEWHERE = frozenset(m.name for m in (*THELMA, hallucination, ragas_faithfulness))
"""The claims, the sources and the table of sub-questions show what these rest on."""
MOST = 8
"""Components that are listed for one metric."""


@dataclass(frozen=True, slots=True)
class FaultView:
    """One metric's bad components."""

    name: str
    fault: str
    """What is wrong with each, in plain words."""
    components: tuple[tuple[str, str], ...]
    """Text and what the judge said about it."""
    left_out: int


def faults_of(record: Record) -> tuple[FaultView, ...]:
    """The bad components of the scores that are shown nowhere else; metrics that found the same are listed once."""
    found: dict[tuple[str, tuple[str, ...]], FaultView] = {}
    for name, outcome in record.outcomes.items():
        metric = metric_named(name)
        if metric is None or name in ELSEWHERE or not isinstance(outcome, Score):
            continue
        if name == answer_f1.name and answer_precision.name in record.outcomes:
            continue  # the two that it is the mean of are listed
        bad = [part for part in outcome.parts if part.good is False]
        texts = tuple(part.component.text for part in bad)
        shown = tuple((one_line(part.component.text, 300), place_of(part.cell).note) for part in bad[:MOST])
        if bad:
            found.setdefault((metric.fault, texts), FaultView(name, metric.fault, shown, len(bad) - len(shown)))
    return tuple(found.values())
