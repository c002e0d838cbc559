"""What labels say of a run: corrected means, base rates, thresholds, chances of verdicts, the cascade's bands."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ragtriage.core.metric import Metric
from ragtriage.core.questions import KINDS, Kind
from ragtriage.core.statistics import IntervalEstimate, wilson_interval
from ragtriage.core.steps import Match
from ragtriage.core.validation import as_builtins
from ragtriage.core.verdicts import CHECK
from ragtriage.diagnosis.rules import is_bad
from ragtriage.judges.decision_thresholds import BANDS, WITHOUT_PROBABILITY, ChanceCurve, without_threshold
from ragtriage.judges.judge_config import EMBEDDED, FAST, UNCALIBRATED
from ragtriage.trust import label_fits
from ragtriage.trust.chance_fits import FittedCurve, fit_curve, too_few_for_a_curve
from ragtriage.trust.corrected_mean import (
    NO,
    NOT_A_SHARE,
    UNKNOWN,
    YES,
    AnyArray,
    CorrectedMean,
    LabelledMetric,
    MetricMean,
    RunLabels,
    corrected_means,
)
from ragtriage.trust.label_fits import (
    MIN_EACH,
    FittedBandEnd,
    FittedThreshold,
    LabelledScores,
    LearntRate,
    SettingValue,
    Tables,
    learnt_rates,
)

NO_SCORE = "the judge gives no probability"
SEVERAL = "several judges gave the verdicts: calibrate a run of one of them"
NO_USE = "wrong more often than right, or no better than chance: left alone"
NOT_SURELY = "not surely better than things as they are: left alone"
BY_CURVE = "its curve says where yes begins"


@dataclass(frozen=True, slots=True)
class VerdictThreshold:
    """At which probabilities verdicts on one kind of question are to change."""

    kind: Kind
    metrics: tuple[str, ...]
    """Whose labels it rests on."""
    fingerprint: str
    """The judge's, without decision thresholds of the user's own."""
    threshold: FittedThreshold | None
    why: str = ""
    """Why there is none."""


@dataclass(frozen=True, slots=True)
class VerdictChance:
    """How often verdicts on one kind of question are truly yes, of a judge that states no calibrated probability."""

    kind: Kind
    metrics: tuple[str, ...]
    fitted: FittedCurve | None = None
    """By its probabilities; None of a judge that gives none, or with too few labels."""
    yes: IntervalEstimate | None = None
    """Of a judge without probabilities: the share of true yes behind its yes (the predictive value) with its 95 %
    interval; half a label of either kind is added (Jeffreys' prior), so that no share is 0 or 1."""
    no: IntervalEstimate | None = None
    """Behind its no."""
    curve: ChanceCurve | None = None
    """What is to be written; None if nothing is."""
    why: str = ""
    """Why nothing is known, or why it isn't to be written."""


@dataclass(frozen=True, slots=True)
class CaseThreshold:
    """The judge's score from which on a case is good by people's labels."""

    metric: str
    target: float
    """The score by people's labels from which a case is good."""
    complete: int
    """Cases of which every component is labelled."""
    at: float | None
    """The judge's score that separates best; None if there is no way to tell."""
    threshold: FittedThreshold | None
    """How sure it is; where lower is better its scores are 1 − the metric's."""
    why: str = ""


@dataclass(frozen=True, slots=True)
class CascadeBand:
    """A cascade's band for one kind of question."""

    kind: Kind
    no: FittedBandEnd | None
    """None with too few labels of this side."""
    yes: FittedBandEnd | None
    why: str = ""
    """Why neither is known."""

    @property
    def text(self) -> str:
        """`LOW:HIGH`, a side that may decide nothing left out; empty if nothing is known.

        On a side of which nothing is known the shipped end stays. Where neither side may decide it is `0:1`, between
        which all scores lie.
        """
        if self.no is None and self.yes is None:
            return ""
        low = self.no.at if self.no else BANDS[self.kind].low
        high = self.yes.at if self.yes else BANDS[self.kind].high
        if (low, high) == (label_fits.NEVER_NO, label_fits.NEVER_YES):
            return "0:1"
        return ":".join("" if end in {label_fits.NEVER_NO, label_fits.NEVER_YES} else f"{end:g}" for end in (low, high))


@dataclass(frozen=True, slots=True)
class Calibration:
    """All that the labels of a run say."""

    judge: str
    labels: int
    """Components with a label that was used."""
    unused: Mapping[str, int]
    """Reason → how many labels weren't."""
    means: tuple[MetricMean, ...] = ()
    decision_thresholds: tuple[VerdictThreshold, ...] = ()
    chances: tuple[VerdictChance, ...] = ()
    thresholds: tuple[CaseThreshold, ...] = ()
    bands: tuple[CascadeBand, ...] = ()
    base_rates: tuple[LearntRate, ...] = ()
    settings: Tables = field(default_factory=dict)
    """Only what does better than the present settings."""

    @property
    def replaced(self) -> Mapping[str, str]:
        """Table that must not stand beside these → the judge that it is for: a threshold would go before a curve."""
        return {f"decision_thresholds.{one.kind}": self.judge for one in self.chances if one.fitted and one.curve}

    def corrections(self) -> dict[str, CorrectedMean]:
        """Metric → its corrected mean."""
        return {mean.metric: mean.correction for mean in self.means if mean.correction}

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        decision_thresholds = [
            {**as_builtins(one), "better": bool(one.threshold and one.threshold.better)}
            for one in self.decision_thresholds
        ]
        return {
            **as_builtins(self),
            "decision_thresholds": decision_thresholds,
            "base_rates": [{**as_builtins(one), "better": one.better} for one in self.base_rates],
            "bands": [{**as_builtins(band), "band": band.text or None} for band in self.bands],
        }


def calibrate(
    labels: RunLabels,
    metrics: Sequence[Metric],
    judge: str,
    fingerprints: Mapping[str, str],
    thresholds: Mapping[str, float],
) -> Calibration:
    """Everything that the labels allow.

    `metrics` are all of the run: a threshold holds for all that they ask, so the labels must stand for all of it.
    `thresholds` are the scores from which a case is good, as people mean it.
    """
    by_kind: dict[Kind, list[LabelledMetric]] = {}
    for one in labels.metrics:
        if kind := kind_of(one.metric):
            by_kind.setdefault(kind, []).append(one)
    decision_thresholds, chances, bands = [], [], []
    for kind, found in by_kind.items():
        why = SEVERAL if "," in judge else _unrepresentative(kind, found, metrics)
        own = without_threshold(fingerprints.get(kind, ""))
        by_curve = ""
        if not len(_scores(found).score) or own.startswith(UNCALIBRATED):
            chances.append(_verdict_chance(kind, found, judge, own, why))
            by_curve = BY_CURVE if chances[-1].fitted and chances[-1].curve else ""
        decision_thresholds.append(_verdict_threshold(kind, found, own, why or by_curve))
        if judge in (EMBEDDED, FAST) and kind in BANDS:
            bands.append(_band(kind, found, why))
    better = {one.kind for one in decision_thresholds if one.threshold and one.threshold.better}
    rates = learnt_rates(labels.metrics, fingerprints, better) if judge in (EMBEDDED, FAST) else ()
    limits = [_threshold(one, thresholds[one.metric.name]) for one in labels.metrics if one.metric.name in thresholds]
    return Calibration(
        judge,
        sum(one.labels for one in labels.metrics),
        labels.unused,
        corrected_means(labels),
        tuple(decision_thresholds),
        tuple(chances),
        tuple(limits),
        tuple(bands),
        rates,
        _settings(judge, decision_thresholds, chances, limits, bands, rates),
    )


def _settings(
    judge: str,
    decision_thresholds: Sequence[VerdictThreshold],
    chances: Sequence[VerdictChance],
    limits: Sequence[CaseThreshold],
    bands: Sequence[CascadeBand],
    rates: Sequence[LearntRate],
) -> Tables:
    settings: dict[str, dict[str, SettingValue]] = {}
    for one, fitted in ((one, one.threshold) for one in decision_thresholds):
        if fitted and fitted.better:
            own: dict[str, SettingValue] = {"judge": judge, "fingerprint": one.fingerprint}
            settings[f"decision_thresholds.{one.kind}"] = own | {"yes": fitted.yes, "no": fitted.no}
    for told in (one for one in chances if one.curve):
        known = as_builtins(told.curve)
        settings[f"chance_curves.{told.kind}"] = {key: value for key, value in known.items() if value not in (None, [])}
    own_rates: dict[str, SettingValue] = {one.kind: one.rate for one in rates if one.better and one.rate is not None}
    if own_rates:
        settings["base_rates"] = own_rates
    for limit in limits:
        if limit.threshold and limit.threshold.better and limit.at is not None:
            settings.setdefault("thresholds", {})[limit.metric] = limit.at
    for band in bands:
        if band.text:
            settings.setdefault("bands", {})[band.kind] = band.text
    return settings


def kind_of(metric: Metric) -> Kind | None:
    """The one kind of question whose probability decides a metric's components; None if there is no such."""
    relations = {step.relation for step in metric.needs.values() if isinstance(step, Match)}
    return next((kind for kind in KINDS if relations == {kind} and kind not in WITHOUT_PROBABILITY), None)


def _verdict_threshold(kind: Kind, found: Sequence[LabelledMetric], fingerprint: str, why: str) -> VerdictThreshold:
    labels = _scores(found)
    why = why or (label_fits.too_few(labels) if len(labels.score) else NO_SCORE)
    names = tuple(one.metric.name for one in found)
    return VerdictThreshold(kind, names, fingerprint, None if why else label_fits.fit_threshold(labels), why)


def _verdict_chance(
    kind: Kind, found: Sequence[LabelledMetric], judge: str, fingerprint: str, why: str
) -> VerdictChance:
    names = tuple(one.metric.name for one in found)
    if len(_scores(found).score):
        return _by_probability(kind, found, judge, fingerprint, why)
    verdict, truth, weight = (
        np.concatenate([column[~np.isnan(one.truth)] for one, column in zip(found, columns, strict=True)])
        for columns in (
            [one.verdict for one in found],
            [one.truth for one in found],
            [1 / one.inclusion for one in found],
        )
    )
    counts = {answer: int((verdict == answer).sum()) for answer in (YES, NO)}
    if not why and min(counts.values()) < MIN_EACH:
        why = f"too few labels: {counts[YES]} of its yes and {counts[NO]} of its no, and it takes {MIN_EACH} of each"
    if why:
        return VerdictChance(kind, names, why=why)
    yes, no = (_predictive_value(truth[verdict == answer], weight[verdict == answer]) for answer in (YES, NO))
    if yes.value is None or no.value is None or not no.value < CHECK <= yes.value:
        return VerdictChance(kind, names, yes=yes, no=no, why=NO_USE)
    told = verdict != UNKNOWN
    rate = round(float(np.average(truth[told], weights=weight[told])), 3)
    points = ((0.0, no.value), (1.0, yes.value))
    curve = ChanceCurve(judge, fingerprint, points=points, rate=rate)
    return VerdictChance(kind, names, yes=yes, no=no, curve=curve)


def _by_probability(
    kind: Kind, found: Sequence[LabelledMetric], judge: str, fingerprint: str, why: str
) -> VerdictChance:
    names = tuple(one.metric.name for one in found)
    labels, chance = _scores(found), np.concatenate([one.chance[_with_score(one)] for one in found])
    told = labels.verdict != UNKNOWN  # an unknown counts nowhere, so no curve is needed for it
    labels, chance = labels.part(told), chance[told]
    if why := why or too_few_for_a_curve(labels):
        return VerdictChance(kind, names, why=why)
    at_its_word = np.where(labels.verdict == YES, 1.0, 0.0)
    fitted = fit_curve(labels, np.where(np.isnan(chance), at_its_word, chance), judge, fingerprint)
    if fitted.curve.a is not None and fitted.curve.a <= 0:
        return VerdictChance(kind, names, fitted, why=NO_USE)
    if not fitted.better:
        return VerdictChance(kind, names, fitted, why=NOT_SURELY)
    return VerdictChance(kind, names, fitted, curve=fitted.curve)


def _predictive_value(truth: AnyArray, weight: AnyArray) -> IntervalEstimate:
    """The share of true yes among verdicts of one value; unequal weights count as fewer labels (Kish 1965)."""
    n = float(weight.sum() ** 2 / (weight**2).sum())
    share = (float(np.average(truth, weights=weight)) * n + 0.5) / (n + 1.0)
    return IntervalEstimate(round(share, 3), *wilson_interval(share, n + 1.0), len(truth))


def _band(kind: Kind, found: Sequence[LabelledMetric], why: str) -> CascadeBand:
    labels = _scores([one for one in found if BANDS[kind].responses or not _of_a_response(one.metric)])
    if why := why or (label_fits.too_few(labels) if len(labels.score) else NO_SCORE):
        return CascadeBand(kind, None, None, why)
    return CascadeBand(kind, label_fits.fit_band_end(labels, NO), label_fits.fit_band_end(labels, YES))


def _unrepresentative(kind: Kind, found: Sequence[LabelledMetric], metrics: Sequence[Metric]) -> str:
    """Why labels of a kind don't stand for all that is asked with it; "" if they do.

    A judge isn't equally good at telling whether a fact, a source or a claim is essential, and a threshold or band
    holds for all three.
    """
    labels: Counter[str] = Counter()
    for one in found:
        labels[_asked_of(kind, one.metric)] += one.labels
    asked = dict.fromkeys(_asked_of(kind, metric) for metric in metrics if kind_of(metric) == kind)
    lacking = " and ".join(what for what in asked if labels[what] < MIN_EACH)
    return f"the same is asked of {lacking}, with fewer than {MIN_EACH} labels: label some of each" if lacking else ""


def _asked_of(kind: Kind, metric: Metric) -> str:
    """What a metric asks the question of, where a judge isn't equally good on all."""
    if kind == "answered":
        return "the response" if _of_a_response(metric) else "the sources"
    steps = [step for step in metric.needs.values() if isinstance(step, Match)]
    return " and ".join(dict.fromkeys(str(step.components) for step in steps)) if kind == "essential" else kind


def _of_a_response(metric: Metric) -> bool:
    """Whether a metric asks if a response answers: the shipped cascade passes on all of these."""
    return any(isinstance(step, Match) and step.against == "response" for step in metric.needs.values())


def _scores(found: Sequence[LabelledMetric]) -> LabelledScores:
    """The labelled components of several metrics that have a probability."""
    cases = {name: at for at, name in enumerate(dict.fromkeys(case for one in found for case in one.cases))}
    parts = []
    for one in found:
        keep = _with_score(one)
        number = np.array([cases[name] for name in one.cases], int)[one.case[keep]]
        parts.append((one.score[keep], one.truth[keep], 1 / one.inclusion[keep], number, one.verdict[keep]))
    columns = zip(*parts, strict=True) if parts else [()] * 5
    return LabelledScores(*(np.concatenate(column) if column else np.empty(0) for column in columns))


def _with_score(found: LabelledMetric) -> AnyArray:
    """Which components have a label and a probability; shape (n,)."""
    return np.asarray(~np.isnan(found.truth) & ~np.isnan(found.score))


def _threshold(found: LabelledMetric, target: float) -> CaseThreshold:
    """A case's true score is known where all of its components are labelled."""
    name, better = found.metric.name, found.metric.better
    if not found.share_of:
        return CaseThreshold(name, target, 0, None, None, NOT_A_SHARE)
    truth = found.true_values()
    keep = ~np.isnan(truth)
    good, now = (
        np.array([not is_bad(float(value), target, better) for value in values[keep]], bool)
        for values in (truth, found.value)
    )
    score = found.value[keep] if better == "higher" else 1 - found.value[keep]
    complete = len(good)
    labels = LabelledScores(score, good.astype(float), np.ones(complete), np.arange(complete), np.where(now, YES, NO))
    if label_fits.too_few(labels):
        yes = int(good.sum())
        why = (
            f"too few cases of which every component is labelled: {yes} good and {complete - yes} bad, "
            f"and it takes {MIN_EACH} of each"
        )
        return CaseThreshold(name, target, complete, None, None, why)
    fitted = label_fits.fit_threshold(labels, between=False)
    at = fitted.yes if better == "higher" else 1 - fitted.yes
    return CaseThreshold(name, target, complete, round(at, 3), fitted)
