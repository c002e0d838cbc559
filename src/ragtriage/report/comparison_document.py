"""A comparison as a document: both sides, what changed, metrics, findings, headlines, slices, cases, gates."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ragtriage.core.display import one_line, p_text, plural, signed
from ragtriage.report.comparison_words import (
    ARROW,
    BETTER,
    WORSE,
    changed_counts,
    changed_text,
    count_text,
    expected_text,
    family_text,
    fault_lines,
    gate_heading,
    id_text,
    interval,
    paired_text,
    pairs_text,
    score_text,
    short_signed,
    side_facts,
    title_of_row,
    unpaired_text,
)
from ragtriage.report.document import (
    GAP,
    DocumentBlock,
    DocumentCell,
    DocumentColumn,
    Heading,
    StyledText,
    line,
    note,
    number_columns,
    table,
    text_columns,
)
from ragtriage.report.words import short_title, two_places
from ragtriage.runs.compare.comparison import (
    ChangedCases,
    ChangeVerdict,
    Comparison,
    FindingComparison,
    HeadlineMatrix,
    MetricComparison,
    Slice,
    SliceMetric,
)
from ragtriage.runs.compare.gates import slice_value
from ragtriage.runs.compare.statistics import FEWEST

TONES = {"worse": "failure", "better": "right"}
"""Verdict → the kind of finding whose look it shares; the mark says the same without colour."""
MARKS = {"worse": WORSE, "better": BETTER}
MOST_COMPONENTS = 8
"""Components of the headline matrix that have a column; more are left out at the end."""
INTERVAL = "95 % interval"
EXPECTED = "base, new: cases where it is shown; expected: by probability, and the 95 % interval of the difference"


def comparison_document(found: Comparison, width: int = 100) -> Iterator[DocumentBlock]:
    """Everything about a comparison, in the order in which it is read."""
    for name, side in (("base", found.base), ("new ", found.new)):
        yield line((f"{name} ", "quiet"), "  ".join(side_facts(side)), hang=5)
        if side.about.note:
            yield line(f"note: {one_line(side.about.note, 500)}", tone="quiet", indent=5, hang=0)
    left_out = unpaired_text(found.pairs)
    yield line(pairs_text(found) + (f"; {left_out}" if left_out else ""), hang=0)
    yield line(f"changed: {changed_text(found.changes)}", hang=9)
    if found.changes.reading:
        yield line(found.changes.reading, indent=9, hang=0)
    yield GAP
    yield from metric_blocks(found)
    yield from finding_blocks(found)
    yield from fault_blocks(found)
    yield from case_blocks(found, width)
    yield from outcome_blocks(found)


def fault_blocks(found: Comparison) -> Iterator[DocumentBlock]:
    """The cases that are fixed, broken or faulty otherwise."""
    yield from (line((f"{what}: ", "strong"), ids) for what, ids in fault_lines(found.faults))


def case_blocks(found: Comparison, width: int) -> Iterator[DocumentBlock]:
    """How cases are headed on both sides, slices, the cases that changed most, and remarks."""
    if found.headlines and any(_moved(found.headlines)):
        yield GAP
        yield from _matrix(found.headlines)
    for tag, slices in found.slices.items():
        yield from _slices(found, tag, slices, width)
    for cases, word in ((found.worse, "worse"), (found.better, "better")):
        if cases and cases.cases:
            yield GAP
            yield from _cases(found, cases, word)
    yield from _remarks(found)


def _mark(verdict: ChangeVerdict) -> str:
    return f"{MARKS.get(verdict, ' ')} "


def metric_blocks(found: Comparison) -> Iterator[DocumentBlock]:
    """The means of both sides and their differences, and what is to be said beside them."""
    rows = [row for row in found.metrics if row.verdict in {"worse", "can't tell", "better"}]
    if rows:
        columns = (
            *text_columns("metric"),
            *number_columns("base", "new", "diff"),
            DocumentColumn(INTERVAL, gives_way=2, name=INTERVAL),
            DocumentColumn("p"),
            DocumentColumn("sees", "right", gives_way=3, name="sees"),
        )
        yield table(columns, map(_metric, rows))
    if same := [title_of_row(row) for row in found.metrics if row.verdict == "not touched"]:
        yield note(f"  not touched: {', '.join(same)}")
    for row in found.metrics:
        if row.why:
            both = row.base_mean is not None and row.new_mean is not None
            means = f" ({score_text(row.base_mean)} {ARROW} {score_text(row.new_mean)})" if both else ""
            yield note(f"  {title_of_row(row)}: {row.verdict}: {row.why}{means}")
    if rows:
        yield note(family_text(found))
        yield note("sees: the smallest difference that these pairs would show")
    for row in found.metrics:
        yield from _beside(row)


def _beside(row: MetricComparison) -> Iterator[DocumentBlock]:
    """What is to be said of a metric beside its numbers."""
    title = title_of_row(row)
    if row.noise_se is not None and row.paired and row.paired.se:
        yield note(f"{title}: of its standard error of {row.paired.se:.3f} the judge alone makes {row.noise_se:.3f}")
    if row.corrected:
        middle, low, high = row.corrected
        yield note(f"{title}: corrected by labels {signed(middle)}, {signed(low)} to {signed(high)}")
    if row.mention_undefined:
        lost, other = plural(row.lost, "case"), f"{row.gained:,} the other way, p {_p(row.p_defined)}"
        yield line(f"! {title} is undefined on {lost} that had it ({other})", tone="warning")
        if row.paired:
            both = plural(row.paired.cases, "case")
            yield line(f"the difference is over {both} that have both", tone="warning", indent=2)


def _p(p: float | None) -> str:
    return "" if p is None else p_text(p)


def _metric(row: MetricComparison) -> tuple[DocumentCell, ...]:
    tone, own = TONES.get(row.verdict, ""), row.paired
    if own is None:
        return (f"  {title_of_row(row)}",)
    p = _p(row.p_adjusted) + (f" perhaps {row.perhaps}" if row.perhaps else "")
    return (
        StyledText(_mark(row.verdict) + title_of_row(row), tone),
        two_places(own.base),
        two_places(own.new),
        StyledText(signed(own.difference), tone),
        interval(own),
        p,
        "" if own.sees is None else f"{own.sees:.3f}",
    )


def finding_blocks(found: Comparison) -> Iterator[DocumentBlock]:
    """In how many cases each rule finds something, on both sides."""
    if not found.findings:
        return
    expects = any(row.expected for row in found.findings)
    columns = (
        *text_columns("finding"),
        *number_columns("base", "new", "fixed", "broken"),
        DocumentColumn("diff", "right", gives_way=2 if expects else 0, name="diff"),
        DocumentColumn(INTERVAL, gives_way=3, name=INTERVAL),
        DocumentColumn("p"),
    )
    if expects:
        columns += (DocumentColumn("expected", gives_way=1, name="expected"),)
    yield GAP
    yield table(columns, (_finding(row)[: len(columns)] for row in found.findings))
    if expects:
        yield note(EXPECTED)
    if few := [row.rule for row in found.findings if row.p is None and row.fixed + row.broken]:
        yield note(f"too few changes for a test (fewer than {FEWEST}): {', '.join(one_line(rule, 40) for rule in few)}")


def _finding(row: FindingComparison) -> tuple[DocumentCell, ...]:
    tone, own = TONES.get(row.verdict, ""), row.paired
    return (
        StyledText(_mark(row.verdict) + one_line(row.rule, 40), tone),
        count_text(row.base),
        count_text(row.new),
        f"{row.fixed:,}",
        f"{row.broken:,}",
        StyledText(short_signed(own.difference) if own and row.fixed + row.broken else "", tone),
        interval(own, short=True) if row.p is not None else "",
        _p(row.p_adjusted),
        expected_text(row.expected),
    )


def _moved(matrix: HeadlineMatrix) -> Iterator[bool]:
    """Whether any pair is headed otherwise than before."""
    for i, row in enumerate(matrix.counts):
        yield any(count for j, count in enumerate(row) if i != j)


def _matrix(matrix: HeadlineMatrix) -> Iterator[DocumentBlock]:
    shown = matrix.components[:MOST_COMPONENTS]
    columns = (
        DocumentColumn(f"headline: base {ARROW} new", most=30),
        *(DocumentColumn(one_line(name, 40), "right", wrap=True, gives_way=place) for place, name in enumerate(shown)),
    )
    rows = (
        (one_line(name, 40), *(f"{count:,}" if count else "" for count in counts[:MOST_COMPONENTS]))
        for name, counts in zip(matrix.components, matrix.counts, strict=True)
    )
    yield table(columns, rows)
    if left_out := matrix.components[MOST_COMPONENTS:]:
        yield note(f"without a column: {', '.join(one_line(name, 40) for name in left_out)}")


def _slices(found: Comparison, tag: str, slices: Sequence[Slice], width: int) -> Iterator[DocumentBlock]:
    titles = {row.name: title_of_row(row) for row in found.metrics}
    metrics = [m.name for m in slices[0].metrics] if slices else []
    yield Heading(f"By {one_line(tag, 40)}")
    columns = (
        *text_columns("slice", most=30),
        *number_columns("pairs"),
        *(
            DocumentColumn(
                titles.get(name, name) if width >= 130 else short_title(name),
                "right",
                wrap=True,
                gives_way=place,
                name=titles.get(name, name),
            )
            for place, name in enumerate(metrics, 1)
        ),
    )
    rows = ((one_line(slice_value(one.value), 60), f"{one.pairs:,}", *map(_slice_cell, one.metrics)) for one in slices)
    yield replace(table(columns, rows), explained=True)
    if found.slices_left_out:
        yield note(f"{plural(found.slices_left_out, 'smaller slice')} left out")


def _slice_cell(one: SliceMetric) -> DocumentCell:
    shown = signed(one.paired.difference, 2) if one.paired else ""
    return StyledText(MARKS.get(one.verdict, "") + shown, TONES.get(one.verdict, ""))


def _cases(found: Comparison, cases: ChangedCases, word: str) -> Iterator[DocumentBlock]:
    row = found.metric(cases.metric)
    yield line(f"{word} by most (of {cases.of:,}): {title_of_row(row) if row else cases.metric}", tone="strong")

    def told() -> Iterator[tuple[DocumentCell, ...]]:
        for case in cases.cases:
            _, base, new = case.scores[0]
            headed = f"{case.headline[0]} {ARROW} {case.headline[1]}" if any(case.headline) else ""
            same = case.headline[0] if case.headline[0] == case.headline[1] else headed
            sources = {"same": "sources same", "order": "sources reordered", "set": "other sources", "unknown": ""}
            yield (
                StyledText(id_text(case.id), "strong"),
                f"{score_text(base)} {ARROW} {score_text(new)}",
                sources[case.sources],
                one_line(same, 80),
            )

    columns = (
        DocumentColumn("case", most=36),
        DocumentColumn("score"),
        DocumentColumn("sources", gives_way=1),
        DocumentColumn("headline", gives_way=2),
    )
    yield table(columns, told(), heads=False)


def _remarks(found: Comparison) -> Iterator[DocumentBlock]:
    remarks = [*found.notes]
    if found.hint:
        remarks.append(
            f"cases with the same {one_line(found.hint, 40)} seem to go together: "
            f"--cluster {one_line(found.hint, 40)} makes the intervals honest"
        )
    out = found.left_out
    listed = {
        "only in base": out.only_base,
        "only in new": out.only_new,
        "another question": out.other_question,
        "ambiguous": out.ambiguous,
    }
    for name, ids in listed.items():
        if ids:
            remarks.append(f"{name}: {', '.join(map(id_text, ids[:5]))}{' …' if len(ids) > 5 else ''}")
    if remarks or found.gates or found.incomplete:
        yield GAP
    yield from (note(f"note: {one_line(remark, 500)}") for remark in remarks)


def outcome_blocks(found: Comparison) -> Iterator[DocumentBlock]:
    """What the gates say, and why it isn't complete."""
    for gate in found.gates:
        tone = "error" if gate.failed else "warning" if gate.outcome == "can't tell" else "right"
        yield line(f"{gate_heading(gate)}: {one_line(gate.says, 500)}", tone=tone)
    yield from (line(f"Not complete: {one_line(why, 500)}", tone="warning") for why in found.incomplete)


def comparison_lines(found: Comparison) -> Iterator[DocumentBlock]:
    """A comparison in a few lines, as `evaluate` ends: better, worse, can't tell."""
    what = ", ".join(changed_counts(found.changes))
    told = f": {paired_text(found)}, {what or 'nothing'} changed"
    yield line((f"Compared with {found.base.name}", "strong"), told)
    for verdict in ("better", "worse", "can't tell"):
        rows = [row for row in found.metrics if row.verdict == verdict]
        told = ", ".join(title_of_row(row) + ("" if verdict == "can't tell" else _numbers(row)) for row in rows)
        yield line((f"{MARKS.get(verdict, ' ')} {verdict}: ", TONES.get(verdict, "")), told or "nothing", hang=4)
    yield from fault_blocks(found)


def _numbers(row: MetricComparison) -> str:
    return f" {signed(row.paired.difference)} ({interval(row.paired)})" if row.paired else ""
