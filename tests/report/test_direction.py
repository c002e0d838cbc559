"""Where lower is better, a picture says so: by arrow, sign, words and colour."""

import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from ragtriage import (
    METRICS,
    Case,
    Component,
    Part,
    Record,
    Score,
    Tally,
    Verdict,
    metrics_named,
    thresholds_with,
)
from ragtriage.core.verdicts import Undefined
from ragtriage.diagnosis.findings import Finding
from ragtriage.diagnosis.rules import Rule, is_bad, level_of
from ragtriage.report.case_document import case_document
from ragtriage.report.case_report import ListedCase, case_report, listed_case, worst_first
from ragtriage.report.run_document import cases_document, repeats_document, run_document
from ragtriage.report.run_page import write_run_page
from ragtriage.report.run_report import Header, run_report
from ragtriage.report.terminal import MOST_NAMES, print_document
from ragtriage.report.words import SHORT_TITLES, short_title
from ragtriage.runs.repeats import Repeats
from ragtriage.runs.summary import Summary

BOTH = metrics_named(["groundedness", "hallucination"])
THRESHOLDS = thresholds_with({})
HEADER = Header("7", "rows.jsonl", "embedded", "2026-11-21", thresholds=THRESHOLDS)


def print_summary(shown: Console, header: Header, summary: Summary, slices: dict[str, Summary] | None = None) -> None:
    print_document(shown, run_document(run_report(header, summary, slices), shown.width))


def print_cases(shown: Console, rows: Iterable[ListedCase], most: int | None = None) -> None:
    print_document(shown, cases_document(rows, most, width=shown.width))


def print_case(shown: Console, record: Record, findings: Sequence[Finding], thresholds: Mapping[str, float]) -> None:
    print_document(shown, case_document(case_report(record, findings, thresholds), shown.width))


def record_of(hallucination: float) -> Record:
    outcomes = {"groundedness": Score(1 - hallucination, 10), "hallucination": Score(hallucination, 10)}
    return Record(Case("c", "What does it cost?"), {}, outcomes)


def summary_of(record: Record) -> Summary:
    tally = Tally(BOTH, THRESHOLDS)
    tally.add(record)
    return tally.summary()


def printed(hallucination: float, *, ascii_only: bool = False, slices: bool = False) -> str:
    file = io.BytesIO()
    out = io.TextIOWrapper(file, encoding="ascii" if ascii_only else "utf-8", newline="")
    summary = summary_of(record_of(hallucination))
    print_summary(Console(file=out, width=140), HEADER, summary, {"all": summary} if slices else None)
    out.flush()
    return file.getvalue().decode()


@pytest.mark.parametrize(
    ("value", "better", "level", "bad"),
    [(0.79, "higher", "low", True), (0.8, "higher", "high", False), (0.81, "lower", "high", True),
     (0.8, "lower", "low", False), (0.8 - 1e-12, "higher", "high", False), (0.8 + 1e-12, "lower", "low", False)],
)  # fmt: skip
def test_what_lies_at_its_threshold_is_good_in_both_directions(
    value: float, better: str, level: str, bad: bool
) -> None:
    assert level_of(value, 0.8, better) == level  # type: ignore[arg-type]
    assert is_bad(value, 0.8, better) is bad  # type: ignore[arg-type]


def test_a_table_marks_what_is_high_where_lower_is_better() -> None:
    shown = printed(0.6)

    assert re.search(r"^Grounded +0\.40 +▼ low", shown, re.MULTILINE)
    assert re.search(r"^Made up ↓ +0\.60 +▲ high", shown, re.MULTILINE)
    assert "▼ low: beyond its threshold (Grounded 0.8)" in shown
    assert "▲ high: beyond its threshold (Made up 0.2)" in shown


def test_a_good_score_is_not_marked_in_either_direction() -> None:
    shown = printed(0.1)

    assert re.search(r"^Made up ↓ +0\.10 +0\.10", shown, re.MULTILINE)
    assert "▲" not in shown
    assert "▼" not in shown


def test_slices_and_a_terminal_without_unicode_say_it_too() -> None:
    assert re.search(r"all +1 +▼0\.40 +▲0\.60", printed(0.6, slices=True))
    assert re.search(r"Made up \(lower is better\) +0\.60 +\^ high", printed(0.6, ascii_only=True))


def test_a_case_says_on_which_side_of_its_threshold_a_score_lies() -> None:
    file = io.StringIO()
    print_case(Console(file=file, width=120), record_of(0.6), (), THRESHOLDS)

    assert re.search(r"Grounded +0\.40 .*▼ low, below 0\.8", file.getvalue())
    assert re.search(r"Made up ↓ +0\.60 .*▲ high, above 0\.2", file.getvalue())


def test_the_list_of_cases_and_what_further_scores_found_show_the_direction(tmp_path: Path) -> None:
    part = Part(Component("It is blue."), Verdict("yes"), good=False)
    outcomes = {"hallucination": Score(1.0, 1), "irrelevant_noise_sensitivity": Score(1.0, 1, 0, (part,))}
    record = Record(Case("c", "What?"), {}, outcomes)
    file = io.StringIO()
    print_cases(Console(file=file, width=120), [listed_case(record, ())])
    print_case(Console(file=file, width=120), record, (), THRESHOLDS)
    write_run_page(tmp_path / "r.html", run_report(HEADER, summary_of(record)), lambda: iter([(record, ())]))

    assert re.search(r"^case +finding +made up ↓ +misled i ↓", file.getvalue())
    assert "What further scores found\n  Misled by irrelevant sources ↓: " in file.getvalue()
    assert "<strong>Misled by irrelevant sources ↓</strong>" in (tmp_path / "r.html").read_text("utf-8")


def test_a_bar_is_as_long_as_its_place_in_the_range(tmp_path: Path) -> None:
    record = Record(Case("c", "What?"), {}, {"query_similarity": Score(0.0, 3)})
    tally = Tally(metrics_named(["query_similarity"]), {})
    tally.add(record)
    header = replace(HEADER, thresholds={"query_similarity": 0.5})
    file = io.StringIO()
    print_summary(Console(file=file, width=140), header, tally.summary())
    print_case(Console(file=file, width=120), record, (), header.thresholds)
    write_run_page(tmp_path / "r.html", run_report(header, tally.summary()), lambda: iter([(record, ())]))
    page = (tmp_path / "r.html").read_text("utf-8")

    assert "██████████░░░░░░░░░░" in file.getvalue()
    assert " █████░░░░░ " in file.getvalue()
    assert '<rect class="fill" width="50.0"' in page
    assert '<line x1="75.0" x2="75.0"' in page


def test_repetitions_show_the_direction() -> None:
    repeats = Repeats(BOTH, THRESHOLDS)
    for trial, value in enumerate((0.1, 0.3)):
        repeats.add(trial, record_of(value))
    file = io.StringIO()
    print_document(Console(file=file, width=120), repeats_document(repeats.summary()))

    assert "Made up ↓" in file.getvalue()
    assert [m.flips for m in repeats.summary().metrics] == [1.0, 1.0]


def test_the_page_colours_what_is_high_where_lower_is_better(tmp_path: Path) -> None:
    record = record_of(0.6)
    summary = summary_of(record)
    write_run_page(tmp_path / "r.html", run_report(HEADER, summary, {"all": summary}), lambda: iter([(record, ())]))
    page = (tmp_path / "r.html").read_text("utf-8")

    assert '<span class="bad-mark">▲ high</span>' in page
    assert "▲ high, above 0.2" in page
    assert page.count('<article class="card bad">') == 2
    assert len(re.findall(r'<rect class="is-bad"', page)) == 2
    found = re.search(r'id="columns">(.*?)</script>', page, re.DOTALL)
    assert found
    columns = json.loads(found[1])
    assert columns["titles"] == ["Grounded", "Made up ↓"]
    assert columns["thresholds"] == [[0.8, False], [0.2, True]]
    assert columns["signs"]["high"] == "▲"


def test_machines_are_told_the_direction() -> None:
    found = summary_of(record_of(0.6)).as_json()["metrics"]

    assert [numbers["better"] for numbers in found.values()] == ["higher", "lower"]


def test_every_metric_has_a_short_title_of_its_own() -> None:
    assert set(SHORT_TITLES) == {m.name for m in METRICS}
    assert len(set(SHORT_TITLES.values())) == len(SHORT_TITLES)
    assert short_title("retrieval_recall(k=5)") == "R(k=5)"


@pytest.mark.parametrize("width", [80, 120, 300])
def test_a_line_holds_as_many_scores_as_fit(width: int) -> None:
    record = Record(Case("c", "What?"), {}, {m.name: Score(0.5, 1) for m in METRICS})
    file = io.StringIO()
    print_cases(Console(file=file, width=width), [listed_case(record, (), thresholds=THRESHOLDS)])

    lines = file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    shown = lines[1].count("0.50") - lines[1].count("(0.50")
    left = len(METRICS) - shown
    assert shown >= 3
    said = " ".join(file.getvalue().split())
    assert ("not shown at this width: " in said) == (left > 0)
    if left:
        assert f", and {left - MOST_NAMES} more" in said
    assert width < 300 or left == 0


def test_a_narrow_table_cuts_no_word_of_many_metrics() -> None:
    outcomes = {m.name: Score(0.0 if m.better == "higher" else 1.0, 1) for m in METRICS[:-1]}
    tally = Tally(METRICS, THRESHOLDS)
    tally.add(Record(Case("c", "What?"), {}, outcomes))
    file = io.StringIO()
    print_summary(Console(file=file, width=80), HEADER, tally.summary())

    rows = [line for line in file.getvalue().splitlines() if re.search("  0.00|  1.00|undef", line)]
    assert len(rows) == len(METRICS)
    assert not [line for line in rows if "…" in line]


def test_scores_that_no_rule_reads_are_said_to_be_so_and_rank_the_cases(tmp_path: Path) -> None:
    shown = printed(0.6)
    assert "No rule reads these scores: what to repair can't be told." in shown
    assert "no fault found" not in shown

    records = [replace(record_of(value), case=Case(f"c{value}", "What?")) for value in (0.1, 0.6, 1.0, 0.3)]
    rows = [listed_case(record, (), thresholds=THRESHOLDS) for record in records]
    assert [row.id for row in worst_first(rows)] == ["c1.0", "c0.6", "c0.3", "c0.1"]
    assert {row.reading for row in rows} == {"no rule reads these scores"}

    summary = summary_of(records[0])
    write_run_page(tmp_path / "r.html", run_report(HEADER, summary), lambda: ((record, ()) for record in records))
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "No rule reads these scores" in page
    assert '[1,"c1.0"' in page
    assert '[2,"c0.6"' in page


def test_a_rule_without_advice_leaves_no_bare_arrow(tmp_path: Path) -> None:
    rules = (Rule("mine", "failure", {"hallucination": "high"}, "it makes things up", "prompt", ""),)
    record = record_of(0.9)
    tally = Tally(BOTH, THRESHOLDS, rules)
    findings = tally.add(record)
    header = replace(HEADER, rules=rules)
    file = io.StringIO()
    print_summary(Console(file=file, width=120), header, tally.summary())
    print_case(Console(file=file, width=120), record, findings, THRESHOLDS)
    write_run_page(tmp_path / "r.html", run_report(header, tally.summary()), lambda: iter([(record, findings)]))

    assert "it makes things up" in file.getvalue()
    assert "→" not in file.getvalue()
    assert 'class="advice"' not in (tmp_path / "r.html").read_text("utf-8")


def test_what_cases_lack_is_always_said_and_briefly() -> None:
    tally = Tally(METRICS, THRESHOLDS)
    for i in range(9):
        some = Undefined(f"an odd reason {i}")
        outcomes = {m.name: some if m.name == "groundedness" else Score(0.9, 1) for m in METRICS}
        tally.add(Record(Case(f"c{i}", "What?"), {}, outcomes))
    reference, samples = metrics_named(["reference"])[:4], metrics_named(["samples"])
    for i in range(2):
        reasons = {m.name: Undefined("the case has no reference") for m in reference}
        reasons |= {m.name: Undefined("the case has no samples of the response") for m in samples}
        tally.add(Record(Case(f"d{i}", "What?"), {}, {m.name: Score(0.9, 1) for m in METRICS} | reasons))
    file = io.StringIO()
    print_summary(Console(file=file, width=140), HEADER, tally.summary())

    said = [line for line in file.getvalue().splitlines() if line.startswith("Undefined")]
    assert said[0] == "Undefined, the case has no reference: 4 metrics, 2 cases"
    assert (
        said[1] == "Undefined, the case has no samples of the response: Same answer every time 2, Samples that agree 2"
    )
    assert said[-1] == "Undefined for 1 more reason"
    assert len(said) == 11
