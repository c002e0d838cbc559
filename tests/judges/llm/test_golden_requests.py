"""Prompts are files with a digest; a request, and what is read from its reply, change only together with a version."""

from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from typing import Any

import pytest
from record_golden_requests import (
    JSON,
    LETTERS,
    PROMPTS,
    forgotten,
    recorded_again,
    row_in_letters_of_today,
    row_of_today,
    rows,
)

from examples import examples
from ragtriage.core.errors import ConfigError
from ragtriage.core.questions import KINDS
from ragtriage.judges.llm.kinds import ASKED_KINDS
from ragtriage.judges.llm.options import tokens_of
from ragtriage.judges.llm.prompts import ASKED, HEAD, read_prompts

OWN = "Is it so?\n"


def test_every_kind_that_a_model_is_asked_has_a_file_and_no_other():
    folder = files("ragtriage.judges.llm.prompts")
    assert {path.name for path in folder.iterdir() if path.name.endswith(".md")} == {f"{n}.md" for n in (HEAD, *ASKED)}
    assert set(KINDS) - set(ASKED) == {"sentences", "similarity"}
    assert set(read_prompts().kinds) == set(ASKED)


def test_a_prompt_is_one_short_paragraph_so_that_instructions_and_questions_can_be_told_apart():
    prompts = read_prompts()
    for text in (prompts.head, *prompts.kinds.values()):
        assert text == text.strip()
        assert "\n" not in text
    assert tokens_of(prompts.head) <= 200
    assert all(tokens_of(text) <= 150 for text in prompts.kinds.values())
    assert sum(map(tokens_of, prompts.kinds.values())) <= 800
    assert {kind for kind, text in prompts.kinds.items() if "`quote`" in text} == {"supported", "answered"}


def test_a_digest_is_short_and_differs_by_kind():
    prompts = read_prompts()
    digests = {prompts.digest(kind) for kind in ASKED}
    assert len(digests) == len(ASKED)
    assert all(len(digest) == 12 for digest in digests)
    assert prompts.digest("claims") == read_prompts().digest("claims")


@pytest.mark.parametrize("edited", ASKED)
def test_editing_a_file_changes_the_digest_of_its_kind_alone(tmp_path, edited):
    (tmp_path / f"{edited}.md").write_text(OWN)
    before, after = read_prompts(), read_prompts(tmp_path)
    assert {kind for kind in ASKED if before.digest(kind) != after.digest(kind)} == {edited}
    assert after.kinds[edited] == "Is it so?"


def test_editing_the_head_changes_every_digest(tmp_path):
    (tmp_path / "head.md").write_text(OWN)
    before, after = read_prompts(), read_prompts(tmp_path)
    assert after.head == "Is it so?"
    assert all(before.digest(kind) != after.digest(kind) for kind in ASKED)


def test_white_space_around_a_prompt_alone_voids_nothing(tmp_path):
    own = files("ragtriage.judges.llm.prompts").joinpath("claims.md").read_text("utf-8")
    (tmp_path / "claims.md").write_text(f"\n{own}\n", "utf-8")
    assert read_prompts(tmp_path).digest("claims") == read_prompts().digest("claims")


def test_guidance_stands_behind_the_head_and_is_part_of_every_digest(tmp_path):
    (tmp_path / "guidance.txt").write_text("A fee is essential.\n")
    before, after = read_prompts(), read_prompts(guidance=tmp_path / "guidance.txt")
    assert after.head.startswith(before.head)
    assert after.head.endswith("\nA fee is essential.")
    assert after.kinds == before.kinds
    assert all(before.digest(kind) != after.digest(kind) for kind in ASKED)


def test_head_and_paragraph_cannot_be_shifted_into_each_other():
    one = replace(read_prompts(), head="ab", kinds={"claims": "c"})
    other = replace(read_prompts(), head="a", kinds={"claims": "bc"})
    assert one.digest("claims") != other.digest("claims")


def test_line_ends_of_another_system_are_read(tmp_path):
    (tmp_path / "claims.md").write_bytes(OWN.replace("\n", "\r\n").encode())
    assert read_prompts(tmp_path).kinds["claims"] == "Is it so?"


@pytest.mark.parametrize("row", examples("prompt_files"))
def test_a_wrong_file_is_named(tmp_path, row: dict[str, Any]):
    (tmp_path / row["name"]).write_text(row["content"])
    with pytest.raises(ConfigError, match=row["said"]) as raised:
        read_prompts(tmp_path)
    assert str(tmp_path) in str(raised.value)


def test_what_cannot_be_read_is_named(tmp_path):
    (tmp_path / "claims.md").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"claims\.md can't be read"):
        read_prompts(tmp_path)
    with pytest.raises(ConfigError, match="is no folder"):
        read_prompts(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="can't be read"):
        read_prompts(guidance=tmp_path / "nothing.txt")
    (tmp_path / "empty.txt").write_text("\n")
    with pytest.raises(ConfigError, match="is empty"):
        read_prompts(guidance=tmp_path / "empty.txt")


def test_written_questions_may_ask_the_same_in_other_words():
    # a perfect answer of one fact has no questions about something else: they would be off its topic
    text = read_prompts().kinds["questions_answered_by"]
    assert "to which the response is the answer" in text
    assert "Several may ask the same in other words" in text
    assert "something else" not in text


def test_refusals_agree_with_further_responses_alone():
    text = read_prompts().kinds["same_answer"]
    assert "They are true, unless they are called further responses" in text
    assert "declines to answer makes it no too, except beside a further response that declines as well" in text


WHAT_TO_DO = (
    "a request or an answer of {kinds} changed. If that is meant, raise the version in ASKED_KINDS of "
    "ragtriage/judges/llm/kinds.py (of letters in letters.py), so that stored answers are asked again, and run "
    "`python tests/judges/llm/record_golden_requests.py`. If not, find out what changed: {row}"
)
ROW = {"versions": {"claims": 1}, "requests": [{"user": ["one"]}], "replies": []}
ROWS, IN_LETTERS = rows(), rows(LETTERS)


@pytest.mark.parametrize(
    ("row", "of_today"),
    [*((row, row_of_today) for row in ROWS), *((row, row_in_letters_of_today) for row in IN_LETTERS)],
    ids=lambda one: "-".join(one["versions"]) if isinstance(one, dict) else one.__name__,
)
def test_requests_and_answers_are_those_that_were_recorded(
    row: dict[str, Any], of_today: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    today = of_today(row)

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


def test_a_raised_version_changes_the_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    assert JSON.words("claims") == JSON.prompts.digest("claims")
    monkeypatch.setitem(ASKED_KINDS, "claims", replace(ASKED_KINDS["claims"], version=2))  # type: ignore[arg-type]
    assert JSON.words("claims") == JSON.prompts.digest("claims") + ".2"
