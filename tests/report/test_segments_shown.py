"""Segments as they are shown: with what each was checked against, in words as well as in colours, doubt as doubt."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from shown import CONFIG, HEADER, THRESHOLDS, case_shown, page_of, summary_of, summary_shown

from ragtriage import Case, FakeJudge, Record, Source, Verdict, diagnose, evaluate_sync
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer
from ragtriage.metrics import CITATIONS
from ragtriage.metrics.aggregate import SEGMENTS
from ragtriage.report.case_parts import LOOKS, segment_reports
from ragtriage.report.case_report import case_report
from ragtriage.report.run_report import run_report
from ragtriage.report.words import SEGMENT_WORDS
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.export import ExportedFields, json_row

SOURCES = (Source("Apples are red, fresh.", "apples"), Source("Pears are green.", "pears"), Source("Figs are soft."))
RESPONSE = (
    "## Fruit\n\nHere is what I found:\n\n- Apples are red [1].\n- Pears are green [1].\n"
    "- Plums are made of <b>wood</b> [2].\n- Figs may be soft [3].\n- Nuts are hard [2][3].\n- Dates are brown [8].\n"
    "- Limes could be sour [2].\n\nFruit is colourful. Fruit is cheap."
)


def answer(question: Question) -> Answer:
    said = question.subject
    together = len(question.evidence) == 3
    if "Figs" in said:
        return Verdict("no", 0.4, 0.6, "perhaps not", sure=False)
    if "Limes" in said:
        return Verdict("unknown", 0.5, 0.5, "too close to call")
    if "Nuts" in said:
        return Verdict("yes" if "Pears are green." in question.evidence else "no", 0.9, 0.9, "it says so")
    if "Pears" in said:
        return Verdict("yes" if together else "no", 0.9, 0.9, "found at last" if together else "not in there")
    return Verdict("yes" if "Apples" in said else "no", 0.9, 0.9, "it is plain")


@pytest.fixture(scope="module")
def record() -> Record:
    (found,) = evaluate_sync([Case("c1", "What about fruit?", SOURCES, RESPONSE)], FakeJudge(answer), metrics=CITATIONS)
    return found


def test_every_segment_says_what_came_out_and_what_it_was_checked_against(record: Record) -> None:
    shown = [(s.look, s.said, s.against) for s in segment_reports(record)]

    assert shown == [
        ("remark", "claims nothing, not checked", ""),
        ("supported", "supported by what it cites", "source 1"),
        ("misattributed", "supported by a source that it doesn't cite", "source 1"),
        ("unsupported", "not supported by what it cites", "source 2"),
        ("check", "check this: perhaps not supported by what it cites", "source 3"),
        ("supported", "supported by what it cites", "sources 2, 3 together"),
        ("dangling", "cites what doesn't exist", ""),
        ("unknown", "the judge could not tell", "source 2"),
        (
            "uncited",
            "cites nothing, and nothing that is cited bears it out",
            "the parts of the response that are supported by what they cite",
        ),
    ]


def test_a_citation_that_can_be_spared_is_pointed_at_on_true_segments_that_were_asked_about(record: Record) -> None:
    needed = {s.number: [c.needed for c in s.citations] for s in segment_reports(record)}
    assert needed[6] == ["yes", "no"]
    assert needed[4] == ["not asked"]
    assert set(SEGMENT_WORDS) == set(LOOKS) - {"extraneous", "essential"}

    unasked = replace(record, steps={str(SEGMENTS): record.steps[str(SEGMENTS)]})
    shown = {(s.said, s.against) for s in segment_reports(unasked)}
    assert shown == {("claims nothing, not checked", ""), ("not checked", "")}


def test_the_terminal_shows_segments_in_words(record: Record) -> None:
    text = case_shown(record, 200, findings=diagnose(record, THRESHOLDS))

    for line in (
        "✓2 Apples are red. [1] – supported by what it cites; checked against source 1: it is plain",
        "⇄3 Pears are green. [1] – supported by a source that it doesn't cite; checked against source 1: not in",
        "against all sources: found at last",
        "!5 Figs may be soft. [3] – check this: perhaps not supported by what it cites",
        "✓6 Nuts are hard. [2] [3 ✗ not needed]",
        "∅7 Dates are brown. [8] – cites what doesn't exist: nothing is called “8”: there are 3 sources",
        "✗9 Fruit is colourful. Fruit is cheap. – cites nothing",
        "prompt · quality",
    ):
        assert line in text


def test_what_was_not_read_is_told_and_a_long_response_is_listed_in_part(record: Record) -> None:
    case = Case("c1", "What about fruit?", SOURCES, "Apples are red (1). Pears are green (2).")
    (found,) = evaluate_sync([case], FakeJudge(answer), metrics=CITATIONS)
    shown = case_shown(found, 100)
    assert "not read as citation marks: (1), (2)" in shown
    assert "say so with --citation-mark" in " ".join(shown.split())
    assert case_report(found, (), CONFIG).unread == "(1), (2)"

    many = Case("c", "What?", SOURCES, "\n\n".join(f"Apples are red, for the {i}th time [1]." for i in range(200)))
    (found,) = evaluate_sync([many], FakeJudge(answer), metrics=CITATIONS)
    view = case_report(found, (), CONFIG)
    assert len(view.segments) + view.segments_left_out == 200
    assert view.segments_left_out > 0


def test_the_share_of_responses_that_cite_stands_beside_the_mean(record: Record) -> None:
    plain = Case("c2", "What about fruit?", SOURCES, "Apples are red.")
    silent = Case("c3", "What about fruit?", SOURCES)
    others = evaluate_sync([plain, silent], FakeJudge(answer), metrics=CITATIONS)
    summary = summary_of([record, *others], CITATIONS)

    assert summary.citing == (1, 2)
    assert summary.as_json()["citing"] == {"responses": 2, "cite": 1}
    told = "1 of 2 responses cite something (50%)"
    assert f"{told}: the citation metrics are about these" in summary_shown(summary, 120)
    assert {metric.citing for metric in run_report(HEADER, summary).metrics} == {told}


def test_the_report_shows_segments_and_leads_to_their_sources(record: Record, tmp_path: Path) -> None:
    html = page_of(tmp_path, [(record, diagnose(record, THRESHOLDS))], summary_of([record], CITATIONS))

    for look in ("supported", "misattributed", "unsupported", "check", "dangling", "unknown", "uncited", "remark"):
        assert f'<mark class="m {look}"' in html
        assert f'class="ink-{look}"' in html
    assert '<a class="cite" href="#s1-3">source 3</a>' in html
    assert 'id="s1-3"' in html
    assert "“8”, which names no source" in html
    assert "&lt;b&gt;wood&lt;/b&gt;" in html
    assert "<b>wood" not in html


def test_an_export_holds_the_segments(record: Record) -> None:
    segments = json.loads(json_row(record, (), ExportedFields(EvaluationConfig(CITATIONS, {}, ()))))["segments"]
    assert [s["kind"] for s in segments] == [
        None, None, "misattributed", "unsupported", "unsupported", None, "dangling", None, "uncited",
    ]  # fmt: skip
    assert segments[5]["cites"] == [{"name": "2", "sources": [2]}, {"name": "3", "sources": [3]}]
    assert segments[6]["cites"] == [{"name": "8", "sources": []}]
    assert RESPONSE[slice(*segments[1]["span"])] == "Apples are red [1]."
    assert (segments[0]["remark"], segments[0]["verdict"], segments[7]["verdict"]) == (True, None, "unknown")
