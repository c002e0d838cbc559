"""What is shown is the same on every processor: no order and no cut hangs on the last digits of a probability."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from shown import CONFIG as SHOWN
from shown import INFO, THRESHOLDS, printed

from made_records import record_of, synthetic
from ragtriage.core.case import Record
from ragtriage.core.steps import Step
from ragtriage.core.verdicts import Cell, Verdict, Verdicts, with_chance
from ragtriage.diagnosis.headline import headline
from ragtriage.metrics import THELMA
from ragtriage.metrics.aggregate import CLAIMS, FACTS, QUESTIONS, SENTENCES, SOURCES
from ragtriage.report.case_document import case_document
from ragtriage.report.case_report import case_report, listed_case
from ragtriage.report.run_document import cases_document, run_document
from ragtriage.report.run_page import write_run_page
from ragtriage.report.run_report import Header, run_report
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.tally import SlicedTally

CHANCES = (0.04, 0.1, 0.16, 0.2, 0.31, 0.4, 0.5, 0.6, 0.69, 0.75, 0.8, 0.9, 0.96)
"""Many of them are complements, or lie on a threshold, so that scores tie and reach their thresholds exactly."""
CONFIG = EvaluationConfig(tuple(THELMA), THRESHOLDS, ())
STEPS = {str(step): step for metric in THELMA for step in metric.needs.values()}
STEPS |= {str(step): step for step in (CLAIMS, FACTS, QUESTIONS, SENTENCES, SOURCES)}

Change = Callable[[Verdict], Verdict]


def changed(record: Record, change: Change) -> Record:
    def cell(one: Cell) -> Cell:
        return change(one) if isinstance(one, Verdict) and one.value != "unknown" else one

    steps: dict[Step, object] = {}
    for name, known in record.steps.items():
        if name in STEPS and isinstance(known, Verdicts):
            steps[STEPS[name]] = replace(known, cells=tuple(tuple(map(cell, row)) for row in known.cells))
        elif name in STEPS:
            steps[STEPS[name]] = known
    return record_of(record.case, steps)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def records() -> list[Record]:
    chance = random.Random(11)  # made-up texts, no secret
    drawn: Change = lambda one: with_chance(one, chance.choice(CHANCES))  # noqa: E731
    made = (changed(synthetic(chance), drawn) for _ in range(60))
    return [replace(one, case=replace(one.case, id=f"c-{number}")) for number, one in enumerate(made)]


def nudged(records: Sequence[Record], chance: random.Random) -> Iterator[Record]:
    def nudge(one: Verdict) -> Verdict:
        by = chance.choice((-1e-7, 0.0, 1e-7))
        score, likely = (value and min(1.0, max(0.0, value + by)) for value in (one.score, one.chance))
        return replace(one, score=score, chance=likely)

    return (changed(record, nudge) for record in records)


def texts(records: Sequence[Record], page: Path) -> dict[str, str]:
    """Everything that is shown of a run, by what it is."""
    tally = SlicedTally(CONFIG, by="topic")
    found = [(record, tally.add(record)) for record in records]
    run = run_report(Header(INFO, SHOWN), tally.summary(), tally.slices())
    write_run_page(page, run, lambda: iter(found))
    listed = [listed_case(record, findings, SHOWN) for record, findings in found]
    shown = {
        "run": run_document(run, 120),
        "cases": cases_document(listed, SHOWN, width=160),
        **{r.case.id: case_document(case_report(r, findings, SHOWN), 120) for r, findings in found},
    }
    said = {name: printed(document, 120) for name, document in shown.items()}
    heads = {f"{r.case.id} head": str(headline(r, findings, THRESHOLDS)) for r, findings in found}
    return {**said, **heads, "worst": str(tally.summary().worst), "page": page.read_text("utf-8")}


def test_no_text_hangs_on_the_last_digits_of_a_probability(records: list[Record], tmp_path: Path) -> None:
    before = texts(records, tmp_path / "a.html")
    after = texts([*nudged(records, random.Random(0))], tmp_path / "b.html")

    assert {name: (before[name], after[name]) for name in before if before[name] != after[name]} == {}
