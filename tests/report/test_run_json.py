"""JSON says of a run what the terminal and the page say."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from ragtriage.core.amount import Amount
from ragtriage.core.case import Case, Record
from ragtriage.core.verdicts import Component, Verdict, with_chance
from ragtriage.diagnosis.findings import diagnose
from ragtriage.diagnosis.rules import Rule
from ragtriage.metrics import THELMA
from ragtriage.metrics.aggregate import share
from ragtriage.report.run_document import run_document
from ragtriage.report.run_page import write_run_page
from ragtriage.report.run_report import Header, RunReport, run_json, run_report
from ragtriage.report.terminal import print_document
from ragtriage.report.words import two_places
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.summary import Tally
from ragtriage.runs.tally import SlicedTally

SPENT = Amount(requests=1234, tokens_in=56789, tokens_out=4321, cost=0.75)


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


def test_slices_count_findings_shown_and_expected_alike_in_every_form(
    tmp_path: Path, rich_record: Record, thresholds: dict[str, float]
) -> None:
    rule = Rule("ungrounded", "failure", {"groundedness": "low"}, "made up", "generator", "Try another.")
    tally = SlicedTally(EvaluationConfig(THELMA, thresholds, (rule,)), "topic")
    for number, chance in enumerate([0.1, 0.7, 0.7, 0.7, 0.8, 0.8]):
        outcome = share([Component("It floats.")], [with_chance(Verdict("no"), chance)])
        case = Case(f"c{number}", "What?", tags={"topic": "fees" if number < 4 else "pets"})
        tally.add(Record(case, {}, {"groundedness": outcome}))
    run = run_report(Header("7", thresholds=thresholds, rules=(rule,)), tally.summary(), tally.slices())
    told = json.loads(json.dumps(run_json(run)))
    file = io.StringIO()
    print_document(Console(file=file, width=120), run_document(run, 120))
    write_run_page(tmp_path / "r.html", run, lambda: [(rich_record, diagnose(rich_record, thresholds))])
    page = (tmp_path / "r.html").read_text("utf-8")

    (fees,), (pets,) = (told["slices"][topic]["findings"] for topic in ("fees", "pets"))
    assert (fees["component"], fees["kind"], fees["cases"], fees["sure"]) == ("generator", "failure", 1, 1)
    assert fees["expected"]["value"] == pytest.approx(0.9 + 3 * 0.3)
    assert (pets["cases"], round(pets["expected"]["value"], 9)) == (0, 0.4)
    whole = told["findings"][0]["expected"]["value"]
    assert sum(one["expected"]["value"] for one in (fees, pets)) == pytest.approx(whole)
    low, high = (fees["expected"][end] for end in ("low", "high"))
    assert 0 < low < 1.8 < high < 4
    for shown in (file.getvalue(), page):
        assert f"1 · 2 ({low:.0f}–{high:.0f})" in shown
        assert "0 · 0 (0–2)" in shown


def test_without_chances_slices_count_what_is_shown(rich_record: Record, thresholds: dict[str, float]) -> None:
    told = run_json(reported(rich_record, thresholds))

    assert {one["cases"] for one in told["slices"]["fees"]["findings"]} == {1}
    assert all(one["expected"] is None for one in told["slices"]["fees"]["findings"])
