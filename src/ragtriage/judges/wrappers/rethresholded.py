"""Verdicts by other decision thresholds than the judge's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ragtriage.core.chances import log_odds, shifted, with_chance
from ragtriage.core.questions import Kind
from ragtriage.core.verdicts import Answer, Answered, Verdict
from ragtriage.judges.decision_thresholds import DecisionThreshold
from ragtriage.judges.protocol import Judge
from ragtriage.judges.wrappers.changed import ChangedAnswers, other_version


class Rethresholded(ChangedAnswers):
    """Asks a judge and calls its probabilities yes, no or unknown by the user's decision thresholds.

    A verdict without a probability stays as it is.

    Raises:
        ConfigError: a threshold was fitted for another version of the judge.
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
