"""A person labels items one by one, each on one screen without the verdict; every label is kept at once."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragtriage.core.case import Record
from ragtriage.core.display import plural
from ragtriage.core.errors import ConfigError
from ragtriage.core.statistics import IntervalEstimate, wilson
from ragtriage.metrics import metric_named
from ragtriage.text.blocks import blocks
from ragtriage.text.sentences import split_sentences
from ragtriage.trust.baselines import words
from ragtriage.trust.label_files import PROMPTS, Item, Label, LabelFile, SampledItem

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
    texts = _evidence(item, record)
    left = lines - _FRAME_LINES - len(found) - len(component)
    evidence = _whole(texts) if whole else _nearest(item, texts, max(3, left))
    return [*found, *component, "", *evidence, "", prompt.question]


def _evidence(item: Item, record: Record) -> list[tuple[str, str]]:
    """What a component is held against: (name, text)."""
    case, prompt = record.case, PROMPTS[item.metric]
    if prompt.against == "sources":
        return [(f"Source {i}", source.text) for i, source in enumerate(case.known_sources, 1)]
    if prompt.against == "reference":
        return [("True answer", case.reference or "")]
    # of a claim that is held against the query its response is shown
    shown = prompt.against == "response" or ("Claim" in prompt.component and case.response)
    return [("Response", case.response or "")] if shown else []


def _wrapped(text: str, most: int | None = None) -> list[str]:
    """A text in lines with an indent, safe to print; cut with an ellipsis."""
    clean = "".join(char if char.isprintable() else " " for char in text)
    wrapper = textwrap.TextWrapper(
        WIDTH, initial_indent="  ", subsequent_indent="  ", max_lines=most, placeholder=" …", break_on_hyphens=False
    )
    return wrapper.wrap(clean) or ["  (empty)"]


def _whole(texts: Sequence[tuple[str, str]]) -> list[str]:
    """Every line of the texts on its own, so that tables can be read."""
    found = []
    for name, text in texts:
        found += [name, *(row for own in text.splitlines() if own.strip() for row in _wrapped(own))]
    return found


def _nearest(item: Item, texts: Sequence[tuple[str, str]], lines: int) -> list[str]:
    """The passages that share most with the component, the nearest first, as many as there is room for.

    By rare words alone, and never by what the judge has found: a passage that the judge chose would give it away. Above
    a table's row stand the names of its columns.
    """
    if not texts:
        return []
    passages = [passage for name, text in texts for passage in _passages(name, text)]
    counts = Counter(word for *_, text in passages for word in set(words(text)))
    wanted = set(words(item.text))

    def shared(text: str) -> float:
        return sum(math.log(1 + len(passages) / counts[word]) for word in wanted & set(words(text)))

    order = sorted(range(len(passages)), key=lambda i: (-shared(passages[i][2]), i))
    shown: list[str] = []
    count = 0
    for i in order:
        name, columns, text = passages[i]
        last = passages[order[count - 1]] if count else ("", "", "")
        block = [name] if name != last[0] else []
        if columns and (name, columns) != last[:2]:
            block += _wrapped(columns, _HEADER_LINES)
        block += _wrapped(text)
        if count and len(shown) + len(block) > lines - 1:
            break
        shown += block[: max(_HEADER_LINES + 2, lines - 1)]
        count += 1
    if left := len(passages) - count:
        shown.append(f"({plural(left, 'more sentence')}: e shows everything)")
    return shown or ["(nothing to hold it against)"]


def _passages(name: str, text: str) -> Iterator[tuple[str, str, str]]:
    """(the text's name, the columns of the table that it is a row of, itself) of every sentence and row."""
    rows = [block for block in blocks(text) if block.shape == "row" and any(block.header)]
    for one in split_sentences(text):
        at = one.span[0] if one.span else -1
        columns = next((row.header for row in rows if row.start <= at < row.end), ())
        yield name, " | ".join(columns), one.text


AskKey = Callable[[SampledItem, int, "Label | None"], str]
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


class LabellingSession:
    """The labels of a sample in a file, and what is left to ask.

    Samples of one draw are nested: a larger n adds items. The largest n ever asked for gives all of them their
    inclusion probability, so a smaller one after it changes nothing.

    Args:
        file: where labels go.
        run: the run's number.
        sample: what is to be labelled.
        by: who labels.
        draw: which draw the sample is of, see `sample_name`.

    Raises:
        ConfigError: the file holds labels of the same metrics, run and person that were selected on purpose, and these
            are drawn at random, or the other way round; or labels of another draw, with other inclusion probabilities.
    """

    def __init__(self, file: LabelFile, run: str, sample: Sequence[SampledItem], by: str = "", draw: str = "") -> None:
        self._file = file
        self._run = run
        self._by = by
        self._draw = draw
        metrics = {one.item.metric for one in sample}
        mine = [one for one in file.labels if (one.run, one.by) == (run, by) and one.metric in metrics]
        for label in mine:
            self._check_fits(label, picked=any(one.inclusion is None for one in sample))
        known = (*(one.chance for one in mine), *(one.inclusion for one in sample))
        largest = max((chance for chance in known if chance is not None), default=None)
        self.sample = tuple(one if one.inclusion is None else replace(one, inclusion=largest) for one in sample)
        earlier = {_key(one): one for one in mine}
        self._labels: dict[int, Label] = {}
        for at, sampled in enumerate(self.sample):
            before = earlier.get(_key(sampled.item))
            if before and before.chance != sampled.inclusion:
                before = replace(before, chance=sampled.inclusion)
                file.add(before)  # of a larger sample: every item of it had the larger chance
            if before:
                self._labels[at] = before

    def _check_fits(self, label: Label, *, picked: bool) -> None:
        if (label.chance is None) != picked:
            raise ConfigError(
                f"{self._file.path}: holds labels that were {'drawn at random' if picked else 'picked'}: "
                "name another file with -o, so that they stay apart"
            )
        if label.draw and self._draw and label.draw != self._draw:
            raise ConfigError(
                f"{self._file.path}: holds labels of another draw ({label.draw}), and this one is of {self._draw}: "
                "use the same --metric and --seed, or name another file with -o"
            )

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels of the sample so far, in its order."""
        return tuple(self._labels[at] for at in sorted(self._labels))

    @property
    def done(self) -> bool:
        """Whether every item was labelled or skipped."""
        return len(self._labels) == len(self.sample)

    def run(self, ask: AskKey) -> bool:
        """Ask about what is left; False if the person quit.

        Raises:
            KeyboardInterrupt: as `ask` raises it; all labels so far are kept.
            OSError: the file can't be written.
        """
        at = self._next(0)
        while at is not None:
            key = ask(self.sample[at], at, self._labels.get(at))
            if key == "q":
                return False
            if key == "b":
                at = max(0, at - 1)
                continue
            self._keep(at, answer=_LABEL_OF[key])
            at = self._next(at + 1)
        return True

    def _keep(self, at: int, *, answer: bool | None) -> None:
        item, chance = self.sample[at].item, self.sample[at].inclusion
        label = Label(self._run, *_key(item), answer, item.verdict, item.score, chance, by=self._by, draw=self._draw)
        if chance is None:
            label = replace(label, pick="disagreements", draw="")
        self._file.add(label)
        self._labels[at] = label

    def _next(self, start: int) -> int | None:
        """The first item without a label from `start` on, then from the beginning."""
        left = (at for at in range(len(self.sample)) if at not in self._labels)
        return min(left, key=lambda at: (at < start, at), default=None)


def _key(one: Label | Item) -> tuple[str, str, int, str]:
    return one.case, one.metric, one.component, one.text
