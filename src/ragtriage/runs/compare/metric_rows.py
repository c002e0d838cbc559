"""Each metric of two sides compared: difference, test, definedness, and the judge's own part."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ragtriage.core.metric import Metric
from ragtriage.runs.compare.case_table import Flags
from ragtriage.runs.compare.changes import incomparable, read_by
from ragtriage.runs.compare.comparison import COMPARED, MetricComparison, Verdict
from ragtriage.runs.compare.difference import ROUNDING, Difference, Numbers, Paired, difference, mover
from ragtriage.runs.compare.matched import Matched
from ragtriage.runs.compare.noise import noise_error
from ragtriage.runs.compare.sides import Side
from ragtriage.runs.compare.swaps import binomial_p, holm, swap_ps

SIGNIFICANT = 0.05
"""An adjusted p-value below it makes a difference better or worse."""
MENTIONED = 0.02
"""The share of pairs that lost a score, those that gained one taken off, from which on it is said."""


@dataclass(frozen=True, slots=True)
class _Touched:
    row: MetricComparison
    paired: Paired


def metric_rows(matched: Matched, names: Collection[str] | None, *, across_judges: bool) -> list[MetricComparison]:
    """A row for every metric of either side, in the order in which they are listed.

    Args:
        matched: the two sides.
        names: only these; all if None.
        across_judges: compare although the judge differs.
    """
    metrics = {m.name: m for m in (*matched.new.metrics, *matched.base.metrics)}
    plain: list[MetricComparison] = []
    touched: list[_Touched] = []
    for metric in metrics.values():
        if names is not None and metric.name not in names:
            continue
        row = _start(matched, metric)
        why = incomparable(matched.base, matched.new, metric.name, matched.texts, across_judges=across_judges)
        if why:
            plain.append(replace(row, verdict=why[0], why=why[1]))
            continue
        paired, failed = matched.scores(metric.name)
        row = _with_definedness(replace(row, failed=failed), paired)
        row = replace(row, corrected=_corrected(matched, metric.name))
        found = difference(paired, _span(metric))
        if found is None:
            plain.append(replace(row, verdict="undefined", why="no pair has it on both sides"))
        elif is_touched(matched, metric, paired):
            noise = _noise(matched, metric, paired)
            touched.append(_Touched(replace(row, paired=found, noise_se=noise), paired))
        else:
            plain.append(replace(row, verdict="not touched", paired=_by_construction(found)))
    return sorted([*plain, *_tested(touched)], key=lambda row: place_of(row.verdict, row.paired))


def _start(matched: Matched, metric: Metric) -> MetricComparison:
    name = metric.name
    threshold = matched.new.thresholds.get(name)
    return MetricComparison(
        name, metric.title, metric.better, metric.range, "can't tell",
        base_mean=_mean(matched.base, name), new_mean=_mean(matched.new, name), threshold=threshold,
    )  # fmt: skip


def _mean(side: Side, metric: str) -> float | None:
    """A side's plain mean, over all cases that have the score."""
    values = side.table.scores.get(metric)
    if values is None or np.isnan(values).all():
        return None
    there = ~np.isnan(values)
    weight = side.table.weight[there]
    return float(np.average(values[there], weights=weight / weight.max()))


def _span(metric: Metric) -> float:
    return metric.range[1] - metric.range[0]


def is_touched(matched: Matched, metric: Metric, paired: Paired) -> bool:
    """Whether a score could differ: something that is judged changed, or a score did without that."""
    if matched.texts.judged(read_by(metric)).any():
        return True
    same = (np.abs(paired.change) <= ROUNDING) | (np.isnan(paired.base) & np.isnan(paired.new))
    return not same.all()


def _by_construction(found: Difference) -> Difference:
    """The means alone: where nothing could change there is nothing to estimate."""
    return replace(found, se_plain=None, se=None, freedom=None, low=None, high=None, sees=None)


def _with_definedness(row: MetricComparison, paired: Paired) -> MetricComparison:
    """How many pairs lost or gained a score."""
    had, has = ~np.isnan(paired.base), ~np.isnan(paired.new)
    lost, gained = int((had & ~has).sum()), int((has & ~had).sum())
    p = binomial_p(lost, gained)
    return replace(
        row,
        defined=(int(had.sum()), int(has.sum())),
        lost=lost,
        gained=gained,
        p_defined=p,
        mention_undefined=p < SIGNIFICANT or abs(lost - gained) > MENTIONED * len(had),
        bounds=_bounds(row, paired, had & ~has) if lost else None,
    )


def _bounds(row: MetricComparison, paired: Paired, lost: Flags) -> tuple[float, float]:
    """The difference if every lost score were at either end of the range: (lowest, highest)."""
    ends = (
        difference(replace(paired, new=np.where(lost, end, paired.new)), row.range[1] - row.range[0])
        for end in row.range
    )
    low, high = (end.difference if end else 0.0 for end in ends)
    return low, high


def _corrected(matched: Matched, metric: str) -> tuple[float, float, float] | None:
    base, new = (side.corrections.get(metric) for side in (matched.base, matched.new))
    return mover(base, new) if base and new else None


def _noise(matched: Matched, metric: Metric, paired: Paired) -> float | None:
    """The judge's own part of the standard error."""
    there = ~np.isnan(paired.change)
    changed: Numbers = paired.weight[there & matched.texts.judged(read_by(metric))]
    base, new = ((side.table.noise.get(metric.name), side.header.trials) for side in (matched.base, matched.new))
    return noise_error(changed, float(paired.weight[there].sum()), base, new)


def _tested(touched: Iterable[_Touched]) -> Iterator[MetricComparison]:
    """The rows with p-values, Holm's over all that have one, and what they say."""
    rows = list(touched)
    several = [one for one in rows if one.row.paired and one.row.paired.se is not None]
    tested = swap_ps({one.row.name: one.paired.sums() for one in several})
    names = list(tested)
    adjusted = dict(zip(names, holm([tested[name][0] for name in names]), strict=True))
    for one in rows:
        name, found = one.row.name, one.row.paired
        if name not in tested or found is None:
            yield one.row  # one case or group alone tells nothing
            continue
        p, how = tested[name]
        verdict = verdict_of(found, adjusted[name], one.row.direction)
        perhaps = "" if verdict != "can't tell" else perhaps_of(found, one.row.direction)
        yield replace(
            one.row,
            p=p,
            how=how,
            p_adjusted=adjusted[name],
            verdict=verdict,
            perhaps=perhaps,  # type: ignore[arg-type]  # one of the three words
        )


def verdict_of(found: Difference, adjusted: float | None, direction: int) -> Verdict:
    """Better or worse where the adjusted p-value says so, else can't tell.

    Args:
        found: the difference.
        adjusted: its adjusted p-value; None if it wasn't tested.
        direction: 1 where more is better, −1 where less is.
    """
    if adjusted is None or adjusted >= SIGNIFICANT or abs(found.difference) <= ROUNDING:
        return "can't tell"
    return "better" if direction * found.difference > 0 else "worse"


def perhaps_of(found: Difference, direction: int) -> str:
    """What the interval alone would say; empty if it holds 0."""
    if found.low is None or found.high is None or found.low <= 0 <= found.high:
        return ""
    return "better" if direction * found.difference > 0 else "worse"


def place_of(verdict: Verdict, found: Difference | None) -> tuple[int, float]:
    """Where a row is listed: worse, can't tell by |difference| / SE, better, not touched, then those not compared."""
    rank = COMPARED.index(verdict) if verdict in COMPARED else len(COMPARED)
    evidence = abs(found.difference) / found.se if found and found.se else 0.0
    return rank, -evidence
