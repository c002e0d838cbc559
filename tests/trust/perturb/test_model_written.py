"""Changes that a language model writes, and what rules don't let pass."""

from __future__ import annotations

import pytest

from ragtriage.core.case import Case, Source
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer, Component, Failure
from ragtriage.judges.fake import FakeJudge
from ragtriage.trust.perturb import perturb
from ragtriage.trust.perturb.claim_changes import (
    altered_claim_problem,
    cost_of_writing,
    paraphrase_problem,
    questions_to_write,
    write_changes,
)

SENTENCE = "The Wexley pier was opened by Ada Finch on 12 May 1901."
CASE = Case("pier", "When was the Wexley pier opened?", (Source(f"{SENTENCE} Otto Brandt built it."),), SENTENCE)
REWORDED = "On 12 May 1901, Ada Finch officially opened the Wexley pier."
ALTERED = "The Wexley pier was opened by Ada Finch on 12 May 1951."
PAIRS = perturb([CASE], metrics=["self_distinctness", "groundedness"]).pairs


def written_by(reworded: str, altered: str):
    def answer(question: Question) -> Answer:
        return (Component(reworded if question.kind == "reworded" else altered),)

    return write_changes(PAIRS, FakeJudge(answer, name="pen"))


def test_what_rules_can_check_is_taken_and_named() -> None:
    found = written_by(REWORDED, ALTERED)

    assert (found.accepted, found.failed, dict(found.rejected)) == (2, 0, {})
    assert [pair.worse.response for pair in found.pairs] == [f"{SENTENCE} {REWORDED}", ALTERED]
    assert {pair.change.by for pair in found.pairs if pair.change} == {"pen"}


def test_what_cant_be_checked_leaves_the_rules_change() -> None:
    found = written_by(SENTENCE, "The Wexley pier was launched by Ada Finch on 12 May 1901.")

    assert found.pairs == PAIRS
    assert (found.accepted, sum(found.rejected.values())) == (0, 2)


def test_a_failure_is_counted_and_leaves_the_rules_change() -> None:
    found = write_changes(PAIRS, FakeJudge(lambda _: Failure("HTTP 500")))

    assert (found.pairs, found.accepted, found.failed) == (PAIRS, 0, 2)


def test_what_was_written_once_isnt_asked_again() -> None:
    assert questions_to_write(written_by(REWORDED, ALTERED).pairs) == []


def test_writing_is_counted_before_it_is_paid() -> None:
    effort = cost_of_writing(PAIRS, FakeJudge({}))

    assert (effort.pairs, effort.questions) == (2, 2)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (REWORDED, ""),
        (SENTENCE.upper(), "same words"),
        ("Ada Finch officially opened the Wexley pier on 13 May 1901.", "other numbers"),
        ("Otto Brandt officially opened the Wexley pier on 12 May 1901.", "other names"),
        ("Ada Finch never officially opened the Wexley pier on 12 May 1901.", "other negations"),
        (f"{REWORDED} It was a day that people still like to remember with much joy, song, tea and cake.", "longer"),
    ],
)
def test_a_paraphrase_keeps_what_counts(text: str, says: str) -> None:
    assert says in paraphrase_problem(SENTENCE, text)
    assert bool(says) == bool(paraphrase_problem(SENTENCE, text))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (ALTERED, ""),
        ("The Wexley pier was not opened by Ada Finch on 12 May 1901.", ""),
        ("The Wexley pier was opened by Mara Quint on 12 May 1901.", ""),
        ("The Wexley pier was opened by Otto Brandt on 12 May 1901.", "stands in the sources"),
        ("The Wexley pier was launched by Ada Finch on 12 May 1901.", "no number, name or negation"),
        ("Mara Quint likes tea.", "more than a detail"),
    ],
)
def test_an_altered_claim_changes_what_can_be_checked(text: str, says: str) -> None:
    assert says in altered_claim_problem(SENTENCE, text, CASE)
    assert bool(says) == bool(altered_claim_problem(SENTENCE, text, CASE))


def test_an_altered_claim_moves_no_bound() -> None:
    sentence = "The Wexley pier refunds tickets within 14 days."
    case = Case("refund", "When?", (Source(sentence),), sentence)

    assert "a bound" in altered_claim_problem(sentence, "The Wexley pier refunds tickets within 30 days.", case)
