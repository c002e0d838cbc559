"""Verdicts cut at other probabilities than the judge's own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace

from ragtriage.core.errors import ConfigError
from ragtriage.core.questions import Kind, Question
from ragtriage.core.verdicts import Answer, Answered, Verdict
from ragtriage.judges.decision_thresholds import DecisionThreshold
from ragtriage.judges.protocol import Estimate, Judge
from ragtriage.judges.wrappers.streams import closing


class Rethresholded:
    """Asks a judge and calls its probabilities yes, no or unknown by the user's cuts.

    It belongs around `Cached`: what was answered stays known whatever the cuts are. A verdict without a probability
    stays as it is.

    Args:
        judge: what is asked.
        cuts: kind → where its verdicts are cut.

    Raises:
        ConfigError: a cut was fitted for another version of the judge.
    """

    def __init__(self, judge: Judge, cuts: Mapping[Kind, DecisionThreshold]) -> None:
        for kind, cut in cuts.items():
            own = judge.fingerprint(kind)
            if cut.fingerprint and cut.fingerprint != own:
                raise ConfigError(
                    f"[cuts.{kind}] was fitted for {cut.judge} as {cut.fingerprint}, and it is {own} now: calibrate "
                    f"again with `ragtriage trust calibrate`, or take the table out of the settings"
                )
        self._judge = judge
        self._cuts = dict(cuts)

    def name(self) -> str:
        """The inner judge's."""
        return self._judge.name()

    def fingerprint(self, kind: Kind) -> str:
        """The inner judge's, with the cut of this kind."""
        own = self._judge.fingerprint(kind)
        return self._cuts[kind].marked(own) if kind in self._cuts else own

    def unsupported_reason(self, kind: Kind, language: str) -> str | None:
        """The inner judge's."""
        return self._judge.unsupported_reason(kind, language)

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """The inner judge's."""
        return self._judge.estimate(questions)

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """See `Judge.ask`.

        Raises:
            JudgeError: the inner judge can't answer anything.
        """
        async with closing(self._judge.ask(questions)) as answers:
            async for position, answer in answers:
                cut = self._cuts.get(questions[position].kind)
                yield position, answer if cut is None else rethresholded(answer, cut)


def rethresholded(answer: Answer, cut: DecisionThreshold) -> Answer:
    """One answer, cut there."""
    if not isinstance(answer, Verdict) or answer.score is None:
        return answer
    score = answer.score
    value: Answered = "yes" if score >= cut.yes else "no" if score < cut.no else "unknown"
    if value == answer.value:
        return answer
    confidence = {"yes": score, "no": 1.0 - score, "unknown": max(score, 1.0 - score)}[value]
    # how often such a no is right was measured at the judge's own cut: it is shown as one to be checked
    return replace(answer, value=value, confidence=confidence, sure=answer.sure and value != "no")
