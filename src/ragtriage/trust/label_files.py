"""Files of labels: one JSON object a line, appended as they are given, read back with the last word on every item."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, get_args

from ragtriage.core.verdicts import Answered
from ragtriage.readers.files import open_bytes
from ragtriage.readers.json_objects import append, open_to_append
from ragtriage.readers.problems import Rejected, RowProblem
from ragtriage.readers.text_values import shown
from ragtriage.trust.labels import Label, Pick

Item = tuple[str, str, str, int]
"""What a label is about: run, case, metric and component."""


@dataclass(frozen=True, slots=True)
class LabelsRead:
    """A file of labels."""

    labels: tuple[Label, ...]
    """One an item and person, in the order in which they were first given; a later line has replaced an earlier one."""
    rejected: tuple[Rejected, ...] = ()
    """Lines that can't be used, with the reason."""


def read_labels(path: Path) -> LabelsRead:
    """The labels of a file.

    Raises:
        InputError: it can't be read.
    """
    rejected: list[Rejected] = []
    labels = [label for _, label in _lines(path, rejected) if label is not None]
    return LabelsRead(latest(labels), tuple(rejected))


def latest(labels: Iterable[Label]) -> tuple[Label, ...]:
    """The last label of each item and person, in the order in which the items first came."""
    found: dict[tuple[Item, str], Label] = {}
    for label in labels:
        found[item_of(label), label.by] = label
    return tuple(found.values())


def item_of(label: Label) -> Item:
    """What a label is about."""
    return label.run, label.case, label.metric, label.component


class LabelFile:
    """A file of labels to go on with; use it as a context manager.

    Opening it reads what is there and takes away a last line that was cut off.

    Args:
        path: the file; it is made if it isn't there.

    Attributes:
        labels: what it holds, with the last word on every item.
        rejected: lines that can't be used; they stay as they are.

    Raises:
        ConfigError: its name doesn't end in `.jsonl`.
        InputError: it can't be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        rejected: list[Rejected] = []
        self._file = open_to_append(path, "labels")
        try:
            lines = list(_lines(path, rejected))
            self._mend(lines[-1][0] if lines else 0, rejected)
        except BaseException:
            os.close(self._file)
            raise
        self._labels = [label for _, label in lines if label is not None]
        self.rejected = tuple(rejected)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._file)

    @property
    def labels(self) -> tuple[Label, ...]:
        """What it holds by now, with the last word on every item."""
        return latest(self._labels)

    def add(self, label: Label) -> None:
        """Append one label; when this returns, it is on the disk.

        Raises:
            OSError: the disk is full, or gone.
        """
        append(self._file, asdict(label))
        os.fsync(self._file)
        self._labels.append(label)

    def _mend(self, end: int, rejected: list[Rejected]) -> None:
        """Take away a last line that was cut off, or end it if it is whole."""
        if not os.fstat(self._file).st_size:
            return
        os.lseek(self._file, -1, os.SEEK_END)
        if os.read(self._file, 1) == b"\n":
            return
        if rejected and rejected[-1].ends:
            os.ftruncate(self._file, end)
            rejected.pop()
        else:
            os.write(self._file, b"\n")


def _lines(path: Path, rejected: list[Rejected]) -> Iterator[tuple[int, Label | None]]:
    """The labels of a file, each with the byte behind its line; None for a blank line or one that can't be used."""
    end = 0
    with closing(open_bytes(str(path))) as stream:
        for number, line in enumerate(stream, 1):
            label = None
            if line.strip():
                try:
                    label = _label(line)
                except RowProblem as problem:
                    cut = not line.endswith(b"\n")
                    rejected.append(Rejected(number, problem.field, problem.reason, number, str(path), ends=cut))
                    if cut:
                        return
            end += len(line)
            yield end, label


def _label(line: bytes) -> Label:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise RowProblem(None, "is not JSON: take the line out, or label the item again") from None
    if not isinstance(row, dict):
        raise RowProblem(None, f"is {shown(row)}, not an object: a label has run, case, metric, component and label")
    component = row.get("component")
    if isinstance(component, bool) or not isinstance(component, int) or component < 0:
        raise RowProblem("component", f"is {shown(component)}: write its position, from 0")
    if "label" not in row or not (row["label"] is None or isinstance(row["label"], bool)):
        raise RowProblem("label", f"is {shown(row.get('label'))}: write true, false, or null for skipped")
    return Label(
        run=_text(row, "run"),
        case=_text(row, "case"),
        metric=_text(row, "metric"),
        component=component,
        text=_text(row, "text"),
        label=row["label"],
        verdict=_one_of(row, "verdict", get_args(Answered)),
        score=_number(row, "score"),
        chance=_chance(row),
        pick=_one_of(row, "pick", get_args(Pick)),
        by=_text(row, "by", ""),
        draw=_text(row, "draw", ""),
    )


def _text(row: Mapping[str, Any], field: str, default: str | None = None) -> str:
    value = row.get(field, default)
    if not isinstance(value, str):
        raise RowProblem(field, f"is {shown(value)}: write a text in quotes")
    return value


def _one_of(row: Mapping[str, Any], field: str, known: tuple[Any, ...]) -> Any:
    if row.get(field) not in known:
        raise RowProblem(field, f"is {shown(row.get(field))}: write {', '.join(known)}")
    return row[field]


def _number(row: Mapping[str, Any], field: str) -> float | None:
    value = row.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise RowProblem(field, f"is {shown(value)}: write a number, or null")
    return float(value)


def _chance(row: Mapping[str, Any]) -> float | None:
    chance = _number(row, "chance")
    if chance is not None and not 0 < chance <= 1:
        raise RowProblem("chance", f"is {chance:g}: a probability of being drawn is above 0 and at most 1")
    return chance
