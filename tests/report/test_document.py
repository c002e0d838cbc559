"""A report is a value, and every renderer shows the same of it."""

import io

import pytest
from rich.console import Console

from ragtriage.core.case import Record
from ragtriage.diagnosis.findings import diagnose
from ragtriage.metrics import THELMA
from ragtriage.report.case_document import case_document
from ragtriage.report.case_report import case_report
from ragtriage.report.document import (
    Bar,
    DocumentBlock,
    DocumentTable,
    Line,
    StyledText,
    line,
    markdown,
    number_columns,
    table,
    text_columns,
    title_line,
)
from ragtriage.report.run_document import run_document
from ragtriage.report.run_report import Header, run_report
from ragtriage.report.terminal import print_document
from ragtriage.report.testset_document import difference_of
from ragtriage.runs.summary import Tally
from ragtriage.testset.scoring import ClusterDifference


@pytest.fixture
def documents(rich_record: Record, thresholds: dict[str, float]) -> list[tuple[DocumentBlock, ...]]:
    findings = diagnose(rich_record, thresholds)
    tally = Tally(THELMA, thresholds)
    tally.add(rich_record)
    run = run_report(Header("7", "rows.jsonl", thresholds=thresholds), tally.summary())
    return [tuple(run_document(run)), tuple(case_document(case_report(rich_record, findings, thresholds)))]


def printed(*blocks: DocumentBlock, width: int = 100, encoding: str = "utf-8") -> list[str]:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    print_document(Console(file=file, width=width), blocks)
    file.seek(0)
    return [row.rstrip() for row in file.read().splitlines()]


def texts_of(block: DocumentBlock) -> list[str]:
    if isinstance(block, Line):
        return [span.text for span in block.spans]
    if isinstance(block, DocumentTable):
        return [cell for row in block.rows for cell in row if isinstance(cell, str)]
    return [block.title]


def squeezed(text: str) -> str:
    return "".join(text.split()).replace("\\", "")


def test_the_same_run_makes_the_same_value(rich_record: Record, thresholds: dict[str, float]) -> None:
    one, other = (tuple(case_document(case_report(rich_record, (), thresholds))) for _ in range(2))

    assert one == other


def test_terminal_and_markdown_show_every_text(documents: list[tuple[DocumentBlock, ...]]) -> None:
    for document in documents:
        shown = squeezed("".join(printed(*document, width=300)))
        written = squeezed(markdown(document))
        for text in (text for block in document for text in texts_of(block)):
            assert squeezed(text) in shown
            assert squeezed(text) in written


def test_a_table_is_laid_out_by_its_columns() -> None:
    rows = [("a", "1"), (StyledText("longer", "failure"), "1,000"), ("none",)]

    assert printed(table((*text_columns("name"), *number_columns("count")), rows)) == [
        "name    count",
        "a           1",
        "longer  1,000",
        "none",
    ]


@pytest.mark.parametrize(("value", "bar"), [(None, ""), (0.5, "█████░░░░░"), (7.0, "██████████")])
def test_a_bar_is_as_long_as_its_value(value: float | None, bar: str) -> None:
    assert printed(table(text_columns(""), [(Bar(value, (0.0, 1.0), "bar", 10),)], heads=False)) == [bar]


def test_a_terminal_without_unicode_gets_other_signs() -> None:
    assert printed(title_line("Run 1", "", "a → b"), line("Made up ↓"), encoding="ascii") == [
        "Run 1 - a -> b",
        "Made up (lower is better)",
    ]


def test_a_long_line_hangs() -> None:
    assert printed(line("one two three four five six", indent=2), width=24) == ["  one two three four", "    five six"]


def test_markdown_escapes_what_would_end_a_cell() -> None:
    assert markdown([table(text_columns("a"), [("x|y",)])], "Title") == "# Title\n\n| a |\n| --- |\n| x\\|y |\n"


@pytest.mark.parametrize(
    ("difference", "low", "high", "shown"),
    [
        (-0.004, -0.251, 0.001, "0.00 [-0.25, 0.00]"),
        (0.254, 0.0, 0.5, "+0.25 [0.00, +0.50]"),
        (-0.5, None, None, "-0.50"),
    ],
)
def test_a_difference_that_rounds_to_nothing_has_no_sign(
    difference: float, low: float | None, high: float | None, shown: str
) -> None:
    assert difference_of(ClusterDifference(difference, low, high, None, None, 0)) == shown
