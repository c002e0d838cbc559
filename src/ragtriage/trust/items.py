"""What can be labelled in a stored run: a component that a metric shows, with the judge's verdict kept aside."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from ragtriage.core.errors import ConfigError
from ragtriage.core.record import Record
from ragtriage.core.verdicts import Answered, Score, Verdict
from ragtriage.metrics import metric_named
from ragtriage.store import DELETED

Held = Literal["sources", "response", "reference", "query"]


@dataclass(frozen=True, slots=True)
class Asking:
    """How a person is asked about a metric's components; yes is what speaks for the answer."""

    question: str
    component: str
    """What a component is called."""
    against: Held
    """What it is held against."""


ASKING: Mapping[str, Asking] = MappingProxyType(
    {
        "groundedness": Asking("Do the sources support this claim, all of it?", "Claim", "sources"),
        "response_precision": Asking("Does answering the question need this?", "Claim of the response", "query"),
        "response_query_coverage": Asking("Does the response answer this?", "Part of the question", "response"),
        "source_query_coverage": Asking("Do the sources answer this?", "Part of the question", "sources"),
        "source_precision": Asking("Does this hold anything that the answer needs?", "Source", "query"),
        "fact_precision": Asking("Does answering the question need this?", "Fact of a source", "query"),
        "self_distinctness": Asking(
            "Does it say something that no other sentence says?", "Sentence of the response", "response"
        ),
        "answer_precision": Asking("Is this right, by the true answer?", "Claim of the response", "reference"),
        "answer_recall": Asking("Does the response say this?", "Claim of the true answer", "response"),
        "context_recall": Asking("Do the sources support this, all of it?", "Claim of the true answer", "sources"),
    }
)
"""The metrics that a person can label."""


@dataclass(frozen=True, slots=True)
class Item:
    """One component of one metric of one case, and what the judge said of it."""

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
class Drawn:
    """An item to be labelled."""

    item: Item
    chance: float | None
    """The probability with which it was drawn; None for one that was picked on purpose."""


def labelled_metrics(names: Sequence[str], run: Sequence[str]) -> tuple[str, ...]:
    """The metrics to label.

    Args:
        names: what was asked for; `all` stands for every one that the run has.
        run: the metrics of the run.

    Raises:
        ConfigError: a metric can't be labelled, or the run doesn't have it.
    """
    possible = tuple(name for name in run if name in ASKING)
    if not possible:
        raise ConfigError(f"the run has no metric that a person can label ({', '.join(ASKING)})")
    for name in names:
        if name != "all" and name not in possible:
            known = "the run doesn't have it" if name in ASKING else "it can't be labelled"
            raise ConfigError(f"--metric {name}: {known}; use one of {', '.join(possible)}, or all")
    return possible if "all" in names else tuple(dict.fromkeys(names))


def items_of(record: Record, metrics: Sequence[str]) -> Iterator[Item]:
    """What can be labelled of a case: components with a verdict whose text is still there."""
    for name in metrics:
        outcome = record.outcomes.get(name)
        if not isinstance(outcome, Score) or record.case.query == DELETED:
            continue
        for at, part in enumerate(outcome.parts):
            cell = part.cell
            if not isinstance(cell, Verdict) or part.component.text == DELETED:
                continue
            said: Answered = "unknown" if part.good is None else "yes" if part.good else "no"
            cosine = name == "self_distinctness"
            score = None if cosine else cell.score
            yield Item(record.case.id, name, at, part.component.text, said, score, cell.confidence, cell.sure)


def draw(items: Iterable[Item], n: int, seed: int) -> list[Drawn]:
    """A simple random sample without replacement: every item has the same chance, n / number of items.

    A larger n draws the same items and further ones. So agreement on the sample estimates agreement on all of the run
    as it is, without weights; a draw that takes more of the rare verdicts would need them, and would let a person
    guess the verdict from how often it comes.
    """
    every = sorted(items, key=_place)
    random.Random(seed).shuffle(every)  # noqa: S311  # a sample, not a secret
    taken = every[:n]
    return [Drawn(item, len(taken) / len(every)) for item in taken]


def pick(items: Iterable[Item], n: int, seed: int, other: Iterable[Item] = ()) -> list[Drawn]:
    """The n items where trouble is likeliest: verdicts that another run doesn't share, then those given in doubt.

    Unfit for estimates: what is picked for trouble has more of it.

    Args:
        items: of the run.
        n: how many.
        seed: of the order in which they are asked, and of ties.
        other: items of another run of the same cases.
    """
    theirs = {(one.case, one.metric, one.text): one.verdict for one in other}
    every = sorted(items, key=_place)
    order = random.Random(seed)  # noqa: S311  # a sample, not a secret
    order.shuffle(every)
    every.sort(key=lambda item: _trouble(item, theirs), reverse=True)
    taken = every[:n]
    order.shuffle(taken)
    return [Drawn(item, None) for item in taken]


def title_of(metric: str) -> str:
    """A metric's plain name."""
    found = metric_named(metric)
    return found.title if found else metric


def _trouble(item: Item, theirs: Mapping[tuple[str, str, str], Answered]) -> tuple[bool, bool, float]:
    differs = theirs.get((item.case, item.metric, item.text), item.verdict) != item.verdict
    doubt = item.verdict == "unknown" or not item.sure
    return differs, doubt, 1.0 - (1.0 if item.confidence is None else item.confidence)


def _place(item: Item) -> tuple[str, str, int]:
    return item.case, item.metric, item.component
