"""A label, and files of labels: one JSON object a line, appended as they are given, the last one on an item counts."""

from __future__ import annotations

import json
import os
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Literal, Self

from ragtriage.core.errors import InputError
from ragtriage.core.validation import Invalid, validated
from ragtriage.core.verdicts import Answered
from ragtriage.readers.files import open_bytes
from ragtriage.readers.json_objects import append, open_to_append
from ragtriage.readers.problems import Rejected


@dataclass(frozen=True, slots=True)
class Label:
    """One person's yes or no on one item, a component of one metric in one case of a run; one line of a file.

    Raises:
        ValueError: a number is out of range.
    """

    __pydantic_config__: ClassVar[Any] = {"allow_inf_nan": False}

    run: str
    case: str
    metric: str
    """The metric that shows the component's verdict, as `groundedness`."""
    component: int
    """Its position among the components that this metric shows of this case, from 0."""
    text: str
    """The component, so that the file can be read and that a changed run is noticed."""
    label: bool | None
    """The person's answer; None: skipped."""
    verdict: Answered
    """The judge's verdict, as the metric counts it."""
    score: float | None = None
    """The judge's probability of yes; None if it gives none."""
    chance: float | None = None
    """The inclusion probability of the item, in (0, 1]; None if it was selected on purpose."""
    pick: Literal["random", "disagreements"] = "random"
    by: str = ""
    """Who labelled it, where that was given."""
    draw: str = ""
    """Which sample the inclusion probability is of (see `sample_name`); empty if unknown, or nothing was drawn."""

    def __post_init__(self) -> None:
        if self.component < 0:
            raise ValueError(f"component is {self.component}: give its position, from 0")
        if self.chance is not None and not 0 < self.chance <= 1:
            raise ValueError(f"chance is {self.chance:g}: an inclusion probability is above 0 and at most 1")

    @property
    def key(self) -> tuple[str, str, str, int, str]:
        """What it is about, and who gave it: of labels that agree in all of this the last one counts."""
        return self.run, self.case, self.metric, self.component, self.by


def read_labels(path: Path) -> tuple[tuple[Label, ...], tuple[Rejected, ...]]:
    """The labels of a file, the last one of every item and person, and the lines that can't be used.

    Raises:
        InputError: it can't be read.
    """
    labels: dict[Any, Label] = {}  # in the order in which the items first came
    rejected: list[Rejected] = []
    with closing(open_bytes(str(path))) as stream:
        for number, line in enumerate(stream, 1):
            try:
                if line.strip():
                    label = validated(Label, json.loads(line))
                    labels[label.key] = label
            except (ValueError, RecursionError) as error:
                said = str(error) if isinstance(error, Invalid) else "is not JSON"
                cut_off = not line.endswith(b"\n")
                reason = f"{said}: correct the line or remove it"
                rejected.append(Rejected(number, None, reason, number, str(path), ends=cut_off))
    return tuple(labels.values()), tuple(rejected)


class LabelFile:
    """A file of labels to read and append to; use it as a context manager.

    Opening it reads what is there; a last line that was cut off is removed.

    Args:
        path: the file; it is created if it doesn't exist.

    Attributes:
        rejected: lines that can't be used; they stay as they are.

    Raises:
        ConfigError: its name doesn't end in `.jsonl`.
        InputError: it can't be read or written, or holds something else.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = open_to_append(path, "labels")
        try:
            labels, self.rejected = read_labels(path)
        except BaseException:
            os.close(self._file)
            raise
        if self.rejected and not labels:
            os.close(self._file)
            raise InputError(f"{path}: holds no label: name another file with -o, or take this one away")
        self._labels = {label.key: label for label in labels}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._file)

    @property
    def labels(self) -> tuple[Label, ...]:
        """What it holds by now, the last label of every item and person."""
        return tuple(self._labels.values())

    def add(self, label: Label) -> None:
        """Append one label; when this returns, it is on the disk.

        Raises:
            OSError: the disk is full, or gone.
        """
        append(self._file, asdict(label))
        os.fsync(self._file)
        self._labels[label.key] = label
