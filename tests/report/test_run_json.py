"""JSON says of a run what the terminal and the page say."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from shown import CONFIG, HEADER, INFO, THRESHOLDS, printed, summary_of

from ragtriage.config import read_settings
from ragtriage.core.amount import Amount
from ragtriage.core.case import Case, Record
from ragtriage.core.errors import ConfigError
from ragtriage.core.verdicts import Component, Verdict, with_chance
from ragtriage.diagnosis.findings import diagnose
from ragtriage.diagnosis.rules import Rule
from ragtriage.metrics import THELMA
from ragtriage.metrics.aggregate import share
from ragtriage.report.run_document import run_document
from ragtriage.report.run_page import write_run_page
from ragtriage.report.run_report import Header, RunReport, run_json, run_report
from ragtriage.report.words import two_places
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.tally import SlicedTally

SPENT = Amount(requests=1234, tokens_in=56789, tokens_out=4321, cost=0.75)


def reported(record: Record) -> RunReport:
    three = [replace(record, case=replace(record.case, id=f"case/{number}")) for number in range(3)]
    header = Header(replace(INFO, **asdict(SPENT)), CONFIG, rejected=19)
    return run_report(header, summary_of(three), {"fees": summary_of([record])})


def every_form(folder: Path, run: RunReport, record: Record) -> tuple[Any, str, str]:
    """A run in JSON, in the terminal and as a page."""
    write_run_page(folder / "r.html", run, lambda: [(record, diagnose(record, THRESHOLDS))])
    told = json.loads(json.dumps(run_json(run)))
    return told, printed(run_document(run, 200), 200), (folder / "r.html").read_text("utf-8")


def test_every_number_and_finding_of_the_json_stands_in_the_terminal_and_on_the_page(
    tmp_path: Path, rich_record: Record
) -> None:
    told, terminal, page = every_form(tmp_path, reported(rich_record), rich_record)

    assert len(told["metrics"]) == len(THELMA)
    assert told["findings"]
    for shown in (" ".join(terminal.split()), page):
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
    assert told["spent"] == {"requests": 1234, "tokens_in": 56789, "tokens_out": 4321, "cost": 0.75}
    assert (told["run"], told["cases"], told["rejected"], told["complete"]) == (7, 3, 19, True)
    fees = told["slices"]["fees"]  # whose verdicts have no chances
    assert fees["cases"] == 1
    assert {(one["cases"], one["expected"]) for one in fees["findings"]} == {(1, None)}


def test_slices_count_findings_shown_and_expected_alike_in_every_form(tmp_path: Path, rich_record: Record) -> None:
    rule = Rule("ungrounded", "failure", {"groundedness": "low"}, "made up", "generator", "Try another.")
    tally = SlicedTally(EvaluationConfig(THELMA, THRESHOLDS, (rule,)), "topic")
    for number, chance in enumerate([0.1, 0.7, 0.7, 0.7, 0.8, 0.8]):
        outcome = share([Component("It floats.")], [with_chance(Verdict("no"), chance)])
        case = Case(f"c{number}", "What?", tags={"topic": "fees" if number < 4 else "pets"})
        tally.add(Record(case, {}, {"groundedness": outcome}))
    run = run_report(replace(HEADER, config=replace(CONFIG, rules=(rule,))), tally.summary(), tally.slices())
    told, terminal, page = every_form(tmp_path, run, rich_record)

    (fees,), (pets,) = (told["slices"][topic]["findings"] for topic in ("fees", "pets"))
    assert (fees["component"], fees["kind"], fees["cases"], fees["sure"]) == ("generator", "failure", 1, 1)
    assert fees["expected"]["value"] == pytest.approx(0.9 + 3 * 0.3)
    assert (pets["cases"], round(pets["expected"]["value"], 9)) == (0, 0.4)
    whole = told["findings"][0]["expected"]["value"]
    assert sum(one["expected"]["value"] for one in (fees, pets)) == pytest.approx(whole)
    low, high = (fees["expected"][end] for end in ("low", "high"))
    assert 0 < low < 1.8 < high < 4
    for shown in (terminal, page):
        assert f"1 · 2 ({low:.0f}–{high:.0f})" in shown
        assert "0 · 0 (0–2)" in shown


def test_the_price_of_waste_is_a_number_or_that_of_a_known_model(tmp_path: Path) -> None:
    def read(given: str) -> float | None:
        (tmp_path / "ragtriage.toml").write_text(f"application_price = {given}", "utf-8")
        return read_settings(tmp_path / "ragtriage.toml").application_price

    assert [read(given) for given in ("0.25", "0", '"openai:gpt-5-mini"')] == [0.25, 0.0, 0.25]
    for given, told in (
        ('"openai:unheard-of"', "the price of 'openai:unheard-of' isn't known"),
        ('"cheap"', "the price of 'cheap' isn't known"),
        ("-1", "application_price is -1"),
        ("nan", "application_price is nan"),
    ):
        with pytest.raises(ConfigError, match=told):
            read(given)
