"""The pairs of a comparison that changed: those that got or lost a fault, and those whose scores changed most."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ragtriage.core.statistics import Flags, Numbers
from ragtriage.diagnosis.rules import BLAMING, FindingKind, Rule
from ragtriage.runs.compare.comparison import (
    ChangedCase,
    ChangedCases,
    FaultChange,
    FaultChanges,
    MetricComparison,
    SourceChange,
)
from ragtriage.runs.compare.matched import Matched
from ragtriage.runs.compare.statistics import ROUNDING

Direction = Literal["worse", "better"]
SHOWN = 2
"""Decimals of a score that are shown: a change that can't be seen isn't listed."""
UNWANTED: tuple[FindingKind, ...] = ("failure", "quality", "doubt", "waste")
"""The kinds of findings that a case is better without."""


def _findings_of(
    matched: Matched, rules: Sequence[Rule], kinds: Collection[FindingKind]
) -> Iterator[tuple[Numbers, Numbers]]:
    """Whether each rule of some kinds holds on both sides of every pair; undecided is as on the other side."""
    for rule in rules:
        if rule.kind in kinds and (paired := matched.findings(rule.name)):
            base, new = paired.base, paired.new
            base = np.where(np.isnan(base), new, base)
            new = np.where(np.isnan(new), base, new)
            yield np.nan_to_num(base), np.nan_to_num(new)


def came_and_went(
    matched: Matched, rules: Sequence[Rule], kinds: Collection[FindingKind] = UNWANTED
) -> tuple[Flags, Flags]:
    """On which pairs a finding of some kinds is there that wasn't, and on which one isn't any more."""
    came, went = (np.zeros(len(matched.pairing.new), bool) for _ in range(2))
    for base, new in _findings_of(matched, rules, kinds):
        came |= new > base + ROUNDING
        went |= new < base - ROUNDING
    return came, went


@dataclass(frozen=True, slots=True)
class FaultFlags:
    """What became of the faults (findings that blame the answer) of every pair: at most one of these; shape (pairs,).

    Of several trials: in more or fewer of them.
    """

    fixed: Flags
    """It had one, and has none."""
    broken: Flags
    """It had none, and has one."""
    others: Flags
    """It has another one than before, or one more or less."""


def fault_flags(matched: Matched, rules: Sequence[Rule]) -> FaultFlags | None:
    """What became of the faults of every pair; None where findings weren't read."""
    if matched.base.table.found is None or matched.new.table.found is None:
        return None
    had, has = (np.zeros(len(matched.pairing.new)) for _ in range(2))
    for base, new in _findings_of(matched, rules, BLAMING):
        had, has = np.maximum(had, base), np.maximum(has, new)
    came, went = came_and_went(matched, rules, BLAMING)
    fixed, broken = has < had - ROUNDING, has > had + ROUNDING
    return FaultFlags(fixed, broken, (came | went) & ~fixed & ~broken)


def fault_changes(matched: Matched, rules: Sequence[Rule], most: int) -> FaultChanges | None:
    """The pairs whose faults changed, at most so many of a kind; None where findings weren't read."""
    flags = fault_flags(matched, rules)
    if flags is None:
        return None
    kinds = (flags.fixed, flags.broken, flags.others)
    fixed, broken, others = (_listed(matched, kind, most) for kind in kinds)
    return FaultChanges(fixed, broken, others, (int(kinds[0].sum()), int(kinds[1].sum()), int(kinds[2].sum())))


def _listed(matched: Matched, chosen: Flags, most: int) -> tuple[FaultChange, ...]:
    at, base, new = matched.pairing, matched.base.table.ids, matched.new.table.ids
    pairs = ((int(at.base[pair]), int(at.new[pair])) for pair in np.flatnonzero(chosen)[:most])
    return tuple(FaultChange(new[mine], base[theirs], _headline(matched, theirs, mine)) for theirs, mine in pairs)


def _headline(matched: Matched, theirs: int, mine: int) -> tuple[str, str]:
    base, new = matched.base.table.found, matched.new.table.found
    return (base.heading[theirs], new.heading[mine]) if base and new else ("", "")


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A metric, and by how much each pair changed in a direction, as a share of its range; 0 for the others."""

    row: MetricComparison
    gain: Numbers


def changed_most(
    matched: Matched, rows: Sequence[MetricComparison], rules: Sequence[Rule], most: int
) -> tuple[ChangedCases | None, ChangedCases | None]:
    """The pairs that became worse, and better, by most; None if none did.

    By the first metric that is worse (or better) as a whole, else the one in the list for which most speaks. A pair
    that lost an unwanted finding is never among the worse, one that got one never among the better, and one that is
    worse by one metric and better by the other is listed where it changed more.
    """
    came, went = came_and_went(matched, rules)
    touched = [row for row in rows if row.paired and row.verdict in ("worse", "can't tell", "better")]
    worse, better = _chosen(matched, touched, "worse", ~went), _chosen(matched, touched, "better", ~came)
    less = np.zeros(len(came)) if worse is None else worse.gain
    more = np.zeros(len(came)) if better is None else better.gain
    return (
        _list(matched, worse, less >= more, touched, "worse", most),
        _list(matched, better, more > less, touched, "better", most),
    )


def _chosen(matched: Matched, rows: Sequence[MetricComparison], direction: Direction, allowed: Flags) -> _Chosen | None:
    for row in sorted(rows, key=lambda row: row.verdict != direction):
        sign = row.direction if direction == "better" else -row.direction
        paired, _ = matched.scores(row.name)
        change = np.round(paired.new, SHOWN) - np.round(paired.base, SHOWN)
        gain = np.where(allowed, sign * np.nan_to_num(change) / (row.range[1] - row.range[0] or 1.0), 0.0)
        gain = np.where(gain > ROUNDING, gain, 0.0)
        if gain.any():
            return _Chosen(row, gain)
    return None


def _list(
    matched: Matched,
    chosen: _Chosen | None,
    here: Flags,
    touched: Sequence[MetricComparison],
    direction: Direction,
    most: int,
) -> ChangedCases | None:
    if chosen is None:
        return None
    changed = np.flatnonzero((chosen.gain > 0) & here)
    if not len(changed):
        return None
    # the largest change first, equal ones by their id, so that the rows' order makes no difference
    ids = matched.ids(changed)
    by_size = sorted(zip(changed, ids, strict=True), key=lambda one: (-round(float(chosen.gain[one[0]]), 9), one[1]))
    names = [chosen.row.name, *(other.name for other in touched if other is not chosen.row)]
    cases = (_case(matched, int(pair), name, names, direction) for pair, name in by_size[:most])
    return ChangedCases(chosen.row.name, len(changed), tuple(cases))


def _case(matched: Matched, pair: int, name: str, metrics: Sequence[str], direction: Direction) -> ChangedCase:
    theirs, mine = int(matched.pairing.base[pair]), int(matched.pairing.new[pair])
    scores = []
    for metric in metrics:
        both = float(matched.base.table.scores[metric][theirs]), float(matched.new.table.scores[metric][mine])
        base, new = (None if np.isnan(value) else value for value in both)
        if _shown(base) != _shown(new):
            scores.append((metric, base, new))
    base_id = matched.base.table.ids[theirs]
    headline = _headline(matched, theirs, mine)
    return ChangedCase(name, base_id, tuple(scores), source_change(matched, pair), headline, direction)


def _shown(score: float | None) -> float | None:
    return None if score is None else round(score, SHOWN)


def source_change(matched: Matched, pair: int) -> SourceChange:
    """Whether a pair has the same sources."""
    texts = matched.texts
    if texts.unknown["sources"][pair]:
        return "unknown"
    if texts.differs["sources"][pair]:
        return "set"
    return "order" if texts.differs["order"][pair] else "same"
