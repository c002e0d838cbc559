"""The rows of a comparison: each metric, each finding, and each slice of the cases, with what changed."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ragtriage.core.metric import Metric
from ragtriage.core.statistics import Flags, Numbers, Z
from ragtriage.diagnosis.headline import NONE, UNDETERMINED
from ragtriage.diagnosis.rules import Rule
from ragtriage.runs.compare.case_table import DIGESTED, noise_error
from ragtriage.runs.compare.comparison import (
    COMPARED,
    MOST_IDS,
    ChangeVerdict,
    ExpectedChange,
    FindingComparison,
    HeadlineMatrix,
    MetricComparison,
    Slice,
    SliceMetric,
)
from ragtriage.runs.compare.matched import Matched, incomparable, read_by
from ragtriage.runs.compare.sides import Side
from ragtriage.runs.compare.statistics import (
    FEWEST,
    ROUNDING,
    MeanDifference,
    P,
    Paired,
    binomial_p,
    changed_groups,
    difference,
    holm,
    mover,
    swap_ps,
)
from ragtriage.runs.metric_tally import BETWEEN_DOMAINS, ExpectedCount

SIGNIFICANT = 0.05
"""An adjusted p-value below it makes a difference better or worse."""
MENTIONED = 0.02
"""The share of pairs that lost a score, those that gained one taken off, from which on it is said."""


def metric_rows(matched: Matched, names: Collection[str] | None, *, across_judges: bool) -> list[MetricComparison]:
    """A row for every metric of either side, in the order in which they are listed."""
    metrics = {m.name: m for m in (*matched.new.metrics, *matched.base.metrics)}
    plain: list[MetricComparison] = []
    touched: list[tuple[MetricComparison, Paired]] = []
    for metric in metrics.values():
        if names is not None and metric.name not in names:
            continue
        row = _start(matched, metric)
        why = incomparable(matched.base, matched.new, metric.name, matched.texts, across_judges=across_judges)
        if why:
            plain.append(replace(row, verdict=why[0], why=why[1]))
            continue
        paired, failed = matched.scores(metric.name)
        row = _with_definedness(matched, replace(row, failed=failed), paired)
        base, new = (side.corrections.get(metric.name) for side in (matched.base, matched.new))
        row = replace(row, corrected=mover(base, new) if base and new else None)
        found = difference(paired, metric.range[1] - metric.range[0])
        if found is None:
            plain.append(replace(row, verdict="undefined", why="no pair has it on both sides"))
        elif is_touched(matched, metric, paired):
            noise = _noise(matched, metric, paired)
            touched.append((replace(row, paired=found, noise_se=noise), paired))
        else:
            # the means alone: where nothing could change there is nothing to estimate
            means = replace(found, se_plain=None, se=None, freedom=None, low=None, high=None, sees=None)
            plain.append(replace(row, verdict="not touched", paired=means))
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


def is_touched(matched: Matched, metric: Metric, paired: Paired) -> bool:
    """Whether a score could differ: something that is judged changed, or a score did without that."""
    if matched.texts.judged(read_by(metric)).any():
        return True
    same = (np.abs(paired.change) <= ROUNDING) | (np.isnan(paired.base) & np.isnan(paired.new))
    return not same.all()


def _with_definedness(matched: Matched, row: MetricComparison, paired: Paired) -> MetricComparison:
    had, has = ~np.isnan(paired.base), ~np.isnan(paired.new)
    lost, gained = int((had & ~has).sum()), int((has & ~had).sum())
    p = binomial_p(lost, gained)
    return replace(
        row,
        defined=(int(had.sum()), int(has.sum())),
        lost=lost,
        lost_cases=tuple(matched.ids(np.flatnonzero(had & ~has)[:MOST_IDS])),
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


def _noise(matched: Matched, metric: Metric, paired: Paired) -> float | None:
    there = ~np.isnan(paired.change)
    changed: Numbers = paired.weight[there & matched.texts.judged(read_by(metric))]
    base, new = ((side.table.noise.get(metric.name), side.header.trials) for side in (matched.base, matched.new))
    return noise_error(changed, float(paired.weight[there].sum()), base, new)


def _tested(touched: Sequence[tuple[MetricComparison, Paired]]) -> Iterator[MetricComparison]:
    """The rows with p-values, Holm's over all that have one, and what they say."""
    tested = swap_ps({row.name: paired.sums() for row, paired in touched if row.paired and row.paired.se is not None})
    adjusted = holm({name: p for name, (p, _) in tested.items()})
    for row, _ in touched:
        found = row.paired
        if row.name not in tested or found is None:
            yield row  # one case or group alone tells nothing
            continue
        p, how = tested[row.name]
        verdict = verdict_of(found, adjusted[row.name], row.direction)
        perhaps = "" if verdict != "can't tell" else perhaps_of(found, row.direction)
        yield replace(
            row,
            p=p,
            how=how,
            p_adjusted=adjusted[row.name],
            verdict=verdict,
            perhaps=perhaps,  # type: ignore[arg-type]  # one of the three words
        )


def verdict_of(found: MeanDifference, adjusted: float | None, direction: int) -> ChangeVerdict:
    """Better or worse where the adjusted p-value says so, else can't tell.

    `direction` is 1 where more is better, −1 where less is.
    """
    if adjusted is None or adjusted >= SIGNIFICANT or abs(found.difference) <= ROUNDING:
        return "can't tell"
    return "better" if direction * found.difference > 0 else "worse"


def perhaps_of(found: MeanDifference, direction: int) -> str:
    """What the interval alone would say; empty if it holds 0."""
    if found.low is None or found.high is None or found.low <= 0 <= found.high:
        return ""
    return "better" if direction * found.difference > 0 else "worse"


def place_of(verdict: ChangeVerdict, found: MeanDifference | None) -> tuple[int, float]:
    """Where a row is listed: worse, can't tell by |difference| / SE, better, not touched, then those not compared."""
    rank = COMPARED.index(verdict) if verdict in COMPARED else len(COMPARED)
    evidence = abs(found.difference) / found.se if found and found.se else 0.0
    return rank, -evidence


def expected_of(likely: Numbers) -> ExpectedCount:
    """How many cases have something.

    `likely` is NaN where it can't be decided, which counts for nothing; shape (n,).
    """
    return ExpectedCount.of(float(np.nansum(likely)), float(np.nansum(likely * (1.0 - likely))), len(likely))


def expected_change(matched: Matched, rule: str) -> ExpectedChange | None:
    """How many pairs probably have a finding, before and after; None where that says no more than the count."""
    paired = matched.likely(rule)
    if paired is None:
        return None
    own = replace(paired, weight=np.ones(len(paired.base)))  # every case counts alike, as in the counts beside it
    there = ~np.isnan(own.change)
    base, new = own.base[there], own.new[there]
    apart, after = base * (1.0 - base), new * (1.0 - new)
    if not there.any() or not (apart.sum() + after.sum() > ROUNDING):
        return None
    counts = expected_of(base), expected_of(new)
    moved = float(new.sum() - base.sum())
    changed = matched.texts.judged(DIGESTED)[there] | (np.abs(new - base) > ROUNDING)
    found = difference(own)
    if not changed.any() or found is None or found.low is None or found.high is None:
        return ExpectedChange(*counts, moved, None, None)
    doubt = math.sqrt(float((apart + after)[changed].sum()))
    shifted = BETWEEN_DOMAINS * float(after.sum() - apart.sum())
    n = found.cases
    down, up = (math.hypot(n * (end - found.difference), Z * doubt, Z * shifted) for end in (found.low, found.high))
    return ExpectedChange(*counts, moved, max(-float(n), moved - down), min(float(n), moved + up))


def finding_rows(matched: Matched, rules: Sequence[Rule]) -> list[FindingComparison]:
    """A row for every rule that holds on a pair of either side, or surely does on some, in the order of the list.

    A pair counts 1 where the rule holds and 0 where it doesn't; between them where that is only likely, or where trials
    disagree. With 0 and 1 alone, and without groups and weights, the test is McNemar's.
    """
    found = [(rule, paired) for rule in rules if (paired := matched.findings(rule.name))]
    rows = [(row, paired) for rule, paired in found if (row := _row(matched, rule, paired))]
    tested = _ps_within_reach({row.rule: paired for row, paired in rows})
    adjusted = holm({name: p for name, (p, _) in tested.items()})
    told = [_told(row, tested.get(row.rule, (None, None)), adjusted.get(row.rule)) for row, _ in rows]
    return sorted(told, key=lambda row: place_of(row.verdict, row.paired))


def _ps_within_reach(numbers: Mapping[str, Paired]) -> dict[str, P]:
    """The p-values of the numbers of which enough groups changed to reach .05."""
    sums = {name: one.sums() for name, one in numbers.items()}
    return swap_ps({name: own for name, own in sums.items() if changed_groups(own) >= FEWEST})


def _row(matched: Matched, rule: Rule, paired: Paired) -> FindingComparison | None:
    there = ~np.isnan(paired.change)
    base, new = (float(side[there].sum()) for side in (paired.base, paired.new))
    expected = None if rule.kind == "doubt" else expected_change(matched, rule.name)
    suspected = expected is not None and (round(expected.base.low) > 0 or round(expected.new.low) > 0)
    if not base and not new and not suspected:
        return None
    down, up = paired.change < -ROUNDING, paired.change > ROUNDING
    return FindingComparison(
        rule=rule.name,
        kind=rule.kind,
        reading=rule.reading,
        component=rule.component,
        verdict="can't tell",
        base=base,
        new=new,
        fixed=int(down.sum()),
        broken=int(up.sum()),
        decided=int(there.sum()),
        paired=difference(paired),
        fixed_cases=tuple(matched.ids(np.flatnonzero(down)[:MOST_IDS])),
        broken_cases=tuple(matched.ids(np.flatnonzero(up)[:MOST_IDS])),
        sure=(_sure(matched, rule.name, there, new=False), _sure(matched, rule.name, there, new=True)),
        expected=expected,
    )


def _sure(matched: Matched, rule: str, there: Flags, *, new: bool) -> float:
    side, at = (matched.new, matched.pairing.new) if new else (matched.base, matched.pairing.base)
    return float(np.nansum(side.table.found.sure[rule][at][there])) if side.table.found else 0.0


def _told(row: FindingComparison, tested: tuple[object, object], adjusted: float | None) -> FindingComparison:
    """The row with its p-value, and what that says: more of what is right, or of waste, is never called worse."""
    p, how = tested
    verdict = verdict_of(row.paired, adjusted, -1) if row.paired else "can't tell"
    if row.kind == "right" or (row.kind == "waste" and verdict == "worse"):
        verdict = "can't tell"
    return replace(row, p=p, how=how, p_adjusted=adjusted, verdict=verdict)  # type: ignore[arg-type]  # from swap_ps


def headline_matrix(matched: Matched) -> HeadlineMatrix | None:
    """Under which component every pair is counted on both sides; None where findings weren't read."""
    base, new = matched.base.table.found, matched.new.table.found
    if base is None or new is None:
        return None
    cells: dict[tuple[str, str], list[int]] = defaultdict(list)
    for pair, (theirs, mine) in enumerate(zip(matched.pairing.base, matched.pairing.new, strict=True)):
        cells[base.component[int(theirs)], new.component[int(mine)]].append(pair)
    names = tuple(_components(Counter({key: len(pairs) for key, pairs in cells.items()})))
    counts = tuple(tuple(len(cells[row, column]) if (row, column) in cells else 0 for column in names) for row in names)
    cases = tuple(
        tuple(tuple(matched.ids(np.array(cells.get((row, column), [])[:MOST_IDS], np.int64))) for column in names)
        for row in names
    )
    return HeadlineMatrix(names, counts, cases)


def _components(counts: Counter[tuple[str, str]]) -> Iterator[str]:
    """Those that occur: `none` first, `undetermined` last, the others by how many pairs they have."""
    totals: Counter[str] = Counter()
    for (row, column), count in counts.items():
        totals[row] += count
        totals[column] += count
    yield from (name for name in (NONE,) if totals[name])
    yield from sorted(totals.keys() - {NONE, UNDETERMINED}, key=lambda name: (-totals[name], name))
    yield from (name for name in (UNDETERMINED,) if totals[name])


FEWEST_PAIRS = 10
"""Pairs of a value without which it is listed without a test."""
MOST_VALUES = 50
"""Values of a tag that are listed; the largest."""
WITHOUT = "(none)"


def slices_by(matched: Matched, tag: str, rows: Sequence[MetricComparison]) -> tuple[tuple[Slice, ...], int]:
    """The slices of one tag, the largest first, and how many are left out.

    Holm's correction counts all tests of this tag that can reach .05.

    Of the metrics in `rows` those that were touched are compared.
    """
    places: dict[str, list[int]] = defaultdict(list)
    for place, value in enumerate(matched.tag(tag)):
        places[WITHOUT if value is None else value].append(place)
    ordered = sorted(places, key=lambda value: (-len(places[value]), value))
    compared = [row for row in rows if row.paired and row.verdict != "not touched"]
    columns = {row.name: matched.scores(row.name)[0] for row in compared}
    parts = {
        value: {name: column.at(np.array(places[value])) for name, column in columns.items()}
        for value in ordered[:MOST_VALUES]
    }
    ps = {
        (value, name): p
        for value, own in parts.items()
        if len(places[value]) >= FEWEST_PAIRS
        for name, (p, _) in _ps_within_reach(own).items()
    }
    adjusted = holm(ps)

    def compared_in(value: str, row: MetricComparison) -> SliceMetric:
        found, key = difference(parts[value][row.name], row.range[1] - row.range[0]), (value, row.name)
        verdict = verdict_of(found, adjusted.get(key), row.direction) if found else "undefined"
        return SliceMetric(row.name, verdict, found, ps.get(key), adjusted.get(key))

    told = (Slice(value, len(places[value]), tuple(compared_in(value, row) for row in compared)) for value in parts)
    return tuple(told), max(0, len(ordered) - MOST_VALUES)
