"""What labels say of a run and its judge: corrected means, cuts, thresholds and the cascade's bands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ragtriage.core.metric import Metric
from ragtriage.core.questions import KINDS, Kind
from ragtriage.core.steps import Match
from ragtriage.diagnosis.thresholds import is_bad
from ragtriage.judges.config import EMBEDDED
from ragtriage.judges.decision_thresholds import BANDS, WITHOUT_PROBABILITY, without_threshold
from ragtriage.trust.correction import FEWEST, NO, YES, Correction
from ragtriage.trust.fitting import (
    FEWEST_EACH,
    NEVER_NO,
    NEVER_YES,
    FittedCut,
    FittedSide,
    Points,
    fit_cut,
    fit_side,
    too_few,
)
from ragtriage.trust.run_labels import Joined, Labelled

NOT_A_SHARE = "not a share of the components that it shows, so labels of these can't correct it"
NO_SCORE = "the judge gives no probability"
SEVERAL = "several judges gave the verdicts: calibrate a run of one of them"


@dataclass(frozen=True, slots=True)
class Mean:
    """One metric's mean."""

    metric: str
    title: str
    raw: float
    labels: int
    correction: Correction | None
    why: str = ""
    """Why there is no correction."""


@dataclass(frozen=True, slots=True)
class VerdictCut:
    """Where verdicts on one kind of question are to be cut."""

    kind: Kind
    metrics: tuple[str, ...]
    """Whose labels it rests on."""
    fingerprint: str
    """The judge's, without a cut."""
    cut: FittedCut | None
    why: str = ""
    """Why there is none."""


@dataclass(frozen=True, slots=True)
class CaseThreshold:
    """From which score of the judge on a case is good as people see it."""

    metric: str
    target: float
    """The score by people's labels from which a case is good."""
    complete: int
    """Cases of which every component is labelled."""
    at: float | None
    """The judge's score that tells best; None if it can't be told."""
    cut: FittedCut | None
    """How sure it is; where lower is better its scores are 1 − the metric's."""
    why: str = ""


@dataclass(frozen=True, slots=True)
class OwnBand:
    """A cascade's band for one kind of question."""

    kind: Kind
    no: FittedSide | None
    yes: FittedSide | None
    why: str = ""

    @property
    def text(self) -> str:
        """`LOW:HIGH`, a side that may decide nothing left out; empty if nothing is known.

        On a side of which nothing is known the shipped end stays. Where neither side may decide it is `0:1`, between
        which all scores lie.
        """
        if self.no is None or self.yes is None or not (self.no.enough or self.yes.enough):
            return ""
        low = self.no.at if self.no.enough else BANDS[self.kind].low
        high = self.yes.at if self.yes.enough else BANDS[self.kind].high
        if (low, high) == (NEVER_NO, NEVER_YES):
            return "0:1"
        return f"{'' if low == NEVER_NO else format(low, 'g')}:{'' if high == NEVER_YES else format(high, 'g')}"


@dataclass(frozen=True, slots=True)
class Calibration:
    """All that the labels of a run say."""

    judge: str
    labels: int
    """Components with a label that was used."""
    unused: Mapping[str, int]
    """Reason → how many labels weren't."""
    means: tuple[Mean, ...] = ()
    cuts: tuple[VerdictCut, ...] = ()
    thresholds: tuple[CaseThreshold, ...] = ()
    bands: tuple[OwnBand, ...] = ()
    changes: Mapping[str, Mapping[str, float | str]] = field(default_factory=dict)
    """Table of the settings → what it is to hold: only what does better than things as they are."""

    def corrections(self) -> dict[str, Correction]:
        """Metric → its corrected mean."""
        return {mean.metric: mean.correction for mean in self.means if mean.correction}

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "judge": self.judge,
            "labels": self.labels,
            "unused": dict(self.unused),
            "means": [asdict(mean) for mean in self.means],
            "cuts": [asdict(cut) | {"better": bool(cut.cut and cut.cut.better)} for cut in self.cuts],
            "thresholds": [asdict(one) for one in self.thresholds],
            "bands": [asdict(band) | {"band": band.text or None} for band in self.bands],
            "settings": {table: dict(values) for table, values in self.changes.items()},
        }


def calibrate(
    joined: Joined,
    metrics: Sequence[Metric],
    judge: str,
    fingerprints: Mapping[str, str],
    thresholds: Mapping[str, float],
) -> Calibration:
    """Everything that the labels allow.

    Args:
        joined: a run's components with their labels.
        metrics: all of the run: what they ask is cut alike, so the labels must speak of all of it.
        judge: who judged, as it is typed.
        fingerprints: the run's, by kind of question.
        thresholds: metric → the score from which a case is good, as people mean it.
    """
    by_kind: dict[Kind, list[Labelled]] = {}
    for one in joined.metrics:
        if kind := kind_of(one.metric):
            by_kind.setdefault(kind, []).append(one)
    several = SEVERAL if "," in judge else ""
    reasons = {kind: several or _untold(kind, found, metrics) for kind, found in by_kind.items()}
    cuts = tuple(
        _cut(kind, found, without_threshold(fingerprints.get(kind, "")), reasons[kind])
        for kind, found in by_kind.items()
    )
    limits = tuple(
        _threshold(one, thresholds[one.metric.name]) for one in joined.metrics if one.metric.name in thresholds
    )
    bands = tuple(
        _band(kind, found, reasons[kind]) for kind, found in by_kind.items() if judge == EMBEDDED and kind in BANDS
    )
    labels = sum(one.labels for one in joined.metrics)
    means = tuple(_mean(one) for one in joined.metrics)
    changes: dict[str, dict[str, float | str]] = {}
    for found in cuts:
        if found.cut and found.cut.better:
            own: dict[str, float | str] = {"judge": judge, "fingerprint": found.fingerprint}
            changes[f"decision_thresholds.{found.kind}"] = own | {"yes": found.cut.yes, "no": found.cut.no}
    for limit in limits:
        if limit.cut and limit.cut.better and limit.at is not None:
            changes.setdefault("thresholds", {})[limit.metric] = limit.at
    for band in bands:
        if band.text:
            changes.setdefault("bands", {})[band.kind] = band.text
    return Calibration(judge, labels, joined.unused, means, cuts, limits, bands, changes)


def kind_of(metric: Metric) -> Kind | None:
    """The one kind of question whose probability decides a metric's components; None if there is no such."""
    relations = {step.relation for step in metric.needs.values() if isinstance(step, Match)}
    kinds = [kind for kind in KINDS if relations == {kind} and kind not in WITHOUT_PROBABILITY]
    return kinds[0] if kinds else None


def _mean(found: Labelled) -> Mean:
    correction = found.correction()
    why = ""
    if correction is None:
        why = f"too few labels: {found.labels}, and it takes {FEWEST}" if found.counts else NOT_A_SHARE
    return Mean(found.metric.name, found.metric.title, found.raw, found.labels, correction, why)


def _cut(kind: Kind, found: Sequence[Labelled], fingerprint: str, why: str) -> VerdictCut:
    names = tuple(one.metric.name for one in found)
    points = _points(found)
    why = why or (too_few(points) if len(points.score) else NO_SCORE)
    return VerdictCut(kind, names, fingerprint, None if why else fit_cut(points), why)


def _band(kind: Kind, found: Sequence[Labelled], why: str) -> OwnBand:
    points = _points([one for one in found if BANDS[kind].responses or not _of_a_response(one.metric)])
    if why := why or (too_few(points) if len(points.score) else NO_SCORE):
        return OwnBand(kind, None, None, why)
    return OwnBand(kind, fit_side(points, NO), fit_side(points, YES))


def _untold(kind: Kind, found: Sequence[Labelled], metrics: Sequence[Metric]) -> str:
    """Why labels of a kind don't speak of all that is asked with it; "" if they do.

    A judge tells whether a fact, a source or a claim is essential unlike well, and a cut or band holds for all three.
    """
    labels: Counter[str] = Counter()
    for one in found:
        labels[_asked_of(kind, one.metric)] += one.labels
    asked = dict.fromkeys(_asked_of(kind, metric) for metric in metrics if kind_of(metric) == kind)
    lacking = [what for what in asked if labels[what] < FEWEST_EACH]
    if not lacking:
        return ""
    what = " and ".join(lacking)
    return f"the same is asked of {what}, with fewer than {FEWEST_EACH} labels: label some of each"


def _asked_of(kind: Kind, metric: Metric) -> str:
    """What a metric asks the question of, where a judge does unlike well on different things."""
    steps = [step for step in metric.needs.values() if isinstance(step, Match)]
    if kind == "answered":
        return "the response" if _of_a_response(metric) else "the sources"
    return " and ".join(dict.fromkeys(str(step.components) for step in steps)) if kind == "essential" else kind


def _of_a_response(metric: Metric) -> bool:
    """Whether a metric asks if a response answers: the shipped cascade passes on all of these."""
    return any(isinstance(step, Match) and step.against == "response" for step in metric.needs.values())


def _points(found: Sequence[Labelled]) -> Points:
    """The labelled components of several metrics that have a probability."""
    cases = {name: at for at, name in enumerate(dict.fromkeys(case for one in found for case in one.cases))}
    parts = []
    for one in found:
        keep = ~np.isnan(one.truth) & ~np.isnan(one.score)
        number = np.array([cases[name] for name in one.cases], int)[one.case[keep]]
        parts.append((one.score[keep], one.truth[keep], 1 / one.chance[keep], number, one.said[keep]))
    columns = zip(*parts, strict=True) if parts else [()] * 5
    return Points(*(np.concatenate(column) if column else np.empty(0) for column in columns))


def _threshold(found: Labelled, target: float) -> CaseThreshold:
    """A case's true score is known where all of its components are labelled."""
    name, better = found.metric.name, found.metric.better
    if not found.counts:
        return CaseThreshold(name, target, 0, None, None, NOT_A_SHARE)
    truth = found.true_values()
    keep = ~np.isnan(truth)
    good = np.array([not is_bad(float(value), target, better) for value in truth[keep]], float)
    said = np.array([NO if is_bad(float(value), target, better) else YES for value in found.value[keep]], int)
    score = found.value[keep] if better == "higher" else 1 - found.value[keep]
    points = Points(score, good, np.ones(len(good)), np.arange(len(good)), said)
    complete = len(good)
    if why := too_few(points):
        why = (
            why.replace("too few labels", "too few cases of which every component is labelled")
            .replace("yes", "good")
            .replace(" no,", " bad,")
        )
        return CaseThreshold(name, target, complete, None, None, why)
    cut = fit_cut(points, between=False)
    return CaseThreshold(name, target, complete, round(cut.yes if better == "higher" else 1 - cut.yes, 3), cut)
