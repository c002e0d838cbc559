"""What a terminal and a page show of records, as texts."""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from ragtriage.core.case import Record
from ragtriage.core.metric import Metric
from ragtriage.diagnosis.findings import Finding
from ragtriage.diagnosis.rules import Rule, thresholds_with
from ragtriage.metrics import THELMA
from ragtriage.report.case_document import case_document
from ragtriage.report.case_report import ListedCase, case_report
from ragtriage.report.document import DocumentBlock
from ragtriage.report.run_document import cases_document, run_document
from ragtriage.report.run_page import write_run_page
from ragtriage.report.run_report import Header, run_report
from ragtriage.report.terminal import print_document
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.run import RunInfo
from ragtriage.runs.summary import Summary, Tally

Found = tuple[Record, tuple[Finding, ...]]
Many = Callable[[int], Iterator[Found]]
THRESHOLDS = thresholds_with({})
CONFIG = EvaluationConfig((), THRESHOLDS)
INFO = RunInfo(
    7, "identity", "finished", "2026-11-21T10:00:00+00:00", None, "rows.jsonl", "hash", 0, (), "embedded", {}, {}, {},
    seconds=0.0, cost=0.0, done=0, failed=0, rejected=0,
)  # fmt: skip
HEADER = Header(INFO, CONFIG)


def summary_of(
    records: Iterable[Record],
    metrics: Sequence[Metric] = THELMA,
    thresholds: Mapping[str, float] = THRESHOLDS,
    rules: Sequence[Rule] | None = None,
) -> Summary:
    """The summary of a run of these records."""
    tally = Tally(metrics, thresholds) if rules is None else Tally(metrics, thresholds, tuple(rules))
    for record in records:
        tally.add(record)
    return tally.summary()


def printed(blocks: Iterable[DocumentBlock], width: int, *, colour: bool = False) -> str:
    """What a terminal shows; spaces at the ends of lines are left out."""
    file = io.StringIO()
    system: Any = "truecolor" if colour else None
    console = Console(file=file, width=width, force_terminal=colour, color_system=system)
    print_document(console, blocks)
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


def summary_shown(
    summary: Summary, width: int, header: Header = HEADER, slices: Any = None, *, colour: bool = False
) -> str:
    """A run in a terminal."""
    return printed(run_document(run_report(header, summary, slices), width), width, colour=colour)


def cases_shown(rows: Iterable[ListedCase], width: int, most: int | None = None, *, colour: bool = False) -> str:
    """A list of cases in a terminal."""
    return printed(cases_document(rows, CONFIG, most, width), width, colour=colour)


def case_shown(
    record: Record,
    width: int,
    findings: Sequence[Finding] = (),
    thresholds: Mapping[str, float] = THRESHOLDS,
    *,
    colour: bool = False,
) -> str:
    """A case in a terminal."""
    config = replace(CONFIG, thresholds=thresholds)
    return printed(case_document(case_report(record, findings, config), width), width, colour=colour)


def page_of(
    folder: Path,
    cases: Iterable[Found],
    summary: Summary | None = None,
    header: Header = HEADER,
    full: int = 300,
    **more: Any,
) -> str:
    """The page of a run of these cases; `more` is `run_report`'s."""
    kept = [*cases]
    whole = summary or summary_of(record for record, _ in kept)
    write_run_page(folder / "report.html", run_report(header, whole, **more), lambda: iter(kept), full)
    return (folder / "report.html").read_text("utf-8")
