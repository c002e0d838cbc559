"""What an evaluation would take, found out before a request is made.

The real evaluation is run against a stub of the judge: rules break the texts into components, every verdict is the
same, and what each batch of questions would take is the true judge's own estimate. It is run twice: where every verdict
is yes, no question is asked that depends on a no (at least); where every verdict is no, all of them are. *At most*
counts these together with those that depend on a yes. Both leave out what depends on a yes here and a no there: of a
segment that cites three sources or more, which support it together and none alone, one request for each of them.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from math import sqrt
from statistics import fmean, stdev
from typing import Any

from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError
from ragtriage.core.metric import Metric
from ragtriage.core.questions import DECOMPOSITIONS, Kind, Question
from ragtriage.core.steps import Step
from ragtriage.core.validation import as_builtins
from ragtriage.core.verdicts import Answer, Answered, Component, Components, Verdict
from ragtriage.evaluation.engine import evaluate
from ragtriage.judges.protocol import Estimate, Judge
from ragtriage.judges.wrappers.cached import AnswerKeys, AnswerMemory
from ragtriage.metrics import THELMA
from ragtriage.planning.levels import plan
from ragtriage.text.claims import split_claims
from ragtriage.text.language import language_of
from ragtriage.text.questions import split_questions
from ragtriage.text.sentences import split_facts, split_sentences

SPLIT_TEXTS = 2_000
"""Texts whose components are kept, so that a text that several cases hold is split once."""
RECENT = 100_000
"""Questions that are known to have been asked, at least; twice as many at most."""


def _whole(question: Question) -> Components:
    return (Component(question.subject, (0, len(question.subject))),)


def _distinct(question: Question) -> Components:
    """As many components as are wanted, no two alike: equal ones would be asked about once."""
    return tuple(Component(f"{question.subject} {i}") for i in range(1, (question.at or 0) + 1))


_RULES: Mapping[Kind, Callable[[Question], Components]] = {
    "claims": lambda q: split_claims(q.subject, q.query),
    "facts": lambda q: split_facts(q.subject),
    "questions": lambda q: split_questions(q.subject),
    "sentences": lambda q: split_sentences(q.subject),
    "standalone": _whole,
    "needed_sentences": lambda q: split_sentences(q.subject),
    "questions_answered_by": _distinct,
}


@lru_cache(SPLIT_TEXTS)
def _components(question: Question) -> Components:
    try:
        return _RULES[question.kind](question)
    except Exception:  # noqa: BLE001  # a text that the rules stumble over isn't one that a model stumbles over
        return _whole(question)


class EstimateCache:
    """What all stubs of one judge find out once: its estimates, the languages of cases, and what is in memory."""

    def __init__(self, judge: Judge, memory: AnswerMemory | None, trial: int) -> None:
        self.judge = judge
        self.memory = memory
        self._trial = trial
        self._estimates: dict[tuple[Question, ...], Estimate] = {}
        self._recalled: dict[Question, Answer | None] = {}
        self._languages: dict[int, str] = {}

    def language(self, case: Case) -> str:
        """The case's."""
        if id(case) not in self._languages:
            self._languages[id(case)] = language_of(case)
        return self._languages[id(case)]

    def known(self, questions: Sequence[Question]) -> Mapping[Question, Answer]:
        """Those that are in memory, with their answers."""
        if self.memory is None:
            return {}
        keys = AnswerKeys(self.judge.fingerprint, self._trial)
        places = {keys.key(question): question for question in questions if question not in self._recalled}
        found = self.memory.recall(list(places))
        self._recalled |= {question: found.get(key) for key, question in places.items()}
        return {question: answer for question in questions if (answer := self._recalled[question]) is not None}

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """What the judge says that these questions would take together."""
        batch = tuple(questions)
        if batch not in self._estimates:
            self._estimates[batch] = self.judge.estimate(batch)
        return self._estimates[batch]

    def forget(self) -> None:
        """Keep memory bounded, when some cases are done and let go."""
        self._estimates.clear()
        self._recalled.clear()
        self._languages.clear()


class StubJudge:
    """Answers in a judge's stead: from memory, by rules, and with one and the same value for every other verdict."""

    def __init__(self, cache: EstimateCache, value: Answered) -> None:
        self.remembered = 0
        self.name = cache.judge.name
        self.fingerprint = cache.judge.fingerprint
        self.unsupported_reason = cache.judge.unsupported_reason
        self.estimate = cache.estimate
        self.cache = cache
        self._verdict = Verdict(value, float(value == "yes"), 1.0)
        self._batches: list[list[Question]] = []
        self._asked: set[int] = set()
        self._asked_before: set[int] = set()

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """See `ragtriage.judges.protocol.Judge`."""
        known = self.cache.known(questions)
        self.remembered += len(known)
        self._batches.append([q for q in questions if q not in known and self._is_new(q)])
        for position, question in enumerate(questions):
            answer = known.get(question)
            if answer is None:
                answer = _components(question) if question.kind in DECOMPOSITIONS else self._verdict
            yield position, answer

    def batches(self) -> list[list[Question]]:
        """What was asked since the last call, as it was asked, without what an evaluation would know."""
        found, self._batches = self._batches, []
        return [batch for batch in found if batch]

    def _is_new(self, question: Question) -> bool:
        """Whether no case before had this question, as far back as is kept; always true without a memory."""
        if self.cache.memory is None:
            return True
        mark = hash(question)
        if mark in self._asked or mark in self._asked_before:
            return False
        if len(self._asked) >= RECENT:
            self._asked_before, self._asked = self._asked, set()
        self._asked.add(mark)
        return True


AT_ONCE = 64
"""Cases that are read before the first of them is looked at."""
TOLERANCE = 0.05
"""The relative error at which no more cases of a sample are looked at."""
FEWEST = 128
"""Cases of a sample that are looked at before its error is believed."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """That an estimate was scaled up from a random sample of the cases."""

    cases: int
    error: float | None
    """Half of the 95 % interval of requests, tokens or questions, whichever is widest, as a share of the estimate; None
    where nothing is asked about any of them, as everything was answered before."""


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
    shared: Mapping[str, tuple[str, ...]]
    """The steps that serve more than one metric → the metrics' names."""
    questions: Mapping[Kind, int]
    """How many questions would be asked at most, by kind; without those that are in memory."""
    remembered: int
    """How many questions are in memory and cost nothing."""
    concurrency: int
    seconds_per_request: float
    trials: int = 1
    """How many repetitions these numbers are for; `cases` counts each case once."""
    sampling: Sampling | None = None
    """None if every case was looked at."""

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines; prices in US dollars, null if not known."""
        shortest, longest = self.seconds
        return {
            "cases": self.cases,
            "trials": self.trials,
            "least": {**self.least.as_json(), "seconds": shortest},
            "most": {**self.most.as_json(), "seconds": longest},
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
    memory: AnswerMemory | None = None,
    trial: int = 0,
    sampled_from: int | None = None,
) -> EvaluationEstimate:
    """Find out what evaluating these cases would take, without asking the judge anything.

    Numbers of claims and facts are counted by rules, except for texts whose components are in memory. Requests that
    fail and are sent again are not included. Of the judge only `unsupported_reason` and `estimate` are used. What
    `memory` holds (of this `trial`) is taken as it is and left out, so that the estimate for a run that was cut off
    tells what is left; and a question that several cases have in common counts once.

    With `sampled_from`, `cases` are some of so many, in random order. So many of these are looked at as make the
    estimate precise to within `TOLERANCE`, and it is scaled up: questions that several cases have in common then count
    more than once.
    """
    if concurrency < 1:
        raise ConfigError(f"the concurrency is {concurrency}: at least one request must be in flight")
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        raise ConfigError("an event loop is running here, as in a notebook: estimate in a thread of its own")
    metrics = tuple(metrics)
    count = 0
    waiting = iter(cases)
    with asyncio.Runner() as runner:
        cache = EstimateCache(judge, memory, trial)
        least, most = (_DryRun(StubJudge(cache, value), metrics, also) for value in ("yes", "no"))
        while some := list(islice(waiting, AT_ONCE)):
            count += len(some)
            runner.run(most.run(some, beside=runner.run(least.run(some))))
            cache.forget()
            error = most.error(sampled_from) if sampled_from and count >= FEWEST else None
            if error is not None and error <= TOLERANCE:
                break
        scale = (sampled_from or count) / count if count else 1.0
    return EvaluationEstimate(
        round(scale * count),
        _scaled(least.taken, scale),
        _scaled(most.taken, scale),
        (least.seconds(concurrency, seconds_per_request, scale), most.seconds(concurrency, seconds_per_request, scale)),
        plan(metrics, also).shared(),
        Counter({kind: round(scale * asked) for kind, asked in most.asked.items()}),
        round(scale * most.stub.remembered),
        concurrency,
        seconds_per_request,
        sampling=None if scale == 1 else Sampling(count, most.error(round(scale * count))),
    )


def sum_estimates(trials: Sequence[EvaluationEstimate]) -> EvaluationEstimate:
    """What several repetitions of one evaluation take, at least one, one after another."""
    first = trials[0]
    return replace(
        first,
        least=sum((one.least for one in trials), Estimate()),
        most=sum((one.most for one in trials), Estimate()),
        seconds=(sum(one.seconds[0] for one in trials), sum(one.seconds[1] for one in trials)),
        questions=sum((Counter(one.questions) for one in trials), Counter()),
        remembered=sum(one.remembered for one in trials),
        sampling=max((one.sampling for one in trials if one.sampling), key=lambda one: one.error or 0.0, default=None),
        trials=sum(one.trials for one in trials),
    )


def _scaled(estimate: Estimate, by: float) -> Estimate:
    if by == 1:
        return estimate
    return Estimate(
        round(estimate.requests * by),
        round(estimate.tokens_in * by),
        round(estimate.tokens_out * by),
        None if estimate.price is None else estimate.price * by,
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
        return max(scale * self.taken.requests / concurrency, self.levels) * each

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
