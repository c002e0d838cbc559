"""What an evaluation would take, found out before a request is made.

The real evaluation is run against a stub of the judge: rules break the texts into components, every verdict is the
same, and what each batch of questions would take is the true judge's own estimate. It is run twice: where every verdict
is yes, no question is asked that depends on a no (at least); where every verdict is no, all of them are. *At most*
counts these together with those that depend on a yes. Both leave out what depends on a yes here and a no there: of a
segment that cites three sources or more, which support it together and none alone, one request for each of them.
"""

from __future__ import annotations

import asyncio
import hashlib
import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from math import sqrt
from statistics import fmean, stdev
from typing import Any

from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError
from ragtriage.core.metric import Metric
from ragtriage.core.questions import Kind, Question
from ragtriage.core.steps import Step
from ragtriage.core.validation import as_builtins
from ragtriage.evaluation.engine import evaluate
from ragtriage.evaluation.stub_judge import EstimateCache, StubJudge
from ragtriage.judges.protocol import Estimate, Judge
from ragtriage.judges.wrappers import AnswerMemory
from ragtriage.metrics import THELMA
from ragtriage.planning.levels import plan

AT_ONCE = 64
"""Cases that are read before the first of them is looked at."""
TOLERANCE = 0.05
"""The relative error at which no more cases of a sample are looked at."""
FEWEST = 128
"""Cases of a sample that are looked at before its error is believed."""


@dataclass(frozen=True, slots=True)
class RowEstimate:
    """How many rows of a file can't be used, told from a random sample of them."""

    rows: int
    """All rows of the file, counted."""
    looked_at: int
    """How many the sample has."""
    unusable: int
    """About how many of all can't be used."""
    low: int
    high: int
    """The ends of the 95 % interval of `unusable`."""
    repeated: int
    """Rows that are an earlier one again, counted; they are among those that can't be used."""

    @property
    def error(self) -> float:
        """Half of the interval as a share of the rows that can be used."""
        return (self.high - self.low) / 2 / (self.rows - self.unusable)


@dataclass(frozen=True, slots=True)
class Sampling:
    """That an estimate was scaled up from a random sample of the cases."""

    cases: int
    """How many were looked at."""
    error: float | None
    """Half of the 95 % interval of requests, tokens or questions, whichever is widest, as a share of the estimate; None
    where nothing is asked about any of them, as everything was answered before."""
    rows: RowEstimate | None = None
    """By what the number of all cases is estimated; None if they were counted."""


@dataclass(frozen=True, slots=True)
class EvaluationEstimate:
    """What an evaluation would take."""

    cases: int
    least: Estimate
    """If every verdict is yes."""
    most: Estimate
    """If every verdict is no, and what is asked only where verdicts are yes."""
    seconds: tuple[float, float]
    """How long the requests take, and reading on this machine, (at least, at most)."""
    most_expensive: tuple[str, Estimate] | None
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
    sampling: Sampling | None = None
    """None if every case was looked at."""

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines; prices in US dollars, null if not known."""
        shortest, longest = self.seconds
        name, saved = self.most_expensive or ("", Estimate())
        return {
            "cases": self.cases,
            "trials": self.trials,
            "least": {**self.least.as_json(), "seconds": shortest},
            "most": {**self.most.as_json(), "seconds": longest},
            "most_expensive": None if self.most_expensive is None else {"metric": name, **saved.as_json()},
            "shared": {step: list(names) for step, names in self.shared.items()},
            "questions": dict(self.questions),
            "remembered": self.remembered,
            "concurrency": self.concurrency,
            "seconds_per_request": self.seconds_per_request,
            "sampling": None if self.sampling is None else as_builtins(self.sampling),
        }


def estimate_evaluation(  # noqa: PLR0913  # what an evaluation takes, and what decides how long it would last
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
    sampled_from: int | None = None,
) -> EvaluationEstimate:
    """Find out what evaluating these cases would take, without asking the judge anything.

    Numbers of claims and facts are counted by rules, except for texts whose components are in memory. Requests that
    fail and are sent again are not included.

    Args:
        cases: read once, lazily.
        judge: the one that would be asked; only its `unsupported_reason` and `estimate` are used. What a `Cached` one
            has in memory is left out by its estimate.
        metrics: as for `evaluate`.
        also: as for `evaluate`.
        concurrency: how many requests would be in flight, at least 1.
        seconds_per_request: how long one takes.
        sample: on how many cases at most to find out what leaving out a metric saves.
        memory: what the evaluation would remember answers by. What it holds is taken as it is and left out, so that
            the estimate for a run that was cut off tells what is left; and a question that several cases have in common
            counts once. None for an evaluation without a memory.
        trial: which repetition the answers in memory belong to.
        sampled_from: how many cases there are, if `cases` are some of them in random order. So many of these are looked
            at as make the estimate precise to within `TOLERANCE`, and it is scaled up: questions that several cases
            have in common then count more than once. None if `cases` are all that there are.

    Raises:
        ConfigError: `concurrency` is below 1, or an event loop is running in this thread.
        JudgeError: the judge can't work at all.
        StoreError: the memory can't be read.
    """
    if concurrency < 1:
        raise ConfigError(f"the concurrency is {concurrency}: at least one request must be in flight")
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        raise ConfigError("an event loop is running here, as in a notebook: estimate in a thread of its own")
    metrics = tuple(metrics)
    count = 0
    drawn: list[Case] = []
    waiting = iter(cases)
    with asyncio.Runner() as runner:
        cache = EstimateCache(judge, memory, trial)
        least, most = (_DryRun(StubJudge(cache, value), metrics, also) for value in ("yes", "no"))
        while some := list(islice(waiting, AT_ONCE)):
            count += len(some)
            runner.run(most.run(some, beside=runner.run(least.run(some))))
            drawn = heapq.nsmallest(sample, [*drawn, *some], key=_sampling_key)
            if sampled_from is None:  # else they are few, and some are looked at again
                cache.forget()
            error = most.error(sampled_from) if sampled_from and count >= FEWEST else None
            if error is not None and error <= TOLERANCE:
                break
        scale = (sampled_from or count) / count if count else 1.0

        def taken(chosen: Sequence[Metric]) -> Estimate:
            dry_run = _DryRun(StubJudge(cache, "no"), chosen, also)
            runner.run(dry_run.run(drawn))
            return dry_run.taken

        paid = most.taken.requests > 0 and len(metrics) > 1
        at_most = _scaled(most.taken, scale)
        most_expensive = (
            _most_expensive(metrics, taken, at_most, scale * count / len(drawn)) if paid and drawn else None
        )
    return EvaluationEstimate(
        round(scale * count),
        _scaled(least.taken, scale),
        at_most,
        (least.seconds(concurrency, seconds_per_request, scale), most.seconds(concurrency, seconds_per_request, scale)),
        most_expensive,
        plan(metrics, also).shared(),
        Counter({kind: round(scale * asked) for kind, asked in most.asked.items()}),
        round(scale * most.stub.remembered),
        concurrency,
        seconds_per_request,
        sampling=None if scale == 1 else Sampling(count, most.error(round(scale * count))),
    )


def sum_estimates(trials: Sequence[EvaluationEstimate]) -> EvaluationEstimate:
    """What several repetitions of one evaluation take, one after another.

    Args:
        trials: the estimate of each, at least one.
    """
    first = trials[0]
    savings = [one.most_expensive for one in trials if one.most_expensive]
    name = savings[0][0] if savings else ""
    return replace(
        first,
        least=sum((one.least for one in trials), Estimate()),
        most=sum((one.most for one in trials), Estimate()),
        seconds=(sum(one.seconds[0] for one in trials), sum(one.seconds[1] for one in trials)),
        most_expensive=(name, sum((saved for other, saved in savings if other == name), Estimate()))
        if savings
        else None,
        questions=sum((Counter(one.questions) for one in trials), Counter()),
        remembered=sum(one.remembered for one in trials),
        sampling=max((one.sampling for one in trials if one.sampling), key=lambda one: one.error or 0.0, default=None),
        trials=sum(one.trials for one in trials),
    )


def _most_expensive(
    metrics: Sequence[Metric], taken: Callable[[Sequence[Metric]], Estimate], total: Estimate, scale: float
) -> tuple[str, Estimate] | None:
    """The metric without which least is taken, and what is saved, scaled to all cases; None if nothing is.

    Cases that have questions in common take less than their number says: no more is saved than their part of the total.
    """

    def cost(estimate: Estimate) -> tuple[float, int, int]:
        return estimate.price or 0.0, estimate.tokens_in + estimate.tokens_out, estimate.requests

    whole = taken(metrics)
    if not whole.requests:
        return None
    saved = {m.name: whole - taken([other for other in metrics if other is not m]) for m in metrics}
    name, most = max(saved.items(), key=lambda item: cost(item[1]))
    found = _scaled(most, min(scale, total.requests / whole.requests))
    return (name, found) if max(cost(found)) > 0 else None


def _scaled(estimate: Estimate, by: float) -> Estimate:
    if by == 1:
        return estimate
    return Estimate(
        round(estimate.requests * by),
        round(estimate.tokens_in * by),
        round(estimate.tokens_out * by),
        None if estimate.price is None else estimate.price * by,
        estimate.seconds * by,
    )


Batches = list[list[Question]]
"""What is asked about one case, by what is asked together."""


@dataclass(slots=True)
class _DryRun:
    """One run of the evaluation with a stub of the judge, and what its questions would take."""

    stub: StubJudge
    metrics: Sequence[Metric]
    also: Sequence[Step]
    taken: Estimate = field(default_factory=Estimate)
    asked: Counter[Kind] = field(default_factory=Counter)
    by_case: list[tuple[int, int, int, int]] = field(default_factory=list)
    """Requests, prompt tokens, reply tokens and questions of each case."""
    levels: int = 0
    """The most levels of one case that need a request."""

    async def run(self, cases: Sequence[Case], beside: Sequence[Batches] = ()) -> list[Batches]:
        """What is asked about these cases, one after another, so that batches can be told apart by case.

        What was asked `beside` it, by another run about each, is counted too.
        """
        found: list[Batches] = []
        async for _ in evaluate(
            cases, self.stub, metrics=self.metrics, also=self.also, window=1, language=self.stub.cache.language
        ):
            levels, questions, of_case = 0, 0, Estimate()
            own = self.stub.batches()
            asked = {question for batch in own for question in batch}
            others = ([q for q in batch if q not in asked] for batch in (beside[len(found)] if beside else ()))
            for batch in [*own, *filter(None, others)]:
                estimate = self.stub.cache.estimate(batch)
                of_case += estimate
                self.asked.update(question.kind for question in batch)
                questions += len(batch)
                levels += estimate.requests > 0
            self.taken += of_case
            self.by_case.append((of_case.requests, of_case.tokens_in, of_case.tokens_out, questions))
            self.levels = max(self.levels, levels)
            found.append(own)
        return found

    def seconds(self, concurrency: int, each: float, scale: float) -> float:
        """How long the requests take; those of one case's levels wait for each other."""
        return max(scale * self.taken.requests / concurrency, self.levels) * each + scale * self.taken.seconds

    def error(self, population: int) -> float | None:
        """The relative error of a total that is scaled up to so many cases: see `Sampling.error`."""
        if len(self.by_case) < 2:
            return None
        spreads: list[float] = [
            stdev(values) / fmean(values) for values in zip(*self.by_case, strict=True) if any(values)
        ]
        if not spreads:
            return None
        unseen = max(0.0, 1 - len(self.by_case) / population)
        return 1.96 * max(spreads) * sqrt(unseen / len(self.by_case))


def _sampling_key(case: Case) -> bytes:
    """What decides whether a case is in the sample: nothing but its id."""
    return hashlib.blake2b(case.id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
