"""What can be labelled in a stored run, and which of it is: a random sample, or where the judge is likely wrong."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Literal, NamedTuple

from ragtriage.core.case import Record
from ragtriage.core.errors import ConfigError
from ragtriage.core.verdicts import Answered, Part, Score, Verdict
from ragtriage.runs.codec import DELETED


class Prompt(NamedTuple):
    """How a person is asked about a metric's components; yes is what speaks for the answer."""

    question: str
    component: str
    """What a component is called."""
    against: Literal["sources", "response", "reference", "query"]
    """What it is held against."""


PROMPTS = {
    name: Prompt(**texts)
    for name, texts in tomllib.loads(Path(__file__).with_name("prompts.toml").read_text(encoding="utf-8")).items()
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
    confidence: float | None
    sure: bool


@dataclass(frozen=True, slots=True)
class SampledItem:
    """An item to be labelled."""

    item: Item
    inclusion: float | None
    """The inclusion probability; None for an item that was selected on purpose."""


def metrics_to_label(names: Sequence[str], run: Sequence[str]) -> tuple[str, ...]:
    """The metrics to label.

    Args:
        names: what was asked for; `all` stands for every one that the run has.
        run: the metrics of the run.

    Raises:
        ConfigError: a metric can't be labelled, or the run doesn't have it.
    """
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
                yield Item(record.case.id, name, at, text, verdict_of(part), score, cell.confidence, cell.sure)


def verdict_of(part: Part) -> Answered:
    """A component's verdict as the metric counts it: yes speaks for the answer."""
    return "unknown" if part.good is None else "yes" if part.good else "no"


def random_sample(items: Iterable[Item], n: int, seed: int) -> list[SampledItem]:
    """A simple random sample without replacement: every item has the inclusion probability n / number of items.

    A larger n draws the same items and further ones. So agreement on the sample estimates agreement on all of the run
    as it is, without weights; strata by verdict would need them, and would let a person guess the verdict from how
    often it comes.
    """
    shuffled = sorted(items, key=_place)
    random.Random(seed).shuffle(shuffled)  # noqa: S311  # a sample, not a secret
    sample = shuffled[:n]
    return [SampledItem(item, len(sample) / len(shuffled)) for item in sample]


def likely_errors(items: Iterable[Item], n: int, seed: int, other: Iterable[Item] = ()) -> list[SampledItem]:
    """The n items where the judge is likeliest wrong: first verdicts that differ in another run, then doubtful ones.

    Unfit for estimates: what is selected for errors has more of them.

    Args:
        items: of the run.
        n: how many.
        seed: of the order in which they are asked, and of ties.
        other: items of another run of the same cases.
    """
    theirs = {(one.case, one.metric, one.text): one.verdict for one in other}

    def suspicion(item: Item) -> tuple[bool, bool, float]:
        differs = theirs.get((item.case, item.metric, item.text), item.verdict) != item.verdict
        doubt = item.verdict == "unknown" or not item.sure
        return differs, doubt, 1.0 - (1.0 if item.confidence is None else item.confidence)

    ranked = sorted(items, key=_place)
    order = random.Random(seed)  # noqa: S311  # a sample, not a secret
    order.shuffle(ranked)
    ranked.sort(key=suspicion, reverse=True)
    selected = ranked[:n]
    order.shuffle(selected)
    return [SampledItem(item, None) for item in selected]


def sample_name(metrics: Sequence[str], items: int, seed: int) -> str:
    """What tells one sample from another, whatever its n: `groundedness; 99 items; seed 0`.

    The number of items is in it, since a run that was continued is sampled anew.
    """
    return f"{', '.join(sorted(metrics))}; {items} items; seed {seed}"


_place = attrgetter("case", "metric", "component")
