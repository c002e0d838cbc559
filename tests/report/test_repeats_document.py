"""A repeated evaluation in the report: a section of its own, harmless and honest."""

from dataclasses import replace
from pathlib import Path

import pytest

from ragtriage import METRICS, Record, Score, Tally
from ragtriage.report.run_document import ALIKE, ALWAYS, repeats_report
from ragtriage.report.run_page import write_run_page
from ragtriage.report.run_report import Header, RepeatsReport, run_report
from ragtriage.runs.repeats import Repeats, RepeatSummary


def repeated(*trials: list[Record]) -> RepeatSummary:
    repeats = Repeats(METRICS)
    for number, records in enumerate(trials):
        for record in records:
            repeats.add(number, record)
    return repeats.summary()


def changed(record: Record) -> Record:
    """The same case with another score."""
    return replace(record, outcomes={**record.outcomes, "groundedness": Score(0.875, 8)})


def page(folder: Path, record: Record, repeats: RepeatSummary | None, judge: str = "openai:m") -> str:
    tally = Tally(METRICS, {})
    tally.add(record)
    path = folder / "report.html"
    write_run_page(
        path,
        run_report(
            Header("1", judge=judge), tally.summary(), repeats=RepeatsReport(repeats, (1, 2)) if repeats else None
        ),
        lambda: iter([(record, ())]),
    )
    return path.read_text("utf-8")


def test_it_stands_in_the_report_only_where_a_run_was_repeated(tmp_path: Path, rich_record: Record) -> None:
    assert 'id="repetitions"' not in page(tmp_path, rich_record, None)

    text = page(tmp_path, rich_record, repeated([rich_record], [changed(rich_record)]))
    assert text.count('id="repetitions"') == 1
    assert 'href="#repetitions"' in text
    assert "2 trials of 1 case." in text
    for head in ("spread", "flips", "sees", "noise", "question", "verdicts", "differ"):
        assert f">{head}</th>" in text
    assert '<th scope="row" dir="auto">case/1</th>' in text


@pytest.mark.parametrize(("judge", "told"), [("embedded", ALWAYS), ("openai:m", ALIKE)])
def test_trials_that_are_the_same_are_said_to_be_so(tmp_path: Path, rich_record: Record, judge: str, told: str) -> None:
    whole = replace(rich_record, outcomes={n: o for n, o in rich_record.outcomes.items() if isinstance(o, Score)})
    text = page(tmp_path, whole, repeated([whole], [whole]), judge)

    assert told in text
    assert ">sees</th>" in text
    assert ">spread</th>" not in text
    assert "Least alike" not in text


def test_texts_from_outside_stay_texts(tmp_path: Path, rich_record: Record) -> None:
    evil = replace(rich_record, case=replace(rich_record.case, id="<script>alert(1)</script>"))

    assert "<script>alert(1)</script>" not in page(tmp_path, evil, repeated([evil], [changed(evil)]))


def test_no_case_has_no_tables() -> None:
    assert repeats_report(repeated())[1] == ()
