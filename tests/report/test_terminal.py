"""The terminal's pictures, plain and at fixed widths."""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import pytest
from rich.console import Console

from made_records import NO
from ragtriage.core.case import Case, Record, Source
from ragtriage.core.verdicts import Undefined, Verdicts
from ragtriage.diagnosis.findings import Finding, diagnose
from ragtriage.metrics import THELMA
from ragtriage.metrics.thelma import fact_precision
from ragtriage.report.case_document import case_document
from ragtriage.report.case_report import ListedCase, case_report, listed_case
from ragtriage.report.run_document import cases_document, run_document
from ragtriage.report.run_report import Header, run_report
from ragtriage.report.terminal import print_document
from ragtriage.report.words import full_title, short_title, two_places
from ragtriage.runs.summary import Summary, Tally

Many = Callable[[int], Iterator[tuple[Record, tuple[Finding, ...]]]]


def print_summary(shown: Console, header: Header, summary: Summary, slices: dict[str, Summary] | None = None) -> None:
    print_document(shown, run_document(run_report(header, summary, slices), shown.width))


def print_cases(shown: Console, rows: Iterable[ListedCase], most: int | None = None) -> None:
    print_document(shown, cases_document(rows, most, width=shown.width))


def print_case(shown: Console, record: Record, findings: Sequence[Finding], thresholds: Mapping[str, float]) -> None:
    print_document(shown, case_document(case_report(record, findings, thresholds), shown.width))


def console(width: int = 100, *, colour: bool = False) -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    shown = Console(file=file, width=width, force_terminal=colour, color_system="truecolor" if colour else None)
    return shown, file


def summary_of(records: list[Record], thresholds: dict[str, float]) -> Summary:
    tally = Tally(THELMA, thresholds)
    for record in records:
        tally.add(record)
    return tally.summary()


def lines(file: io.StringIO) -> list[str]:
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_a_summary_without_colour(rich_record: Record, thresholds: dict[str, float]) -> None:
    shown, file = console()
    header = Header(
        "7", "rows.jsonl", "embedded", "2026-11-21", thresholds=thresholds, rejected=3, rejections=("row 2: no query",)
    )

    print_summary(shown, header, summary_of([rich_record], thresholds))

    text = "\n".join(lines(file))
    assert text.startswith("Run 7 · rows.jsonl · judged by embedded · 2026-11-21 · 1 case\n")
    assert "Grounded                     0.50  ▼ low  0.50–0.50      ██████████░░░░░░░░░░      1" in text
    assert "Failed: Sources answer the question 1 case: the judge failed on" in text
    assert "No fault found in 0 of 1 case" in text
    assert "Diagnosis\n" in text
    assert "→ " in text
    assert "worst: case/1" in text
    assert "3 rows of the input could not be used:\n  row 2: no query\n  and 2 more" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_nothing_is_wider_than_the_terminal(width: int, many: Many, thresholds: dict[str, float]) -> None:
    shown, file = console(width)
    records = list(many(30))
    summary = summary_of([record for record, _ in records], thresholds)
    header = Header("7", "rows.jsonl", "embedded", thresholds=thresholds)

    print_summary(shown, header, summary, {"fees": summary, "ships": summary})
    print_cases(shown, (listed_case(*each) for each in records), 10)
    print_case(shown, *records[0], thresholds)

    assert max(len(line) for line in lines(file)) <= width


def test_an_empty_run_says_so(thresholds: dict[str, float]) -> None:
    shown, file = console()

    print_summary(shown, Header("1", thresholds=thresholds, state="interrupted", of=10), summary_of([], thresholds))

    assert "No case was evaluated, so there is nothing to show yet." in file.getvalue()
    assert "Not complete – 0 of 10 cases so far (interrupted)." in file.getvalue()


def test_failures_and_reasons_are_counted(rich_record: Record, thresholds: dict[str, float]) -> None:
    shown, file = console()
    none = replace(rich_record, outcomes={m.name: Undefined("no sources were retrieved") for m in THELMA[:2]})
    failed = replace(rich_record, outcomes={"groundedness": Undefined("the judge failed: time-out", failed=True)})

    print_summary(shown, Header("1", thresholds=thresholds), summary_of([none, failed], thresholds))

    assert "Undefined, no sources were retrieved: Sources needed 1, Facts needed 1" in file.getvalue()
    assert "Failed: Grounded 1 case: " in file.getvalue()
    assert "2 undetermined" in file.getvalue()


def test_a_case_is_shown_with_its_claims_marked(rich_record: Record, thresholds: dict[str, float]) -> None:
    shown, file = console(140)

    print_case(shown, rich_record, diagnose(rich_record, thresholds), thresholds)

    text = "\n".join(lines(file))
    assert (
        "The fee is 20 euros and it is due today[✗2].[✓1] You can pay by card.[✓3][↻] The office is blue.[!4]" in text
    )
    assert "You may pay by card.[↻]" in text
    assert "✗7 A claim without a place. – not supported by the sources: it isn't there" in text
    assert "!4 The office is blue. – check this: perhaps not supported, not needed to answer: perhaps not" in text
    assert "What is the fee?  ✓  ✗     ·         ✓" in text
    assert "1 fees-1 ✓ needed · 1 of 2 facts needed" in text
    assert "★The fee is 20 euros. Cards are accepted." in text


def test_a_users_text_controls_neither_the_terminal_nor_the_markup(thresholds: dict[str, float]) -> None:
    evil = "\x1b]0;owned\x07\x1b[31m[bold red]x[/bold red][/] \u202e[link=http://a]y[/link]"
    case = Case(evil, evil, (Source(evil, evil),), evil, reference=evil, tags={evil: evil})
    record = Record(case, outcomes={"groundedness": Undefined(evil, failed=True)})
    for colour in (False, True):
        shown, file = console(colour=colour)

        print_case(shown, record, (), thresholds)
        print_cases(shown, [listed_case(record, ())])
        header = Header(evil, evil, evil, evil, thresholds=thresholds, rejected=1, rejections=(evil,))
        print_summary(shown, header, summary_of([record], thresholds), {evil: summary_of([record], thresholds)})

        text = file.getvalue()
        assert "[bold red]x[/bold red]" in text
        assert not any(bad in text for bad in ("\x1b]", "\x07", "\u202e", "\x1b[31m[bold"))
        assert colour or "\x1b" not in text


def test_a_terminal_without_unicode_gets_other_signs(rich_record: Record, thresholds: dict[str, float]) -> None:
    raw = io.BytesIO()
    shown = Console(file=io.TextIOWrapper(raw, encoding="ascii", errors="replace"), width=100)

    print_case(shown, rich_record, diagnose(rich_record, thresholds), thresholds)
    print_summary(shown, Header("1", thresholds=thresholds), summary_of([rich_record], thresholds))
    print_cases(shown, [listed_case(rich_record, ())])
    shown.file.flush()

    assert b"it is due today[x2].[+1]" in raw.getvalue()


def test_the_list_of_cases_is_worst_first_and_says_what_is_left_out(many: Many) -> None:
    shown, file = console(80)

    rows = [listed_case(*each) for each in many(20)]
    print_cases(shown, rows, 3)

    found = lines(file)
    assert found[0].startswith("case")
    assert [line.split()[1] for line in found[1:4]] == ["✗", "✗", "✗"]
    well = sum(row.kind == "no-fault" for row in rows)
    assert f"{17 - well} more cases not listed" in found[-2:]
    assert well == 0 or found[-1].startswith(f"✓ no fault found in {well} case")


def test_only_cases_on_which_something_was_found_are_listed(many: Many) -> None:
    rows = [listed_case(*each) for each in many(3)]
    shown, file = console(80)

    print_cases(shown, [rows[0], *(replace(row, kind="no-fault") for row in rows[1:])], 3)
    print_cases(shown, [replace(rows[0], kind="no-fault")], 3)

    assert [line.split()[0] for line in lines(file) if line.startswith("case")] == ["case", rows[0].id]
    assert lines(file)[-2:] == ["✓ no fault found in 2 cases", "✓ no fault found in 1 case"]


def test_a_source_none_of_whose_facts_is_needed_is_needed_as_a_whole(
    rich_record: Record, thresholds: dict[str, float]
) -> None:
    step = str(fact_precision.needs["needed"])
    judged = rich_record.steps[step]
    assert isinstance(judged, Verdicts)
    none = replace(judged, cells=tuple((replace(NO),) for _ in judged.cells))
    shown, file = console(140)

    print_case(shown, replace(rich_record, steps={**rich_record.steps, step: none}), (), thresholds)

    said = [line.strip() for line in lines(file)]
    assert "1 fees-1 ✓ needed as a whole" in said
    assert "2  ✗ not needed · 0 of 1 fact needed" in said


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_component_to_repair_is_shown_whole_and_scores_give_way(width: int, many: Many) -> None:
    shown, file = console(width)
    rows = [listed_case(*each) for each in many(20)]
    whole = next(row for row in rows if row.component == "prompt or generator")
    longest = replace(whole, about="prompt or source chunking", kind="quality", sure=False)

    print_cases(shown, [longest, *rows])

    text = "\n".join(lines(file))
    assert "◆ quality? · prompt or source chunking " in text
    assert "prompt or generator" in text
    assert "…" not in text
    heads = lines(file)[0].split()[2:]
    named = [full_title(m.name) for m in THELMA if short_title(m.name) not in heads]
    said = " ".join(text.split())
    assert (f"not shown at this width: {', '.join(named)} " in said) == bool(named)
    assert heads == ["found"] if width == 60 else "ground" in heads


def test_a_component_that_no_line_holds_is_wrapped(many: Many) -> None:
    shown, file = console(60)
    (row,) = (listed_case(*each) for each in many(1))

    print_cases(shown, [replace(row, kind="failure", about="the second index of the retriever of the archive " * 2)])

    assert " ".join(file.getvalue().split()).count("the second index of the retriever of the archive") == 2
    assert max(len(line) for line in lines(file)) <= 60


@pytest.mark.parametrize("width", [40, 60, 80])
def test_no_number_of_a_run_is_cut(width: int, many: Many, thresholds: dict[str, float]) -> None:
    shown, file = console(width)
    summary = summary_of([record for record, _ in many(30)], thresholds)

    print_summary(shown, Header("7", thresholds=thresholds), summary, {"fees": summary, "ships": summary})

    text = file.getvalue()
    assert "…" not in text
    assert ("not shown at this width: 95 % interval, cases" in " ".join(text.split())) == (width == 40)
    assert all(two_places(m.mean) in text for m in summary.metrics if m.mean is not None)


@pytest.mark.parametrize(("value", "shown"), [(-0.004, "0.00"), (0.0, "0.00"), (-0.006, "-0.01"), (0.995, "0.99")])
def test_a_number_that_rounds_to_nothing_has_no_sign(value: float, shown: str) -> None:
    assert two_places(value) == shown
