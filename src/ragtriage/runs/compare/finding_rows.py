"""Each rule of two sides compared, and under which components the pairs are counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ragtriage.diagnosis import Rule
from ragtriage.diagnosis.headline import NONE, UNDETERMINED
from ragtriage.runs.compare.comparison import MOST_IDS, FindingComparison, HeadlineMatrix
from ragtriage.runs.compare.difference import ROUNDING, Paired, difference
from ragtriage.runs.compare.expected_change import expected_change
from ragtriage.runs.compare.matched import Matched
from ragtriage.runs.compare.metric_rows import place_of, verdict_of
from ragtriage.runs.compare.swaps import FEWEST, changed_groups, holm, swap_ps


def finding_rows(matched: Matched, rules: Sequence[Rule]) -> list[FindingComparison]:
    """A row for every rule that holds on a pair of either side, or surely does on some, in the order of the list.

    A pair counts 1 where the rule holds and 0 where it doesn't; between them where that is only likely, or where trials
    disagree. With 0 and 1 alone, and without groups and weights, the test is McNemar's.
    """
    found = [(rule, paired) for rule in rules if (paired := matched.findings(rule.name))]
    rows = [(row, paired) for rule, paired in found if (row := _row(matched, rule, paired))]
    testable = {row.rule: sums for row, paired in rows if changed_groups(sums := paired.sums()) >= FEWEST}
    tested = swap_ps(testable)
    names = list(tested)
    adjusted = dict(zip(names, holm([tested[name][0] for name in names]), strict=True))
    told = [_told(row, tested.get(row.rule, (None, None)), adjusted.get(row.rule)) for row, _ in rows]
    return sorted(told, key=lambda row: place_of(row.verdict, row.paired))


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


def _sure(matched: Matched, rule: str, there: np.ndarray[tuple[int], np.dtype[np.bool_]], *, new: bool) -> float:
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
