"""Which answers are right: the file's word, then the match by the type of the true answer, then the judge."""

from decimal import Decimal
from typing import Any

import pytest

from examples import examples
from ragtriage.core.errors import JudgeError
from ragtriage.core.questions import Question, same_answer
from ragtriage.core.verdicts import Answer, Failure, Verdict
from ragtriage.judges.fake import FakeJudge
from ragtriage.testset.answered_rows import Row
from ragtriage.testset.correctness import check_matcher, decide, truths_for_judge, typed_match
from ragtriage.text.dates import date_in, moments
from ragtriage.text.words import figures, number_in

OPEN = Row("open", "g", query="Who?", answer="Jane Peacock", response="Ms Peacock")
TOLD = Row("told", "g", query="How many?", answer=3, response="three")


def no_judge() -> FakeJudge:
    raise AssertionError("nothing is left for a judge")


def test_the_files_word_is_used_as_it_stands() -> None:
    rows = [Row("a", "g", answer=3, response="4", correct=True), Row("b", "g", answer=3, response="3", correct=False)]

    assert [(d.correct, d.by) for d in decide(rows, no_judge)] == [(True, "the file"), (False, "the file")]


def test_what_the_typed_match_tells_is_not_asked() -> None:
    assert [(d.correct, d.by) for d in decide([TOLD], no_judge)] == [(True, "typed match")]


def test_what_the_row_says_of_the_answer_is_heeded() -> None:
    phone = Row("phone", "g", query="Which number?", answer="5550100", response="It is 5.55 million.")
    rows = [
        phone,
        Row("text", "g", query="Which number?", answer="5550100", response=phone.response, answer_type="text"),
    ]

    assert [(d.correct, d.by) for d in decide(rows, no_judge)] == [(True, "typed match"), (False, "typed match")]


def test_the_rest_goes_to_the_judge() -> None:
    judge = FakeJudge(lambda _: Verdict("yes", explanation="the same person"))

    told, judged = decide([TOLD, OPEN], lambda: judge)

    assert judge.asked == [same_answer("Who?", ["Jane Peacock"], "Ms Peacock")]
    assert told.by == "typed match"
    assert (judged.correct, judged.by, judged.why) == (True, "judge", "the same person")


def test_what_nobody_can_tell_is_undecided_and_never_wrong() -> None:
    silent = Row("silent", "g", query="Who?", answer="Jane", response=None)
    unsure = FakeJudge(lambda _: Verdict("unknown"))
    failing = FakeJudge(lambda _: Failure("no line"))

    assert [d.correct for d in decide([OPEN, silent], lambda: unsure)] == [None, None]
    assert [(d.correct, d.failed) for d in decide([OPEN, silent], lambda: failing)] == [(None, True), (None, False)]
    assert [(d.correct, d.by) for d in decide([OPEN], None)] == [(None, "nobody")]


def test_a_judge_that_cannot_work_ends_it() -> None:
    def broken(_: Question) -> Answer:
        raise JudgeError("no key")

    with pytest.raises(JudgeError, match="no key"):
        decide([OPEN], lambda: FakeJudge(broken))


def test_the_typed_match_is_held_against_labels() -> None:
    labelled = [
        Row("a", "g", answer=3, response="3", correct=True),
        Row("b", "g", answer=3, response="3", correct=False),
    ]

    counts = check_matcher([*labelled, OPEN, Row("c", "g", correct=True)])

    assert counts == {(True, "yes"): 1, (False, "yes"): 1}


@pytest.mark.parametrize("row", examples("correctness", "match"))
def test_a_response_is_held_against_the_true_answer_by_its_type(row: dict[str, Any]) -> None:
    answer = tuple(row["answer"]) if isinstance(row["answer"], list) else row["answer"]
    verdict = typed_match(row["query"], answer, row["response"], kind=row.get("kind"))

    assert verdict.value == row["verdict"], verdict.explanation
    assert verdict.explanation


@pytest.mark.parametrize(
    ("answer", "response", "tolerance", "expected"),
    [(1234.56, "1.2 thousand", 0.05, "yes"), (1234.56, "1,235", 0.0, "no"), (1234, "1235", 0.05, "no")],
)
def test_the_tolerance_is_for_numbers_that_are_written_less_exactly(
    answer: float, response: str, tolerance: float, expected: str
) -> None:
    assert typed_match("How many tracks are there?", answer, response, tolerance=tolerance).value == expected


def test_a_judge_is_told_the_true_answer_as_one_text() -> None:
    assert truths_for_judge(True) == ("yes",)
    assert truths_for_judge(5.94) == ("5.94",)
    assert truths_for_judge(("Apple", 3)) == ("Apple, 3",)


@pytest.mark.parametrize("row", examples("correctness", "numbers"))
def test_numbers_are_read(row: dict[str, Any]) -> None:
    assert [one.value for one in figures(row["text"])] == [Decimal(value) for value in row["numbers"]]


def test_a_text_is_a_number_or_a_date_only_as_a_whole() -> None:
    assert number_in("12 %") == number_in("$12") == number_in("twelve") == 12
    assert number_in("12 Angry Men") is None
    assert date_in("1234.56") is None
    assert date_in("The May 1990 issue") is None
    assert date_in("31 February 2001") is None
    assert moments("30/2/2001 at 10:00") == []
