"""JSON says of a run what the terminal and the page say."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from ragtriage.core.record import Record
from ragtriage.diagnosis import diagnose
from ragtriage.metrics import THELMA
from ragtriage.report.run_document import run_document
from ragtriage.report.run_json import run_json
from ragtriage.report.run_page import write_run_page
from ragtriage.report.run_report import Header, RunReport, run_report
from ragtriage.report.spent import Spent
from ragtriage.report.terminal import print_document
from ragtriage.report.words import two_places
from ragtriage.runs.summary import Tally

SPENT = Spent(requests=1234, tokens_in=56789, tokens_out=4321, cost=0.75)


def reported(record: Record, thresholds: dict[str, float]) -> RunReport:
    tally, fees = Tally(THELMA, thresholds), Tally(THELMA, thresholds)
    for number in range(3):
        tally.add(replace(record, case=replace(record.case, id=f"case/{number}")))
    fees.add(record)
    header = Header("7", "rows.jsonl", "fake", thresholds=thresholds, rejected=19, spent=SPENT)
    return run_report(header, tally.summary(), {"fees": fees.summary()})


def test_every_number_and_finding_of_the_json_stands_in_the_terminal_and_on_the_page(
    tmp_path: Path, rich_record: Record, thresholds: dict[str, float]
) -> None:
    run = reported(rich_record, thresholds)
    told = json.loads(json.dumps(run_json(run)))
    file = io.StringIO()
    print_document(Console(file=file, width=200), run_document(run, 200))
    write_run_page(tmp_path / "r.html", run, lambda: [(rich_record, diagnose(rich_record, thresholds))])
    page = (tmp_path / "r.html").read_text("utf-8")

    assert len(told["metrics"]) == len(THELMA)
    assert told["findings"]
    for shown in (" ".join(file.getvalue().split()), page):
        for numbers in told["metrics"].values():
            if numbers["mean"] is not None:
                assert {two_places(numbers[key]) for key in ("mean", "low", "high")} <= set(
                    shown.replace("<", " ").replace(">", " ").split()
                )
            for reason in numbers["undefined"]:
                assert reason in shown
        for finding in told["findings"]:
            assert finding["component"] in shown
            assert f"{finding['sure']} sure" in shown
            assert all(case in shown for case in finding["worst"])
            assert all(reading["text"] in shown for reading in finding["readings"])
        assert "1,234 requests · 56,789 tokens in, 4,321 out · $0.75" in shown
        assert "19 rows" in shown
        assert "fees" in shown


def test_the_json_names_what_was_spent_and_the_slices(rich_record: Record, thresholds: dict[str, float]) -> None:
    told = run_json(reported(rich_record, thresholds))

    assert told["spent"] == {"requests": 1234, "tokens_in": 56789, "tokens_out": 4321, "cost": 0.75}
    assert told["slices"]["fees"]["cases"] == 1
    assert (told["run"], told["cases"], told["rejected"], told["complete"]) == (7, 3, 19, True)
