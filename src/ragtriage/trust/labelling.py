"""A person labels items one by one; every label is kept at once, and nothing of the judge is shown before the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragtriage.core.errors import ConfigError
from ragtriage.testset.reliability import Share, wilson
from ragtriage.trust.items import Drawn, Item
from ragtriage.trust.label_files import LabelFile
from ragtriage.trust.labels import Label

Ask = Callable[[Drawn, int, "Label | None"], str]
"""Shows an item, with its position and what was said of it before, and gives the key: one of `y n s b q`."""
_SAID: Mapping[str, bool | None] = {"y": True, "n": False, "s": None}


@dataclass(frozen=True, slots=True)
class Compared:
    """What a person said of items beside what the judge had said."""

    agree: int
    of: int
    """Items that both said yes or no of."""
    skipped: int
    unknown: int
    """Items that the person labelled and the judge couldn't tell."""
    disagreements: tuple[Label, ...]

    @property
    def share(self) -> Share:
        """Agreement with its 95 % interval (Wilson 1927)."""
        return wilson(self.agree, self.of)

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines."""
        share = self.share
        return {
            "agree": self.agree,
            "of": self.of,
            "share": share.value,
            "low": share.low,
            "high": share.high,
            "skipped": self.skipped,
            "unknown": self.unknown,
        }


class Session:
    """The labels of a sample in a file, with what is left to ask.

    Samples of one draw lie within each other: with a larger n further items come. The largest that was ever asked for
    gives all of them their chance, so a smaller one after it changes nothing.

    Args:
        file: where labels go.
        run: the run's number.
        sample: what is to be labelled.
        by: who labels.
        draw: which draw the sample is of, see `draw_name`.

    Raises:
        ConfigError: the file holds labels of the same metrics, run and person that were picked, and these are drawn,
            or the other way round; or labels of another draw: items of both would have had other chances.
    """

    def __init__(self, file: LabelFile, run: str, sample: Sequence[Drawn], by: str = "", draw: str = "") -> None:
        self._file = file
        self._run = run
        self._by = by
        self._draw = draw
        metrics = {drawn.item.metric for drawn in sample}
        mine = [one for one in file.labels if (one.run, one.by) == (run, by) and one.metric in metrics]
        for label in mine:
            self._must_fit(label, picked=any(one.chance is None for one in sample))
        chances = (*(one.chance for one in mine), *(one.chance for one in sample))
        largest = max((chance for chance in chances if chance is not None), default=None)
        self.sample = tuple(one if one.chance in {None, largest} else replace(one, chance=largest) for one in sample)
        own = {_key(one): one for one in mine}
        self._labels: dict[int, Label] = {}
        for at, drawn in enumerate(self.sample):
            said = own.get(_key_of(drawn.item))
            if said is None:
                continue
            if said.chance != drawn.chance:
                said = replace(said, chance=drawn.chance)
                file.add(said)  # of a larger sample: every item of it had the larger chance
            self._labels[at] = said

    def _must_fit(self, label: Label, *, picked: bool) -> None:
        if (label.chance is None) != picked:
            raise ConfigError(
                f"{self._file.path}: holds labels that were {'drawn at random' if picked else 'picked'}: "
                "name another file with -o, so that they stay apart"
            )
        if label.draw and self._draw and label.draw != self._draw:
            raise ConfigError(
                f"{self._file.path}: holds labels of another draw ({label.draw}), and this one is of {self._draw}: "
                "go on with the same --metric and --seed, or name another file with -o"
            )

    @property
    def labels(self) -> tuple[Label, ...]:
        """What was said of the sample so far, in its order."""
        return tuple(self._labels[at] for at in sorted(self._labels))

    @property
    def done(self) -> bool:
        """Whether every item was labelled or skipped."""
        return len(self._labels) == len(self.sample)

    def work(self, ask: Ask) -> bool:
        """Ask about what is left; False if the person quit.

        Raises:
            KeyboardInterrupt: as `ask` raises it; everything said before is kept.
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
            self._keep(at, said=_SAID[key])
            following = self._next(at + 1)
            at = following if following is not None else self._next(0)
        return True

    def _keep(self, at: int, *, said: bool | None) -> None:
        drawn = self.sample[at]
        label = Label(
            self._run,
            drawn.item.case,
            drawn.item.metric,
            drawn.item.component,
            drawn.item.text,
            said,
            drawn.item.verdict,
            drawn.item.score,
            drawn.chance,
            "random" if drawn.chance is not None else "disagreements",
            self._by,
            self._draw if drawn.chance is not None else "",
        )
        self._file.add(label)
        self._labels[at] = label

    def _next(self, start: int) -> int | None:
        return next((at for at in range(start, len(self.sample)) if at not in self._labels), None)


def draw_name(metrics: Sequence[str], items: int, seed: int) -> str:
    """What tells one draw from another, whatever its n: `groundedness; 99 items; seed 0`.

    The number of items is in it, as a run that was gone on with is drawn from anew.
    """
    return f"{', '.join(sorted(metrics))}; {items} items; seed {seed}"


def compare(labels: Sequence[Label]) -> Compared:
    """Hold labels against the verdicts that stand beside them; what was skipped, or unknown, is counted apart."""
    told = [one for one in labels if one.label is not None]
    both = [one for one in told if one.verdict != "unknown"]
    differ = tuple(one for one in both if one.label != (one.verdict == "yes"))
    return Compared(len(both) - len(differ), len(both), len(labels) - len(told), len(told) - len(both), differ)


def _key(label: Label) -> tuple[str, str, int, str]:
    return label.case, label.metric, label.component, label.text


def _key_of(item: Item) -> tuple[str, str, int, str]:
    return item.case, item.metric, item.component, item.text
