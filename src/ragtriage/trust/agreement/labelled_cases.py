"""A user's cases with a column of labels for a metric: is a high score a good answer?"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError
from ragtriage.core.metric import Metric
from ragtriage.core.record import Record
from ragtriage.core.verdicts import Undefined
from ragtriage.diagnosis.rules import is_bad
from ragtriage.metrics import metrics_named
from ragtriage.readers import CaseFile, Rejected
from ragtriage.readers.problems import RowProblem
from ragtriage.readers.text_values import described
from ragtriage.trust.agreement.measure import ComparedRow, Prediction
from ragtriage.trust.baselines import OF_SOURCES, overlap

PREFIX = "label_"
_LABEL_WORDS = {"0": 0.0, "1": 1.0, "true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}


@dataclass(frozen=True, slots=True)
class LabelledCases:
    """Cases with labels."""

    cases: tuple[Case, ...]
    labels: Mapping[str, Mapping[str, float]]
    """Metric → case id → label, 0 or 1, or a grade in [0, 1]."""
    rejected: tuple[Rejected, ...]


def label_columns(columns: Collection[str], given: Mapping[str, str]) -> dict[str, Metric]:
    """Column → the metric that it labels: what was given, and columns named `label_METRIC`.

    Raises:
        ConfigError: a metric isn't known, or a column isn't there.
    """
    found = {name: name.removeprefix(PREFIX) for name in columns if name.startswith(PREFIX)} | dict(given)
    if missing := [name for name in given if name not in columns]:
        raise ConfigError(f"--label {missing[0]}={given[missing[0]]}: the file has no column {missing[0]!r}")
    return {column: metrics_named([name])[0] for column, name in found.items()}


def read_labelled_cases(file: CaseFile, columns: Mapping[str, Metric]) -> LabelledCases:
    """The cases of a file with their labels; a case without any label is left out, one with a bad label rejected."""
    cases: list[Case] = []
    rejected: list[Rejected] = []
    labels: dict[str, dict[str, float]] = {metric.name: {} for metric in columns.values()}
    for number, row in enumerate(file.rows(), 1):
        if isinstance(row, Rejected):
            rejected.append(row)
            continue
        try:
            own = {
                metric.name: label
                for column, metric in columns.items()
                if (label := _label(column, row.tags.get(column))) is not None
            }
        except RowProblem as problem:
            rejected.append(Rejected(number, problem.field, problem.reason, file=file.name))
            continue
        if own:
            cases.append(row)
        for name, label in own.items():
            labels[name][row.id] = label
    return LabelledCases(tuple(cases), labels, tuple(rejected))


def compared_cases(
    records: Sequence[Record], labels: Mapping[str, float], metric: Metric, threshold: float | None, group: str
) -> list[ComparedRow]:
    """A metric's scores beside its labels, in the order of the labels.

    A score on the wrong side of the threshold is a no, which is what a report shows as low.

    Args:
        records: evaluated cases.
        labels: case id → label.
        metric: what was labelled.
        threshold: from where on a score is good; None: the scores have no verdicts.
        group: the column that says which cases belong together; a case without it is a group by itself.
    """
    by_id = {record.case.id: record for record in records}
    rows = []
    for name, label in labels.items():
        record = by_id[name]
        tag = record.case.tags.get(group)
        own = f"row {name}" if tag is None else str(tag)
        rows.append(ComparedRow(own, label, _prediction(record, metric, threshold), *_baseline(metric, record.case)))
    return rows


def _prediction(record: Record, metric: Metric, threshold: float | None) -> Prediction:
    outcome = record.outcomes[metric.name]
    if isinstance(outcome, Undefined):
        return Prediction(None, reason=outcome.reason, failed=outcome.failed)
    score = outcome.value if metric.better == "higher" else -1.0 * outcome.value
    if threshold is None:
        return Prediction(score)
    return Prediction(score, "no" if is_bad(outcome.value, threshold, metric.better) else "yes")


def _baseline(metric: Metric, case: Case) -> tuple[float, float]:
    """What words and length say: of the sources against the query, or of the response against what it is held to."""
    sources = " ".join(source.text for source in case.sources)
    response = case.response or ""
    if metric.name in OF_SOURCES:
        return overlap(case.query, sources), float(len(sources))
    if case.reference is not None and metric.name.startswith("answer_"):
        return overlap(case.reference, response), float(len(response))
    if metric.name == "groundedness":
        return overlap(response, sources), -float(len(response))
    return overlap(case.query, response), float(len(response))


def _label(column: str, value: Any) -> float | None:
    match value:
        case None | "":
            return None
        case bool() | int() | float() if 0 <= value <= 1:
            return float(value)
        case str() if value.strip().lower() in _LABEL_WORDS:
            return _LABEL_WORDS[value.strip().lower()]
    raise RowProblem(
        column, f"is {described(value)}: write 0 or 1 (true or false), a grade between them, or leave it empty"
    )
