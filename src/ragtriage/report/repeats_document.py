"""A repeated evaluation as it is reported, on a page and as a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ragtriage.core.display import plural
from ragtriage.report.document import GAP, Block, Table, line, number_columns, text_columns, title_line
from ragtriage.report.words import DASH, titled
from ragtriage.runs.repeats import CaseRepeat, MetricRepeat, RepeatSummary
from ragtriage.runs.repeats.summary import CORRELATION, LEVEL, POWER
from ragtriage.text.sanitize import one_line

MOST_CASES = 10
"""Cases that are listed, over all metrics."""
ALWAYS = (
    "The embedded judge always answers alike, so its trials are one and the same: a single evaluation says as much."
)
ALIKE = "The trials differ in nothing, no score and no verdict: on these cases the judge is deterministic."
SEES = (
    "sees: the smallest difference between two versions on these cases that is seen "
    f"{100 * POWER:g} % of the time, at a level of {100 * LEVEL:g} % and a correlation of {CORRELATION:g}"
)


def repeats_report(summary: RepeatSummary, judge: str = "") -> tuple[str, tuple[Table, ...]]:
    """That the trials of this judge are all the same, and why (empty if they aren't), and the tables to show.

    Where the trials are all the same, only what still says something is shown: the means, and the smallest difference.
    """
    if summary.same:
        same, tables = ALWAYS if judge.startswith("embedded") else ALIKE, [_metrics(summary)]
    else:
        same, tables = "", [_metrics(summary), _findings(summary), _kinds(summary), _units(summary), _worst(summary)]
    return same, tuple(table for table in tables if table.rows) if summary.cases else ()


def repeats_document(summary: RepeatSummary, *, input: str = "", judge: str = "") -> Iterator[Block]:  # noqa: A002  # as in Header
    """A line a metric, the verdicts by kind, the cases that are least alike.

    Args:
        summary: from `Repeats`.
        input: what was evaluated: a file's name.
        judge: who judged.
    """
    whole = f"{plural(summary.trials, 'trial')} of {plural(summary.cases, 'case')}"
    yield title_line(whole, input, f"judged by {one_line(judge, 120)}" if judge else "")
    yield GAP
    if summary.cases == 0:
        yield line("No case was evaluated, so there is nothing to show yet.", hang=0)
        return
    same, tables = repeats_report(summary, judge)
    if same:
        yield line(same, tone="strong")
        yield GAP
    yield from tables
    failed = ", ".join(f"{one_line(m.title, 40)} {m.failed:,}" for m in summary.metrics if m.failed)
    if failed:
        said = f"Scores left out because they failed: {failed}. The same command tries these again."
        yield line(said, tone="error")


def _table(title: str, heads: Sequence[str], rows: tuple[tuple[str, ...], ...], *notes: str) -> Table:
    texts = {"metric", ""}
    columns = [
        text_columns(head) if not place or head in texts else number_columns(head) for place, head in enumerate(heads)
    ]
    return Table(sum(columns, ()), rows, title=title, notes=notes, names_give_way=True)


def _metrics(summary: RepeatSummary) -> Table:
    heads, notes = ["metric", "mean", "sees"], [SEES]
    if not summary.same:
        heads = ["metric", "mean", "spread", "case", "flips", "ranks", "sees", "noise"]
        notes = [
            "spread: of the run's mean over trials; case: of one case's score (standard deviations)",
            "flips: cases that are low in one trial and high in another; ranks: 1 if all trials rank the cases alike",
            f"{SEES}; noise: what the judge alone would hide",
        ]
    left_out = any(m.undefined or m.failed for m in summary.metrics)
    rows = tuple(_row(m, same=summary.same, left_out=left_out) for m in summary.metrics)
    return _table("", [*heads, "left out"] if left_out else heads, rows, *notes)


def _row(m: MetricRepeat, *, same: bool, left_out: bool) -> tuple[str, ...]:
    cells = [titled(one_line(m.title, 40), m.better), _number(m.mean, 2)]
    if not same:
        cells += [_number(m.spread, 3), _number(m.case_spread, 3), _share(m.flips), _number(m.ranks, 2)]
    cells.append(_number(m.smallest, 3))
    if not same:
        cells.append(_number(m.floor, 3))
    if left_out:
        cells.append(f"{m.undefined + m.failed:,}" if m.undefined or m.failed else "")
    return tuple(cells)


def _findings(summary: RepeatSummary) -> Table:
    expects = any(found.expected for found in summary.findings)
    heads = ["finding", "shown", "spread", "flips", *(["expected", "spread"] if expects else [])]
    notes = ["shown: cases, the mean over trials; flips: cases where it is shown in one trial and not in another"]
    if expects:
        notes.append("expected: cases by probability, the mean over trials, with its 95 % interval")
    rows = []
    for found in summary.findings:
        row = [one_line(found.rule, 40), f"{found.shown:.1f}", f"{found.spread:.1f}", _share(found.flips)]
        if expects:
            row += [
                str(found.expected).removeprefix("about ") if found.expected else "",
                _number(found.expected_spread, 1),
            ]
        rows.append(tuple(row))
    return _table("Findings", heads, tuple(rows), *notes)


def _kinds(summary: RepeatSummary) -> Table:
    rows = tuple((k.kind, f"{k.verdicts:,}", _share(k.flips)) for k in summary.kinds if k.verdicts)
    note = "verdicts on components that every trial found; differ: not the same in all trials"
    return _table("Verdicts", ("question", "verdicts", "differ"), rows, note)


def _units(summary: RepeatSummary) -> Table:
    rows = tuple((u.unit, f"{u.components:,}", _share(u.kept)) for u in summary.units)
    note = "components: different ones, over all trials; in all: those that every trial found word for word"
    return _table("Texts broken up", ("unit", "components", "in all"), rows, note)


def _worst(summary: RepeatSummary) -> Table:
    found = [(m, case) for m in summary.metrics for case in m.worst]
    found.sort(key=lambda pair: (-pair[1].spread, -pair[1].verdict_flips))  # stable: metrics keep their order
    rows = tuple(
        (one_line(case.case, 60), one_line(m.title, 40), f"{case.mean:.2f}", f"{case.spread:.3f}", _what_flips(case))
        for m, case in found[:MOST_CASES]
    )
    return _table("Least alike", ("case", "metric", "mean", "spread", ""), rows)


def _what_flips(case: CaseRepeat) -> str:
    said = ["flips"] if case.flipped else []
    if case.verdict_flips:
        said.append(f"{plural(case.verdict_flips, 'verdict')} differ{'s' if case.verdict_flips == 1 else ''}")
    return ", ".join(said)


def _number(value: float | None, digits: int) -> str:
    return DASH if value is None else f"{value:.{digits}f}"


def _share(value: float | None) -> str:
    return DASH if value is None else f"{100 * value:.1f} %"
