"""A person labels items one by one, beside the nearest passages, without the verdict; every label is kept at once."""

import math
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ragtriage.core.case import Record
from ragtriage.core.display import plural
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.core.statistics import IntervalEstimate, wilson
from ragtriage.metrics import metric_named
from ragtriage.runs.run import Run
from ragtriage.text.blocks import blocks
from ragtriage.text.sentences import split_sentences
from ragtriage.trust.label_files import PROMPTS, Draw, Item, Label, LabelFile, items_of
from ragtriage.trust.wording import words


class EvidenceText(NamedTuple):
    """A text that a component is held against."""

    name: str
    """What a person calls it: `Source 2`."""
    text: str


class Passage(NamedTuple):
    """A sentence of such a text, or a row of a table in it."""

    name: str
    """The text's."""
    columns: str
    """The names of the table's columns; empty of a sentence."""
    text: str


def texts_against(item: Item, record: Record) -> list[EvidenceText]:
    """All that a component is held against; nothing where it is the question alone."""
    case, prompt = record.case, PROMPTS[item.metric]
    if prompt.against == "sources":
        return [EvidenceText(f"Source {i}", source.text) for i, source in enumerate(case.known_sources, 1)]
    if prompt.against == "reference":
        return [EvidenceText("True answer", case.reference or "")]
    # of a claim that is held against the query its response is shown
    shown = prompt.against == "response" or ("Claim" in prompt.component and case.response)
    return [EvidenceText("Response", case.response or "")] if shown else []


def nearest_passages(item: Item, texts: Sequence[EvidenceText]) -> list[Passage]:
    """All passages, those that share most with the component first.

    By rare words alone, and never by what the judge has found: a passage that the judge chose would give it away.
    """
    passages = [passage for one in texts for passage in _passages(one)]
    counts = Counter(word for one in passages for word in set(words(one.text)))
    wanted = set(words(item.text))

    def shared(text: str) -> float:
        return sum(math.log(1 + len(passages) / counts[word]) for word in wanted & set(words(text)))

    return sorted(passages, key=lambda one: -shared(one.text))


def _passages(given: EvidenceText) -> Iterator[Passage]:
    rows = [block for block in blocks(given.text) if block.shape == "row" and any(block.header)]
    for one in split_sentences(given.text):
        at = one.span[0] if one.span else -1
        columns = next((row.header for row in rows if row.start <= at < row.end), ())
        yield Passage(given.name, " | ".join(columns), one.text)


LINES = 24
WIDTH = 80
_QUERY_LINES, _COMPONENT_LINES = 3, 5
_HEADER_LINES = 1
"""Lines that the names of a table's columns may take above its rows."""
_FRAME_LINES = 6
"""Lines of a screen that the head, blank lines and the keys take."""
KEYS = "y yes · n no · s skip · b back · e everything · q quit"


def screen(item: Item, record: Record, place: str, *, whole: bool = False, lines: int = LINES) -> list[str]:
    """The lines of one item; none is longer than 80 characters.

    With `whole`, everything that it is held against is shown, however long, instead of the passages nearest to it.
    """
    prompt, metric = PROMPTS[item.metric], metric_named(item.metric)
    found = [f"{place} · {metric.title if metric else item.metric}", "", "Question"]
    found += _wrapped(record.case.query, None if whole else _QUERY_LINES)
    if whole and record.case.history:
        found += ["Before it", *(line for t in record.case.history for line in _wrapped(f"{t.role}: {t.text}"))]
    component = [prompt.component, *_wrapped(item.text, None if whole else _COMPONENT_LINES)]
    texts = texts_against(item, record)
    left = lines - _FRAME_LINES - len(found) - len(component)
    evidence = _whole(texts) if whole else _nearest(item, texts, max(3, left))
    return [*found, *component, "", *evidence, "", prompt.question]


def _wrapped(text: str, most: int | None = None) -> list[str]:
    """A text in lines with an indent, safe to print; cut with an ellipsis."""
    clean = "".join(char if char.isprintable() else " " for char in text)
    wrapper = textwrap.TextWrapper(
        WIDTH, initial_indent="  ", subsequent_indent="  ", max_lines=most, placeholder=" …", break_on_hyphens=False
    )
    return wrapper.wrap(clean) or ["  (empty)"]


def _whole(texts: Sequence[EvidenceText]) -> list[str]:
    """Every line of the texts on its own, so that tables can be read."""
    found = []
    for name, text in texts:
        found += [name, *(row for own in text.splitlines() if own.strip() for row in _wrapped(own))]
    return found


def _nearest(item: Item, texts: Sequence[EvidenceText], lines: int) -> list[str]:
    """The passages nearest to the component, as many as there is room for; above a table's row stand its columns."""
    if not texts:
        return []
    passages = nearest_passages(item, texts)
    shown: list[str] = []
    last: Passage | None = None
    count = 0
    for passage in passages:
        block = [passage.name] if last is None or passage.name != last.name else []
        if passage.columns and (last is None or passage[:2] != last[:2]):
            block += _wrapped(passage.columns, _HEADER_LINES)
        block += _wrapped(passage.text)
        if count and len(shown) + len(block) > lines - 1:
            break
        shown += block[: max(_HEADER_LINES + 2, lines - 1)]
        last, count = passage, count + 1
    if left := len(passages) - count:
        shown.append(f"({plural(left, 'more sentence')}: e shows everything)")
    return shown or ["(nothing to hold it against)"]


def items_of_run(run: Run, metrics: Sequence[str]) -> list[Item]:
    """Everything that can be labelled in a run."""
    items = [item for record in run.records() for item in items_of(record, metrics)]
    if not items:
        raise InputError(f"{run.info.called} shows no component of {', '.join(metrics)}: nothing can be labelled")
    return items


AskKey = Callable[[Item, int, "Label | None"], str]
"""Shows an item, with its position and its label so far, and returns the key pressed: one of `y n s b q`."""
_LABEL_OF: Mapping[str, bool | None] = {"y": True, "n": False, "s": None}


@dataclass(frozen=True, slots=True)
class JudgeComparison:
    """A person's labels beside the judge's verdicts."""

    agree: int
    of: int
    """Items with a yes or no from both."""
    skipped: int
    unknown: int
    """Items that the person labelled and the judge couldn't tell."""
    disagreements: tuple[Label, ...]

    @property
    def share(self) -> IntervalEstimate:
        """Agreement with its 95 % interval (Wilson 1927)."""
        return wilson(self.agree, self.of)

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines."""
        share = self.share
        numbers = {"agree": self.agree, "of": self.of, "share": share.value, "low": share.low, "high": share.high}
        return {**numbers, "skipped": self.skipped, "unknown": self.unknown}


def compare_with_judge(labels: Sequence[Label]) -> JudgeComparison:
    """Hold labels against the verdicts that stand beside them; skipped and unknown ones are counted apart."""
    labelled = [one for one in labels if one.label is not None]
    both = [one for one in labelled if one.verdict != "unknown"]
    differ = tuple(one for one in both if one.label != (one.verdict == "yes"))
    skipped, unknown = len(labels) - len(labelled), len(labelled) - len(both)
    return JudgeComparison(len(both) - len(differ), len(both), skipped, unknown, differ)


_ANOTHER = "name another file with -o (of `ragtriage view` with --labels)"


class LabellingSession:
    """The labels of a draw in a file, and what is left to ask.

    Draws of one name are nested: a larger n adds items. Each label keeps the inclusion probability with which it was
    asked for; whoever joins labels with a run takes the largest of a draw for all of it.
    """

    def __init__(self, file: LabelFile, run: str, draw: Draw, by: str = "") -> None:
        self._file = file
        self._run = run
        self._draw = draw
        self._by = by
        self.items = draw.items
        metrics = {one.metric for one in draw.items}
        mine = [one for one in file.labels if (one.run, one.by) == (run, by) and one.metric in metrics]
        for label in mine:
            self._check_fits(label)
        earlier = {_key(one): one for one in mine}
        self._labels = {at: earlier[_key(one)] for at, one in enumerate(self.items) if _key(one) in earlier}

    def _check_fits(self, label: Label) -> None:
        if label.chance is None:
            raise ConfigError(
                f"{self._file.path}: holds labels that weren't drawn at random (chance: null): "
                f"{_ANOTHER}, so that they stay apart"
            )
        own = self._draw.name
        if label.draw and label.draw != own:
            raise ConfigError(
                f"{self._file.path}: holds labels of another draw ({label.draw}), and this one is of {own}: "
                f"use the same --metric and --seed, or {_ANOTHER}"
            )

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels of the draw so far, in its order."""
        return tuple(self._labels[at] for at in sorted(self._labels))

    @property
    def done(self) -> bool:
        """Whether every item was labelled or skipped."""
        return len(self._labels) == len(self.items)

    def run(self, ask: AskKey) -> bool:
        """Ask about what is left; False if the person quit."""
        at = self.next_from(0)
        while at is not None:
            key = ask(self.items[at], at, self._labels.get(at))
            if key == "q":
                return False
            if key == "b":
                at = max(0, at - 1)
                continue
            self.answer(at, _LABEL_OF[key])
            at = self.next_from(at + 1)
        return True

    def answer(self, at: int, said: bool | None) -> None:  # noqa: FBT001  # a value of three
        """Keep what the person says of one item, None for a skip; when this returns, it is on the disk."""
        item, draw = self.items[at], self._draw
        about = (self._run, *_key(item))
        label = Label(*about, said, item.verdict, item.score, draw.inclusion, by=self._by, draw=draw.name)
        self._file.add(label)
        self._labels[at] = label

    def label_of(self, at: int) -> Label | None:
        """What was said of one item."""
        return self._labels.get(at)

    def next_from(self, start: int) -> int | None:
        """The first item without a label from `start` on, then from the beginning."""
        left = (at for at in range(len(self.items)) if at not in self._labels)
        return min(left, key=lambda at: (at < start, at), default=None)


def _key(one: Label | Item) -> tuple[str, str, int, str]:
    return one.case, one.metric, one.component, one.text
