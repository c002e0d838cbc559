"""What an evaluation would take, found out before a request is made.

The real evaluation is run against a stand-in judge: rules break the texts into components, every verdict is the same,
and what each batch of questions would take is the true judge's own estimate. It is run twice: where every verdict is
yes, no question is asked that hangs on a no (at least); where every verdict is no, all of them are. At most are these
together with those that hang on a yes. Both leave out what hangs on a yes here and a no there: of a segment that cites
three sources or more, which support it together and none alone, one request for each of them.
"""

from __future__ import annotations

import asyncio
import hashlib
import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError
from ragtriage.core.metric import Metric
from ragtriage.core.questions import Kind, Question
from ragtriage.core.steps import Step
from ragtriage.core.verdicts import Answered
from ragtriage.evaluation.engine import evaluate
from ragtriage.evaluation.stand_in import Stage, StandIn
from ragtriage.judges.protocol import Estimate, Judge
from ragtriage.judges.wrappers import AnswerMemory
from ragtriage.metrics import THELMA
from ragtriage.planning.levels import plan

AT_ONCE = 64
"""Cases that are read before they are rehearsed."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What an evaluation would take."""

    cases: int
    least: Estimate
    """If every verdict is yes."""
    most: Estimate
    """If every verdict is no, and what is asked only where verdicts are yes."""
    seconds: tuple[float, float]
    """How long the requests take, (at least, at most)."""
    dearest: tuple[str, Estimate] | None
    """The metric without which most is saved, and how much of `most`; None for a judge that needs no requests, or where
    leaving out any one metric saves nothing."""
    shared: Mapping[str, tuple[str, ...]]
    """The steps that serve more than one metric → the metrics' names."""
    questions: Mapping[Kind, int]
    """How many questions would be asked at most, by kind; without those that are in memory."""
    remembered: int
    """How many questions are in memory and cost nothing."""
    concurrency: int
    """Requests in flight."""
    seconds_per_request: float
    trials: int = 1
    """How many repetitions these numbers are for; `cases` counts each case once."""

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines; prices in US dollars, null if not known."""
        shortest, longest = self.seconds
        return {
            "cases": self.cases,
            "trials": self.trials,
            "least": {**asdict(self.least), "seconds": shortest},
            "most": {**asdict(self.most), "seconds": longest},
            "dearest": None if self.dearest is None else {"metric": self.dearest[0], **asdict(self.dearest[1])},
            "shared": {step: list(names) for step, names in self.shared.items()},
            "questions": dict(self.questions),
            "remembered": self.remembered,
            "concurrency": self.concurrency,
            "seconds_per_request": self.seconds_per_request,
        }


def rehearse(  # noqa: PLR0913  # what an evaluation takes, and what decides how long it would last
    cases: Iterable[Case],
    judge: Judge,
    *,
    metrics: Sequence[Metric] = THELMA,
    also: Sequence[Step] = (),
    concurrency: int = 16,
    seconds_per_request: float = 2.0,
    sample: int = 50,
    memory: AnswerMemory | None = None,
    trial: int = 0,
) -> Rehearsal:
    """Find out what evaluating these cases would take, without asking the judge anything.

    Numbers of claims and facts are counted by rules, except for texts whose components are in memory. Requests that
    fail and are sent again come on top.

    Args:
        cases: read once, lazily.
        judge: the one that would be asked; only its `can` and `estimate` are used. What a `Cached` one has in memory
            is left out by its estimate.
        metrics: as for `evaluate`.
        also: as for `evaluate`.
        concurrency: how many requests would be in flight, at least 1.
        seconds_per_request: how long one takes.
        sample: on how many cases at most to find out what leaving out a metric saves.
        memory: what the evaluation would remember answers by. What it holds is taken as it is and left out, so that
            the rehearsal of a run that was cut off tells what is left; and a question that several cases have in common
            counts once. None for an evaluation without a memory.
        trial: which repetition the answers in memory belong to.

    Raises:
        ConfigError: `concurrency` is below 1, or an event loop is running in this thread.
        JudgeError: the judge can't work at all.
        StoreError: the memory can't be read.
    """
    if concurrency < 1:
        raise ConfigError(f"the concurrency is {concurrency}: at least one request must be in flight")
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        raise ConfigError("an event loop is running here, as in a notebook: rehearse in a thread of its own")
    metrics = tuple(metrics)
    count = 0
    drawn: list[Case] = []
    with asyncio.Runner() as runner:
        stage = Stage(judge, memory, trial)
        least, most = (_Performance(runner, stage, value, metrics, also) for value in ("yes", "no"))
        for some in _in_parts(cases):
            count += len(some)
            most.give(some, beside=least.give(some))
            drawn = heapq.nsmallest(sample, [*drawn, *some], key=_lot)
            stage.forget()
        paid = most.taken.requests > 0 and len(metrics) > 1
        dearest = _dearest(runner, stage, drawn, metrics, also, count) if paid and drawn else None
    return Rehearsal(
        count,
        least.taken,
        most.taken,
        (least.seconds(concurrency, seconds_per_request), most.seconds(concurrency, seconds_per_request)),
        dearest,
        plan(metrics, also).shared(),
        most.asked,
        most.remembered,
        concurrency,
        seconds_per_request,
    )


def together(trials: Sequence[Rehearsal]) -> Rehearsal:
    """What several repetitions of one evaluation take, one after another.

    Args:
        trials: a rehearsal of each, at least one.
    """
    first = trials[0]
    savings = [one.dearest for one in trials if one.dearest]
    name = savings[0][0] if savings else ""
    return replace(
        first,
        least=sum((one.least for one in trials), Estimate()),
        most=sum((one.most for one in trials), Estimate()),
        seconds=(sum(one.seconds[0] for one in trials), sum(one.seconds[1] for one in trials)),
        dearest=(name, sum((saved for other, saved in savings if other == name), Estimate())) if savings else None,
        questions=sum((Counter(one.questions) for one in trials), Counter()),
        remembered=sum(one.remembered for one in trials),
        trials=sum(one.trials for one in trials),
    )


def _dearest(
    runner: asyncio.Runner,
    stage: Stage,
    cases: Sequence[Case],
    metrics: Sequence[Metric],
    also: Sequence[Step],
    count: int,
) -> tuple[str, Estimate] | None:
    """The metric without which these cases take least, and what is saved, scaled to `count` cases."""

    def taken(chosen: Sequence[Metric]) -> Estimate:
        performance = _Performance(runner, stage, "no", chosen, also)
        performance.give(cases)
        return performance.taken

    whole = taken(metrics)
    saved = {m.name: whole - taken([other for other in metrics if other is not m]) for m in metrics}
    name, most = max(saved.items(), key=lambda item: _dearness(item[1]))
    scale = count / len(cases)
    found = Estimate(
        round(most.requests * scale),
        round(most.tokens_in * scale),
        round(most.tokens_out * scale),
        None if most.price is None else most.price * scale,
    )
    return (name, found) if max(_dearness(found)) > 0 else None


def _dearness(estimate: Estimate) -> tuple[float, int, int]:
    return estimate.price or 0.0, estimate.tokens_in + estimate.tokens_out, estimate.requests


Batches = list[list[Question]]
"""What is asked about one case, by what is asked together."""


def _unasked(own: Batches, others: Batches) -> Iterator[list[Question]]:
    """What stands in the others' batches alone."""
    asked = {question for batch in own for question in batch}
    for batch in others:
        if left := [question for question in batch if question not in asked]:
            yield left


class _Performance:
    """One run of the evaluation with a stand-in, and what its questions would take."""

    def __init__(
        self,
        runner: asyncio.Runner,
        stage: Stage,
        value: Answered,
        metrics: Sequence[Metric],
        also: Sequence[Step],
    ) -> None:
        self.taken = Estimate()
        self.asked: Counter[Kind] = Counter()
        self._runner = runner
        self._stage = stage
        self._metrics = metrics
        self._also = also
        self._stand_in = StandIn(stage, value)
        self._levels = 0

    @property
    def remembered(self) -> int:
        """How many questions were in memory."""
        return self._stand_in.remembered

    def give(self, cases: Sequence[Case], beside: Sequence[Batches] = ()) -> list[Batches]:
        """Run it on these cases, one after another, so that batches can be told apart by case.

        Args:
            cases: some more of them.
            beside: what another performance asked about each; what this one doesn't ask is counted too.

        Returns:
            What this one asked about each.
        """
        return self._runner.run(self._give(cases, beside))

    async def _give(self, cases: Sequence[Case], beside: Sequence[Batches]) -> list[Batches]:
        found: list[Batches] = []
        async for _ in evaluate(
            cases, self._stand_in, metrics=self._metrics, also=self._also, window=1, language=self._stage.language
        ):
            levels = 0
            own = self._stand_in.batches()
            for batch in [*own, *(_unasked(own, beside[len(found)]) if beside else ())]:
                estimate = self._stage.estimate(batch)
                self.taken += estimate
                self.asked.update(question.kind for question in batch)
                levels += estimate.requests > 0
            self._levels = max(self._levels, levels)
            found.append(own)
        return found

    def seconds(self, concurrency: int, each: float) -> float:
        """How long the requests take; those of one case's levels wait for each other."""
        return max(self.taken.requests / concurrency, self._levels) * each


def _in_parts(cases: Iterable[Case]) -> Iterator[list[Case]]:
    waiting = iter(cases)
    while some := list(islice(waiting, AT_ONCE)):
        yield some


def _lot(case: Case) -> bytes:
    """What decides whether a case is in the sample: nothing but its id."""
    return hashlib.blake2b(case.id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
