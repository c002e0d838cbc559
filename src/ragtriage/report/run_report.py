"""A run as it is reported: what the terminal, the HTML page and JSON show, read once from its numbers."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ragtriage.core.amount import Amount
from ragtriage.core.display import one_line, plural, price_of_tokens, told_apart
from ragtriage.core.validation import as_builtins, validated
from ragtriage.diagnosis.headline import NONE, UNREAD, any_applicable
from ragtriage.diagnosis.rules import BAD, is_bad
from ragtriage.judges.judge_config import RAW_SCORES
from ragtriage.metrics import CITATIONS
from ragtriage.planning.relations import REASONS
from ragtriage.report.words import (
    DASH,
    UNMEASURED,
    bad_level,
    citing_of,
    corrected_of,
    flagged_of,
    level_sign,
    titled,
    two_places,
)
from ragtriage.runs.evaluation_config import ARITHMETIC, CORRECTIONS, COUNTING, EMBEDDINGS, WARNINGS, EvaluationConfig
from ragtriage.runs.metric_tally import MetricSummary
from ragtriage.runs.repeats import RepeatSummary
from ragtriage.runs.run import FINISHED, Run, RunInfo
from ragtriage.runs.selection import QUOTED
from ragtriage.runs.summary import Group, Summary
from ragtriage.runs.tally import SlicedTally
from ragtriage.trust.corrected_mean import CorrectedMean

MOST_REASONS = 8
"""Reasons for undefined scores that are listed, beside what cases lack."""
MOST_TITLES = 3
"""Metrics that are named behind a reason; more are counted."""
INTERVALS = "95 %: for other cases, for verdicts in doubt, and for texts that the judge was not calibrated on"
ABOUT_CITATIONS = frozenset(metric.name for metric in CITATIONS)


@dataclass(frozen=True, slots=True)
class Header:
    """Which run it is, how it is read, and what is known of it beside its numbers."""

    info: RunInfo
    config: EvaluationConfig = field(default_factory=lambda: EvaluationConfig((), {}))
    """The metrics that were computed, and how it is read."""
    rejected: int = 0
    """Rows of the input that couldn't be used."""
    rejections: tuple[str, ...] = ()
    """The first of them, each with its place and reason: "row 7: the query is missing"."""
    corrections: Mapping[str, CorrectedMean] = field(default_factory=dict)
    """Metric name → its mean corrected for the judge's errors, where people labelled some of its components."""
    judge_card: Mapping[str, Any] | None = None
    """What is known of the judge: see `ragtriage.trust.judge_card`."""
    texts_deleted: int = 0
    """Cases whose texts were deleted from the store."""

    @property
    def input(self) -> str:
        """What was evaluated: a file's name."""
        return Path(self.info.input).name if Path(self.info.input).is_absolute() else self.info.input

    def configured(self, key: str) -> str:
        """What the run's configuration has under a key; empty where it has nothing."""
        return str(self.info.configuration.get(key, ""))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the judge's replies show that a reader should know."""
        return tuple(map(str, self.info.configuration.get(WARNINGS, ())))

    @property
    def arithmetic(self) -> int:
        """By how many kinds of processor arithmetic its cases were judged."""
        return int(self.info.configuration.get(ARITHMETIC, 1))

    @property
    def judging(self) -> str:
        """What is to be known of the judge beside its name, in words; empty where there is nothing."""
        embeddings = self.configured(EMBEDDINGS)
        return ", ".join(filter(None, [embeddings and f"repetition by {embeddings}", self.configured(COUNTING)]))

    @property
    def unmeasured(self) -> str:
        """That verdicts count as yes from a threshold on that nobody measured, and what to do; empty elsewhere."""
        return UNMEASURED if RAW_SCORES in self.configured(COUNTING) else ""

    def wasted(self, tokens: int) -> float | None:
        """What the application paid for so many tokens, in US dollars; None if its price isn't known."""
        return price_of_tokens(tokens, self.config.application_price)


@dataclass(frozen=True, slots=True)
class MetricReport:
    """One metric over the cases of a run, or of a slice of it."""

    numbers: MetricSummary
    title: str
    """Marked if lower is better."""
    mean: str
    bad: str
    """The sign and word of a mean on the wrong side of the threshold, `▼ low`; empty for another."""
    threshold: float | None
    interval: tuple[str, str] | None
    """The ends of the mean's 95 % interval."""
    sampling: tuple[str, str] | None
    """Its ends by the choice of cases alone; None where that is the whole of it."""
    corrected: str
    """The mean as people's labels correct it; empty without labels."""
    citing: str
    """How many responses the mean of a citation metric is about; empty for another metric."""


@dataclass(frozen=True, slots=True)
class SliceReport:
    """The cases with one value of a tag."""

    value: str
    """As the tag has it."""
    label: str
    """The same in one line of bounded length."""
    summary: Summary
    metrics: tuple[MetricReport | None, ...]
    """One a metric of the table; None where the slice lacks it."""
    findings: tuple[str, ...] = ()
    """One a group of `RunReport.slice_groups`: how many cases have its findings, in words; empty where none has."""


@dataclass(frozen=True, slots=True)
class RepeatsReport:
    """How far the trials of a repeated run agree."""

    summary: RepeatSummary
    runs: tuple[int, ...]
    """The numbers of the runs, a trial each."""
    spent: Amount = field(default_factory=Amount)
    """What all of them took together, where that is known."""


@dataclass(frozen=True, slots=True)
class RunReport:
    """All that is shown of a run as a whole."""

    header: Header
    summary: Summary
    complete: bool
    """Whether this is the whole of the input."""
    metrics: tuple[MetricReport, ...]
    notes: tuple[str, ...]
    """What the marks beside the means say, and why scores are missing."""
    failures: tuple[str, ...]
    """Which scores failed and why."""
    unread: str
    """That no rule reads these scores, so that nothing can be diagnosed; empty if one does."""
    no_fault_found: str
    """In how many cases no fault was found, as a sentence: `No fault found in 2 of 3 cases`."""
    flagged: str
    """How many verdicts a check speaks against, in words; empty if none."""
    repair: tuple[Group, ...]
    """Findings on what to repair, by component and kind, the most pressing kind first."""
    waste: tuple[Group, ...]
    slices: tuple[SliceReport, ...]
    slice_metrics: tuple[str, ...]
    """The names of the metrics in the table of slices."""
    slice_groups: tuple[tuple[str, str], ...]
    """Component and kind of the groups in the table of findings by slice."""
    rejected_left_out: int
    """Rejected rows without a reason listed."""
    repeats: RepeatsReport | None
    """None for a run that wasn't repeated."""


def run_report(
    header: Header, summary: Summary, slices: Mapping[str, Summary] | None = None, repeats: RepeatsReport | None = None
) -> RunReport:
    """A run as it is reported, with the numbers of slices of it (tag value → summary) and its repetitions."""
    names = tuple(dict.fromkeys(m.name for part in (slices or {}).values() for m in part.metrics))
    groups = tuple((group.component, group.kind) for group in summary.groups)
    rows = []
    for label, part in (slices or {}).items():
        found = {m.name: _metric(m, header, part) for m in part.metrics}
        counts = {(group.component, group.kind): group.count for group in part.groups}
        told = tuple(counts.get(key, "") for key in groups)
        rows.append(SliceReport(label, one_line(label, 80) or "(empty)", part, tuple(map(found.get, names)), told))
    return RunReport(
        header,
        summary,
        header.info.state == FINISHED and summary.cases >= header.info.rows,
        tuple(_metric(m, header, summary) for m in summary.metrics),
        (*_levels(summary, header), *_computed(summary, header), *_gaps(summary)),
        _failures(summary),
        "" if any_applicable(header.config.rules, [m.name for m in summary.metrics]) else UNREAD.capitalize(),
        _no_fault_found(summary),
        flagged_of(summary, header.info.judge) if summary.flagged else "",
        tuple(group for group in summary.groups if group.kind != "waste"),
        tuple(group for group in summary.groups if group.kind == "waste"),
        tuple(rows),
        names,
        groups if rows else (),
        header.rejected - len(header.rejections) if header.rejections else 0,
        repeats,
    )


def _no_fault_found(summary: Summary) -> str:
    further = [(summary.low_scores, "with a low score"), (summary.wasteful, "with waste")]
    said = ", ".join(f"{count:,} {what}" for count, what in further if count)
    found = f"No fault found in {summary.diagnosis.get(NONE, 0):,} of {plural(summary.cases, 'case')}"
    return f"{found} ({said})" if said else found


def _metric(m: MetricSummary, header: Header, summary: Summary) -> MetricReport:
    threshold, correction = header.config.thresholds.get(m.name), header.corrections.get(m.name)
    return MetricReport(
        m,
        one_line(titled(m.title, m.better), 60),
        DASH if m.mean is None else told_apart(m.mean, threshold),
        bad_level(m.mean, threshold, m.better),
        threshold,
        None if m.low is None or m.high is None else (two_places(m.low), two_places(m.high)),
        m.sampling and (two_places(m.sampling[0]), two_places(m.sampling[1])),
        corrected_of(correction) if correction and m.mean is not None else "",
        citing_of(summary) if m.name in ABOUT_CITATIONS else "",
    )


def _levels(summary: Summary, header: Header) -> list[str]:
    said = []
    for better, level in BAD.items():
        own = (m for m in summary.metrics if m.better == better)
        bad = [m for m in own if is_bad(m.mean, header.config.thresholds.get(m.name), better)]
        if bad:
            limits = ", ".join(f"{m.title} {header.config.thresholds[m.name]:g}" for m in bad)
            said.append(f"{level_sign(better)} {level}: beyond its threshold ({limits})")
    if any(m.sampling for m in summary.metrics):
        said.append(INTERVALS)
    if summary.citing:
        said.append(f"{citing_of(summary)}: the citation metrics are about these")
    return said


def _computed(summary: Summary, header: Header) -> list[str]:
    """What is to be known of how the numbers came about."""
    said = []
    if any(m.normal for m in summary.metrics):
        said.append("Intervals by the normal approximation: there are too many cases to draw from them")
    if header.arithmetic > 1:
        said.append(
            f"Judged by processors of {header.arithmetic} kinds of arithmetic: scores may differ by which of them "
            "judged a case"
        )
    return said


def _gaps(summary: Summary) -> list[str]:
    """Why scores are missing, the reasons of most cases first; what cases lack is always said."""
    reasons: dict[str, list[tuple[str, int]]] = {}
    for m in summary.metrics:
        for reason, count in m.undefined.items():
            reasons.setdefault(reason, []).append((m.title, count))
    ordered = sorted(reasons.items(), key=lambda item: -max(count for _, count in item[1]))
    left_out = {reason for reason, _ in ordered if reason not in REASONS}
    left_out -= set([reason for reason, _ in ordered if reason not in REASONS][:MOST_REASONS])
    said = []
    for reason, metrics in ordered:
        if reason in left_out:
            continue
        whose = ", ".join(f"{title} {count:,}" for title, count in metrics)
        if len(metrics) > MOST_TITLES:
            whose = f"{len(metrics)} metrics, {plural(max(count for _, count in metrics), 'case')}"
        said.append(f"Undefined, {one_line(reason, 160)}: {whose}")
    if left_out:
        said.append(f"Undefined for {plural(len(left_out), 'more reason')}")
    if unknown := ", ".join(f"{m.title} {m.unknown:,}" for m in summary.metrics if m.unknown):
        said.append(f"Components left out because the judge could not tell: {unknown}")
    return said


def _failures(summary: Summary) -> tuple[str, ...]:
    causes: dict[str, list[str]] = {}
    for m in summary.metrics:
        if m.failed:
            causes.setdefault(m.cause, []).append(f"{m.title} {plural(m.failed, 'case')}")
    return tuple(f"Failed: {', '.join(failed)}: {one_line(cause, 200)}" for cause, failed in causes.items())


def stored_run_report(  # the run, how it is read, its numbers, and what may be known besides
    stored: Run,
    config: EvaluationConfig,
    tally: SlicedTally,
    *,
    repeats: RepeatsReport | None = None,
    judge_card: Mapping[str, Any] | None = None,
    texts: bool = True,
) -> RunReport:
    """What the terminal, the page and JSON show of a run.

    `config` is what it was evaluated with, or is to be read with. Without `texts` rejected rows are only counted,
    deleted texts aren't, and reasons that may quote a case aren't told: whoever reads may see no text.
    """
    info = stored.info
    corrections = info.configuration.get(CORRECTIONS, {})
    rejected = stored.rejected() if texts else ()
    shown = (f"row {r.row}{f', field {r.field!r}' if r.field else ''}: {r.reason}" for r in rejected[:QUOTED])
    header = Header(
        info,
        config,
        len(rejected) if texts else info.rejected,
        tuple(shown),
        {name: validated(CorrectedMean, kept) for name, kept in corrections.items()},
        judge_card,
        stored.texts_deleted() if texts else 0,
    )
    summary = tally.summary()
    if not texts:
        metrics = tuple(replace(m, undefined=_known_reasons(m.undefined)) for m in summary.metrics)
        summary = replace(summary, metrics=metrics)
    return run_report(header, summary, tally.slices(), repeats)


def _known_reasons(undefined: Mapping[str, int]) -> dict[str, int]:
    """Why scores are undefined, with all reasons together that may quote a case."""
    found: dict[str, int] = {}
    for reason, count in undefined.items():
        told = reason if reason in REASONS else "[not readable]"
        found[told] = found.get(told, 0) + count
    return found


def run_json(run: RunReport) -> dict[str, Any]:
    """What `--json` prints: metrics, diagnosis, findings, what the run is and took, slices, repetitions.

    Keys without a value are left out: `texts_deleted`, `slices`, `spent`, `repeats`, `flagged`, `citing`,
    a metric's `corrected`.
    """
    header, info = run.header, run.header.info
    named = {"embeddings": EMBEDDINGS, "counting": COUNTING}
    told: dict[str, Any] = {
        "run": int(info.typed) if info.typed.isdecimal() else info.typed,
        **run.summary.as_json(),
        "findings": [_group(group, header) for group in run.summary.groups],
        "input": header.input,
        **info.about.stored(),
        "judge": info.judge,
        **{name: value for name, key in named.items() if (value := header.configured(key))},
        **({"warnings": list(header.warnings)} if header.warnings else {}),
        "state": info.state,
        "complete": run.complete,
        "rejected": header.rejected,
        **({"arithmetic": header.arithmetic} if header.arithmetic > 1 else {}),
        **info.spent.as_json(),
    }
    for name, correction in header.corrections.items():
        told["metrics"][name]["corrected"] = as_builtins(correction)
    if header.texts_deleted:
        told["texts_deleted"] = header.texts_deleted
    if run.slices:
        told["slices"] = {
            one.value: {**one.summary.as_json(), "findings": one.summary.findings_as_json()} for one in run.slices
        }
    if run.repeats:
        repeats = run.repeats
        told["repeats"] = {**repeats.summary.as_json(), "runs": list(repeats.runs), **repeats.spent.as_json()}
    return told


def _group(group: Group, header: Header) -> dict[str, Any]:
    told = asdict(group) | {"worst": list(group.worst)}
    if group.kind != "waste":
        del told["tokens"]
    elif (price := header.wasted(group.tokens)) is not None:
        told["price"] = price
    return told
