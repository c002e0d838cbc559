"""The scores at which verdicts change, as a user sets them; the chance of yes behind a probability, from labels."""

import hashlib
import math
from bisect import bisect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Self

from ragtriage.core.errors import ConfigError
from ragtriage.core.questions import DECOMPOSITIONS, KINDS, Kind, Question
from ragtriage.core.validation import STRICT
from ragtriage.core.verdicts import Answer, Verdict, log_odds

WITHOUT_PROBABILITY: tuple[Kind, ...] = (*DECOMPOSITIONS, "similarity")
"""Kinds that every judge answers with texts or cosines, so that a threshold has nothing to decide."""
MARK = "+threshold-"
"""Stands between a judge's own fingerprint and its threshold."""
ODDS, BINARY, LABELS = "+odds", "+binary", "+labels"
"""The same for chances that are moved to another base rate, dropped, or told by a curve that was fitted to labels."""
NEVER_NO, NEVER_YES = -1.0, 2.0
"""Ends of a band that no score reaches: on that side nothing is decided."""


@dataclass(frozen=True, slots=True)
class DecisionThreshold:
    """The probabilities at which the verdicts of one judge on one kind of question change."""

    yes: float
    """From it on the verdict is yes."""
    no: float
    """Below it the verdict is no, between the two unknown; at most `yes`."""
    judge: str = ""
    """What a user types for the judge that it was fitted for."""
    fingerprint: str = ""
    """Of that judge, for this kind of question; empty: of whatever version."""

    __pydantic_config__: ClassVar[Any] = STRICT

    def marked(self, fingerprint: str) -> str:
        """The fingerprint of a judge whose verdicts are decided here."""
        return f"{fingerprint}{MARK}{self.no:g}-{self.yes:g}"


def without_threshold(fingerprint: str) -> str:
    """The fingerprint of the judge itself, without what a user's settings make of its verdicts."""
    return min((fingerprint.partition(mark)[0] for mark in (MARK, ODDS, BINARY, LABELS)), key=len)


@dataclass(frozen=True, slots=True)
class Band:
    """The scores between which a cascade's first judge isn't sure enough."""

    low: float
    """Up to this score its no stands."""
    high: float
    """From this score on its yes stands."""
    responses: bool = True
    """Whether it decides `answered` of a response too; else those questions are passed on."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """A band as a user gives it, `LOW:HIGH`; a side that is left out decides nothing."""
        try:
            low, high = (float(end) if end.strip() else None for end in text.split(":"))
        except ValueError:
            low = high = None
        given = [end for end in (low, high) if end is not None]
        if not given or given != sorted(given) or not all(0.0 <= end <= 1.0 for end in given):
            raise ConfigError(f"the band {text!r} isn't LOW:HIGH with 0 ≤ LOW ≤ HIGH ≤ 1, for example 0.2:0.8")
        return cls(NEVER_NO if low is None else low, NEVER_YES if high is None else high)

    def may_decide(self, question: Question) -> bool:
        """Whether the first judge's answer can stand at all."""
        return self.responses or not (question.kind == "answered" and question.query)

    def decides(self, question: Question, answer: Answer) -> bool:
        """Whether the first judge's answer stands."""
        if not isinstance(answer, Verdict) or answer.score is None or not self.may_decide(question):
            return False
        stands = {"yes": answer.score >= self.high, "no": answer.score <= self.low, "unknown": False}
        return stands[answer.value]


BASE_RATES: Mapping[str, float] = {"supported": 0.79, "answered": 0.73}
"""Kind → the share of yes at which the embedded judge's chances are calibrated: that of natural cases."""

BANDS: Mapping[Kind, Band] = {
    "supported": Band(0.16, 0.9),
    "answered": Band(0.47, 0.99, responses=False),
    "essential": Band(0.04, NEVER_YES),
    "relevant": Band(0.07, NEVER_YES),
    "same_answer": Band(0.19, 0.55),
}
"""For the embedded judge, from scores of cases that neither was fitted on, by `bench/cascade.py`.

What it decides is right at least .9 of the time at the shares that applications have, and of what deserves the other
answer at most a tenth is decided wrongly. `supported`: no is right .92 [from .86] and decides 4 %, yes .99 and 66 %
(without the larger reader .90 [.80] and 3 %, .98 and 58 %).
`answered`, of a passage: no .96 and 56 %, yes .91 [from .81] and 1 %; of a response nothing. `essential`: no .98 to .99
and 13 to 64 % (claims of a response least, facts most); yes is closed, since of facts it is right too seldom.
`relevant`: no .90 and 11 %; yes is closed, since the rows that could tell are easier than what a search finds.
`same_answer`: no .91 [from .86] and 12 %, yes .90 and 49 %.
"""


def check_thresholds(given: Mapping[str, DecisionThreshold], where: str) -> None:
    """Check the tables `[decision_thresholds.KIND]` of a settings file."""
    check_kinds(given, f"{where}: [decision_thresholds]")
    for kind, one in given.items():
        place = f"{where}: [decision_thresholds.{kind}]"
        if not one.judge:
            raise ConfigError(f'{place} lacks the judge that it is for, for example judge = "embedded"')
        if not 0 <= one.no <= one.yes <= 1:
            raise ConfigError(f"{place}: yes is {one.yes:g} and no is {one.no:g}: give 0 ≤ no ≤ yes ≤ 1")


def check_base_rates(given: Mapping[str, float], place: str) -> None:
    """Check the base rates that a user states."""
    for kind, rate in given.items():
        if kind not in BASE_RATES:
            raise ConfigError(f"{place}: {kind!r} has no base rate: there are {', '.join(BASE_RATES)}")
        if not 0 < rate < 1:
            raise ConfigError(f"{place}: {kind} is {rate:g}: give a share between 0 and 1, for example {kind}=0.9")


def check_kinds(kinds: Iterable[str], place: str) -> None:
    """Check that these are kinds of questions that are answered with a probability."""
    known: list[str] = [kind for kind in KINDS if kind not in WITHOUT_PROBABILITY]
    for kind in kinds:
        if kind not in known:
            raise ConfigError(f"{place}: {kind!r} has no probability to decide by: there are {', '.join(known)}")


LOWEST, HIGHEST = 0.005, 0.995
"""Probabilities beyond are taken as these where log odds are needed: a 0 or 1 would stay one whatever labels say."""


@dataclass(frozen=True, slots=True)
class ChanceCurve:
    """The chance of yes behind the probability p that one judge gives for one kind of question.

    Of a verdict without a probability, p is 1 for yes and 0 for no. Either `a` and `b` are given, chance =
    σ(a · logit p + b) with p clipped to [LOWEST, HIGHEST] (Platt 1999), or `points`.
    """

    judge: str
    """What a user types for the judge that it was fitted for."""
    fingerprint: str = ""
    """Of that judge, for this kind of question; empty: of whatever version."""
    a: float | None = None
    """Above 0."""
    b: float | None = None
    points: tuple[tuple[float, float], ...] = ()
    """(p, chance), both rising; linear between them, level beyond."""
    rate: float | None = None
    """The share of yes among the labels, in (0, 1), from which a base rate moves the odds; None if it isn't known."""

    __pydantic_config__: ClassVar[Any] = STRICT

    def at(self, p: float) -> float:
        """The chance of yes behind a probability in [0, 1]."""
        if self.a is not None and self.b is not None:
            return 1.0 / (1.0 + math.exp(-(self.a * log_odds(min(max(p, LOWEST), HIGHEST)) + self.b)))
        after = bisect(self.points, p, key=lambda point: point[0])
        if after in (0, len(self.points)):
            return self.points[min(after, len(self.points) - 1)][1]
        (left, low), (right, high) = self.points[after - 1 : after + 1]
        return low + (high - low) * (p - left) / (right - left)

    def of(self, verdict: Verdict) -> float:
        """The chance of yes behind a verdict of yes or no."""
        return self.at(float(verdict.value == "yes") if verdict.score is None else verdict.score)

    def marked(self, fingerprint: str) -> str:
        """The fingerprint of a judge whose verdicts count by it."""
        told = repr((self.a, self.b, self.points)).encode()
        return f"{fingerprint}{LABELS}{hashlib.blake2b(told, digest_size=6).hexdigest()}"


def check_chance_curves(given: Mapping[str, ChanceCurve], where: str) -> None:
    """Check the tables `[chance_curves.KIND]` of a settings file."""
    check_kinds(given, f"{where}: [chance_curves]")
    for kind, one in given.items():
        place = f"{where}: [chance_curves.{kind}]"
        if (one.a is None) != (one.b is None) or (one.a is None) != bool(one.points):
            raise ConfigError(f"{place}: give a and b, or points")
        if one.a is not None and one.b is not None and not (0 < one.a < math.inf and math.isfinite(one.b)):
            raise ConfigError(
                f"{place}: a is {one.a:g} and b is {one.b:g}: give a above 0; a judge whose probabilities fall where "
                "the truth rises is of no use"
            )
        if one.points and not _rise(one.points):
            raise ConfigError(
                f"{place}: points is {[list(point) for point in one.points]}: give two or more [p, chance] from 0 to "
                "1, for example [[0, 0.1], [1, 0.9]], each p above the one before it and no chance below"
            )
        if one.rate is not None and not 0 < one.rate < 1:
            raise ConfigError(f"{place}: rate is {one.rate:g}: give a share between 0 and 1")


def _rise(points: tuple[tuple[float, float], ...]) -> bool:
    steps = list(pairwise(points))
    inside = all(0 <= number <= 1 for point in points for number in point)
    return bool(steps) and inside and all(p < q and low <= high for (p, low), (q, high) in steps)
