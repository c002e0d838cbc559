"""A report is a value, and every renderer shows the same of it."""

import pytest
from shown import CONFIG, HEADER, THRESHOLDS, printed, summary_of

from ragtriage.core.case import Record
from ragtriage.diagnosis.findings import diagnose
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
from ragtriage.report.run_report import run_report
from ragtriage.report.testset_document import difference_of
from ragtriage.testset.scoring import ClusterDifference


def texts_of(block: DocumentBlock) -> list[str]:
    if isinstance(block, Line):
        return [span.text for span in block.spans]
    if isinstance(block, DocumentTable):
        return [cell for row in block.rows for cell in row if isinstance(cell, str)]
    return [block.title]


def squeezed(text: str) -> str:
    return "".join(text.split()).replace("\\", "")


def test_terminal_and_markdown_show_every_text_and_always_the_same(rich_record: Record) -> None:
    run = run_report(HEADER, summary_of([rich_record]))
    case = case_report(rich_record, diagnose(rich_record, THRESHOLDS), CONFIG)
    for document, again in ((run_document(run), run_document(run)), (case_document(case), case_document(case))):
        blocks = tuple(document)
        assert blocks == tuple(again)
        shown, written = squeezed(printed(blocks, 300)), squeezed(markdown(blocks))
        for text in (text for block in blocks for text in texts_of(block)):
            assert squeezed(text) in shown
            assert squeezed(text) in written


def test_blocks_are_laid_out_by_width_and_value_and_markdown_escapes_what_would_end_a_cell() -> None:
    rows = [("a", "1"), (StyledText("longer", "failure"), "1,000"), ("none",)]
    assert printed([table((*text_columns("name"), *number_columns("count")), rows)], 100).splitlines() == [
        "name    count",
        "a           1",
        "longer  1,000",
        "none",
    ]
    for value, bar in ((None, ""), (0.5, "█████░░░░░"), (7.0, "██████████")):
        cell = Bar(value, (0.0, 1.0), "bar")
        assert printed([table(text_columns(""), [(cell,)], heads=False)], 100) == f"{bar}\n"
    long = line("one two three four five six", indent=2)
    assert printed([long], 24) == "  one two three four\n    five six\n"
    assert printed([title_line("Run 1", "", "a → b")], 100) == "Run 1 · a → b\n"
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
