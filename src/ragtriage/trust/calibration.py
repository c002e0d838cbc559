"""What labels say of a run: corrected means, base rates, decision and metric thresholds, the cascade's bands."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from ragtriage.core.errors import InputError
from ragtriage.core.files import ORDINARY_FILE, atomic_write
from ragtriage.core.metric import Metric
from ragtriage.core.questions import KINDS, Kind
from ragtriage.core.statistics import IntervalEstimate, wilson_interval
from ragtriage.core.steps import Match
from ragtriage.core.validation import as_builtins
from ragtriage.core.verdicts import CHECK
from ragtriage.diagnosis.rules import is_bad
from ragtriage.judges.decision_thresholds import BANDS, WITHOUT_PROBABILITY, without_threshold
from ragtriage.judges.judge_config import EMBEDDED, UNCALIBRATED
from ragtriage.trust import label_fits
from ragtriage.trust.corrected_mean import (
    MIN_LABELS,
    NO,
    UNKNOWN,
    YES,
    AnyArray,
    CorrectedMean,
    LabelledMetric,
    RunLabels,
)
from ragtriage.trust.label_fits import (
    MIN_EACH,
    FittedBandEnd,
    FittedThreshold,
    LabelledScores,
    LearntRate,
    learnt_rates,
)

NOT_A_SHARE = "not a share of the components that it shows, so labels of these can't correct it"
NO_SCORE = "the judge gives no probability"
SEVERAL = "several judges gave the verdicts: calibrate a run of one of them"


@dataclass(frozen=True, slots=True)
class MetricMean:
    """One metric's mean."""

    metric: str
    title: str
    raw: float
    labels: int
    correction: CorrectedMean | None
    why: str = ""
    """Why there is no correction."""


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
    fingerprint: str
    yes: IntervalEstimate | None
    """Of its yes: the share of true yes (the predictive value) with its 95 % interval; half a label of either kind is
    added (Jeffreys' prior), so that no share is 0 or 1."""
    no: IntervalEstimate | None
    """Of its no."""
    why: str = ""
    """Why there is none."""


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
    yes: FittedBandEnd | None
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
    settings: Mapping[str, Mapping[str, float | str]] = field(default_factory=dict)
    """Table of the settings → what it is to hold: only what does better than the present settings."""

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
        decision_thresholds.append(_verdict_threshold(kind, found, own, why))
        # a hub model has scores, but they are no calibrated chances
        if not len(_scores(found).score) or own.startswith(UNCALIBRATED):
            chances.append(_verdict_chance(kind, found, own, why, decision_thresholds[-1].threshold))
        if judge == EMBEDDED and kind in BANDS:
            bands.append(_band(kind, found, why))
    better = {one.kind for one in decision_thresholds if one.threshold and one.threshold.better}
    rates = learnt_rates(labels.metrics, fingerprints, better) if judge == EMBEDDED else ()
    limits = [_threshold(one, thresholds[one.metric.name]) for one in labels.metrics if one.metric.name in thresholds]
    return Calibration(
        judge,
        sum(one.labels for one in labels.metrics),
        labels.unused,
        tuple(map(_mean, labels.metrics)),
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
) -> dict[str, dict[str, float | str]]:
    settings: dict[str, dict[str, float | str]] = {}
    for one, fitted in ((one, one.threshold) for one in decision_thresholds):
        if fitted and fitted.better:
            own = {"judge": judge, "fingerprint": one.fingerprint}
            settings[f"decision_thresholds.{one.kind}"] = own | {"yes": fitted.yes, "no": fitted.no}
    for told in chances:
        yes, no = (share.value if share else None for share in (told.yes, told.no))
        if yes is not None and no is not None and no < CHECK <= yes:
            own = {"judge": judge, "fingerprint": told.fingerprint}
            settings[f"label_chances.{told.kind}"] = own | {"yes": yes, "no": no}
    own_rates: dict[str, float | str] = {one.kind: one.rate for one in rates if one.better and one.rate is not None}
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


def _mean(found: LabelledMetric) -> MetricMean:
    correction, why = found.correction(), ""
    if correction is None:
        why = f"too few labels: {found.labels}, and it takes {MIN_LABELS}" if found.share_of else NOT_A_SHARE
    return MetricMean(found.metric.name, found.metric.title, found.raw, found.labels, correction, why)


def _verdict_threshold(kind: Kind, found: Sequence[LabelledMetric], fingerprint: str, why: str) -> VerdictThreshold:
    labels = _scores(found)
    why = why or (label_fits.too_few(labels) if len(labels.score) else NO_SCORE)
    names = tuple(one.metric.name for one in found)
    return VerdictThreshold(kind, names, fingerprint, None if why else label_fits.fit_threshold(labels), why)


def _verdict_chance(
    kind: Kind, found: Sequence[LabelledMetric], fingerprint: str, why: str, threshold: FittedThreshold | None = None
) -> VerdictChance:
    """Of verdicts as they are, or as they will be by a threshold that is to be written."""
    verdict, truth, weight, score = (
        np.concatenate([column[~np.isnan(one.truth)] for one, column in zip(found, columns, strict=True)])
        for columns in (
            [one.verdict for one in found],
            [one.truth for one in found],
            [1 / one.inclusion for one in found],
            [one.score for one in found],
        )
    )
    if threshold and threshold.better:
        decided = np.where(score >= threshold.yes, YES, np.where(score < threshold.no, NO, UNKNOWN))
        verdict = np.where(np.isnan(score), verdict, decided)
    counts = {answer: int((verdict == answer).sum()) for answer in (YES, NO)}
    if not why and min(counts.values()) < MIN_EACH:
        why = f"too few labels: {counts[YES]} of its yes and {counts[NO]} of its no, and it takes {MIN_EACH} of each"
    names = tuple(one.metric.name for one in found)
    if why:
        return VerdictChance(kind, names, fingerprint, None, None, why)
    yes, no = (_predictive_value(truth[verdict == answer], weight[verdict == answer]) for answer in (YES, NO))
    return VerdictChance(kind, names, fingerprint, yes, no)


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
        keep = ~np.isnan(one.truth) & ~np.isnan(one.score)
        number = np.array([cases[name] for name in one.cases], int)[one.case[keep]]
        parts.append((one.score[keep], one.truth[keep], 1 / one.inclusion[keep], number, one.verdict[keep]))
    columns = zip(*parts, strict=True) if parts else [()] * 5
    return LabelledScores(*(np.concatenate(column) if column else np.empty(0) for column in columns))


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


Tables = Mapping[str, Mapping[str, float | str]]
"""Name of a table, its parts by dots → key → value."""


def write_settings(path: Path, tables: Tables) -> None:
    """Put these values into a settings file; it is made if it isn't there, and is never half written.

    In `pyproject.toml` they go under `[tool.ragtriage]`.

    Raises:
        InputError: it can't be read or written, or not be changed safely; says what to put in.
    """
    prefix = "tool.ragtriage." if path.name == "pyproject.toml" else ""
    wanted = {prefix + table: values for table, values in tables.items()}
    place = path.resolve()
    try:
        before = place.read_bytes().decode("utf-8") if place.exists() else ""
        after = with_values(before, wanted)
        with atomic_write(place, newline="", mode=ORDINARY_FILE) as out:
            out.write(after)
    except OSError as error:
        said = f"can't be written: {error.strerror or error}; it was to hold"
        raise InputError(f"{path} {said}:\n{as_toml(wanted)}") from error
    except ValueError as error:
        said = f"can't be changed safely ({error}): put this in yourself"
        raise InputError(f"{path} {said}:\n{as_toml(wanted)}") from error


def as_toml(tables: Tables) -> str:
    """These values as they stand in a settings file."""
    return with_values("", tables).strip()


def with_values(text: str, tables: Tables) -> str:
    """The text of a TOML file with these values in it.

    Raises:
        ValueError: it isn't TOML, or holds something else in the place of a table.
    """
    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise ValueError(str(error)) from error
    for name, values in tables.items():
        table: MutableMapping[str, Any] = document
        *outer, last = name.split(".")
        for part in outer:
            table = _table(table, part, tomlkit.table(is_super_table=True))
        new = last not in table
        table = _table(table, last, tomlkit.table())
        table.update(
            {key: value if isinstance(value, str) else round(float(value), 6) for key, value in values.items()}
        )
        if new and isinstance(table, Table):
            table.add(tomlkit.nl())  # what follows it keeps its distance
    after = tomlkit.dumps(document).rstrip() + "\n"
    if "\r\n" in text:
        after = re.sub(r"(?<!\r)\n", "\r\n", after)
    if tomllib.loads(after) != document.unwrap():
        raise ValueError("its layout is one that isn't understood")
    return after


def _table(inside: MutableMapping[str, Any], key: str, empty: Table) -> MutableMapping[str, Any]:
    found = inside.setdefault(key, empty)
    if not isinstance(found, MutableMapping):
        raise ValueError(f"{key} is no table")  # noqa: TRY004  # what is wrong is the text of the file
    return found
