"""Labelled rows of a user's file, and what a judge said of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from ragtriage.core.errors import ConfigError, InputError
from ragtriage.core.verdicts import Answered
from ragtriage.evaluation.predict import TASKS, Task
from ragtriage.readers.files import STDIN
from ragtriage.readers.json_objects import lines_by_id, values_in
from ragtriage.readers.problems import Rejected, RowProblem
from ragtriage.readers.text_values import shown
from ragtriage.trust.preferences import preference_of

Kind = Literal["supported", "essential", "relevant", "answered", "similar", "same-answer", "preference"]
KINDS: tuple[Kind, ...] = get_args(Kind)
FIELDS: Mapping[Kind, tuple[tuple[str, ...], ...]] = {
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

    kind: Kind
    rows: tuple[LabelledRow, ...]
    rejected: tuple[Rejected, ...]


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a judge said of a row."""

    score: float | None
    """The higher, the more it speaks for 1, or for a; None: it said nothing."""
    verdict: Answered | None = None
    sure: bool = True
    reason: str = ""
    """Why there is no score."""
    failed: bool = False
    """Whether the judge's failure is the cause."""


NOTHING_SAID = Prediction(None, reason="the predictions hold no line with its id")


def kind_of(values: Mapping[str, Any]) -> Kind | None:
    """The task whose fields a row holds; None if it is none of them."""
    return next((kind for kind, fields in FIELDS.items() if _holds(values, fields)), None)


def task_of(kind: Kind) -> Task | None:
    """The judge's task; None for preferences, which are evaluated."""
    return next((task for task in TASKS if task == kind), None)


def read_labelled(path: str, kind: Kind | None = None) -> LabelledRows:
    """The labelled rows of a JSONL file, which may be gzipped; `-` is standard input.

    A row without an `id` goes by its number, one without a `group` is a group by itself.

    Raises:
        InputError: the file can't be read, no row can be used, or it isn't told what they are.
    """
    found: list[Kind] = [kind] if kind else []

    def row(values: Mapping[str, Any], number: str) -> LabelledRow:
        if not found:
            found.append(_told(values, path, number))
        return _row(values, found[0], number)

    rows, rejected = values_in(path, row)
    return LabelledRows(found[0], tuple(rows), tuple(rejected))


def _told(values: Mapping[str, Any], path: str, number: str) -> Kind:
    """What a file's rows are, by the first of them."""
    kind = kind_of(values)
    if kind is None:
        raise InputError(
            f"{'standard input' if path == STDIN else path}, row {number}: its fields ({', '.join(list(values)[:8])}) "
            f"are those of no task ({', '.join(KINDS)}), and none is named label_METRIC: say what the labels are about "
            "with --label COLUMN=METRIC, for example --label human=groundedness"
        )
    return kind


def read_predictions(path: Path) -> dict[str, Prediction]:
    """Predictions by the row's id, as `ragtriage judge ask` writes them: `{id, score}`, with `verdict` and `sure`.

    Raises:
        InputError: the file can't be read, a line is broken or has no id, or an id comes twice.
    """
    found: dict[str, Prediction] = {}
    for place, key, values in lines_by_id(path):
        try:
            found[key] = prediction_of(values)
        except RowProblem as problem:
            raise InputError(f"{place}, field {problem.field!r}: {problem.reason}") from None
    if not found:
        raise InputError(f"{path}: holds no prediction")
    return found


def prediction_of(values: Mapping[str, Any]) -> Prediction:
    """One prediction from a line's columns.

    Raises:
        RowProblem: a field is of the wrong kind.
    """
    score, verdict = values.get("score"), values.get("verdict")
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
        raise RowProblem("score", f"is {shown(score)}: write a number, or null")
    if verdict is not None and verdict not in get_args(Answered):
        raise RowProblem("verdict", f"is {shown(verdict)}: write yes, no or unknown")
    error = str(values.get("error") or "")
    known = None if score is None or not math.isfinite(score) else float(score)
    return Prediction(known, verdict, values.get("sure") is not False, error, failed=bool(error) and known is None)


def unlike(labels: Sequence[float]) -> bool:
    """Whether labels are more than 0 and 1."""
    return any(label not in (0, 1) for label in labels)


def task_named(name: str | None) -> Kind | None:
    """A task by its name.

    Raises:
        ConfigError: there is none.
    """
    if name is None:
        return None
    known = next((kind for kind in KINDS if kind == name.replace("_", "-")), None)
    if known is None:
        raise ConfigError(f"--task {name}: use one of {', '.join(KINDS)}")
    return known


def _row(values: Mapping[str, Any], kind: Kind, name: str) -> LabelledRow:
    for some in FIELDS[kind]:
        if not any(values.get(field) is not None for field in some):
            raise RowProblem(some[0], "is missing")
    label = preference_of(values).human if kind == "preference" else _label(values.get("label"))
    own = name if values.get("id") is None else str(values["id"])
    group = values.get("group")
    return LabelledRow(own, f"row {own}" if group is None else str(group), label, values)


def _label(value: Any) -> float:
    if isinstance(value, bool) or (isinstance(value, int | float) and 0 <= value <= 1):
        return float(value)
    raise RowProblem("label", f"is {shown(value)}: write 0 or 1 (true or false), or a grade between them")


def _holds(values: Mapping[str, Any], fields: tuple[tuple[str, ...], ...]) -> bool:
    return all(any(values.get(name) is not None for name in some) for some in fields)
