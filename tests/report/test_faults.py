"""What further scores found is shown where nothing else shows it, in the terminal and in HTML alike."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from ragtriage import Case, Component, Record, Score, Tally, Verdict, metrics_named
from ragtriage.core.verdicts import Part
from ragtriage.diagnosis.findings import Finding
from ragtriage.report.case_document import case_document
from ragtriage.report.case_report import PartReport, case_report
from ragtriage.report.run_page import write_run_page
from ragtriage.report.run_report import Header, run_report
from ragtriage.report.terminal import print_document


def print_case(shown: Console, record: Record, findings: Sequence[Finding], thresholds: Mapping[str, float]) -> None:
    print_document(shown, case_document(case_report(record, findings, thresholds), shown.width))


def test_what_further_scores_found_is_quoted_once() -> None:
    """Metrics that rest on the same verdicts would say the same twice."""
    parts = (
        Part(Component("It was built in 1889."), Verdict("no", explanation="1899 there"), False),
        Part(Component("It is tall."), Verdict("yes"), True),
    )
    same = Score(0.5, 2, 0, parts)
    names = ("groundedness", "hallucination", "answer_recall", "self_consistency", "sample_agreement")
    view = case_report(Record(Case("c", "What?"), {}, dict.fromkeys(names, same)), (), {})

    quoted = (PartReport("It was built in 1889.", "1899 there", sure=True),)
    assert [(f.title, f.fault, f.parts) for f in view.faults] == [
        ("Says all of the reference", "not in the response", quoted),
        ("Same answer every time", "another answer than the response", quoted),
    ]


def test_further_scores_stand_in_both_pictures(tmp_path: Path) -> None:
    parts = tuple(Part(Component(f"Claim {i} <b>."), Verdict("no", explanation="not said"), False) for i in range(10))
    record = Record(Case("c", "What?"), {}, {"answer_recall": Score(0.0, 10, 0, parts)})
    file = io.StringIO()
    print_case(Console(file=file, width=100), record, (), {})
    tally = Tally(metrics_named(["answer_recall"]), {})
    tally.add(record)
    write_run_page(
        tmp_path / "r.html", run_report(Header("1", "f", "j", "t"), tally.summary()), lambda: iter([(record, ())])
    )
    page = (tmp_path / "r.html").read_text("utf-8")

    assert "What further scores found\n  Says all of the reference: not in the response\n" in file.getvalue()
    assert "“Claim 7 <b>.” – not said" in file.getvalue()
    assert "and 2 more" in file.getvalue()
    assert '<q dir="auto">Claim 7 &lt;b&gt;.</q>' in page
    assert "and 2 more" in page
