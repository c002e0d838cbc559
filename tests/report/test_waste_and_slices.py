"""Waste in money where a price is known, and slices with many metrics in a narrow terminal."""

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from ragtriage import METRICS
from ragtriage.collect.application import asked_row
from ragtriage.config import read_settings
from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError
from ragtriage.diagnosis.rules import thresholds_with
from ragtriage.readers import open_cases
from ragtriage.report.run_document import run_document
from ragtriage.report.run_report import Header, run_report
from ragtriage.report.terminal import print_document
from ragtriage.report.words import short_title
from ragtriage.runs.tally import Tally


def settings(folder: Path, text: str) -> None:
    (folder / "ragtriage.toml").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(("given", "price"), [("0.25", 0.25), ("0", 0.0), ('"openai:gpt-5-mini"', 0.25)])
def test_the_price_is_a_number_or_that_of_a_known_model(tmp_path: Path, given: str, price: float) -> None:
    settings(tmp_path, f"application_price = {given}")

    assert read_settings(tmp_path / "ragtriage.toml").application_price == price


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ('"openai:unheard-of"', "the price of 'openai:unheard-of' isn't known"),
        ('"cheap"', "the price of 'cheap' isn't known"),
        ("-1", "application_price is -1"),
        ("nan", "application_price is nan"),
    ],
)
def test_a_price_that_is_none_is_refused(tmp_path: Path, given: str, message: str) -> None:
    settings(tmp_path, f"application_price = {given}")

    with pytest.raises(ConfigError, match=message):
        read_settings(tmp_path / "ragtriage.toml")


@pytest.mark.parametrize("width", [60, 80, 130])
def test_slices_show_every_metric_at_any_width(rich_record, width: int) -> None:
    tally = Tally(METRICS, thresholds := thresholds_with({}))
    tally.add(rich_record)
    summary = tally.summary()
    header = Header("7", thresholds=thresholds, metrics=METRICS)
    file = io.StringIO()
    print_document(
        Console(file=file, width=width), run_document(run_report(header, summary, {"refunds": summary}), width)
    )
    said = file.getvalue().split("By slice\n")[1]

    assert "not shown at this width" not in said.split("Diagnosis")[0]
    assert max(len(line.rstrip()) for line in said.splitlines()) <= width
    if width == 80:
        assert [m.name for m in METRICS if short_title(m.name) not in said] == []
    assert len(re.findall(r"^refunds +1 ", said, re.MULTILINE)) > 1


@pytest.mark.parametrize(
    "columns",
    [
        ("user_input", "reference", "reference_contexts"),
        ("input", "expected_output", "context"),
        ("query", "reference_answer", "reference_contexts"),
        ("question", "reference_answer", "reference_context"),
    ],
    ids=["ragas", "DeepEval", "LlamaIndex", "Giskard"],
)
def test_questions_that_other_tools_wrote_are_read_as_the_docs_say(tmp_path: Path, columns) -> None:
    row = dict(zip(columns, ("When?", "In 1901.", ["It opened in 1901."]), strict=True))
    (tmp_path / "g.jsonl").write_text(json.dumps(row), encoding="utf-8")
    (case,) = open_cases(str(tmp_path / "g.jsonl"), questions=True).rows()

    assert isinstance(case, Case)
    found = asked_row(case)
    assert (found["query"], found["reference"]) == ("When?", "In 1901.")
