"""Whom a wrong answer blames: what is asked again and from which sources."""

from typing import Any

import pytest

from ragtriage.testset.answered_rows import Row
from ragtriage.testset.correctness import Decision, SecondAnswer, decide
from ragtriage.testset.failure_analysis import (
    TaggedRow,
    decide_second_answers,
    gold_text,
    second_questions,
    second_run_counts,
    tag_rows,
)
from ragtriage.testset.scoring import score_decided


def row(name: str, response: str, text: str | None, *, cluster: str = "short", **columns: Any) -> Row:
    sources = [{"id": f"doc-{name}", "text": text}] if text is not None else []
    return Row(
        name,
        "g",
        cluster,
        query=f"Who manages Old Pier, {name}?",
        answer="Ada Finch",
        response=response,
        retrieved=(f"doc-{name}",),
        columns={"sources": sources, **columns},
    )


RIGHT = row("1", "Ada Finch", "Ada Finch manages Old Pier.")
WRONG = row("2", "I don't know.", "Nothing here.", cluster="long")
ROWS = [RIGHT, WRONG]


def asked(rows: list[Row], responses: dict[int, str], **how: Any) -> tuple[list[TaggedRow], list[Decision]]:
    decisions = decide(rows, None)
    questions = second_questions(rows, decisions, **how)
    by_id = {case.id: responses[place] for place, case in questions.cases.items() if place in responses}
    again = decide_second_answers(rows, decisions, questions, by_id, None)
    return tag_rows(rows, again), again


def test_a_wrong_answer_is_asked_again_with_the_sources_of_a_right_one() -> None:
    cases = second_questions(ROWS, decide(ROWS, None)).cases

    assert list(cases) == [1]
    assert cases[1].query == WRONG.query
    assert [source.text for source in cases[1].sources] == ["Ada Finch manages Old Pier."]


@pytest.mark.parametrize(("response", "blame"), [("Ada Finch", "retrieval"), ("Bruno Vale is.", "LM")])
def test_what_is_right_now_blames_retrieval_and_what_is_wrong_again_the_lm(response: str, blame: str) -> None:
    wrong = "I don't know." if blame == "LM" else response
    tagged, _ = asked(ROWS, {1: wrong})

    assert (tagged[1].blame, tagged[1].rule) == (blame, "second run")
    assert tagged[0].blame is None


def test_it_overrules_the_comparison_of_contexts() -> None:
    same = [RIGHT, Row(**{**{name: getattr(WRONG, name) for name in Row.__slots__}, "retrieved": ("doc-1",)})]
    assert tag_rows(same, decide(same, None))[1].blame == "LM"

    tagged, _ = asked(same, {1: "Ada Finch"})
    assert tagged[1].blame == "retrieval"


@pytest.mark.parametrize("responses", [{}, {1: "Bruno Vale manages it."}])
def test_without_a_second_answer_that_is_decided_contexts_are_compared(responses: dict[int, str]) -> None:
    tagged, decisions = asked(ROWS, responses)

    assert (tagged[1].blame, tagged[1].rule) == ("retrieval", "one document")
    assert second_run_counts(second_questions(ROWS, decisions), decisions).undecided == 1


def test_gap_and_robust_groups_are_not_asked_again() -> None:
    for rows in ([RIGHT], [WRONG]):
        assert second_questions(rows, decide(rows, None)).cases == {}


def test_texts_that_the_rows_lack_come_from_the_corpus_and_else_are_counted() -> None:
    rows = [row("1", "Ada Finch", None), WRONG]
    decisions = decide(rows, None)

    bare = second_questions(rows, decisions)
    assert (len(bare.cases), bare.without_sources) == (0, 1)
    known = second_questions(rows, decisions, texts={"doc-1": "Ada Finch manages Old Pier."})
    assert [source.id for source in known.cases[1].sources] == ["doc-1"]


def test_rows_without_a_true_answer_are_counted_and_not_asked() -> None:
    rows = [Row(name, "g", correct=right) for name, right in (("1", True), ("2", False))]
    found = second_questions(rows, decide(rows, None))

    assert (len(found.cases), found.without_truth) == (0, 1)


def test_the_database_s_row_as_a_text() -> None:
    told = row(
        "2", "?", None, sql='SELECT "employee"."name" FROM employee WHERE …', parameters={"project.name": "Old Pier"}
    )

    assert gold_text(told) == "project name: Old Pier\nemployee name: Ada Finch"
    assert gold_text(WRONG) == f"{WRONG.query}\nanswer: Ada Finch"


def test_the_database_s_row_can_be_given_instead() -> None:
    tagged, _ = asked(ROWS, {1: "I don't know."}, given="gold")

    assert (tagged[1].blame, tagged[1].rule) == ("LM", "gold row")


def test_the_name_of_a_second_question_changes_with_what_is_given() -> None:
    other = [row("1", "Ada Finch", "Old Pier is Ada Finch's."), WRONG]
    names = {second_questions(rows, decide(rows, None)).cases[1].id for rows in (ROWS, other)}

    assert len(names) == 2


def test_the_scores_without_lm_errors_follow_the_second_run() -> None:
    lm = [
        Decision(True, "typed match"),
        Decision(False, "typed match", second_answer=SecondAnswer("sibling", False)),
    ]
    scores = score_decided(ROWS, lm)

    assert scores.clusters["long"].values["rows"]["robustness_without_lm_errors"] == 1.0
    assert scores.clusters["long"].rules == {"second run": 1}
