"""Answered questions, one a row: `{id, group, cluster, query, answer, response, correct?, retrieved: […]}`."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from ragtriage.readers.field_values import ALIASES
from ragtriage.readers.files import InputPath
from ragtriage.readers.json_objects import values_in
from ragtriage.readers.problems import Rejected, RowProblem
from ragtriage.readers.text_values import described

Truth = str | int | float | bool | tuple[str | int | float | bool, ...]
"""What a database says: one value, or the values of a list, which is compared as a set."""

AnswerType = Literal["text", "integer", "number", "date", "datetime", "time", "yes/no", "list", "none"]
"""What a true answer is, as `ragtriage testset build` writes it beside it; `boolean` is read as `yes/no`."""

ALONE = "all"
"""The cluster of rows that name none."""


@dataclass(frozen=True, slots=True)
class Row:
    """One phrasing of a filled query, and what the application made of it."""

    id: str
    group: str
    """Rows of one group ask for the same thing."""
    cluster: str = ALONE
    """What kind of phrasing it is, for example `short`; clusters are what is compared."""
    query: str = ""
    answer: Truth | None = None
    """The true answer. The empty tuple says that there is none; None that it isn't known."""
    response: str | None = None
    """What the application answered; None if it gave nothing, which is not the empty text."""
    correct: bool | None = None
    """Whether the response is right, where the file says so."""
    retrieved: tuple[str, ...] | None = None
    """Ids of the retrieved documents, best first, each once; None if they aren't known."""
    relevant_ids: tuple[str, ...] | None = None
    """Ids of the documents that the answer needs, where they are known."""
    columns: Mapping[str, Any] = field(default_factory=dict)
    """The row as it stands in the file."""
    answer_type: AnswerType | None = None
    """What the true answer is, where the file says so: digits of a `text` are no number."""


@dataclass(frozen=True, slots=True)
class AnsweredRows:
    """A file of rows."""

    rows: tuple[Row, ...]
    rejected: tuple[Rejected, ...]
    """Rows that can't be used, with the reason."""
    notes: tuple[str, ...]
    """Sentences about what a reader should know of the file."""


def read_rows(path: InputPath) -> AnsweredRows:
    """The rows of a JSONL file, which may be gzipped.

    A row needs `group`, and either `correct` (true, false, 1 or 0) or `answer` with `response`. Without an `id` it goes
    by its number in the file, without a `cluster` it belongs to the cluster `all`. Null is as if the field weren't
    there, but for `response`: there it says that the application gave nothing.
    """
    rows, rejected = values_in(path, row_of)
    return AnsweredRows(tuple(rows), tuple(rejected), tuple(_notes(rows)))


def row_of(values: Mapping[str, Any], name: str) -> Row:
    """One row from the columns of a file. `name` is the id of a row that has none."""
    group = _name(values, "group")
    if group is None:
        raise RowProblem("group", "is missing: give all phrasings of one question the same group")
    correct = _correct(values.get("correct"))
    answer = _truth(values.get("answer"))
    if correct is None and answer is None:
        raise RowProblem("answer", "neither `correct` nor `answer` is there: give one of them ([] says: no answer)")
    if correct is None and "response" not in values:
        raise RowProblem("response", "is missing: give the application's answer (null if it gave none), or `correct`")
    gold = next((values[alias] for alias in ALIASES["relevant_ids"] if values.get(alias) is not None), None)
    return Row(
        id=_name(values, "id") or name,
        group=group,
        cluster=_name(values, "cluster") or ALONE,
        query=_text(values, "query") or "",
        answer=answer,
        response=_text(values, "response"),
        correct=correct,
        retrieved=_ids("retrieved", values.get("retrieved")),
        relevant_ids=_ids("relevant_ids", gold),
        answer_type=_kind(values.get("answer_type")),
        columns=values,
    )


def _notes(rows: list[Row]) -> Iterator[str]:
    again = sum(count - 1 for count in Counter((row.cluster, row.group, row.id) for row in rows).values())
    if again:
        have = "1 row has" if again == 1 else f"{again:,} rows have"
        yield f"{have} the id of another row of the same group and cluster: each is counted"
    if unlisted := sum(row.retrieved is None for row in rows):
        yield f"{unlisted:,} of {len(rows):,} rows don't say what was retrieved (field `retrieved`)"
    if strange := [row for row in rows if row.answer_type is None and row.columns.get("answer_type") is not None]:
        told = described(strange[0].columns["answer_type"])
        have = "1 row has" if len(strange) == 1 else f"{len(strange):,} rows have"
        yield f"{have} an `answer_type` that isn't known, such as {told}: the answer itself tells"


def _name(values: Mapping[str, Any], field_name: str) -> str | None:
    match values.get(field_name):
        case None | "":
            return None
        case bool() | dict() | list() as value:
            raise RowProblem(field_name, f"is {described(value)}: write it as a text or a number")
        case value:
            return str(value)


def _text(values: Mapping[str, Any], field_name: str) -> str | None:
    value = values.get(field_name)
    if value is not None and not isinstance(value, str):
        raise RowProblem(field_name, f"is {described(value)}, not a text: write it as a text in quotes")
    return value


def _correct(value: Any) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float) and value in {0, 1}:
        return bool(value)
    raise RowProblem("correct", f"is {described(value)}: write true or false, or leave it out")


def _truth(value: Any) -> Truth | None:
    match value:
        case None | bool() | int():
            return value
        case float() if math.isfinite(value):
            return value
        case str() if value.strip():
            return value
        case list() if all(isinstance(one, str | int | float | bool) and one != "" for one in value):
            return tuple(value)
        case _:
            raise RowProblem(
                "answer", f"is {described(value)}: write a text, a number, true or false, or a list of these"
            )


def _kind(value: Any) -> AnswerType | None:
    named = "yes/no" if value == "boolean" else value
    return next((kind for kind in get_args(AnswerType) if kind == named), None)


def _ids(field_name: str, value: Any) -> tuple[str, ...] | None:
    match value:
        case None:
            return None
        case str() | int():
            return (str(value),)
        case list() if all(isinstance(one, str | int) for one in value):
            return tuple(dict.fromkeys(str(one) for one in value))
        case _:
            raise RowProblem(field_name, f"is {described(value)}: write a list of ids, the best first")
