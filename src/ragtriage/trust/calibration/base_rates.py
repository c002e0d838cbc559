"""Base rates learnt from labels: how often the answer to a kind of question is yes in cases like those of a run."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ragtriage.core.chances import shifted
from ragtriage.core.questions import Kind
from ragtriage.core.statistics import IntervalEstimate
from ragtriage.judges.decision_thresholds import BASE_RATES, ODDS
from ragtriage.trust.calibration.corrected_mean import JudgedComponents, corrected_mean
from ragtriage.trust.calibration.run_labels import LabelledMetric

RATED_BY: dict[Kind, str] = {"supported": "groundedness", "answered": "source_query_coverage"}
"""Kind → the metric whose components have the share of yes that its base rate is about: claims that the sources
support, sub-questions that the sources answer."""
MIN_LABELS = 50
"""Labels below which no base rate is learnt: a few more or less would move all odds."""
HELD_BACK = 10
"""Labels at the shipped rate that are added: a share near 0 or 1 in a small sample would multiply the odds by far too
much, and applications differ less than that (over eight domains from .73 to .88)."""
_SHIFT = re.compile(re.escape(ODDS) + r"([+-][0-9.]+)")


@dataclass(frozen=True, slots=True)
class LearntRate:
    """The base rate of one kind of question."""

    kind: Kind
    metric: str
    """Whose labels it rests on."""
    share: IntervalEstimate | None
    """The share of yes that the labels tell, with its 95 % interval; None with too few."""
    rate: float | None
    """The same held back, to be written; None with too few."""
    present: float
    """The rate that the run was judged at."""
    why: str = ""
    """Why there is none, or why it isn't to be written."""

    @property
    def better(self) -> bool:
        """Whether it surely differs from the present one, so that it is to be written."""
        known = self.share
        return not (self.why or known is None or known.low is None or known.high is None) and not (
            known.low <= self.present <= known.high
        )


def learnt_rate(kind: Kind, found: LabelledMetric, fingerprint: str, why: str = "") -> LearntRate:
    """The share of yes among the components of a run, by some labels, however these were drawn.

    Every component counts alike, times its case's weight: a base rate is one of verdicts, not of cases. Labels count by
    their inclusion probabilities and per verdict, as in a corrected mean, so that a sample with more of the rare
    verdicts tells the same share.

    Args:
        kind: one that has a base rate.
        found: the run's components of the metric in `RATED_BY`.
        fingerprint: the judge's for this kind, which says at which rate the run was judged.
        why: why none is to be written, whatever the labels say.
    """
    present = present_rate(kind, fingerprint)
    if found.labels < MIN_LABELS:
        why = f"too few labels: {found.labels}, and it takes {MIN_LABELS}"
        return LearntRate(kind, found.metric.name, None, None, present, why)
    weight = found.weight * np.bincount(found.case)[found.case]
    components = JudgedComponents(found.case, weight, found.strata, found.truth, found.inclusion)
    estimate = corrected_mean(components, found.raw)
    if estimate is None:
        return LearntRate(kind, found.metric.name, None, None, present, "no label can be used")
    share = IntervalEstimate(estimate.mean, estimate.low, estimate.high, estimate.labels)
    inclusion = 1.0 / found.inclusion[~np.isnan(found.truth)]
    n = float(inclusion.sum() ** 2 / (inclusion @ inclusion))  # unequal weights count as fewer labels (Kish 1965)
    rate = (estimate.mean * n + BASE_RATES[kind] * HELD_BACK) / (n + HELD_BACK)
    return LearntRate(kind, found.metric.name, share, round(rate, 3), present, why)


def learnt_rates(
    found: Sequence[LabelledMetric], fingerprints: Mapping[str, str], thresholded: Collection[str]
) -> tuple[LearntRate, ...]:
    """The base rates of all kinds that have labels of theirs.

    Args:
        found: labelled metrics of a run of the embedded judge.
        fingerprints: the judge's, by kind.
        thresholded: kinds that get a decision threshold, which goes before a base rate.
    """
    by_name = {one.metric.name: one for one in found}
    first = "the decision threshold of this kind goes before"
    return tuple(
        learnt_rate(kind, by_name[name], fingerprints.get(kind, ""), first if kind in thresholded else "")
        for kind, name in RATED_BY.items()
        if name in by_name
    )


def present_rate(kind: Kind, fingerprint: str) -> float:
    """The base rate that a run was judged at, by its judge's fingerprint for this kind."""
    shift = _SHIFT.search(fingerprint)
    return shifted(BASE_RATES[kind], float(shift[1])) if shift else BASE_RATES[kind]
