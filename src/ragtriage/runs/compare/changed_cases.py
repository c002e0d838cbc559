"""The cases that changed most by one metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from ragtriage.runs.compare.comparison import CaseList, ChangedCase, MetricComparison, SourceChange
from ragtriage.runs.compare.difference import ROUNDING
from ragtriage.runs.compare.matched import Matched


def changed_cases(
    matched: Matched, rows: Sequence[MetricComparison], direction: Literal["worse", "better"], most: int
) -> CaseList | None:
    """The pairs that became worse, or better, by most; None if none did by the metric that is chosen.

    It is the first that is worse (or better) as a whole, else the one in the list for which most speaks.

    Args:
        matched: the two sides.
        rows: the metrics, in the order in which they are listed.
        direction: which.
        most: how many are listed.
    """
    touched = [row for row in rows if row.paired and row.verdict in ("worse", "can't tell", "better")]
    ordered = [row for row in touched if row.verdict == direction] + [
        row for row in touched if row.verdict != direction
    ]
    for row in ordered:
        sign = row.direction if direction == "better" else -row.direction
        paired, _ = matched.scores(row.name)
        gain = sign * np.nan_to_num(paired.change)
        changed = np.flatnonzero(gain > ROUNDING)
        if len(changed):
            # the largest change first, equal ones by their id, so that the rows' order makes no difference
            ids = matched.ids(changed)
            by_size = sorted(zip(changed, ids, strict=True), key=lambda one: (-round(float(gain[one[0]]), 9), one[1]))
            names = [row.name, *(other.name for other in touched if other is not row)]
            chosen = [_case(matched, int(pair), name, names, direction) for pair, name in by_size[:most]]
            return CaseList(row.name, len(changed), tuple(chosen))
    return None


def _case(
    matched: Matched, pair: int, name: str, metrics: Sequence[str], direction: Literal["worse", "better"]
) -> ChangedCase:
    theirs, mine = int(matched.pairing.base[pair]), int(matched.pairing.new[pair])
    scores = []
    for metric in metrics:
        base, new = (_score(side.scores[metric][at]) for side, at in
                     ((matched.base.table, theirs), (matched.new.table, mine)))  # fmt: skip
        if base != new:
            scores.append((metric, base, new))
    found = matched.base.table.found, matched.new.table.found
    headline = (found[0].heading[theirs], found[1].heading[mine]) if found[0] and found[1] else ("", "")
    base_id = matched.base.table.ids[theirs]
    return ChangedCase(name, base_id, tuple(scores), source_change(matched, pair), headline, direction)


def source_change(matched: Matched, pair: int) -> SourceChange:
    """Whether a pair has the same sources."""
    texts = matched.texts
    if texts.unknown["sources"][pair]:
        return "unknown"
    if texts.differs["sources"][pair]:
        return "set"
    return "order" if texts.differs["order"][pair] else "same"


def _score(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
