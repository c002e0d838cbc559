"""Judges around judges: other thresholds or chances, each kind to its judge, a jury that votes, a cheap one first."""

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from types import MappingProxyType

from ragtriage.core.display import shortened
from ragtriage.core.errors import ConfigError
from ragtriage.core.questions import Kind, Question
from ragtriage.core.verdicts import Answer, Answered, Failure, Verdict, log_odds, shifted, with_chance
from ragtriage.judges.decision_thresholds import (
    BANDS,
    BASE_RATES,
    BINARY,
    ODDS,
    WITHOUT_PROBABILITY,
    Band,
    ChanceCurve,
    DecisionThreshold,
)
from ragtriage.judges.protocol import REQUEST, Estimate, Judge, closing_stream, merged


class Changed:
    """Asks a judge and changes what it answers: by other decision thresholds, then with other chances.

    It belongs around `Cached`: what was answered stays known however it is changed. A threshold or curve that was
    fitted for another version of the judge is refused. A verdict without a probability keeps its value. One without a
    chance gets that of its kind's curve; without a curve it stays as it is.

    `base_rates` are the shares of yes that are expected, in place of those at which the chances are calibrated: a
    curve's `rate`, else that of `BASE_RATES`. If `binary`, chances are dropped after that, so that every verdict counts
    as 1 or 0.
    """

    def __init__(
        self,
        judge: Judge,
        thresholds: Mapping[Kind, DecisionThreshold] = MappingProxyType({}),
        base_rates: Mapping[str, float] = MappingProxyType({}),
        curves: Mapping[Kind, ChanceCurve] = MappingProxyType({}),
        *,
        binary: bool = False,
    ) -> None:
        for table, fitted in (("decision_thresholds", thresholds), ("chance_curves", curves)):
            for kind, one in fitted.items():
                own = judge.fingerprint(kind)
                if one.fingerprint and one.fingerprint != own:
                    raise ConfigError(
                        f"[{table}.{kind}] was fitted for {one.judge} as {one.fingerprint}, and it is {own} now: "
                        "calibrate again with `ragtriage trust calibrate`, or take the table out of the settings"
                    )
        self._judge = judge
        self._thresholds, self._curves, self._binary = dict(thresholds), dict(curves), binary
        calibrated: dict[str, float | None] = {**BASE_RATES}
        calibrated.update((kind, curve.rate) for kind, curve in curves.items())
        self._shifts = {kind: _shift(kind, rate, calibrated[kind]) for kind, rate in base_rates.items()}
        self.name = judge.name
        self.unsupported_reason = judge.unsupported_reason
        self.estimate = judge.estimate

    def fingerprint(self, kind: Kind) -> str:
        """The inner judge's, with what is changed for this kind."""
        own = self._judge.fingerprint(kind)
        for fitted in (self._thresholds.get(kind), self._curves.get(kind)):
            own = own if fitted is None else fitted.marked(own)
        moved = f"{ODDS}{self._shifts[kind]:+.3f}" if kind in self._shifts else ""
        return own + moved + BINARY * (self._binary and kind not in WITHOUT_PROBABILITY)

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """See `Judge.ask`."""
        async with closing_stream(self._judge.ask(questions)) as answers:
            async for position, answer in answers:
                yield position, self._changed(questions[position].kind, answer)

    def _changed(self, kind: Kind, answer: Answer) -> Answer:
        """Decided by the threshold of its kind, with its chance told by a curve, moved, or dropped."""
        if kind in self._thresholds:
            answer = rethresholded(answer, self._thresholds[kind])
        if not isinstance(answer, Verdict) or answer.value == "unknown":
            return answer
        if answer.chance is None and kind in self._curves:
            answer = with_chance(answer, self._curves[kind].of(answer))
        if answer.chance is None:
            return answer
        moved = with_chance(answer, shifted(answer.chance, self._shifts[kind])) if kind in self._shifts else answer
        return replace(moved, chance=None) if self._binary else moved


def rethresholded(answer: Answer, threshold: DecisionThreshold) -> Answer:
    """One answer, decided there."""
    if not isinstance(answer, Verdict) or answer.score is None:
        return answer
    score = answer.score
    value: Answered = "yes" if score >= threshold.yes else "no" if score < threshold.no else "unknown"
    # the threshold says where the odds are even; beyond its ends a verdict is taken at its word
    even = threshold.yes if answer.chance is not None and 0.0 < threshold.yes < 1.0 and value != "unknown" else None
    chance = None if even is None else shifted(score, -log_odds(even))
    if value == answer.value and chance is not None:
        return with_chance(answer, chance)
    if value == answer.value:
        return answer if chance == answer.chance else replace(answer, chance=chance)
    confidence = {"yes": score, "no": 1.0 - score, "unknown": max(score, 1.0 - score)}[value]
    # how often such a no is right was measured at the judge's own threshold: it is shown as one to be checked
    return replace(answer, value=value, confidence=confidence, sure=answer.sure and value != "no", chance=chance)


def _shift(kind: str, expected: float, calibrated: float | None) -> float:
    """By how much log odds move from one base rate to another."""
    if calibrated is None:
        raise ConfigError(
            f"[chance_curves.{kind}] lacks the share of yes among its labels, rate, from which a base rate moves the "
            "odds: calibrate again with `ragtriage trust calibrate`, or leave the base rate out"
        )
    return log_odds(expected) - log_odds(calibrated)


class Routed:
    """Asks several judges at once, each its own kinds of questions; `judges` has one for every kind."""

    def __init__(self, judges: Mapping[Kind, Judge], name: str) -> None:
        self._judges = dict(judges)
        self._name = name

    def name(self) -> str:
        """The name that it was given."""
        return self._name

    def fingerprint(self, kind: Kind) -> str:
        """That of the judge of this kind."""
        return self._judges[kind].fingerprint(kind)

    def unsupported_reason(self, kind: Kind, language: str) -> str | None:
        """What the judge of this kind says."""
        return self._judges[kind].unsupported_reason(kind, language)

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """The sum of the judges'."""
        parts = (judge.estimate([questions[i] for i in positions]) for judge, positions in self._shares(questions))
        return sum(parts, Estimate())

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """See `Judge.ask`."""
        shares = self._shares(questions)
        streams = [_with_request(judge.ask([questions[i] for i in positions])) for judge, positions in shares]
        async with aclosing(merged(streams)) as answers:
            async for which, (position, answer, request) in answers:
                REQUEST.set(request)
                yield shares[which][1][position], answer

    def _shares(self, questions: Sequence[Question]) -> list[tuple[Judge, list[int]]]:
        shares: dict[int, tuple[Judge, list[int]]] = {}
        for position, question in enumerate(questions):
            judge = self._judges[question.kind]
            shares.setdefault(id(judge), (judge, []))[1].append(position)
        return list(shares.values())


async def _with_request(answers: AsyncIterator[tuple[int, Answer]]) -> AsyncIterator[tuple[int, Answer, str]]:
    """Each answer with the request that brought it, which another task than the judge's own can't see."""
    REQUEST.set("")
    async with closing_stream(answers):
        async for position, answer in answers:
            yield position, answer, REQUEST.get()


RULE = "majority"
"""How votes are counted; part of the fingerprint."""
_MEASURED = "en"
"""The language by which it is told which kinds a judge can do at all: a question doesn't say its language."""
_WORDS = 160
"""Characters of a judge's explanation that are kept."""


class Jury:
    """Asks several judges at once; yes or no is what more of them say.

    The first judge alone gives similarities, and breaks texts into components, so that all vote on the same claims. A
    judge that can't do a kind takes no part in its votes; an unknown and a failure are no votes, and a tie is unknown.
    A verdict's score is the share of yes among the votes, its confidence the share of the winning side among all judges
    of the kind.
    """

    def __init__(self, judges: Sequence[Judge]) -> None:
        if not judges:
            raise ConfigError("a jury needs at least one judge")
        self._judges = tuple(judges)

    def name(self) -> str:
        """The judges' names."""
        return f"{RULE} of {', '.join(judge.name() for judge in self._judges)}"

    def fingerprint(self, kind: Kind) -> str:
        """A hash over the judges that are asked and the rule; the first judge's where it is asked alone."""
        if kind in WITHOUT_PROBABILITY:
            return self._judges[0].fingerprint(kind)
        own = [self._judges[place].fingerprint(kind) for place in self._voting(kind)]
        return "jury-" + hashlib.blake2b(repr((RULE, own)).encode(), digest_size=6).hexdigest()

    def unsupported_reason(self, kind: Kind, language: str) -> str | None:
        """The reason of the first judge, or of one that votes on this kind but can't in this language."""
        reasons = (self._judges[place].unsupported_reason(kind, language) for place in [0, *self._voting(kind)])
        return next((reason for reason in reasons if reason), None)

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """The sum of the judges'."""
        parts = (
            judge.estimate([questions[position] for position in positions])
            for judge, positions in zip(self._judges, self._shares(questions), strict=True)
            if positions
        )
        return sum(parts, Estimate())

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """See `Judge.ask`; a verdict is yielded when all its votes are in."""
        shares = self._shares(questions)
        asked = [(place, positions) for place, positions in enumerate(shares) if positions]
        votes: list[dict[int, Answer]] = [{} for _ in questions]
        due = Counter(position for _, positions in asked for position in positions)
        streams = [self._judges[place].ask([questions[i] for i in positions]) for place, positions in asked]
        async with aclosing(merged(streams)) as answers:
            async for which, (nth, answer) in answers:
                place, positions = asked[which]
                position = positions[nth]
                if questions[position].kind in WITHOUT_PROBABILITY:
                    yield position, answer
                    continue
                votes[position][place] = answer
                if len(votes[position]) == due[position]:
                    yield position, self._verdict(votes[position])

    def _voting(self, kind: Kind) -> list[int]:
        """The places of the judges that vote on this kind; the first one if nobody can, or if it answers alone."""
        if kind in WITHOUT_PROBABILITY:
            return [0]
        return [
            place for place, judge in enumerate(self._judges) if judge.unsupported_reason(kind, _MEASURED) is None
        ] or [0]

    def _shares(self, questions: Sequence[Question]) -> list[list[int]]:
        voting = {kind: self._voting(kind) for kind in {q.kind for q in questions}}
        shares: list[list[int]] = [[] for _ in self._judges]
        for position, question in enumerate(questions):
            for place in voting[question.kind]:
                shares[place].append(position)
        return shares

    def _verdict(self, votes: dict[int, Answer]) -> Answer:
        given = {place: answer for place, answer in sorted(votes.items()) if isinstance(answer, Verdict)}
        words = " · ".join(f"{self._judges[place].name()}: {_said(answer)}" for place, answer in sorted(votes.items()))
        if not given:
            return Failure(f"no judge of the jury gave a verdict: {words}")
        sides = {side: [v for v in given.values() if v.value == side] for side in ("yes", "no")}
        yes, no = len(sides["yes"]), len(sides["no"])
        value: Answered = "unknown" if yes == no else "yes" if yes > no else "no"
        told = Verdict(
            value,
            yes / (yes + no) if yes + no else None,
            None if value == "unknown" else max(yes, no) / len(votes),
            words,
            # what less than half of the jury says, because others failed or can't tell, is to be checked
            value == "unknown" or (2 * max(yes, no) > len(votes) and any(verdict.sure for verdict in sides[value])),
            "; ".join(dict.fromkeys(verdict.flag for verdict in given.values() if verdict.flag)),
            value == "no" and any(verdict.contradicted for verdict in sides["no"]),
        )
        if value == "unknown" or not (yes and no):
            return told
        return replace(told, chance=yes / (yes + no))


def _said(answer: Answer) -> str:
    match answer:
        case Verdict(value=value, explanation=explanation):
            what, why = str(value), explanation
        case Failure(cause):
            what, why = "failed", cause
        case _:
            what, why = "failed", "it gave components"
    why = shortened(why, _WORDS)
    return f"{what}, {why}" if why else what


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
        decided: how many questions of kinds with a band the first judge decided.
        passed_on: how many were passed on.
        saved: what the second judge would have taken for all verdicts, less what it takes for those passed on.
    """

    def __init__(self, first: Judge, then: Judge, bands: Mapping[Kind, Band] = BANDS, *, at_best: bool = False) -> None:
        self._at_best = at_best
        self._first = first
        self._then = then
        self._bands = {kind: band for kind, band in bands.items() if kind not in WITHOUT_PROBABILITY}
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

    def at_best(self) -> "Cascade":
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
            [question for question in each if question.kind not in WITHOUT_PROBABILITY] for each in (questions, asked)
        )
        if len(some) < len(every):
            self.saved += self._then.estimate(every) - self._then.estimate(some)
