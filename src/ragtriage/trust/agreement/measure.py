"""A judge's scores and verdicts held against labels, beside what word overlap and length get on the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ragtriage.core import statistics
from ragtriage.core.statistics import Array, IntervalEstimate, Measure
from ragtriage.core.validation import as_builtins
from ragtriage.core.verdicts import Answered

Scale = Literal["yes or no", "graded", "preference"]
MAIN_MEASURE: Mapping[Scale, str] = {"yes or no": "AUC", "graded": "Spearman", "preference": "pair accuracy"}
"""The measure by which the judge is compared with word overlap."""
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Prediction:
    """A judge's prediction for a row."""

    score: float | None
    """The higher, the likelier label 1 is, or that a is better; None: no prediction."""
    verdict: Answered | None = None
    sure: bool = True
    reason: str = ""
    """Why there is no score."""
    failed: bool = False
    """Whether the judge's failure is the cause."""


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One row: the label, the judge's prediction, and the scores of the baselines."""

    group: str
    label: float
    prediction: Prediction
    overlap: float | None
    """None where word overlap has no form."""
    length: float
    alike: bool = False
    """Of a pair: whether the two answers are of about the same length."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far a judge agrees with people on some rows."""

    name: str
    scale: Scale
    rows: int
    groups: int
    mean_label: float
    judge: Mapping[str, IntervalEstimate]
    overlap: Mapping[str, IntervalEstimate]
    """Word overlap by the same measures; empty where it has no form."""
    length: Mapping[str, IntervalEstimate]
    main: str
    """The measure by which the judge is compared with word overlap."""
    ahead_of_overlap: IntervalEstimate
    """The judge's main measure minus word overlap's, on the same draws."""
    beats_overlap: Literal["yes", "not shown", "no", "unknown"]
    """Whether the judge beats word overlap; `not shown` where the difference's interval holds 0."""
    without_score: int
    """Rows without a score: they count as wrong."""
    failed: int
    """Those of them on which the judge failed."""
    unknown: int
    """Rows of which the judge couldn't tell."""
    reason: str | None = None
    """Why rows have no score: the commonest reason."""

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines, to stand under its name."""
        return {key: value for key, value in as_builtins(self).items() if key != "name"}


def agreement_of(
    name: str, rows: Sequence[ComparedRow], scale: Scale | None = None, *, red: str = "no", seed: int = 0
) -> Agreement:
    """Measure agreement on rows.

    A row without a score counts as wrong: as the lowest score where the label is 1, as the highest where it is 0, as
    the middle one where labels are graded, and as preferring the other answer of a pair.

    Args:
        name: what the rows are.
        rows: at least one.
        scale: what the labels are [default: inferred from them].
        red: which verdict is shown in red.
        seed: of the resamples.
    """
    label = np.array([row.label for row in rows])
    scale = scale or ("yes or no" if np.isin(label, (0, 1)).all() else "graded")
    resamples = statistics.ClusterBootstrap([row.group for row in rows], seed)
    alike = np.array([row.alike for row in rows], dtype=np.float64)
    scores = {"judge": _filled(rows, label, scale), "length": np.array([row.length for row in rows])}
    if all(row.overlap is not None for row in rows):
        scores["overlap"] = np.array([row.overlap for row in rows], dtype=np.float64)
    measures = {column: _measures(scale, label, score, alike) for column, score in scores.items()}
    ahead = IntervalEstimate(None)
    if "overlap" in measures:
        judge, overlap = (measures[column][MAIN_MEASURE[scale]][0] for column in ("judge", "overlap"))
        ahead = resamples.estimate(statistics.difference(judge, overlap))
    if scale == "yes or no":
        measures["judge"] |= _of_verdicts(rows, label, red)
    found = {
        column: {key: resamples.estimate(measure, n) for key, (measure, n) in some.items()}
        for column, some in measures.items()
    }
    missing = [row.prediction for row in rows if row.prediction.score is None]
    reasons = Counter(one.reason for one in missing if one.reason)
    return Agreement(
        name,
        scale,
        len(rows),
        resamples.groups,
        float(label.mean()),
        found["judge"],
        found.get("overlap", {}),
        found["length"],
        MAIN_MEASURE[scale],
        ahead,
        _beats(ahead),
        len(missing),
        sum(one.failed for one in missing),
        sum(row.prediction.verdict == "unknown" for row in rows),
        next(iter(statistics.ranked(reasons)), None),
    )


def _beats(ahead: IntervalEstimate) -> Literal["yes", "not shown", "no", "unknown"]:
    if ahead.value is None:
        return "unknown"
    if ahead.value <= 0:
        return "no"
    return "yes" if ahead.low is not None and ahead.low > 0 else "not shown"


def _filled(rows: Sequence[ComparedRow], label: Array, scale: Scale) -> Array:
    """The judge's scores, a wrong one where it gave none."""
    known = [row.prediction.score for row in rows if row.prediction.score is not None] or [0.0]
    low, high, middle = min(known) - 1.0, max(known) + 1.0, float(np.median(known))
    wrong = {
        "graded": np.full(len(label), middle),
        "preference": -10.0 * np.sign(label),
        "yes or no": np.where(label == 1, low, high),
    }[scale]
    scores = [row.prediction.score for row in rows]
    return np.array([other if score is None else score for score, other in zip(scores, wrong, strict=True)])


def _measures(scale: Scale, label: Array, score: Array, alike: Array) -> dict[str, tuple[Measure, int]]:
    """Measures of scores and over how many rows each is taken, the main one first."""
    n = len(label)
    if scale == "graded":
        return {"Spearman": (statistics.spearman(score, label), n)}
    if scale == "preference":
        decided = (label != 0).astype(np.float64)
        tied = np.abs(score) <= _ROUNDING
        hit = np.where(tied, 0.5, (np.sign(score) == np.sign(label)).astype(np.float64))
        return {
            "pair accuracy": (statistics.share(hit, decided), int(decided.sum())),
            "of about the same length": (statistics.share(hit, decided * alike), int((decided * alike).sum())),
            "Spearman": (statistics.spearman(score, label), n),
        }
    hit = ((score >= statistics.best_cutoff(label, score)) == (label == 1)).astype(np.float64)
    return {
        "AUC": (statistics.auc(label, score), n),
        "balanced accuracy at the best cut": (statistics.balanced_accuracy(label, hit), n),
    }


def _of_verdicts(rows: Sequence[ComparedRow], label: Array, red: str) -> dict[str, tuple[Measure, int]]:
    """Measures of verdicts as they come; unknown, and no verdict, are wrong. Empty where there are none."""
    if not any(row.prediction.verdict for row in rows):
        return {}
    value = {"yes": 1.0, "no": 0.0}
    verdict = np.array([value.get(row.prediction.verdict or "", -1.0) for row in rows])
    hit = (verdict == label).astype(np.float64)
    shown = np.array([row.prediction.verdict == red and row.prediction.sure for row in rows], dtype=np.float64)
    fault = (label == value[red]).astype(np.float64)
    n = len(label)
    return {
        "balanced accuracy": (statistics.balanced_accuracy(label, hit), n),
        "accuracy": (statistics.share(hit), n),
        "Cohen's kappa": (statistics.kappa(label, verdict), n),
        "shown in red, right": (statistics.share(fault, shown), int(shown.sum())),
        "faults shown in red": (statistics.share(shown, fault), int(fault.sum())),
    }
