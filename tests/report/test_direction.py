"""Where lower is better, a picture says so: by arrow, sign, words and colour."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from shown import CONFIG, HEADER, THRESHOLDS, case_shown, cases_shown, page_of, printed, summary_of, summary_shown

from ragtriage import METRICS, Case, Component, Part, Record, Score, Verdict, metrics_named
from ragtriage.core.verdicts import Undefined
from ragtriage.diagnosis.findings import diagnose
from ragtriage.diagnosis.rules import Rule, is_bad, level_of
from ragtriage.report.case_report import listed_case, worst_first
from ragtriage.report.run_document import repeats_document
from ragtriage.report.terminal import MOST_NAMES
from ragtriage.report.words import SHORT_TITLES, short_title
from ragtriage.runs.case_row import CaseRow
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.repeats import repeat_summary

BOTH = metrics_named(["groundedness", "hallucination"])


def record_of(hallucination: float) -> Record:
    outcomes = {"groundedness": Score(1 - hallucination, 10), "hallucination": Score(hallucination, 10)}
    return Record(Case("c", "What does it cost?"), {}, outcomes)


LOW, GOOD = record_of(0.6), record_of(0.1)


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


def test_the_terminal_says_on_which_side_of_its_threshold_a_score_lies() -> None:
    summary = summary_of([LOW], BOTH)
    assert re.search(r"all +1 +▼0\.40 +▲0\.60", summary_shown(summary, 140, slices={"all": summary}))
    assert [numbers["better"] for numbers in summary.as_json()["metrics"].values()] == ["higher", "lower"]

    case = case_shown(LOW, 120)
    assert re.search(r"Grounded +0\.40 .*▼ low, below 0\.8", case)
    assert re.search(r"Made up ↓ +0\.60 .*▲ high, above 0\.2", case)

    good = summary_shown(summary_of([GOOD], BOTH), 140)
    assert re.search(r"^Made up ↓ +0\.10 +0\.10", good, re.MULTILINE)
    assert not {"▲", "▼"} & set(good)


def test_the_list_of_cases_what_further_scores_found_and_repetitions_show_the_direction(tmp_path: Path) -> None:
    part = Part(Component("It is blue."), Verdict("yes"), good=False)
    outcomes = {"hallucination": Score(1.0, 1), "irrelevant_noise_sensitivity": Score(1.0, 1, 0, (part,))}
    record = Record(Case("c", "What?"), {}, outcomes)
    page = page_of(tmp_path, [(record, ())], summary_of([record], BOTH))
    assert re.search(r"^case +finding +made up ↓ +misled i ↓", cases_shown([listed_case(record, (), CONFIG)], 120))
    assert "What further scores found\n  Misled by irrelevant sources ↓: " in case_shown(record, 120)
    assert "<strong>Misled by irrelevant sources ↓</strong>" in page

    trials = [[CaseRow(0, "c", outcomes=record_of(value).outcomes)] for value in (0.1, 0.3)]
    repeats = repeat_summary(trials, EvaluationConfig(BOTH, THRESHOLDS, ()))
    assert "Made up ↓" in printed(repeats_document(repeats), 120)
    assert [m.flips for m in repeats.metrics] == [1.0, 1.0]


def test_a_bar_is_as_long_as_its_place_in_the_range(tmp_path: Path) -> None:
    record = Record(Case("c", "What?"), {}, {"query_similarity": Score(0.0, 3)})
    summary = summary_of([record], metrics_named(["query_similarity"]), {})
    header = replace(HEADER, config=EvaluationConfig((), {"query_similarity": 0.5}))
    page = page_of(tmp_path, [(record, ())], summary, header)

    assert "█████░░░░░" in summary_shown(summary, 140, header=header)
    assert " █████░░░░░ " in case_shown(record, 120, thresholds=header.config.thresholds)
    assert '<rect class="fill" width="50.0"' in page
    assert '<line x1="75.0" x2="75.0"' in page


def test_the_page_colours_what_is_high_where_lower_is_better(tmp_path: Path) -> None:
    summary = summary_of([LOW], BOTH)
    page = page_of(tmp_path, [(LOW, ())], summary, slices={"all": summary})

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


def test_every_metric_has_a_short_title_of_its_own() -> None:
    assert set(SHORT_TITLES) == {m.name for m in METRICS}
    assert len(set(SHORT_TITLES.values())) == len(SHORT_TITLES)
    assert short_title("retrieval_recall(k=5)") == "R(k=5)"


@pytest.mark.parametrize("width", [80, 120, 300])
def test_a_line_holds_as_many_scores_as_fit_and_no_word_of_many_metrics_is_cut(width: int) -> None:
    record = Record(Case("c", "What?"), {}, {m.name: Score(0.5, 1) for m in METRICS})
    text = cases_shown([listed_case(record, (), CONFIG)], width)

    lines, said = text.splitlines(), " ".join(text.split())
    assert max(map(len, lines)) <= width
    shown = lines[1].count("0.50") - lines[1].count("(0.50")
    left = len(METRICS) - shown
    assert shown >= 3
    assert ("not shown at this width: " in said) == (left > 0)
    assert not left or f", and {left - MOST_NAMES} more" in said
    assert width < 300 or left == 0

    outcomes = {m.name: Score(0.0 if m.better == "higher" else 1.0, 1) for m in METRICS[:-1]}
    summary = summary_shown(summary_of([Record(Case("c", "What?"), {}, outcomes)], METRICS), width)
    rows = [line for line in summary.splitlines() if re.search("  0.00|  1.00|undef", line)]
    assert len(rows) == len(METRICS)
    assert not [line for line in rows if "…" in line]


def test_scores_that_no_rule_reads_are_said_to_be_so_and_rank_the_cases(tmp_path: Path) -> None:
    records = [replace(record_of(value), case=Case(f"c{value}", "What?")) for value in (0.1, 0.6, 1.0, 0.3)]
    rows = [listed_case(record, (), CONFIG) for record in records]
    shown = summary_shown(summary_of(records, BOTH), 140)
    page = page_of(tmp_path, [(record, ()) for record in records], summary_of(records[:1], BOTH))

    assert "No rule reads these scores: what to repair can't be told." in shown
    assert "no fault found" not in shown
    assert [row.id for row in worst_first(rows)] == ["c1.0", "c0.6", "c0.3", "c0.1"]
    assert {row.reading for row in rows} == {"no rule reads these scores"}
    assert "No rule reads these scores" in page
    assert '[1,"c1.0"' in page
    assert '[2,"c0.6"' in page


def test_a_rule_without_advice_leaves_no_bare_arrow(tmp_path: Path) -> None:
    rules = (Rule("mine", "failure", {"hallucination": "high"}, "it makes things up", "prompt", ""),)
    record = record_of(0.9)
    summary = summary_of([record], BOTH, rules=rules)
    findings = diagnose(record, THRESHOLDS, rules)
    header = replace(HEADER, config=replace(CONFIG, rules=rules))
    shown = summary_shown(summary, 120, header=header) + case_shown(record, 120, findings=findings)

    assert [one.rule for one in findings] == ["mine"]
    assert shown.count("it makes things up") >= 2
    assert "→" not in shown
    assert 'class="advice"' not in page_of(tmp_path, [(record, findings)], summary, header)


def test_what_cases_lack_is_always_said_and_briefly() -> None:
    records, every = [], {m.name: Score(0.9, 1) for m in METRICS}
    for i in range(9):
        outcomes = {**every, "groundedness": Undefined(f"an odd reason {i}")}
        records.append(Record(Case(f"c{i}", "What?"), {}, outcomes))
    reasons = {m.name: Undefined("the case has no reference") for m in metrics_named(["reference"])[:4]}
    reasons |= {m.name: Undefined("the case has no samples of the response") for m in metrics_named(["samples"])}
    records += [Record(Case(f"d{i}", "What?"), {}, {**every, **reasons}) for i in range(2)]
    shown = summary_shown(summary_of(records, METRICS), 140)

    said = [line for line in shown.splitlines() if line.startswith("Undefined")]
    assert said[:2] == [
        "Undefined, the case has no reference: 4 metrics, 2 cases",
        "Undefined, the case has no samples of the response: Same answer every time 2, Samples that agree 2",
    ]
    assert said[-1] == "Undefined for 1 more reason"
    assert len(said) == 11
