"""What is fitted to labels: base rates, and cutoffs where a number separates yes from no as people do.

It is written into the text of a settings file, of which nothing else is changed.

Every label counts by 1 / its inclusion probability. Thresholds are compared by *balanced accuracy*, the mean of the
shares of yes and of no that come out right, since where nearly all is yes a threshold that says yes to all is right
nearly always and finds nothing.
"""

import re
import tomllib
from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from ragtriage.core.errors import InputError
from ragtriage.core.files import ORDINARY_FILE, atomic_write
from ragtriage.core.questions import Kind
from ragtriage.core.statistics import (
    IntervalEstimate,
    balanced_accuracy,
    balanced_accuracy_at,
    bootstrap,
    percentile_interval,
)
from ragtriage.core.verdicts import shifted
from ragtriage.judges.decision_thresholds import BASE_RATES, ODDS
from ragtriage.trust.corrected_mean import NO, UNKNOWN, YES, AnyArray, JudgedComponents, LabelledMetric, corrected_mean

SettingValue = float | str | list[list[float]]
Tables = Mapping[str, Mapping[str, SettingValue]]
"""Name of a table of the settings, its parts by dots → key → value."""


def write_settings(path: Path, tables: Tables, replaced: Mapping[str, str] = MappingProxyType({})) -> None:
    """Put these values into a settings file; it is made if it isn't there, and is never half written.

    In `pyproject.toml` they go under `[tool.ragtriage]`. Where a table of `replaced`, name → judge, is there and names
    this judge, nothing is written.
    """
    prefix = "tool.ragtriage." if path.name == "pyproject.toml" else ""
    wanted = {prefix + table: values for table, values in tables.items()}
    place = path.resolve()
    try:
        before = place.read_bytes().decode("utf-8") if place.exists() else ""
        after = with_values(before, wanted, {prefix + name: judge for name, judge in replaced.items()})
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


def with_values(text: str, tables: Tables, replaced: Mapping[str, str] = MappingProxyType({})) -> str:
    """The text of a TOML file with these values in it, unless a table of `replaced` is there and names its judge.

    A table that names a judge is that judge's: what it held before goes.
    """
    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise ValueError(str(error)) from error
    for name, judge in replaced.items():
        _check_gone(document.unwrap(), name, judge)
    for name, values in tables.items():
        table: MutableMapping[str, Any] = document
        *outer, last = name.split(".")
        for part in outer:
            table = _table(table, part, tomlkit.table(is_super_table=True))
        new = last not in table
        table = _table(table, last, tomlkit.table())
        for key in [key for key in table if "judge" in values and key not in values]:
            del table[key]
        table.update({key: round(value, 6) if isinstance(value, float) else value for key, value in values.items()})
        if new and isinstance(table, Table):
            table.add(tomlkit.nl())  # what follows it keeps its distance
    after = tomlkit.dumps(document).rstrip() + "\n"
    if "\r\n" in text:
        after = re.sub(r"(?<!\r)\n", "\r\n", after)
    if tomllib.loads(after) != document.unwrap():
        raise ValueError("its layout is one that isn't understood")
    return after


def _check_gone(whole: Any, name: str, judge: str) -> None:
    """Refuse a file in which a table of this name, its parts by dots, names this judge."""
    for part in name.split("."):
        whole = whole.get(part) if isinstance(whole, dict) else None
    if isinstance(whole, dict) and whole.get("judge") == judge:
        raise ValueError(f"[{name}] of this judge has to go, since it would go first: take it out")


def _table(inside: MutableMapping[str, Any], key: str, empty: Table) -> MutableMapping[str, Any]:
    found = inside.setdefault(key, empty)
    if not isinstance(found, MutableMapping):
        raise ValueError(f"{key} is no table")  # noqa: TRY004  # what is wrong is the text of the file
    return found


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

    Every component counts alike, times its case's weight: a base rate is one of verdicts, not of cases. Labels count
    by their inclusion probabilities and per verdict, as in a corrected mean, so that a sample with more of the rare
    verdicts tells the same share. `fingerprint` says at which rate the run was judged; `why` says why none is to be
    written, whatever the labels say.
    """
    present = present_rate(kind, fingerprint)
    if found.labels < MIN_LABELS:
        why = f"too few labels: {found.labels}, and it takes {MIN_LABELS}"
        return LearntRate(kind, found.metric.name, None, None, present, why)
    weight = found.weight * np.bincount(found.case)[found.case]
    components = JudgedComponents(found.case, weight, found.verdict, found.truth, found.inclusion)
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

    Of the kinds in `thresholded` none is to be written: their decision threshold goes before.
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


MIN_EACH = 10
"""Labels of yes, and of no, below which a threshold would be noise."""
MIN_DECIDED = 20
"""Labels on one side of a band below which nothing can be said of it."""
FOLDS = 5
RESAMPLES = 500
RIGHT_NO = 0.7
"""How often a no must be right: what is shown in red must mostly be so."""
RIGHT_DECIDED = 0.9
LOST = 0.1
"""The demands on a cascade's band: see `ragtriage.judges.decision_thresholds.BANDS`."""
NEVER_NO, NEVER_YES = -1.0, 2.0


@dataclass(frozen=True, slots=True)
class LabelledScores:
    """Labelled numbers; arrays have the shape (n,)."""

    score: AnyArray
    truth: AnyArray
    """Above a half: yes."""
    weight: AnyArray
    case: AnyArray
    """Labels of one case are drawn, and left out, together."""
    verdict: AnyArray
    """NO, YES or UNKNOWN: what each is at present."""

    def part(self, keep: AnyArray) -> "LabelledScores":
        """Some of them, by positions or by a mask."""
        return LabelledScores(*(each[keep] for each in (self.score, self.truth, self.weight, self.case, self.verdict)))

    @property
    def is_yes(self) -> AnyArray:
        """Whether people labelled them yes, shape (n,)."""
        return np.asarray(self.truth > 0.5)


@dataclass(frozen=True, slots=True)
class FittedThreshold:
    """A threshold, and how sure it is."""

    yes: float
    no: float
    """Below it no; equal to `yes` where nothing lies between."""
    low: float
    """Lower end of the 95 % interval of `yes`, by bootstrap over cases."""
    high: float
    fitted: float
    """Balanced accuracy on the labels that it was fitted on."""
    held_out: float
    """The same on cases that it wasn't fitted on, in five folds."""
    now: float
    """Balanced accuracy of the present verdicts; an unknown counts as half right."""
    gain_low: float
    """Lower end of the 95 % interval of `held_out` − `now`, by bootstrap over cases."""
    gain_high: float
    labels: int

    @property
    def better(self) -> bool:
        """Whether it surely does better on held-out cases than the present verdicts."""
        return self.gain_low > 0


@dataclass(frozen=True, slots=True)
class FittedBandEnd:
    """One end of a cascade's band."""

    at: float
    """NEVER_NO or NEVER_YES where nothing may be decided."""
    right: float
    """How often what is decided is right; 0 where nothing is."""
    right_low: float
    """Lower end of its 95 % interval, by bootstrap over cases."""
    decided: int
    """Labels on this side."""


def too_few(labels: LabelledScores) -> str:
    """Why nothing can be fitted; "" if it can."""
    yes = int(np.count_nonzero(labels.is_yes))
    no = len(labels.truth) - yes
    return "" if min(yes, no) >= MIN_EACH else f"too few labels: {yes} yes and {no} no, and it takes {MIN_EACH} of each"


def fit_threshold(labels: LabelledScores, *, between: bool = True) -> FittedThreshold:
    """The threshold of the highest balanced accuracy, among equals the one nearest to a half.

    There must be MIN_EACH labels of yes and of no. With `between`, scores just below the threshold may become
    unknown, where too many a no would be wrong.
    """
    yes = _best(labels)
    held_out = _held_out(labels)
    now = np.select([labels.verdict == YES, labels.verdict == UNKNOWN], [1.0, 0.5], 0.0)
    thresholds = resampled(labels, lambda at: _best(labels.part(at)))
    gains = resampled(labels, lambda at: _balanced(labels.part(at), held_out[at]) - _balanced(labels.part(at), now[at]))
    return FittedThreshold(
        yes,
        _no_below(labels, yes) if between else yes,
        *percentile_interval(thresholds),
        _balanced(labels, labels.score >= yes),
        _balanced(labels, held_out),
        _balanced(labels, now),
        *percentile_interval(gains),
        len(labels.truth),
    )


def fit_band_end(labels: LabelledScores, answer: int) -> FittedBandEnd | None:
    """The end of a band on the side of NO or YES that decides most of what may be decided; None with too few labels.

    What is decided is right nine times in ten, and of all that deserves the other answer at most a tenth is decided
    wrongly: the demands that the shipped bands were chosen by.
    """
    if np.count_nonzero(labels.verdict == answer) < MIN_DECIDED:
        return None
    ends = np.unique(labels.score[labels.verdict == answer])
    for at in ends if answer == YES else ends[::-1]:
        decided = _decided(labels, float(at), answer)
        if np.count_nonzero(decided) < MIN_DECIDED:
            break
        right, lost = _right(labels, decided, answer)
        if right >= RIGHT_DECIDED and lost <= LOST:
            edge = float((np.ceil if answer == YES else np.floor)(at * 1000) / 1000)
            found = _decided(labels, edge, answer)
            drawn = resampled(labels, lambda at, keep=found: _right(labels.part(at), keep[at], answer)[0])  # type: ignore[misc]
            return FittedBandEnd(edge, right, percentile_interval(drawn)[0], int(np.count_nonzero(found)))
    return FittedBandEnd(NEVER_YES if answer == YES else NEVER_NO, 0.0, 0.0, 0)


def _best(labels: LabelledScores) -> float:
    """The best threshold between two neighbouring scores, in thousandths."""
    values = np.unique(labels.score)
    thresholds = np.unique(np.round((values[1:] + values[:-1]) / 2 if len(values) > 1 else values, 3))
    accuracy = balanced_accuracy_at(thresholds, labels.is_yes, labels.score, labels.weight)
    best = thresholds[accuracy >= accuracy.max() - 1e-9]
    return float(best[np.argmin(np.abs(best - 0.5))])


def _no_below(labels: LabelledScores, yes: float) -> float:
    """The score below which a no is right often enough; the threshold itself if it is there, or nowhere."""
    for at in [yes, *np.unique(np.round(labels.score[labels.score < yes], 3))[::-1]]:
        decided = labels.score < at
        if np.count_nonzero(decided) < MIN_EACH:
            break
        if _right(labels, decided, NO)[0] >= RIGHT_NO:
            return float(at)
    return yes


def folds_of(labels: LabelledScores) -> AnyArray:
    """Each label's fold, a number below FOLDS, shape (n,): one for all labels of a case, and the same at every call."""
    cases, number = np.unique(labels.case, return_inverse=True)
    return np.asarray((np.random.default_rng(0).permutation(len(cases)) % FOLDS)[number])


def _held_out(labels: LabelledScores) -> AnyArray:
    """What thresholds say, 1 or 0, that were fitted on other cases; shape (n,)."""
    folds = folds_of(labels)
    said = np.full(len(labels.score), 0.5)
    for one in range(FOLDS):
        rest = labels.part(folds != one)
        if np.any(rest.is_yes) and not np.all(rest.is_yes):
            said[folds == one] = labels.score[folds == one] >= _best(rest)
    return said


def _balanced(labels: LabelledScores, said: AnyArray) -> float:
    """The balanced accuracy of answers in [0, 1], where 0.5 is half right."""
    return balanced_accuracy(labels.is_yes, np.where(labels.is_yes, said, 1.0 - said))(labels.weight)


def _decided(labels: LabelledScores, at: float, answer: int) -> AnyArray:
    beyond = labels.score >= at if answer == YES else labels.score <= at
    return np.asarray(beyond & (labels.verdict == answer))


def _right(labels: LabelledScores, decided: AnyArray, answer: int) -> tuple[float, float]:
    """(How often what is decided is right, which share of what deserves the other answer it takes)."""
    agrees = labels.is_yes if answer == YES else ~labels.is_yes
    whole, other = labels.weight[decided].sum(), labels.weight[~agrees].sum()
    wrong = labels.weight[decided & ~agrees].sum()
    return float(1 - wrong / whole) if whole else 0.0, float(wrong / other) if other else 0.0


def resampled(labels: LabelledScores, statistic: Callable[[AnyArray], float]) -> AnyArray:
    """A statistic of the positions of cases drawn with replacement, for every draw that has both answers."""
    cases, number = np.unique(labels.case, return_inverse=True)
    members = [np.flatnonzero(number == one) for one in range(len(cases))]

    def of_cases(picks: AnyArray) -> float:
        at = np.concatenate([members[one] for one in picks])
        yes = labels.is_yes[at]
        return statistic(at) if np.any(yes) and not np.all(yes) else np.nan

    return bootstrap(len(cases), of_cases, resamples=RESAMPLES)
