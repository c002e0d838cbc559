"""One row of a file becomes a case, or is rejected with the reason."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from ragtriage.core.case import Case, Source, Turn
from ragtriage.core.display import plural
from ragtriage.core.errors import InputError
from ragtriage.readers.columns import Layout, find_layout, number_of
from ragtriage.readers.field_values import (
    NO_TIME,
    PARSERS,
    SEVERAL_REFERENCES,
    field_named,
    is_message_list,
    messages_of,
    sources_of,
)
from ragtriage.readers.paths import FieldPlace, NotThere, column_place, is_missing
from ragtriage.readers.private_cases import AS_IT_IS, Privacy
from ragtriage.readers.problems import RawRow, Rejected, RowContext, RowProblem
from ragtriage.readers.text_values import as_json_value, clean, described, text_of
from ragtriage.text.prepared import thought_spans

NO_RESPONSE = "{rows} without a response (not given, which is not the same as an empty one)"
REPLY = "{rows}: the response is the message after the user's last one"
WHOLE_CONVERSATION = "{rows}: the history ends with the query itself, which was left out of it"
EMPTY_CELL = "{rows}: the response cell is empty, taken as no response given (CSV can't tell it from an empty response)"
THOUGHTS = "{rows}: the response holds a <think> block, which isn't judged"
NOT_RECORDED = "{rows}: the sources are null, taken as not recorded (write [] if nothing was retrieved)"
NEEDED = {"query": "write what the user asked", "sources": "write [] if nothing was retrieved"}
"""The fields without which a row is no case, and what to write there."""


class RowReader:
    """Turns the rows of one pass over a file into cases; a text file's empty cells may be missing values."""

    def __init__(
        self,
        layout: Layout,
        context: RowContext,
        name: str,
        *,
        empty_is_missing: bool,
        citation_mark: str | None,
        privacy: Privacy = AS_IT_IS,
    ) -> None:
        self._layout = layout
        self._context = context
        self._name = name
        self._empty_is_missing = empty_is_missing
        self._citation_mark = citation_mark
        self._privacy = privacy
        self._head = frozenset(layout.columns)
        self._whole = layout.left_out.union(*(place.columns for place in layout.places.values()))
        self._unread = tuple(one for shape in layout.shapes for one in shape.unread.items())
        # 16 bytes of a hash for each id, so that a million rows cost some hundred MB less than their ids
        self._first_row: dict[bytes, int] = {}
        self._remarks: Counter[str] = Counter()

    def read(self, row: RawRow) -> Case | Rejected:
        """The row's case; never raises for what a file can hold."""
        context = RowContext(self._context.limits, self._context.split)
        if row.values is None:
            return row.rejected(None, self._privacy.reason(row.problem or "unreadable"), self._name)
        try:
            case = self._case(row.values, context)
            self._check_first(case, row.row)
        except RowProblem as problem:
            return row.rejected(problem.field, self._privacy.reason(problem.reason), self._name, problem.twin_of)
        except RecursionError:
            return row.rejected(None, "is nested too deeply: flatten it", self._name)
        try:
            case = self._privacy.of(case)
        except RowProblem as problem:
            return row.rejected(problem.field, problem.reason, self._name)
        self._remarks.update(dict.fromkeys(context.remarks, 1))
        return case

    def notes(self) -> list[str]:
        """What was done to rows that the user should know, with their numbers, in the order in which it came up."""
        return [sentence.replace("{rows}", plural(count, "row")) for sentence, count in self._remarks.items()]

    def _case(self, values: Mapping[str, Any], context: RowContext) -> Case:
        self._check_read(values)
        late = self._late(values)
        places = {**late, **self._layout.places} if late else self._layout.places
        at = {field: self._value(values, field, place) for field, place in places.items()}
        query, history, reply = self._query(at["query"], context)
        sources = self._sources(at.get("sources"), PARSERS["source_ids"](at.get("source_ids"), context), context)
        response = self._response(at.get("response"), reply, "response" in places, context)
        if response is not None and thought_spans(response):
            context.remarks.append(THOUGHTS)
        found = {field: parser(at.get(field), context) for field, parser in PARSERS.items() if field != "source_ids"}
        if at.get("history") is not None:
            history = _before(found["history"], query, response, context.remarks)
        not_taken = {"reference": SEVERAL_REFERENCES, "time": NO_TIME}
        whole = self._whole.union(*(place.columns for place in late.values())).difference(
            *(places[field].columns for field, remark in not_taken.items() if remark in context.remarks)
        )
        tags = {key: value for key, value in values.items() if key not in whole}
        return Case(
            id=made_up_id(query, sources, response, history) if found["id"] is None else found["id"],
            query=query,
            sources=sources,
            response=response,
            reference=found["reference"],
            history=history,
            samples=found["samples"],
            relevant_ids=found["relevant_ids"],
            tags={clean(key, context.remarks): as_json_value(value, context.remarks) for key, value in tags.items()},
            weight=found["weight"],
            time=found["time"],
            trace_id=found["trace_id"],
            citation_mark=self._citation_mark,
        )

    def _check_read(self, values: Mapping[str, Any]) -> None:
        """Reject a row that another tool wrote for something else than a case."""
        for column, reason in self._unread:
            if values.get(column):
                raise RowProblem(None, reason)

    def _value(self, values: Mapping[str, Any], field: str, place: FieldPlace) -> Any:
        try:
            value = place.text_of(values) if field == "response" else place.of(values)
        except NotThere as problem:
            self._check_other_name(values, field, place.text)
            if problem.absent and field not in NEEDED:
                return None
            missing = f"column {place.text!r} is missing" if place.is_column else f"has no {place.text!r}: {problem}"
            raise RowProblem(
                field, f"{missing}: {NEEDED.get(field, 'repair the row, or name another place')}"
            ) from None
        return None if is_missing(value) or (self._empty_is_missing and value == "") else value

    def _late(self, values: Mapping[str, Any]) -> dict[str, FieldPlace]:
        """Fields that the head of the file didn't have at all, and this row has."""
        late: dict[str, FieldPlace] = {}
        for column in values:
            if column in self._head:
                continue
            field = field_named(column)
            if field is not None and field not in self._layout.places and field not in self._layout.switched_off:
                late.setdefault(field, column_place(column))
            if self._layout.series is not None and (number_of(column) or ("", 0))[0] == self._layout.series:
                places = f"{self._layout.places['sources'].text},{column}"
                raise RowProblem("sources", f"{column!r} stands in none of the first rows: --map sources={places}")
        return late

    def _check_other_name(self, values: Mapping[str, Any], field: str, column: str) -> None:
        """Reject a row that names a field otherwise than the rest of the file: it would be judged without it."""
        if field not in {"query", "sources", "response", "reference"}:
            return
        for other, value in values.items():
            named_alike = field_named(other) == field and other not in self._whole and other not in self._layout.beside
            if named_alike and isinstance(value, str | list):
                reason = f"has no {column!r} but {other!r}: name the {field} alike in all rows"
                raise RowProblem(field, reason)

    def _query(self, value: Any, context: RowContext) -> tuple[str, tuple[Turn, ...], str | None]:
        if value is None:
            raise RowProblem("query", self._empty("query"))
        # in a file of texts, one that happens to look like messages is a text
        if isinstance(value, list | tuple) or (self._layout.query_is_messages and is_message_list(value)):
            return messages_of(value, context)
        return text_of("query", value, context), (), None

    def _sources(
        self, value: Any, ids: tuple[str | None, ...] | None, context: RowContext
    ) -> tuple[Source, ...] | None:
        if "sources" in self._layout.switched_off:
            return ()
        if value is None:
            if self._empty_is_missing:
                raise RowProblem("sources", self._empty("sources"))
            context.remarks.append(NOT_RECORDED)
            return None
        return sources_of(value, context, ids, self._layout.places["sources"].text)

    def _empty(self, field: str) -> str:
        place = self._layout.places[field]
        return f"{'column ' if place.is_column else ''}{place.text!r} is null or empty: {NEEDED[field]}"

    def _response(self, value: Any, reply: str | None, has_column: bool, context: RowContext) -> str | None:  # noqa: FBT001
        if value is None:
            if not has_column and reply is not None:
                context.remarks.append(REPLY)
                return reply
            if has_column:
                context.remarks.append(EMPTY_CELL if self._empty_is_missing else NO_RESPONSE)
            return None
        if isinstance(value, Mapping):
            column = self._layout.places["response"].text if "response" in self._layout.places else "response"
            key = next((key for key, inner in value.items() if isinstance(inner, str)), "KEY")
            reason = (
                f"is {described(value)}, not a text: --map response={column}.{key} takes a part, --map response= none"
            )
            raise RowProblem("response", reason)
        return text_of("response", value, context)

    def _check_first(self, case: Case, row: int) -> None:
        first = self._first_row.setdefault(sha256(case.id.encode()).digest()[:16], row)
        if first != row:
            raise RowProblem(*twin_problem(case, f"row {first}", has_ids="id" in self._layout.places), first)


def _before(turns: tuple[Turn, ...], query: str, response: str | None, remarks: list[str]) -> tuple[Turn, ...]:
    """The turns before the query, where a file's conversation holds the query, and maybe the response, as well."""
    kept = turns[:-1] if len(turns) > 1 and turns[-1].text == response and turns[-2].text == query else turns
    if kept and kept[-1].text == query:
        remarks.append(WHOLE_CONVERSATION)
        return kept[:-1]
    return turns


def twin_problem(case: Case, first: str, *, has_ids: bool) -> tuple[str | None, str]:
    """Why a row with the id of an earlier one, `first`, can't be used: the field at fault, and the reason."""
    if not has_ids or case.id == made_up_id(case.query, case.sources, case.response, case.history):
        return None, f"same content as {first}: give the rows ids if both are to count"
    return "id", f"{case.id!r} is the id of {first} too: make ids unique (--map id= makes them from the content)"


def made_up_id(query: str, sources: tuple[Source, ...] | None, response: str | None, history: tuple[Turn, ...]) -> str:
    """An id made from the content: rows with the same content get the same one, wherever they stand."""
    texts = None if sources is None else [[source.text, source.id] for source in sources]
    turns = [[turn.role, turn.text] for turn in history]
    content = json.dumps([query, texts, response, turns], ensure_ascii=True, separators=(",", ":"))
    return sha256(content.encode()).hexdigest()[:16]


def cases_from(
    rows: Sequence[Mapping[str, Any]],
    name: str,
    *,
    mapping: Mapping[str, str] | None = None,
    citation_mark: str | None = None,
) -> list[Case | Rejected]:
    """Each row as a case, or rejected with the reason; of the rows there is one at least.

    `name` is what messages call them; all else is as for `open_cases`, also what it raises.
    """
    layout = find_layout(list(rows), dict(mapping or {}), name)
    reader = RowReader(layout, RowContext(), name, empty_is_missing=False, citation_mark=citation_mark)
    return [reader.read(RawRow(number, values=row)) for number, row in enumerate(rows, 1)]


class LooseRows:
    """Rows that come one by one, from no file, such as those of another framework's evaluation."""

    def __init__(self, name: str, mapping: Mapping[str, str] | None = None) -> None:
        self._name = name
        self._mapping = dict(mapping or {})
        self._layouts: dict[tuple[str, ...], Layout] = {}

    def read(self, row: Mapping[str, Any], number: int = 1) -> Case | Rejected:
        """The row's case; rejected too where it has no query. Sources that it doesn't have weren't recorded."""
        columns = tuple(row)
        layout = self._layouts.get(columns)
        if layout is None:
            try:
                layout = self._layout(row)
            except InputError as error:
                return Rejected(number, None, str(error))
            self._layouts[columns] = layout
        if layout.places["sources"].text == "sources" and "sources" not in row:
            row = {**row, "sources": None}
        reader = RowReader(layout, RowContext(), self._name, empty_is_missing=False, citation_mark=None)
        return reader.read(RawRow(number, values=row))

    def _layout(self, row: Mapping[str, Any]) -> Layout:
        try:
            return find_layout([row], self._mapping, self._name)
        except InputError:
            if "sources" in self._mapping or "sources" in row:
                raise
            return find_layout([{**row, "sources": None}], self._mapping, self._name)
