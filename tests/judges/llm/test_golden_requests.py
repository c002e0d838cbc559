"""A request to a language model, and what is read from its reply, change only together with a version."""

from typing import Any

import pytest
from record_golden_requests import (
    LETTERS,
    PROMPTS,
    forgotten,
    recorded_again,
    row_in_letters_of_today,
    row_of_today,
    rows,
)

from ragtriage.judges.llm.judge import fingerprint_of
from ragtriage.judges.llm.kinds import ASKED_KINDS

WHAT_TO_DO = (
    "a request or an answer of {kinds} changed. If that is meant, raise the version in ASKED_KINDS of "
    "ragtriage/judges/llm/kinds.py (of letters in letters.py), so that stored answers are asked again, and run "
    "`python tests/judges/llm/record_golden_requests.py`. If not, find out what changed: {row}"
)
ROW = {"versions": {"claims": 1}, "requests": [{"user": ["one"]}], "replies": []}
ROWS, IN_LETTERS = rows(), rows(LETTERS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(row["versions"]))
def test_requests_and_answers_are_those_that_were_recorded(row: dict[str, Any]) -> None:
    today = row_of_today(row)

    assert not forgotten(row, today), WHAT_TO_DO.format(kinds=", ".join(row["versions"]), row=today)
    assert row == today, "run python tests/judges/llm/record_golden_requests.py"


@pytest.mark.parametrize("row", IN_LETTERS, ids=lambda row: "-".join(row["versions"]))
def test_requests_for_letters_and_answers_are_those_that_were_recorded(row: dict[str, Any]) -> None:
    today = row_in_letters_of_today(row)

    assert not forgotten(row, today), WHAT_TO_DO.format(kinds=", ".join(row["versions"]), row=today)
    assert row == today, "run python tests/judges/llm/record_golden_requests.py"


def test_letters_are_recorded_for_every_kind() -> None:
    assert {kind for row in IN_LETTERS for kind in row["versions"]} == {*ASKED_KINDS, "letters"}


@pytest.mark.parametrize("kind", ASKED_KINDS)
def test_every_kind_has_a_request_of_its_own_a_reply_that_fits_and_one_that_does_not(kind: str) -> None:
    own = [row for row in ROWS if list(row["versions"]) == [kind]]
    answers = [one["answers"] for row in own for one in row["replies"]]

    assert any(f"{kind}: {PROMPTS.kinds[kind]}" in row["requests"][0]["user"] for row in own)
    assert any(isinstance(one, list) for one in answers)
    assert "MalformedReply" in answers


@pytest.mark.parametrize("other", [{"requests": [{"user": ["two"]}]}, {"replies": [{"reply": "", "answers": []}]}])
def test_changes_are_not_recorded_without_a_raised_version(other: dict[str, Any]) -> None:
    raised = ROW | other | {"versions": {"claims": 2}}

    with pytest.raises(ValueError, match="raise the version"):
        recorded_again([ROW], [ROW | other])
    assert recorded_again([ROW], [raised]) == [raised]
    assert recorded_again([ROW], [ROW]) == [ROW]


def test_a_raised_version_changes_the_fingerprint() -> None:
    assert len({fingerprint_of("a:b", "method", "words", version) for version in (1, 2, 3)}) == 3
    assert fingerprint_of("a:b", "method", "words", 1) == "llm:a:b:method:words"
