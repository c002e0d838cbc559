"""The terminal's pictures, plain and at fixed widths."""

import re
from dataclasses import replace

import pytest
from shown import CONFIG, HEADER, INFO, THRESHOLDS, Many, case_shown, cases_shown, summary_of, summary_shown

from made_records import NO
from ragtriage import METRICS
from ragtriage.core.case import Case, Record, Source
from ragtriage.core.verdicts import Undefined, Verdicts
from ragtriage.diagnosis.findings import diagnose
from ragtriage.metrics import THELMA
from ragtriage.metrics.thelma import fact_precision
from ragtriage.report.case_report import listed_case
from ragtriage.report.run_report import Header
from ragtriage.report.words import full_title, short_title, two_places


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140])
def test_nothing_is_wider_than_the_terminal_and_no_number_of_a_run_is_cut(width: int, many: Many) -> None:
    records = list(many(30))
    summary = summary_of(record for record, _ in records)
    run = summary_shown(summary, width, slices={"fees": summary, "ships": summary})
    cases = cases_shown((listed_case(*each, CONFIG) for each in records), width, most=10)
    case = case_shown(records[0][0], width, findings=records[0][1])

    assert max(len(line) for line in (run + cases + case).splitlines()) <= width
    assert "…" not in run
    assert ("not shown at this width: 95 % interval, cases" in " ".join(run.split())) == (width == 40)
    assert all(two_places(m.mean) in run for m in summary.metrics if m.mean is not None)


@pytest.mark.parametrize("width", [60, 80, 130])
def test_slices_show_every_metric_at_any_width(rich_record: Record, width: int) -> None:
    summary = summary_of([rich_record], METRICS)
    text = summary_shown(
        summary, width, header=replace(HEADER, config=replace(CONFIG, metrics=METRICS)), slices={"refunds": summary}
    )
    said = text.split("By slice\n")[1]

    assert "not shown at this width" not in said.split("Diagnosis")[0]
    assert max(map(len, said.splitlines())) <= width
    if width == 80:
        assert [m.name for m in METRICS if short_title(m.name) not in said] == []
    assert len(re.findall(r"^refunds +1 ", said, re.MULTILINE)) > 1


def test_an_empty_run_failures_and_reasons_are_told(rich_record: Record) -> None:
    empty = summary_shown(summary_of([]), 100, header=Header(replace(INFO, state="interrupted", rows=10)))
    none = replace(rich_record, outcomes={m.name: Undefined("no sources were retrieved") for m in THELMA[:2]})
    failed = replace(rich_record, outcomes={"groundedness": Undefined("the judge failed: time-out", failed=True)})
    text = summary_shown(summary_of([none, failed]), 100)

    assert "No case was evaluated, so there is nothing to show yet." in empty
    assert "Not complete – 0 of 10 cases so far (interrupted)." in empty
    assert "Undefined, no sources were retrieved: Sources needed 1, Facts needed 1" in text
    assert "Failed: Grounded 1 case: " in text
    assert "2 undetermined" in text
    rejected = summary_shown(
        summary_of([none]), 100, header=replace(HEADER, rejected=3, rejections=("row 2: no query",))
    )
    assert "3 rows of the input could not be used:\n  row 2: no query\n  and 2 more" in rejected


def test_a_case_is_shown_with_its_claims_marked(rich_record: Record) -> None:
    findings = diagnose(rich_record, THRESHOLDS)
    text = case_shown(rich_record, 140, findings=findings)

    assert (
        "The fee is 20 euros and it is due today[✗2].[✓1] You can pay by card.[✓3][↻] The office is blue.[!4]" in text
    )
    assert "You may pay by card.[↻]" in text
    assert "✗7 A claim without a place. – not supported by the sources: it isn't there" in text
    assert "!4 The office is blue. – check this: perhaps not supported, not needed to answer: perhaps not" in text
    assert "What is the fee?  ✓  ✗     ·         ✓" in text
    assert "1 fees-1 ✓ needed · 1 of 2 facts needed" in text
    assert "★The fee is 20 euros. Cards are accepted." in text


@pytest.mark.parametrize("colour", [False, True])
def test_a_users_text_controls_neither_the_terminal_nor_the_markup(colour: bool) -> None:
    evil = "\x1b]0;owned\x07\x1b[31m[bold red]x[/bold red][/] \u202e[link=http://a]y[/link]"
    case = Case(evil, evil, (Source(evil, evil),), evil, reference=evil, tags={evil: evil})
    record = Record(case, outcomes={"groundedness": Undefined(evil, failed=True)})
    info = replace(INFO, address=evil, input=evil, judge=evil)
    summary, header = summary_of([record]), Header(info, rejected=1, rejections=(evil,))

    text = case_shown(record, 100, colour=colour) + cases_shown([listed_case(record, (), CONFIG)], 100, colour=colour)
    text += summary_shown(summary, 100, header=header, slices={evil: summary}, colour=colour)

    assert "[bold red]x[/bold red]" in text
    assert not any(bad in text for bad in ("\x1b]", "\x07", "\u202e", "\x1b[31m[bold"))
    assert ("\x1b" in text) == colour


def test_the_list_of_cases_is_worst_first_and_says_what_is_left_out(many: Many) -> None:
    rows = [listed_case(*each, CONFIG) for each in many(20)]
    found = cases_shown(rows, 80, most=3).splitlines()

    assert found[0].startswith("case")
    assert [line.split()[1] for line in found[1:4]] == ["✗", "✗", "✗"]
    well = sum(row.kind == "no-fault" for row in rows)
    assert f"{17 - well} more cases not listed" in found[-2:]
    assert well == 0 or found[-1].startswith(f"✓ no fault found in {well} case")

    good = [replace(row, kind="no-fault") for row in rows[:3]]
    found = cases_shown([rows[0], *good[1:]], 80, most=3).splitlines()
    assert [line.split()[0] for line in found if line.startswith("case")] == ["case", rows[0].id]
    assert found[-1] == "✓ no fault found in 2 cases"
    assert cases_shown(good[:1], 80, most=3) == "✓ no fault found in 1 case\n"


def test_a_source_none_of_whose_facts_is_needed_is_needed_as_a_whole(rich_record: Record) -> None:
    step = str(fact_precision.needs["needed"])
    judged = rich_record.steps[step]
    assert isinstance(judged, Verdicts)
    none = replace(judged, cells=tuple((replace(NO),) for _ in judged.cells))
    text = case_shown(replace(rich_record, steps={**rich_record.steps, step: none}), 140)

    said = [line.strip() for line in text.splitlines()]
    assert "1 fees-1 ✓ needed as a whole" in said
    assert "2  ✗ not needed · 0 of 1 fact needed" in said


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_component_to_repair_is_shown_whole_and_scores_give_way(width: int, many: Many) -> None:
    rows = [listed_case(*each, CONFIG) for each in many(20)]
    whole = next(row for row in rows if row.component == "prompt or generator")
    longest = replace(whole, about="prompt or source chunking", kind="quality", sure=False)
    text = cases_shown([longest, *rows], width)

    assert "◆ quality? · prompt or source chunking " in text
    assert "prompt or generator" in text
    assert "…" not in text
    heads = text.splitlines()[0].split()[2:]
    named = [full_title(m.name) for m in THELMA if short_title(m.name) not in heads]
    said = " ".join(text.split())
    assert (f"not shown at this width: {', '.join(named)} " in said) == bool(named)
    assert heads == ["found"] if width == 60 else "ground" in heads

    archive = "the second index of the retriever of the archive"
    wrapped = cases_shown([replace(rows[0], kind="failure", about=f"{archive} " * 2)], width)
    assert " ".join(wrapped.split()).count(archive) == 2
    assert max(map(len, wrapped.splitlines())) <= width


def test_a_number_that_rounds_to_nothing_has_no_sign() -> None:
    assert [two_places(value) for value in (-0.004, 0.0, -0.006, 0.995)] == ["0.00", "0.00", "-0.01", "0.99"]
