"""A judge whose answers are changed after they are given: by other decision thresholds, or with other chances.

Chances are those at another base rate, by a curve that was fitted to labels, or none at all.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from ragtriage.core.errors import ConfigError
from ragtriage.core.questions import Kind, Question
from ragtriage.core.verdicts import Answer, Answered, Verdict, log_odds, shifted, with_chance
from ragtriage.judges.decision_thresholds import (
    BASE_RATES,
    BINARY,
    ODDS,
    WITHOUT_PROBABILITY,
    ChanceCurve,
    DecisionThreshold,
    without_threshold,
)
from ragtriage.judges.protocol import Estimate, Judge, closing_stream


class ChangedAnswers(ABC):
    """Asks a judge and changes what it answers.

    It belongs around `Cached`: what was answered stays known however it is changed.
    """

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    @abstractmethod
    def fingerprint(self, kind: Kind) -> str:
        """The inner judge's, with what is changed for this kind."""

    @abstractmethod
    def changed(self, kind: Kind, answer: Answer) -> Answer:
        """One answer to a question of this kind, as it is to be."""

    def name(self) -> str:
        """The inner judge's."""
        return self._judge.name()

    def unsupported_reason(self, kind: Kind, language: str) -> str | None:
        """The inner judge's."""
        return self._judge.unsupported_reason(kind, language)

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """The inner judge's."""
        return self._judge.estimate(questions)

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """See `Judge.ask`."""
        async with closing_stream(self._judge.ask(questions)) as answers:
            async for position, answer in answers:
                yield position, self.changed(questions[position].kind, answer)


def other_version(table: str, judge: str, known: str, now: str) -> ConfigError:
    """What a table of the settings is refused with that was fitted for another version of its judge."""
    return ConfigError(
        f"{table} was fitted for {judge} as {known}, and it is {now} now: calibrate again with "
        "`ragtriage trust calibrate`, or take the table out of the settings"
    )


class Rethresholded(ChangedAnswers):
    """Asks a judge and calls its probabilities yes, no or unknown by the user's decision thresholds.

    A verdict without a probability stays as it is.

    A threshold that was fitted for another version of the judge is refused.
    """

    def __init__(self, judge: Judge, thresholds: Mapping[Kind, DecisionThreshold]) -> None:
        for kind, threshold in thresholds.items():
            own = judge.fingerprint(kind)
            if threshold.fingerprint and threshold.fingerprint != own:
                raise other_version(f"[decision_thresholds.{kind}]", threshold.judge, threshold.fingerprint, own)
        super().__init__(judge)
        self._thresholds = dict(thresholds)

    def fingerprint(self, kind: Kind) -> str:
        """The inner judge's, with the threshold of this kind."""
        own = self._judge.fingerprint(kind)
        return self._thresholds[kind].marked(own) if kind in self._thresholds else own

    def changed(self, kind: Kind, answer: Answer) -> Answer:
        """Decided by the threshold of its kind."""
        threshold = self._thresholds.get(kind)
        return rethresholded(answer, threshold) if threshold else answer


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


class Reweighed(ChangedAnswers):
    """Asks a judge and gives its verdicts other chances.

    A verdict without a chance gets that of its kind's curve; without a curve it stays as it is. A curve that was fitted
    for another version of the judge is refused.

    `base_rates` are the shares of yes that are expected, in place of those at which the chances are calibrated: a
    curve's `rate`, else that of `BASE_RATES`. If `binary`, chances are dropped after that, so that every verdict counts
    as 1 or 0.
    """

    def __init__(
        self,
        judge: Judge,
        base_rates: Mapping[str, float],
        curves: Mapping[Kind, ChanceCurve] = MappingProxyType({}),
        *,
        binary: bool = False,
    ) -> None:
        for kind, curve in curves.items():
            own = without_threshold(judge.fingerprint(kind))
            if curve.fingerprint and curve.fingerprint != own:
                raise other_version(f"[chance_curves.{kind}]", curve.judge, curve.fingerprint, own)
        super().__init__(judge)
        self._curves = dict(curves)
        self._binary = binary
        calibrated: dict[str, float | None] = {**BASE_RATES}
        calibrated.update((kind, curve.rate) for kind, curve in curves.items())
        self._shifts = {kind: _shift(kind, rate, calibrated[kind]) for kind, rate in base_rates.items()}

    def fingerprint(self, kind: Kind) -> str:
        """The inner judge's, with what is changed for this kind."""
        own = self._judge.fingerprint(kind)
        told = self._curves[kind].marked(own) if kind in self._curves else own
        moved = f"{ODDS}{self._shifts[kind]:+.3f}" if kind in self._shifts else ""
        return told + moved + BINARY * (self._binary and kind not in WITHOUT_PROBABILITY)

    def changed(self, kind: Kind, answer: Answer) -> Answer:
        """With its chance told by a curve, moved, or dropped."""
        if not isinstance(answer, Verdict) or answer.value == "unknown":
            return answer
        if answer.chance is None and kind in self._curves:
            answer = with_chance(answer, self._curves[kind].of(answer))
        if answer.chance is None:
            return answer
        moved = with_chance(answer, shifted(answer.chance, self._shifts[kind])) if kind in self._shifts else answer
        return replace(moved, chance=None) if self._binary else moved


def _shift(kind: str, expected: float, calibrated: float | None) -> float:
    """By how much log odds move from one base rate to another."""
    if calibrated is None:
        raise ConfigError(
            f"[chance_curves.{kind}] lacks the share of yes among its labels, rate, from which a base rate moves the "
            "odds: calibrate again with `ragtriage trust calibrate`, or leave the base rate out"
        )
    return log_odds(expected) - log_odds(calibrated)
