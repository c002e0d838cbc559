"""A user's labels, what a judge predicts for the same, and how far both agree.

Labels are of rows, each with its task, or a column of cases: is a high score of a metric a good answer?
"""

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ragtriage.core.case import Case, Record
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.core.metric import Metric
from ragtriage.core.verdicts import Undefined
from ragtriage.diagnosis.rules import is_bad
from ragtriage.evaluation.predict import BATCH, PredictionTask, predict
from ragtriage.judges.protocol import Judge
from ragtriage.metrics import metrics_named
from ragtriage.readers import CaseFile
from ragtriage.readers.files import InputPath, input_file
from ragtriage.readers.json_objects import values_in
from ragtriage.readers.problems import Rejected, RowProblem
from ragtriage.readers.text_values import described
from ragtriage.trust.agreement import (
    Agreement,
    ComparedRow,
    Prediction,
    agreement_of,
    distinct_answers,
    pair_scores,
    preference_of,
)
from ragtriage.trust.wording import OF_SOURCES, overlap, row_scores

LabelledTask = Literal[PredictionTask, "preference"]
FIELDS: Mapping[LabelledTask, tuple[tuple[str, ...], ...]] = {
    "preference": (("query",), ("a",), ("b",), ("human",)),
    "supported": (("claim",), ("sources",)),
    "same-answer": (("query", "question"), ("truth",), ("response",)),
    "essential": (("query", "question"), ("text",)),
    "relevant": (("query", "question"), ("text",)),
    "answered": (("question", "query"), ("sources",)),
    "similar": (("a", "response"),),
}
"""What rows of a task must hold: one of each tuple. A file is of the first task whose fields its first row holds."""


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """One row that people labelled."""

    id: str
    group: str
    """Rows of one group are drawn together: they share a question, a source or a conversation."""
    label: float
    """0 or 1, or a grade in [0, 1]; of a preference in [-1, 1], above 0 where a is better."""
    values: Mapping[str, Any]
    """The row as it stands in the file."""


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """A file of labelled rows."""

    task: LabelledTask
    rows: tuple[LabelledRow, ...]
    rejected: tuple[Rejected, ...]


def read_labelled_rows(path: InputPath, task: LabelledTask | None = None) -> LabelledRows:
    """The labelled rows of a JSONL file, which may be gzipped; `-` is standard input.

    A row without an `id` goes by its number, one without a `group` is a group by itself.
    """
    found: list[LabelledTask] = [task] if task else []

    def row(values: Mapping[str, Any], number: str) -> LabelledRow:
        if not found:
            found.append(_task_of(values, input_file(path).name, number))
        return _row(values, found[0], number)

    rows, rejected = values_in(path, row)
    return LabelledRows(found[0], tuple(rows), tuple(rejected))


def progress_steps(labelled: LabelledRows) -> int:
    """How many times `predict_rows` calls `advance`: once a row, or once an answer of a pair."""
    if labelled.task == "preference":
        return distinct_answers([preference_of(row.values) for row in labelled.rows])
    return len(labelled.rows)


def predict_rows(
    labelled: LabelledRows, judge: Judge, advance: Callable[[], None] = lambda: None
) -> list[dict[str, Any]]:
    """A judge's predictions, one a row in their order: `{id, score}`, of a task with verdict, confidence and sure."""
    task = labelled.task
    if task == "preference":
        scores = pair_scores([preference_of(row.values) for row in labelled.rows], judge, advance)
        return [
            {"id": row.id, "score": None, "error": one.reason}
            if isinstance(one, Undefined)
            else {"id": row.id, "score": one}
            for row, one in zip(labelled.rows, scores, strict=True)
        ]
    found: list[dict[str, Any]] = []
    with asyncio.Runner() as runner:
        for start in range(0, len(labelled.rows), BATCH):
            batch = [{**row.values, "id": row.id} for row in labelled.rows[start : start + BATCH]]
            found += runner.run(predict(judge, task, batch))
            for _ in batch:
                advance()
    return found


def compared_rows(labelled: LabelledRows, predicted: Sequence[Mapping[str, Any]]) -> list[ComparedRow]:
    """Every row's label beside what the judge (see `predict_rows`), words and length say."""
    return [
        ComparedRow(row.group, row.label, _prediction(line), *row_scores(labelled.task, row.values))
        for row, line in zip(labelled.rows, predicted, strict=True)
    ]


def agreements(
    labelled: LabelledRows, compared: Sequence[ComparedRow], *, by: str | None = None
) -> Iterator[Agreement]:
    """How far the judge agrees on all rows, on each aspect of preferences, and for each value of a column."""
    preference = labelled.task == "preference"
    parts = _parts(labelled.rows, "aspect", "overall") if preference else {"all rows": list(range(len(compared)))}
    if by is not None:
        parts |= _parts(labelled.rows, by, "")
    red = "yes" if labelled.task == "similar" else "no"
    for name, some in parts.items():
        rows = [compared[i] for i in some]
        yield agreement_of(name, rows, "preference" if preference else None, red=red)


def _parts(rows: Sequence[LabelledRow], column: str, default: str) -> dict[str, list[int]]:
    """A column's values, sorted → the rows that have them."""
    found: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        found.setdefault(f"{column}: {row.values.get(column, default)}", []).append(i)
    return dict(sorted(found.items()))


def _task_of(values: Mapping[str, Any], file: str, number: str) -> LabelledTask:
    """The task of a file's rows, by the first of them."""
    task = next((task for task, fields in FIELDS.items() if not _lacking(values, fields)), None)
    if task is None:
        raise InputError(
            f"{file}, row {number}: its fields ({', '.join(list(values)[:8])}) "
            f"are those of no task ({', '.join(get_args(LabelledTask))}), and none is named label_METRIC: say what "
            "the labels are about with --label COLUMN=METRIC, for example --label human=groundedness"
        )
    return task


def _lacking(values: Mapping[str, Any], fields: tuple[tuple[str, ...], ...]) -> str:
    """The first field that is missing; "" if none is."""
    return next((some[0] for some in fields if all(values.get(name) is None for name in some)), "")


def _row(values: Mapping[str, Any], task: LabelledTask, name: str) -> LabelledRow:
    if field := _lacking(values, FIELDS[task]):
        raise RowProblem(field, "is missing")
    label = preference_of(values).human if task == "preference" else _label(values.get("label"))
    own = name if values.get("id") is None else str(values["id"])
    group = values.get("group")
    return LabelledRow(own, f"row {own}" if group is None else str(group), label, values)


def _label(value: Any) -> float:
    if isinstance(value, bool | int | float) and 0 <= value <= 1:
        return float(value)
    raise RowProblem("label", f"is {described(value)}: write 0 or 1 (true or false), or a grade between them")


def _prediction(line: Mapping[str, Any]) -> Prediction:
    error = line.get("error", "")
    return Prediction(line["score"], line.get("verdict"), line.get("sure", True), error, failed=bool(error))


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
    """Column → the metric that it labels: what was given, and columns named `label_METRIC`."""
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
                if (label := _case_label(column, row.tags.get(column))) is not None
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

    A score on the wrong side of the threshold is a no, which is what a report shows as low. Without a threshold the
    scores have no verdicts. A case without the column `group` is a group by itself.
    """
    by_id = {record.case.id: record for record in records}
    rows = []
    for name, label in labels.items():
        record = by_id[name]
        tag = record.case.tags.get(group)
        own = f"row {name}" if tag is None else str(tag)
        rows.append(
            ComparedRow(own, label, _prediction_of_case(record, metric, threshold), *_baseline(metric, record.case))
        )
    return rows


def _prediction_of_case(record: Record, metric: Metric, threshold: float | None) -> Prediction:
    outcome = record.outcomes[metric.name]
    if isinstance(outcome, Undefined):
        return Prediction(None, reason=outcome.reason, failed=outcome.failed)
    score = outcome.value if metric.better == "higher" else -1.0 * outcome.value
    if threshold is None:
        return Prediction(score)
    return Prediction(score, "no" if is_bad(outcome.value, threshold, metric.better) else "yes")


def _baseline(metric: Metric, case: Case) -> tuple[float, float]:
    """What words and length say: of the sources against the query, or of the response against what it is held to."""
    sources = " ".join(source.text for source in case.known_sources)
    response = case.response or ""
    if metric.name in OF_SOURCES:
        return overlap(case.query, sources), float(len(sources))
    if case.reference is not None and metric.name.startswith("answer_"):
        return overlap(case.reference, response), float(len(response))
    if metric.name == "groundedness":
        return overlap(response, sources), -float(len(response))
    return overlap(case.query, response), float(len(response))


def _case_label(column: str, value: Any) -> float | None:
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
