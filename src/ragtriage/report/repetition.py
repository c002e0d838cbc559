"""A repeated evaluation as it is shown, in the terminal and in HTML alike."""

from __future__ import annotations

from dataclasses import dataclass

from ragtriage.report.plain import one_line
from ragtriage.report.words import SIGNS, Signs, plural, titled
from ragtriage.runs.repeats import CaseRepeat, MetricRepeat, RepeatSummary
from ragtriage.runs.repeats.statistics import CORRELATION, LEVEL, POWER

MOST_CASES = 10
"""Cases that are listed, over all metrics."""
NOTHING = "–"
"""Stands where a number can't be given."""
ALWAYS = (
    "The embedded judge always answers alike, so its trials are one and the same: a single evaluation says as much."
)
ALIKE = "The trials differ in nothing, no score and no verdict: on these cases the judge is deterministic."


@dataclass(frozen=True, slots=True)
class Table:
    """One table, of texts only."""

    title: str
    """Empty for the first one."""
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    """What the columns mean, a line each."""

    @property
    def numbers(self) -> tuple[bool, ...]:
        """Which columns hold numbers, and stand to the right."""
        return tuple(place > 0 and head not in {"metric", ""} for place, head in enumerate(self.heads))


@dataclass(frozen=True, slots=True)
class Repetition:
    """All that is shown of a repeated evaluation."""

    trials: int
    cases: int
    same: str
    """That the trials are all the same, and why; empty if they aren't."""
    tables: tuple[Table, ...]
    failed: str
    """On which scores the judge failed; empty if on none."""


def repetition_of(summary: RepeatSummary, judge: str = "", signs: Signs = SIGNS) -> Repetition:
    """Read a repeated evaluation for showing.

    Where the trials are all the same, only what still says something is shown: the means, and the smallest difference.

    Args:
        summary: from `Repeats`.
        judge: who judged.
        signs: what marks metrics of which lower is better.
    """
    failed = ", ".join(f"{one_line(m.title, 40)} {m.failed:,}" for m in summary.metrics if m.failed)
    if summary.same:
        said = ALWAYS if judge.startswith("embedded") else ALIKE
        tables: tuple[Table, ...] = (_metrics(summary, signs),) if summary.metrics else ()
    else:
        said = ""
        tables = tuple(
            t for t in (_metrics(summary, signs), _kinds(summary), _units(summary), _worst(summary)) if t.rows
        )
    return Repetition(summary.trials, summary.cases, said, tables if summary.cases else (), failed)


def _metrics(summary: RepeatSummary, signs: Signs) -> Table:
    """A line a metric; of trials that are all the same, only what isn't about their differences."""
    sees = (
        "sees: the smallest difference between two versions on these cases that is seen "
        f"{100 * POWER:g} % of the time, at a level of {100 * LEVEL:g} % and a correlation of {CORRELATION:g}"
    )
    heads: tuple[str, ...] = ("metric", "mean", "sees")
    notes: tuple[str, ...] = (sees,)
    if not summary.same:
        heads = ("metric", "mean", "spread", "case", "flips", "ranks", "sees", "noise")
        notes = (
            "spread: of the run's mean over trials; case: of one case's score (standard deviations)",
            "flips: cases that are low in one trial and high in another; ranks: 1 if all trials rank the cases alike",
            f"{sees}; noise: what the judge alone would hide",
        )
    left_out = any(m.undefined or m.failed for m in summary.metrics)
    rows = tuple(_row(m, signs, same=summary.same, left_out=left_out) for m in summary.metrics)
    return Table("", (*heads, "left out") if left_out else heads, rows, notes)


def _row(m: MetricRepeat, signs: Signs, *, same: bool, left_out: bool) -> tuple[str, ...]:
    cells = [titled(one_line(m.title, 40), m.better, signs), _number(m.mean, 2)]
    if not same:
        cells += [_number(m.spread, 3), _number(m.case_spread, 3), _share(m.flips), _number(m.ranks, 2)]
    cells.append(_number(m.smallest, 3))
    if not same:
        cells.append(_number(m.floor, 3))
    if left_out:
        cells.append(f"{m.undefined + m.failed:,}" if m.undefined or m.failed else "")
    return tuple(cells)


def _kinds(summary: RepeatSummary) -> Table:
    rows = tuple((k.kind, f"{k.verdicts:,}", _share(k.flips)) for k in summary.kinds if k.verdicts)
    note = "verdicts on components that every trial found; differ: not the same in all trials"
    return Table("Verdicts", ("question", "verdicts", "differ"), rows, (note,))


def _units(summary: RepeatSummary) -> Table:
    rows = tuple((u.unit, f"{u.components:,}", _share(u.kept)) for u in summary.units)
    note = "components: different ones, over all trials; in all: those that every trial found word for word"
    return Table("Texts broken up", ("unit", "components", "in all"), rows, (note,))


def _worst(summary: RepeatSummary) -> Table:
    found = [(m, case) for m in summary.metrics for case in m.worst]
    found.sort(key=lambda pair: (-pair[1].spread, -pair[1].verdict_flips))  # stable: metrics keep their order
    rows = tuple(
        (one_line(case.case, 60), one_line(m.title, 40), f"{case.mean:.2f}", f"{case.spread:.3f}", _what_flips(case))
        for m, case in found[:MOST_CASES]
    )
    return Table("Least alike", ("case", "metric", "mean", "spread", ""), rows)


def _what_flips(case: CaseRepeat) -> str:
    said = ["flips"] if case.flipped else []
    if case.verdict_flips:
        said.append(f"{plural(case.verdict_flips, 'verdict')} differ{'s' if case.verdict_flips == 1 else ''}")
    return ", ".join(said)


def _number(value: float | None, digits: int) -> str:
    return NOTHING if value is None else f"{value:.{digits}f}"


def _share(value: float | None) -> str:
    return NOTHING if value is None else f"{100 * value:.1f} %"
