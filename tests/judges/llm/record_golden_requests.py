"""Records golden requests and replies again: `python tests/judges/llm/record_golden_requests.py`.

`golden_requests.json` holds fixed questions of every kind with the request that they become, without the words of the
prompts, and fixed replies with the answers that are read from them; `golden_letters.json` the same where verdicts are
letters. A request or an answer that changed is only written if the version of one of its kinds was raised in
`ragtriage.judges.llm.kinds`, or that of letters in `ragtriage.judges.llm.letters`.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer, Failure, Verdict
from ragtriage.judges.llm.kinds import ASKED_KINDS
from ragtriage.judges.llm.letters import VERSION, LetterForm
from ragtriage.judges.llm.options import MalformedReply, Prompt, Reply
from ragtriage.judges.llm.prompts import Prompts
from ragtriage.judges.llm.reply_json import JsonForm
from ragtriage.judges.llm.requests import Form, Request, group_questions

GOLDEN = Path(__file__).with_name("golden_requests.json")
PROMPTS = Prompts("The head.", {kind: f"How to answer {kind}." for kind in ASKED_KINDS})
"""In place of the project's own, whose digests are in the fingerprint."""
JSON = JsonForm(PROMPTS)
LETTERS = Path(__file__).with_name("golden_letters.json")
LETTER_PROMPTS = Prompts(
    "The head. `why`: in short.", {kind: f"How to answer {kind}. `quote`: the words." for kind in ASKED_KINDS}
)
FORMS = {
    "doubtful explained": LetterForm(LETTER_PROMPTS, "doubtful"),
    "all explained": LetterForm(LETTER_PROMPTS, "all"),
    "singly": LetterForm(LETTER_PROMPTS, "none", single=True),
}

Row = dict[str, Any]
"""`questions`, their `requests`, `replies` with their answers, and the `versions` of the kinds of that time."""


def rows(file: Path = GOLDEN) -> list[Row]:
    found: list[Row] = json.loads(file.read_text(encoding="utf-8"))
    return found


def row_in_letters_of_today(row: Row) -> Row:
    """The same as `row_of_today` where verdicts are letters; the replies are to the list."""
    questions = [_question(fields) for fields in row["questions"]]
    form = FORMS["doubtful explained"]
    (request,) = group_questions(questions, 32)
    return {
        "questions": row["questions"],
        "versions": _versions(questions) | {"letters": VERSION},
        "requests": {
            name: [_in_letters(one.render(asked)) for asked in group_questions(questions, 1 if one.single else 32)]
            for name, one in FORMS.items()
        },
        "replies": _replies(form, request, row),
    }


def _in_letters(prompt: Prompt) -> Row:
    return {"system": prompt.system, "user": prompt.user.split("\n"), "largest_reply": prompt.largest_reply}


def row_of_today(row: Row) -> Row:
    """The row with the request, the answers and the versions of today."""
    questions = [_question(fields) for fields in row["questions"]]
    requests = group_questions(questions, 32)
    return {
        "questions": row["questions"],
        "versions": _versions(questions),
        "requests": [_request(request) for request in requests],
        "replies": _replies(JSON, requests[0], row),
    }


def forgotten(recorded: Row, today: Row) -> list[str]:
    """The kinds of a row that says something else, though the version of none of them was raised; else none."""
    said, says = ({name: row[name] for name in ("requests", "replies")} for row in (recorded, today))
    raised = any(version > recorded["versions"].get(kind, 0) for kind, version in today["versions"].items())
    return [] if said == says or raised else sorted(today["versions"])


def recorded_again(some: Sequence[Row], today: Sequence[Row]) -> list[Row]:
    """The rows of today.

    Raises:
        ValueError: one changed, and the version of none of its kinds was raised.
    """
    for old, new in zip(some, today, strict=True):
        if kinds := forgotten(old, new):
            raise ValueError(
                f"the request or answers of {', '.join(kinds)} changed: raise the version in ASKED_KINDS of "
                "ragtriage/judges/llm/kinds.py, or of letters in letters.py, then record again"
            )
    return list(today)


def _question(fields: Row) -> Question:
    return Question(**{name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()})


def _request(request: Request) -> Row:
    prompt = JSON.render(request)
    return {"user": prompt.user.split("\n"), "schema": json.dumps(prompt.schema)}


def _versions(questions: Sequence[Question]) -> dict[str, int]:
    return {question.kind: ASKED_KINDS[question.kind].version for question in questions}


def _replies(form: Form, request: Request, row: Row) -> list[Row]:
    return [{"reply": one["reply"], "answers": _answers(form, request, one["reply"])} for one in row["replies"]]


def _answers(form: Form, request: Request, reply: str) -> Any:
    try:
        return [_as_json(answer) for answer in form.read(request, Reply(reply)).answers.values()]
    except MalformedReply as error:
        return type(error).__name__


def _as_json(answer: Answer) -> Any:
    """What a reply decides of an answer, without what it left out."""
    assert not isinstance(answer, Failure), answer
    if isinstance(answer, Verdict):
        found = {"value": answer.value, "explanation": answer.explanation, "flag": answer.flag}
        return {name: text for name, text in found.items() if text}
    marks = {True: " (remark)", False: ""}
    return [f"{component.span} {component.text}{marks[component.remark]}" for component in answer]


def main() -> None:
    for file, of_today in ((GOLDEN, row_of_today), (LETTERS, row_in_letters_of_today)):
        old = rows(file)
        try:
            new = recorded_again(old, [of_today(row) for row in old])
        except ValueError as error:
            sys.exit(str(error))
        file.write_text(json.dumps(new, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        changed = sum(a != b for a, b in zip(old, new, strict=True))
        sys.stdout.write(f"{file.name}: {changed} of {len(old)} rows recorded again\n")


if __name__ == "__main__":
    main()
