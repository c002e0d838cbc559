"""Verdicts by other decision thresholds than the judge's own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace

from ragtriage.core.chances import log_odds, shifted, with_chance
from ragtriage.core.errors import ConfigError
from ragtriage.core.questions import Kind, Question
from ragtriage.core.verdicts import Answer, Answered, Verdict
from ragtriage.judges.decision_thresholds import DecisionThreshold
from ragtriage.judges.protocol import Estimate, Judge
from ragtriage.judges.wrappers.streams import closing_stream


class Rethresholded:
    """Asks a judge and calls its probabilities yes, no or unknown by the user's decision thresholds.

    It belongs around `Cached`: what was answered stays known whatever the thresholds are. A verdict without a
    probability stays as it is.

    Raises:
        ConfigError: a threshold was fitted for another version of the judge.
    """

    def __init__(self, judge: Judge, thresholds: Mapping[Kind, DecisionThreshold]) -> None:
        for kind, threshold in thresholds.items():
            own = judge.fingerprint(kind)
            if threshold.fingerprint and threshold.fingerprint != own:
                raise ConfigError(
                    f"[decision_thresholds.{kind}] was fitted for {threshold.judge} as {threshold.fingerprint}, and it "
                    f"is {own} now: calibrate again with `ragtriage trust calibrate`, or take the table out of the "
                    "settings"
                )
        self._judge = judge
        self._thresholds = dict(thresholds)

    def name(self) -> str:
        """The inner judge's."""
        return self._judge.name()

    def fingerprint(self, kind: Kind) -> str:
        """The inner judge's, with the threshold of this kind."""
        own = self._judge.fingerprint(kind)
        return self._thresholds[kind].marked(own) if kind in self._thresholds else own

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
                threshold = self._thresholds.get(questions[position].kind)
                yield position, rethresholded(answer, threshold) if threshold else answer


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
