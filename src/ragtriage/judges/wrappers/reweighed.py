"""Verdicts with other chances than the judge's own: at another base rate, by what labels say, or none at all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from ragtriage.core.chances import log_odds, shifted, with_chance
from ragtriage.core.errors import ConfigError
from ragtriage.core.questions import Kind, Question
from ragtriage.core.verdicts import Answer, Verdict
from ragtriage.judges.decision_thresholds import (
    BASE_RATES,
    BINARY,
    LABELS,
    ODDS,
    WITHOUT_PROBABILITY,
    LabelChance,
    without_threshold,
)
from ragtriage.judges.protocol import Estimate, Judge
from ragtriage.judges.wrappers.streams import closing_stream


class Reweighed:
    """Asks a judge and moves the chances of its verdicts.

    It belongs around `Cached`: what was answered stays known. A verdict without a chance stays as it is, unless labels
    tell how often such a one is right.

    Args:
        judge: whose chances are calibrated at `BASE_RATES`.
        base_rates: kind → the share of yes that is expected in place of that.
        labels: kind → the chances of verdicts for which the judge states none.
        binary: drop the chances after that, so that every verdict counts as 1 or 0.

    Raises:
        ConfigError: the labels are of another version of the judge.
    """

    def __init__(
        self,
        judge: Judge,
        base_rates: Mapping[str, float],
        labels: Mapping[Kind, LabelChance] = MappingProxyType({}),
        *,
        binary: bool = False,
    ) -> None:
        for kind, known in labels.items():
            own = without_threshold(judge.fingerprint(kind))
            if known.fingerprint and known.fingerprint != own:
                raise ConfigError(
                    f"[label_chances.{kind}] was measured of {known.judge} as {known.fingerprint}, and it is {own} "
                    "now: calibrate again with `ragtriage trust calibrate`, or take the table out of the settings"
                )
        self._judge = judge
        self._labels = dict(labels)
        self._binary = binary
        self._shifts = {kind: log_odds(rate) - log_odds(BASE_RATES[kind]) for kind, rate in base_rates.items()}

    def name(self) -> str:
        """The inner judge's."""
        return self._judge.name()

    def fingerprint(self, kind: Kind) -> str:
        """The inner judge's, with what is changed for this kind."""
        moved = f"{ODDS}{self._shifts[kind]:+.3f}" if kind in self._shifts else ""
        known = self._labels.get(kind)
        labelled = f"{LABELS}{known.yes:g}-{known.no:g}" if known else ""
        return (
            self._judge.fingerprint(kind)
            + moved
            + labelled
            + BINARY * (self._binary and kind not in WITHOUT_PROBABILITY)
        )

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
                yield position, self._reweighed(questions[position].kind, answer)

    def _reweighed(self, kind: Kind, answer: Answer) -> Answer:
        if not isinstance(answer, Verdict) or answer.value == "unknown":
            return answer
        if answer.chance is None and kind in self._labels and not self._binary:
            return with_chance(answer, self._labels[kind].of(answer.value))
        if answer.chance is None:
            return answer
        moved = with_chance(answer, shifted(answer.chance, self._shifts[kind])) if kind in self._shifts else answer
        return replace(moved, chance=None) if self._binary else moved
