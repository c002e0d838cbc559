"""A cheap judge decides what it is sure of, a dear one the rest."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from ragtriage.core.errors import ConfigError
from ragtriage.core.questions import DECOMPOSITIONS, Kind, Question
from ragtriage.core.verdicts import Answer, Verdict
from ragtriage.judges.protocol import Estimate, Judge
from ragtriage.judges.wrappers.streams import closing

UNBANDED: tuple[Kind, ...] = (*DECOMPOSITIONS, "similarity")
"""Kinds that can have no band: their answers are texts and numbers."""
NEVER_NO, NEVER_YES = -1.0, 2.0
"""Ends of a band that no score reaches: on that side nothing is decided."""

_MEASURED = "en"
"""The language by which it is told which kinds the first judge can do at all: a question doesn't say its language."""


@dataclass(frozen=True, slots=True)
class Band:
    """The scores between which the first judge isn't sure enough."""

    low: float
    """Up to this score its no stands."""
    high: float
    """From this score on its yes stands."""
    responses: bool = True
    """Whether it decides `answered` of a response too; else those questions are passed on."""

    @classmethod
    def parse(cls, text: str) -> Band:
        """A band as a user gives it, `LOW:HIGH`; a side that is left out decides nothing.

        Raises:
            ConfigError: it isn't two numbers with 0 ≤ LOW ≤ HIGH ≤ 1.
        """
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


BANDS: Mapping[Kind, Band] = {
    "supported": Band(0.3, 0.97),
    "answered": Band(0.14, 0.92, responses=False),
    "essential": Band(0.09, NEVER_YES),
    "relevant": Band(0.07, NEVER_YES),
    "same_answer": Band(0.19, 0.55),
}
"""For the embedded judge with its matcher, from scores of cases that neither was fitted on, by `bench/cascade.py`.

What it decides is right at least .9 of the time at the shares that applications have, and of what deserves the other
answer at most a tenth is decided wrongly. `supported`: no is right .91 [from .84] and decides 4 %, yes .99 and 54 %.
`answered`, of a passage: no .96 and 57 %, yes .91 [from .85] and 4 %; of a response nothing. `essential`: no .97 to .99
and 17 to 52 % (claims of a response least, facts most); yes is closed, since of facts it is right too seldom.
`relevant`: no .90 and 11 %; yes is closed, since the rows that could tell are easier than what a search finds.
`same_answer`: no .91 [from .86] and 12 %, yes .90 and 49 %.
"""


class Cascade:
    """Asks a cheap judge first, and a dear one only what the first isn't sure of.

    Decompositions, similarities and kinds without a band are the first judge's alone; what it can't do at all is the
    second's.

    Args:
        first: the cheap one; its scores are held against the bands.
        then: the dear one.
        bands: kind → between which scores a question is passed on.
        at_best: estimate as if the first judge were sure of everything that it may decide; else as if of nothing.

    Attributes:
        decided: how many questions of kinds with a band the first judge decided.
        passed_on: how many were passed on.
        saved: what the second judge would have taken for all verdicts, less what it takes for those passed on.
    """

    def __init__(self, first: Judge, then: Judge, bands: Mapping[Kind, Band] = BANDS, *, at_best: bool = False) -> None:
        self._at_best = at_best
        self._first = first
        self._then = then
        self._bands = {kind: band for kind, band in bands.items() if kind not in UNBANDED}
        self.decided = 0
        self.passed_on = 0
        self.saved = Estimate()

    def name(self) -> str:
        """Both judges' names."""
        return f"{self._first.name()}, then {self._then.name()}"

    def fingerprint(self, kind: Kind) -> str:
        """A hash over both judges' and the band; that of the one judge for a kind that only one is asked."""
        if self._beyond(kind):
            return self._then.fingerprint(kind)
        if kind not in self._bands:
            return self._first.fingerprint(kind)
        parts = (self._first.fingerprint(kind), self._then.fingerprint(kind), self._bands[kind])
        return "cascade-" + hashlib.blake2b(repr(parts).encode(), digest_size=6).hexdigest()

    def unsupported_reason(self, kind: Kind, language: str) -> str | None:
        """The reason of whoever of the judges that are asked this kind can't do it."""
        if self._beyond(kind):
            return self._then.unsupported_reason(kind, language)
        reason = self._first.unsupported_reason(kind, language)
        return reason or (self._then.unsupported_reason(kind, language) if kind in self._bands else None)

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """The most that it takes, or the least: see `at_best`."""
        first = [question for question in questions if not self._beyond(question.kind)]
        then = [question for question in questions if self._beyond(question.kind) or self._passes(question)]
        return self._first.estimate(first) + self._then.estimate(then)

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """See `Judge.ask`; what is passed on is asked together, after the first judge has answered everything.

        Raises:
            JudgeError: one of the judges can't answer anything.
        """
        kinds = {question.kind for question in questions}
        beyond = {kind for kind in kinds if self._beyond(kind)}
        first = [position for position, question in enumerate(questions) if question.kind not in beyond]
        left = [position for position, question in enumerate(questions) if question.kind in beyond]
        async with closing(self._first.ask([questions[position] for position in first])) as answers:
            async for nth, answer in answers:
                position = first[nth]
                band = self._bands.get(questions[position].kind)
                if band is None or band.decides(questions[position], answer):
                    self.decided += band is not None
                    yield position, answer
                else:
                    self.passed_on += 1
                    left.append(position)
        left.sort()  # in the order of the questions, so that the same requests are made every time
        asked = [questions[position] for position in left]
        self._count(questions, asked)
        if asked:
            async with closing(self._then.ask(asked)) as answers:
                async for nth, answer in answers:
                    yield left[nth], answer

    def at_best(self) -> Cascade:
        """The same, to estimate the least that it takes."""
        return Cascade(self._first, self._then, self._bands, at_best=True)

    def _passes(self, question: Question) -> bool:
        """Whether a question is counted as passed on."""
        band = self._bands.get(question.kind)
        return band is not None and not (self._at_best and band.may_decide(question))

    def _beyond(self, kind: Kind) -> bool:
        """Whether the first judge can't do a kind at all."""
        return self._first.unsupported_reason(kind, _MEASURED) is not None

    def _count(self, questions: Sequence[Question], asked: Sequence[Question]) -> None:
        """Add up what this ask saves."""
        every, some = ([question for question in each if question.kind not in UNBANDED] for each in (questions, asked))
        if len(some) < len(every):
            self.saved += self._then.estimate(every) - self._then.estimate(some)
