"""Verdicts with other chances than the judge's own: at another base rate, by what labels say, or none at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from ragtriage.core.chances import log_odds, shifted, with_chance
from ragtriage.core.questions import Kind
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
from ragtriage.judges.protocol import Judge
from ragtriage.judges.wrappers.changed import ChangedAnswers, other_version


class Reweighed(ChangedAnswers):
    """Asks a judge and moves the chances of its verdicts.

    A verdict without a chance stays as it is, unless labels tell how often such a one is right.

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
                raise other_version(f"[label_chances.{kind}]", known.judge, known.fingerprint, own)
        super().__init__(judge)
        self._labels = dict(labels)
        self._binary = binary
        self._shifts = {kind: log_odds(rate) - log_odds(BASE_RATES[kind]) for kind, rate in base_rates.items()}

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

    def changed(self, kind: Kind, answer: Answer) -> Answer:
        """With its chance moved, known from labels, or dropped."""
        if not isinstance(answer, Verdict) or answer.value == "unknown":
            return answer
        if answer.chance is None and kind in self._labels and not self._binary:
            return with_chance(answer, self._labels[kind].of(answer.value))
        if answer.chance is None:
            return answer
        moved = with_chance(answer, shifted(answer.chance, self._shifts[kind])) if kind in self._shifts else answer
        return replace(moved, chance=None) if self._binary else moved
