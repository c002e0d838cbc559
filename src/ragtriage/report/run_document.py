"""A run, a list of its cases, and a repeated evaluation, as documents."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ragtriage.core.display import dollars, one_line, plural, settled
from ragtriage.core.metric import Metric
from ragtriage.core.statistics import LEVEL, POWER
from ragtriage.diagnosis.headline import KIND_WORDS, UNDETERMINED
from ragtriage.diagnosis.rules import Rule, most_telling
from ragtriage.report.case_report import ListedCase, worst_first
from ragtriage.report.document import (
    GAP,
    Bar,
    DocumentBlock,
    DocumentCell,
    DocumentColumn,
    DocumentTable,
    Heading,
    Line,
    StyledText,
    line,
    note,
    number_columns,
    table,
    text_columns,
    title_line,
)
from ragtriage.report.run_report import Header, MetricReport, RunReport, SliceReport
from ragtriage.report.words import DASH, SIGNS, better_of, full_title, short_title, shown_time, titled, two_places
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.repeats import CORRELATION, MetricRepeat, RepeatSummary
from ragtriage.runs.summary import Group

MOST_READINGS = 4
MOST_ID = 36
"""Characters of a case's id that are shown: those of a UUID."""
SLICE_EXPECTED = " · expected number of cases (95 % interval)"
LONGEST_JUDGING = 300
"""Characters of a fact in the title: of a judge it is told which of its kinds aren't calibrated, all of them."""
LONGEST_MEAN = 5
"""Characters of a mean with its sign, in the table of slices."""
MEDIUM, WIDE = 100, 130
"""Characters of a line from which on heads are written out: of the metrics' numbers, and of everything."""


def run_document(run: RunReport, width: int = MEDIUM) -> Iterator[DocumentBlock]:
    """A run's metrics, diagnosis and waste; a narrow document has shorter heads."""
    header, info = run.header, run.header.info
    judge = f"judged by {info.judge}" + (f" ({header.judging})" if header.judging else "")
    name, commit = info.about.facts
    facts = name, header.input, judge, shown_time(info.created), plural(run.summary.cases, "case"), commit
    yield title_line(f"Run {info.typed}", *facts, most=LONGEST_JUDGING)
    if header.unmeasured:
        yield line(header.unmeasured, tone="quiet", hang=0)
    if info.about.note:
        yield line(f"note: {one_line(info.about.note, 500)}", tone="quiet")
    yield GAP
    if run.summary.cases == 0:
        yield line("No case was evaluated, so there is nothing to show yet.")
    else:
        yield from _metrics(run, width)
        yield from _diagnosis(run)
        if run.slices:
            yield from _slices(run, width)
    if spent := str(info.spent):
        yield GAP
        yield replace(note(spent), hang=0)
    if run.flagged:
        yield line(run.flagged, tone="warning", hang=0)
    yield from (line(f"! {one_line(warning, 400)}", tone="warning", hang=2) for warning in header.warnings)
    if header.rejected:
        yield GAP
        yield line(f"{plural(header.rejected, 'row')} of the input could not be used:", tone="warning")
        yield from (line(one_line(reason, 300), indent=2) for reason in header.rejections)
        if run.rejected_left_out > 0:
            yield line(f"and {run.rejected_left_out:,} more", tone="quiet", indent=2)
    if not run.complete:
        yield GAP
        done = f"{run.summary.cases:,} of {info.rows:,} cases so far ({info.state})"
        yield line(f"Not complete {DASH} {done}.", tone="warning")


def _metrics(run: RunReport, width: int) -> Iterator[DocumentBlock]:
    wide = width >= MEDIUM
    columns = (
        *text_columns("metric"),
        *number_columns("mean"),
        *text_columns(""),
        DocumentColumn("95 % interval" if wide else "95 %", gives_way=2, name="95 % interval"),
        DocumentColumn(gives_way=4),
        DocumentColumn("cases", "right", gives_way=1),
    )
    if any(m.numbers.undefined or m.numbers.failed for m in run.metrics):
        columns += (DocumentColumn("undefined" if wide else "undef.", "right", gives_way=3, name="undefined"),)
    yield table(columns, (_metric(m)[: len(columns)] for m in run.metrics))
    for m in run.metrics:
        if m.corrected:
            yield line(f"{m.numbers.title}: {m.mean} ({m.corrected})")
    yield from map(note, run.notes)
    yield from (line(said, tone="error") for said in run.failures)
    if run.failures:
        yield line("The same command tries these again.", tone="error")


def _metric(m: MetricReport) -> tuple[DocumentCell, ...]:
    tone = "beyond" if m.bad else ""
    missing = sum(m.numbers.undefined.values()) + m.numbers.failed
    return (
        StyledText(m.title, tone),
        StyledText(m.mean, tone),
        StyledText(m.bad, tone),
        DASH.join(m.interval or ()),
        Bar(m.numbers.mean, m.numbers.range, tone or "bar"),
        f"{m.numbers.n:,}",
        f"{missing:,}" if missing else "",
    )


def _diagnosis(run: RunReport) -> Iterator[DocumentBlock]:
    yield Heading("Diagnosis")
    said: list[str | tuple[str, str]] = [run.no_fault_found]
    if run.unread:
        said = [f"{run.unread}: what to repair can't be told."]
        said.append((" Cases are listed by how far bad scores lie beyond their thresholds.", "quiet"))
    elif undetermined := run.summary.diagnosis.get(UNDETERMINED):
        said.append((f"; {undetermined:,} undetermined", "undetermined"))
        said.append((" (scores missing, or the judge can't tell)", "quiet"))
    if run.summary.failed:
        said.append((f"{' S' if run.unread else '; s'}cores failed on {plural(run.summary.failed, 'case')}", "error"))
    yield line(*said, hang=0)
    for group in (*run.repair, *run.waste):
        yield from _group(group, run.header)


def _group(group: Group, header: Header) -> Iterator[DocumentBlock]:
    price = header.wasted(group.tokens)
    paid = "" if price is None else f", {dollars(price)} of the application's cost"
    wasted = f" · about {group.tokens:,} tokens of sources that were not needed{paid}" if group.kind == "waste" else ""
    expected = f"; {group.expected} expected" if group.told else ""
    yield GAP
    yield line(
        (f"{SIGNS[group.kind]} ", group.kind),
        (one_line(group.component, 80), f"{group.kind} strong"),
        (f" · {KIND_WORDS[group.kind]}", group.kind),
        (f" · {plural(group.cases, 'case')}, {group.sure:,} sure{expected}{wasted}", group.kind),
    )
    for reading in group.readings[:MOST_READINGS]:
        counted = f" ({reading.cases:,})" if len(group.readings) > 1 else ""
        yield line(one_line(reading.text, 300) + counted, indent=2, hang=0)
        if reading.advice:
            yield line(f"→ {one_line(reading.advice, 300)}", tone="advice", indent=2)
    if group.worst:
        label = "most" if group.kind in ("waste", "right") else "worst"
        yield line(f"{label}: {', '.join(one_line(case, 60) for case in group.worst)}", tone="quiet", indent=2)


def _slices(run: RunReport, width: int) -> Iterator[DocumentBlock]:
    metrics = run.header.config.metrics
    yield Heading("By slice")
    scores = list(score_columns(run.slice_metrics, metrics, run.header.config.rules, full=width >= WIDE))
    first = (*text_columns("slice", most=30), *number_columns("cases"))
    for number, places in enumerate(_portions(run, scores, width)):
        if number:
            yield GAP
        rows = (
            (one.label, f"{one.summary.cases:,}", *(cells[place] for place in places))
            for one in run.slices
            for cells in [tuple(_means(one))]
        )
        yield replace(table((*first, *(scores[place] for place in places)), rows), explained=True)
    if run.slice_groups:
        heads = (f"{SIGNS[kind]} {one_line(component, 30)}" for component, kind in run.slice_groups)
        groups = (
            *text_columns("slice", most=30),
            *(
                DocumentColumn(head, "right", wrap=True, gives_way=place, name=head)
                for place, head in enumerate(heads, 1)
            ),
        )
        yield GAP
        yield table(groups, ((one.label, *one.findings) for one in run.slices))
        expects = any(group.told for one in run.slices for group in one.summary.groups)
        yield note(f"cases where a finding is shown{SLICE_EXPECTED if expects else ''}")


def _portions(run: RunReport, scores: Sequence[DocumentColumn], width: int) -> Iterator[tuple[int, ...]]:
    """The scores by the table that they stand in, so that all are shown: as many in each as fit beside the slice."""
    gap = table((), ()).gap
    label = min(30, max([len("slice"), *(len(one.label) for one in run.slices)]))
    cases = max([len("cases"), *(len(f"{one.summary.cases:,}") for one in run.slices)])
    room = max(0, width - label - cases - gap)
    places: list[int] = []
    taken = 0
    for place, column in enumerate(scores):
        head = max(map(len, column.head.split())) if column.wrap else len(column.head)
        needed = gap + max(head, LONGEST_MEAN)
        if places and taken + needed > room:
            yield tuple(places)
            places, taken = [], 0
        places.append(place)
        taken += needed
    yield tuple(places)


def score_columns(
    names: Sequence[str], metrics: Sequence[Metric], rules: Sequence[Rule], *, full: bool = False
) -> Iterator[DocumentColumn]:
    """A column for each metric, with its title in full or in a few characters; the least telling ones give way."""
    telling = most_telling(names, rules)
    for name in names:
        title = full_title(name, metrics)
        head = title if full else titled(short_title(name), better_of(name, metrics))
        yield DocumentColumn(head, "right", wrap=full, gives_way=1 + telling.index(name), name=title)


def _means(one: SliceReport) -> Iterator[DocumentCell]:
    for m in one.metrics:
        yield StyledText(m.bad[:1] + m.mean, "beyond" if m.bad else "") if m else DASH


def cases_document(
    rows: Iterable[ListedCase], config: EvaluationConfig, most: int | None = None, width: int = MEDIUM
) -> Iterator[DocumentBlock]:
    """One line a case on which something was found, worst first: the finding whole, and as many scores as fit."""
    listed = worst_first(rows)
    ordered = [row for row in listed if row.kind != "no-fault"]
    shown = ordered[:most]
    names = list(dict.fromkeys(name for row in shown for name in row.scores))
    lengths = (sum(len(span.text) for span in _finding(row)) for row in shown)
    columns = (
        DocumentColumn("case", most=MOST_ID),
        DocumentColumn("finding", least=max(lengths, default=0)),
        *score_columns(names, config.metrics, config.rules),
    )
    if shown:
        yield replace(table(columns, (_case(row, names, width) for row in shown), gap=1), explained=True)
    if any(not row.sure and row.kind != "undetermined" for row in shown):
        yield _remark("?: likely, but not sure")
    if any(row.kind == "low-score" for row in shown):
        yield _remark("low score: no fault found, but a score lies on the wrong side of its threshold")
    if len(ordered) > len(shown):
        yield _remark(f"{plural(len(ordered) - len(shown), 'more case')} not listed")
    if well := len(listed) - len(ordered):
        yield _remark(f"{SIGNS['no-fault']} {KIND_WORDS['no-fault']} in {plural(well, 'case')}")


def _finding(row: ListedCase) -> tuple[StyledText, ...]:
    """What is found on a case, with the component to repair."""
    said = [StyledText(f"{SIGNS[row.kind]} {KIND_WORDS[row.kind]}{'' if row.sure else '?'}", row.kind)]
    if row.about:
        said.append(StyledText(f" · {row.about}", row.kind))
    return tuple(said)


def _case(row: ListedCase, names: Sequence[str], width: int) -> tuple[DocumentCell, ...]:
    said = _finding(row)
    if row.reading and width >= WIDE:
        said += (StyledText(f": {row.reading}", f"{row.kind} quiet"),)
    values = (row.scores.get(name) for name in names)
    return StyledText(row.id, "strong"), said, *(DASH if v is None else two_places(v) for v in values)


def _remark(text: str) -> Line:
    return line(text, tone="quiet", hang=0)


MOST_CASES = 10
"""Cases that are listed, over all metrics."""
ALWAYS = (
    "The embedded judge always answers alike, so its trials are one and the same: a single evaluation says as much."
)
ALIKE = "No score differs between the trials: on these cases a single evaluation says as much."
SEES = (
    "sees: the smallest difference between two versions on these cases that is seen "
    f"{100 * POWER:g} % of the time, at a level of {100 * (1 - LEVEL):g} % and a correlation of {CORRELATION:g}"
)


def repeats_report(summary: RepeatSummary, judge: str = "") -> tuple[str, tuple[DocumentTable, ...]]:
    """That the trials of this judge are all the same, and why (empty if they aren't), and the tables to show."""
    same = (ALWAYS if judge.startswith("embedded") else ALIKE) if summary.same else ""
    tables = [_repeated_metrics(summary), *([] if summary.same else [_worst(summary)])]
    return same, tuple(table for table in tables if table.rows) if summary.cases else ()


def repeats_document(summary: RepeatSummary, *, input: str = "", judge: str = "") -> Iterator[DocumentBlock]:  # noqa: A002  # as in Header
    """A line a metric, and the cases that are least alike."""
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


def _table(title: str, heads: Sequence[str], rows: tuple[tuple[str, ...], ...], *notes: str) -> DocumentTable:
    texts = {"metric", ""}
    columns = [
        text_columns(head, wrap=True) if not place or head in texts else number_columns(head)
        for place, head in enumerate(heads)
    ]
    return DocumentTable(sum(columns, ()), rows, title=title, notes=notes)


def _repeated_metrics(summary: RepeatSummary) -> DocumentTable:
    heads = ["metric", "mean", "spread", "case", "flips", "sees"]
    notes = (
        "spread: of the run's mean over trials; case: of one case's score (standard deviations)",
        "flips: cases that are low in one trial and high in another",
        SEES,
    )
    if any(m.undefined or m.failed for m in summary.metrics):
        heads.append("left out")
    return _table("", heads, tuple(_row(m)[: len(heads)] for m in summary.metrics), *notes)


def _row(m: MetricRepeat) -> tuple[str, ...]:
    return (
        titled(one_line(m.title, 40), m.better),
        _number(m.mean, 2),
        _number(m.spread, 3),
        _number(m.case_spread, 3),
        _share(m.flips),
        _number(m.smallest, 3),
        f"{m.undefined + m.failed:,}" if m.undefined or m.failed else "",
    )


def _worst(summary: RepeatSummary) -> DocumentTable:
    found = [(m, case) for m in summary.metrics for case in m.worst]
    found.sort(key=lambda pair: -settled(pair[1].spread, 3))  # stable: metrics keep their order
    rows = tuple(
        (
            one_line(case.case, 60),
            one_line(m.title, 40),
            f"{case.mean:.2f}",
            f"{case.spread:.3f}",
            "flips" if case.flipped else "",
        )
        for m, case in found[:MOST_CASES]
    )
    return _table("Least alike", ("case", "metric", "mean", "spread", ""), rows)


def _number(value: float | None, digits: int) -> str:
    return DASH if value is None else f"{value:.{digits}f}"


def _share(value: float | None) -> str:
    return DASH if value is None else f"{100 * value:.1f} %"
