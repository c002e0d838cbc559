"""A cheap judge decides what it is sure of, an expensive one the rest."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence

from ragtriage.core.questions import DECOMPOSITIONS, Kind, Question
from ragtriage.core.verdicts import Answer
from ragtriage.judges.decision_thresholds import BANDS, Band
from ragtriage.judges.protocol import Estimate, Judge
from ragtriage.judges.wrappers.streams import closing_stream

WITHOUT_BAND: tuple[Kind, ...] = (*DECOMPOSITIONS, "similarity")
"""Kinds that can have no band: their answers are texts and numbers."""
_MEASURED = "en"
"""The language by which it is told which kinds the first judge can do at all: a question doesn't say its language."""


class Cascade:
    """Asks a cheap judge first, and an expensive one only what the first isn't sure of.

    Decompositions, similarities and kinds without a band are the first judge's alone; what it can't do at all is the
    second's.

    Args:
        first: its scores are held against the bands.
        then: asked what the first isn't sure of.
        bands: kind → between which scores a question is passed on.
        at_best: estimate as if the first judge were sure of everything that it may decide; else as if of nothing.

    Attributes:
        first_name: the first judge's name.
        decided: how many questions of kinds with a band the first judge decided.
        passed_on: how many were passed on.
        saved: what the second judge would have taken for all verdicts, less what it takes for those passed on.
    """

    def __init__(self, first: Judge, then: Judge, bands: Mapping[Kind, Band] = BANDS, *, at_best: bool = False) -> None:
        self._at_best = at_best
        self._first = first
        self._then = then
        self._bands = {kind: band for kind, band in bands.items() if kind not in WITHOUT_BAND}
        self.first_name = first.name()
        self.decided = 0
        self.passed_on = 0
        self.saved = Estimate()

    def name(self) -> str:
        """Both judges' names."""
        return f"{self.first_name}, then {self._then.name()}"

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
        """See `Judge.ask`; what is passed on is asked together, after the first judge has answered everything."""
        kinds = {question.kind for question in questions}
        beyond = {kind for kind in kinds if self._beyond(kind)}
        first = [position for position, question in enumerate(questions) if question.kind not in beyond]
        left = [position for position, question in enumerate(questions) if question.kind in beyond]
        async with closing_stream(self._first.ask([questions[position] for position in first])) as answers:
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
            async with closing_stream(self._then.ask(asked)) as answers:
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
        every, some = (
            [question for question in each if question.kind not in WITHOUT_BAND] for each in (questions, asked)
        )
        if len(some) < len(every):
            self.saved += self._then.estimate(every) - self._then.estimate(some)
