"""The metrics of two sides by the values of a tag."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ragtriage.runs.compare.comparison import MetricComparison, Slice, SliceMetric, Verdict
from ragtriage.runs.compare.difference import Paired, difference
from ragtriage.runs.compare.matched import Matched
from ragtriage.runs.compare.metric_rows import verdict_of
from ragtriage.runs.compare.swaps import FEWEST, changed_groups, holm, swap_ps

FEWEST_PAIRS = 10
"""Pairs of a value without which it is listed without a test."""
MOST_VALUES = 50
"""Values of a tag that are listed; the largest."""
WITHOUT = "(none)"
"""What the pairs without the tag are called."""


def slices_by(matched: Matched, tag: str, rows: Sequence[MetricComparison]) -> tuple[tuple[Slice, ...], int]:
    """The slices of one tag, the largest first, and how many are left out.

    Holm's correction counts all tests of this tag that can reach .05.

    Args:
        matched: the two sides.
        tag: its values are new's.
        rows: the metrics of the whole; those that were touched are compared.
    """
    places: dict[str, list[int]] = defaultdict(list)
    for place, value in enumerate(matched.tag(tag)):
        places[WITHOUT if value is None else value].append(place)
    ordered = sorted(places, key=lambda value: (-len(places[value]), value))
    compared = [row for row in rows if row.paired and row.verdict != "not touched"]
    columns = {row.name: matched.scores(row.name)[0] for row in compared}
    found = [_slice(value, np.array(places[value]), compared, columns) for value in ordered[:MOST_VALUES]]
    tests = [(one, metric) for one, (_, ps) in enumerate(found) for metric in ps]
    adjusted = dict(zip(tests, holm([found[one][1][metric] for one, metric in tests]), strict=True))
    told = tuple(
        replace(
            one,
            metrics=tuple(
                replace(
                    m,
                    p=ps.get(m.name),
                    p_adjusted=adjusted.get((place, m.name)),
                    verdict=_verdict(m, adjusted.get((place, m.name)), row),
                )
                for m, row in zip(one.metrics, compared, strict=True)
            ),
        )
        for place, (one, ps) in enumerate(found)
    )
    return told, max(0, len(ordered) - MOST_VALUES)


def _slice(
    value: str,
    at: np.ndarray[tuple[int], np.dtype[np.int64]],
    rows: Sequence[MetricComparison],
    columns: dict[str, Paired],
) -> tuple[Slice, dict[str, float]]:
    """One value's differences, and the p-values of those that are tested."""
    parts = {row.name: columns[row.name].at(at) for row in rows}
    sums = {name: part.sums() for name, part in parts.items()} if len(at) >= FEWEST_PAIRS else {}
    tested = swap_ps({name: own for name, own in sums.items() if changed_groups(own) >= FEWEST})
    metrics = tuple(
        SliceMetric(row.name, "can't tell", difference(parts[row.name], row.range[1] - row.range[0])) for row in rows
    )
    return Slice(value, len(at), metrics), {name: p for name, (p, _) in tested.items()}


def _verdict(metric: SliceMetric, adjusted: float | None, row: MetricComparison) -> Verdict:
    return verdict_of(metric.paired, adjusted, row.direction) if metric.paired else "undefined"
