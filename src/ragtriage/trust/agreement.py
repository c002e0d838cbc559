"""How far a judge agrees with people: its scores and verdicts held against labels, with what words and length get."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ragtriage.trust.labelled import Prediction, unlike
from ragtriage.trust.measures import (
    Array,
    Measure,
    Measured,
    Resamples,
    auc,
    balanced_accuracy,
    best_cut,
    kappa,
    less,
    share,
    spearman,
)

Scale = Literal["yes or no", "graded", "preference"]
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Held:
    """One row: what people said, what the judge said, and what words and length alone say."""

    group: str
    label: float
    prediction: Prediction
    overlap: float | None
    """None where word overlap has no form."""
    length: float
    near: bool = False
    """Of a pair: whether the two answers are of about the same length."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far a judge agrees with people on some rows."""

    name: str
    scale: Scale
    rows: int
    groups: int
    mean_label: float
    judge: Mapping[str, Measured]
    overlap: Mapping[str, Measured]
    """Word overlap by the same measures; empty where it has no form."""
    length: Mapping[str, Measured]
    ahead: Measured
    """The judge's main measure minus word overlap's, on the same draws."""
    unsaid: int
    """Rows without a score: they count as wrong."""
    failed: int
    """Those of them on which the judge failed."""
    unknown: int
    """Rows of which the judge couldn't tell."""
    reason: str = ""
    """Why rows have no score: the commonest reason."""

    @property
    def main(self) -> str:
        """The measure by which the judge is compared with word overlap."""
        return {"yes or no": "AUC", "graded": "Spearman", "preference": "pair accuracy"}[self.scale]

    @property
    def beats(self) -> Literal["yes", "not shown", "no", "unknown"]:
        """Whether the judge beats word overlap; `not shown` where the difference's interval holds 0."""
        if self.ahead.value is None:
            return "unknown"
        if self.ahead.value <= 0:
            return "no"
        return "yes" if self.ahead.low is not None and self.ahead.low > 0 else "not shown"

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines."""
        columns = {"judge": self.judge, "overlap": self.overlap, "length": self.length}
        return {
            "scale": self.scale,
            "rows": self.rows,
            "groups": self.groups,
            "mean_label": self.mean_label,
            **{name: {key: one.as_json() for key, one in found.items()} for name, found in columns.items()},
            "main": self.main,
            "ahead_of_overlap": self.ahead.as_json(),
            "beats_overlap": self.beats,
            "without_score": self.unsaid,
            "failed": self.failed,
            "unknown": self.unknown,
            "reason": self.reason or None,
        }


def agreement_of(
    name: str, rows: Sequence[Held], scale: Scale | None = None, *, red: str = "no", seed: int = 0
) -> Agreement:
    """Measure agreement on rows.

    A row without a score counts as wrong: as the lowest score where the label is 1, as the highest where it is 0, as
    the middle one where labels are graded, and as preferring the other answer of a pair.

    Args:
        name: what the rows are.
        rows: at least one.
        scale: what the labels are; None: told by them.
        red: which verdict is shown in red.
        seed: of the resamples.
    """
    label = np.array([row.label for row in rows])
    scale = scale or ("graded" if unlike(label.tolist()) else "yes or no")
    draws = Resamples([row.group for row in rows], seed)
    score = _filled(rows, label, scale)
    columns: dict[str, Array | None] = {
        "judge": score,
        "overlap": None if any(row.overlap is None for row in rows) else np.array([row.overlap or 0.0 for row in rows]),
        "length": np.array([row.length for row in rows]),
    }
    found: dict[str, dict[str, Measured]] = {}
    main: dict[str, Measure] = {}
    for column, values in columns.items():
        found[column] = {}
        if values is None:
            continue
        measures = _measures(scale, label, values, np.array([row.near for row in rows], dtype=np.float64))
        main[column] = next(iter(measures.values()))[0]
        found[column] = {key: draws.of(measure, n) for key, (measure, n) in measures.items()}
    if scale == "yes or no":
        found["judge"] |= {key: draws.of(m, n) for key, (m, n) in _of_verdicts(rows, label, red).items()}
    ahead = draws.of(less(main["judge"], main["overlap"])) if "overlap" in main else Measured(None)
    missing = [row.prediction for row in rows if row.prediction.score is None]
    reasons = Counter(one.reason for one in missing if one.reason)
    return Agreement(
        name,
        scale,
        len(rows),
        draws.groups,
        float(label.mean()),
        found["judge"],
        found["overlap"],
        found["length"],
        ahead,
        len(missing),
        sum(one.failed for one in missing),
        sum(row.prediction.verdict == "unknown" for row in rows),
        min(reasons, key=lambda text: (-reasons[text], text)) if reasons else "",
    )


def _filled(rows: Sequence[Held], label: Array, scale: Scale) -> Array:
    known = [row.prediction.score for row in rows if row.prediction.score is not None] or [0.0]
    low, high, middle = min(known) - 1.0, max(known) + 1.0, float(np.median(known))

    def wrong(value: float) -> float:
        if scale == "graded":
            return middle
        if scale == "preference":
            return -10.0 * float(np.sign(value))
        return low if value == 1 else high

    return np.array(
        [wrong(y) if row.prediction.score is None else row.prediction.score for row, y in zip(rows, label, strict=True)]
    )


def _measures(scale: Scale, label: Array, score: Array, near: Array) -> dict[str, tuple[Measure, int]]:
    """Measures of scores and over how many rows each is taken, the main one first."""
    n = len(label)
    if scale == "graded":
        return {"Spearman": (spearman(score, label), n)}
    if scale == "preference":
        side = (label != 0).astype(np.float64)
        tied = np.abs(score) <= ROUNDING
        hit = np.where(tied, 0.5, (np.sign(score) == np.sign(label)).astype(np.float64))
        same = side * near
        return {
            "pair accuracy": (share(hit, side), int(side.sum())),
            "of about the same length": (share(hit, same), int(same.sum())),
            "Spearman": (spearman(score, label), n),
        }
    cut = best_cut(label, score)
    return {
        "AUC": (auc(label, score), n),
        "balanced accuracy at the best cut": (
            balanced_accuracy(label, ((score >= cut) == (label == 1)).astype(np.float64)),
            n,
        ),
    }


def _of_verdicts(rows: Sequence[Held], label: Array, red: str) -> dict[str, tuple[Measure, int]]:
    """Measures of verdicts as they come; unknown, and no verdict, are wrong. Empty where there are none."""
    if not any(row.prediction.verdict for row in rows):
        return {}
    value = {"yes": 1.0, "no": 0.0}
    said = np.array([value.get(row.prediction.verdict or "", -1.0) for row in rows])
    hit = (said == label).astype(np.float64)
    shown = np.array([row.prediction.verdict == red and row.prediction.sure for row in rows], dtype=np.float64)
    fault = (label == (1.0 if red == "yes" else 0.0)).astype(np.float64)
    n = len(label)
    return {
        "balanced accuracy": (balanced_accuracy(label, hit), n),
        "accuracy": (share(hit), n),
        "Cohen's kappa": (kappa(label, said), n),
        "shown in red, right": (share(fault, shown), int(shown.sum())),
        "faults shown in red": (share(shown, fault), int(fault.sum())),
    }
