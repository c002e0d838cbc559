"""What can be labelled in a stored run, which of it is, and the files that the labels stand in.

One JSON object a line, appended as they are given, the last one on an item counts. Items are a random sample.
"""

import json
import os
import random
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import asdict, dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from ragtriage.core.case import Record
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.core.validation import Invalid, validated
from ragtriage.core.verdicts import Answered, Part, Score, Verdict
from ragtriage.readers.files import open_bytes
from ragtriage.readers.json_objects import append, open_to_append
from ragtriage.readers.problems import Rejected
from ragtriage.runs.codec import DELETED


@dataclass(frozen=True, slots=True)
class Label:
    """One person's yes or no on one item, a component of one metric in one case of a run; one line of a file."""

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
    """The inclusion probability of the item, in (0, 1]; None if it wasn't drawn at random."""
    by: str = ""
    """Who labelled it, where that was given."""
    draw: str = ""
    """Which draw the inclusion probability is of (see `Draw.name`); empty if unknown."""

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
    """The labels of a file, the last one of every item and person, and the lines that can't be used."""
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


class LabelFile(AbstractContextManager["LabelFile"]):
    """A file of labels to read and append to; use it as a context manager.

    Opening it reads what is there; a last line that was cut off is removed. A file that doesn't exist is created. Lines
    that can't be used are `rejected`; they stay as they are.
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

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    @property
    def labels(self) -> tuple[Label, ...]:
        """What it holds by now, the last label of every item and person."""
        return tuple(self._labels.values())

    def add(self, label: Label) -> None:
        """Append one label; when this returns, it is on the disk."""
        append(self._file, asdict(label))
        os.fsync(self._file)
        self._labels[label.key] = label


class LabelPrompt(NamedTuple):
    """How a person is asked about a metric's components; yes is what speaks for the answer."""

    question: str
    component: str
    """What a component is called."""
    against: Literal["sources", "response", "reference", "query"]
    """What it is held against."""


PROMPTS = {
    name: LabelPrompt(**texts)
    for name, texts in tomllib.loads(Path(__file__).with_name("label_prompts.toml").read_text(encoding="utf-8")).items()
}
"""The metrics that a person can label."""


@dataclass(frozen=True, slots=True)
class Item:
    """One component of one metric of one case, and the judge's verdict on it."""

    case: str
    metric: str
    component: int
    """Its position among the components that the metric shows of the case, from 0."""
    text: str
    verdict: Answered
    """As the metric counts it: yes speaks for the answer."""
    score: float | None
    """The judge's probability of that yes; None where it gives none."""


@dataclass(frozen=True, slots=True)
class Draw:
    """Items to be labelled: a simple random sample without replacement."""

    items: tuple[Item, ...]
    inclusion: float
    """The inclusion probability of each: how many are drawn, divided by how many there are."""
    name: str
    """What tells one draw from another, however many it takes: `groundedness; 99 items; seed 0`.

    The number of items is in it, since a run that was continued is drawn from anew.
    """


def metrics_to_label(names: Sequence[str], run: Sequence[str]) -> tuple[str, ...]:
    """The metrics to label. In `names`, `all` stands for every one that the run has."""
    possible = tuple(name for name in run if name in PROMPTS)
    if not possible:
        raise ConfigError(f"the run has no metric that a person can label ({', '.join(PROMPTS)})")
    for name in names:
        if name != "all" and name not in possible:
            why = "the run doesn't have it" if name in PROMPTS else "it can't be labelled"
            raise ConfigError(f"--metric {name}: {why}; use one of {', '.join(possible)}, or all")
    return possible if "all" in names else tuple(dict.fromkeys(names))


def items_of(record: Record, metrics: Sequence[str]) -> Iterator[Item]:
    """What can be labelled of a case: components with a verdict whose text is still there."""
    for name in metrics:
        outcome = record.outcomes.get(name)
        if not isinstance(outcome, Score) or record.case.query == DELETED:
            continue
        for at, part in enumerate(outcome.parts):
            cell, text = part.cell, part.component.text
            if isinstance(cell, Verdict) and text != DELETED:
                score = None if name == "self_distinctness" else cell.score  # there it is a cosine
                yield Item(record.case.id, name, at, text, verdict_of(part), score)


def verdict_of(part: Part) -> Answered:
    """A component's verdict as the metric counts it: yes speaks for the answer."""
    return "unknown" if part.good is None else "yes" if part.good else "no"


def draw_items(items: Iterable[Item], metrics: Sequence[str], n: int, seed: int) -> Draw:
    """Draw n of all items of these metrics, of which there must be some; all where there are fewer.

    A larger n draws the same items and further ones. So agreement on the sample estimates agreement on all of the run
    as it is, without weights; strata by verdict would need them, and would let a person guess the verdict from how
    often it comes.
    """
    shuffled = sorted(items, key=_place)
    random.Random(seed).shuffle(shuffled)  # noqa: S311  # a sample, not a secret
    drawn = tuple(shuffled[:n])
    name = f"{', '.join(sorted(metrics))}; {len(shuffled)} items; seed {seed}"
    return Draw(drawn, len(drawn) / len(shuffled), name)


_place = attrgetter("case", "metric", "component")
