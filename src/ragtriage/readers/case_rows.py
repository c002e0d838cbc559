"""One record of a file becomes a case, or is rejected with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from ragtriage.core.case import Case, Source, Turn
from ragtriage.readers.columns import MISSING, Layout, is_missing, value_at
from ragtriage.readers.conversation import is_message_list, messages_of, turns_of
from ragtriage.readers.field_names import field_named
from ragtriage.readers.optional_fields import (
    id_of,
    reference_of,
    relevant_ids_of,
    samples_of,
    source_ids_of,
    time_of,
    weight_of,
)
from ragtriage.readers.problems import Limits, Rejected, RowProblem, Tally
from ragtriage.readers.records import Record
from ragtriage.readers.source_values import named, sources_of
from ragtriage.readers.text_values import clean, content_key, plain, shown, text_of

NO_RESPONSE = "{rows} without a response (not given, which is not the same as an empty one)"
REPLY = "{rows}: the response is the message after the user's last one"
NO_TIME = "{rows}: the time can't be read as ISO 8601 or as a number; it is kept as a tag"
WHOLE_CONVERSATION = "{rows}: the history ends with the query itself, which was left out of it"
EMPTY_CELL = "{rows}: the response cell is empty, taken as no response given (CSV can't tell it from an empty response)"


class RowReader:
    """Turns the records of one pass over a file into cases.

    Args:
        layout: where the fields are.
        limits: how much a row may hold.
        split: what stands between the sources in one text, or None.
        name: the file, for messages.
        empty_is_missing: a text file's empty cells are missing values.
        citation_mark: see `Case.citation_mark`.
    """

    def __init__(
        self,
        layout: Layout,
        limits: Limits,
        split: str | None,
        name: str,
        *,
        empty_is_missing: bool,
        citation_mark: str | None = None,
    ) -> None:
        self.tally = Tally()
        self._layout = layout
        self._limits = limits
        self._split = split
        self._name = name
        self._empty_is_missing = empty_is_missing
        self._citation_mark = citation_mark
        self._head = frozenset(layout.columns)
        self._whole = frozenset(layout.mapping.values())
        # 16 bytes of a hash for each id, so that a million rows cost some hundred MB less than their ids
        self._first_row: dict[bytes, int] = {}

    def read(self, record: Record) -> Case | Rejected:
        """The record's case; never raises for what a file can hold."""
        remarks: list[str] = []
        if record.values is None:
            return Rejected(record.row, None, record.problem or "unreadable", record.line, self._name, record.ends)
        try:
            case = self._case(record.values, remarks)
            self._check_first(case, record)
        except RowProblem as problem:
            return Rejected(record.row, problem.field, problem.reason, record.line, self._name, record.ends)
        except RecursionError:
            reason = "is nested too deeply: flatten it"
            return Rejected(record.row, None, reason, record.line, self._name, record.ends)
        self.tally.add(remarks)
        return case

    def _case(self, values: Mapping[str, Any], remarks: list[str]) -> Case:
        columns = {**self._late(values), **self._layout.mapping}
        at = {field: self._value(values, field, column) for field, column in columns.items()}
        query, history, reply = self._query(at, remarks)
        sources = self._sources(at.get("sources", MISSING), remarks)
        sources = named(sources, source_ids_of(at.get("source_ids"), remarks))
        response = self._response(at.get("response"), reply, "response" in columns, remarks)
        if at.get("history") is not None:
            turns = turns_of(at["history"], "history", self._limits, remarks)
            history = _before(turns, query, response, remarks)
        reference, several = reference_of(at.get("reference"), self._limits, remarks)
        time = time_of(at["time"]) if at.get("time") is not None else None
        untaken = {columns["reference"]} if several else set()
        if time is None and at.get("time") is not None:
            remarks.append(NO_TIME)
            untaken.add(columns["time"])
        name = id_of(at.get("id"), "id", remarks)
        whole = (self._whole | set(columns.values())) - untaken
        return Case(
            id=made_up_id(query, sources, response, history) if name is None else name,
            query=query,
            sources=sources,
            response=response,
            reference=reference,
            history=history,
            samples=samples_of(at.get("samples"), self._limits, remarks),
            relevant_ids=relevant_ids_of(at.get("relevant_ids"), remarks),
            tags={clean(key, remarks): plain(value, remarks) for key, value in values.items() if key not in whole},
            weight=weight_of(at.get("weight")),
            time=time,
            trace_id=id_of(at.get("trace_id"), "trace_id", remarks),
            citation_mark=self._citation_mark,
        )

    def _value(self, values: Mapping[str, Any], field: str, column: str) -> Any:
        value = value_at(values, column)
        if value is MISSING:
            self._check_other_name(values, field, column)
            return MISSING if field in {"query", "sources"} else None
        return None if is_missing(value) or (self._empty_is_missing and value == "") else value

    def _late(self, values: Mapping[str, Any]) -> dict[str, str]:
        """Fields that the head of the file didn't have at all, and this row has."""
        late: dict[str, str] = {}
        for column in values:
            field = field_named(column) if column not in self._head else None
            if field is not None and field not in self._layout.mapping and field not in self._layout.switched_off:
                late.setdefault(field, column)
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

    def _query(self, at: Mapping[str, Any], remarks: list[str]) -> tuple[str, tuple[Turn, ...], str | None]:
        value = at.get("query", MISSING)
        if value is MISSING or value is None:
            column = self._layout.mapping["query"]
            how = "is missing" if value is MISSING else "is null or empty"
            raise RowProblem("query", f"column {column!r} {how}: write what the user asked")
        # in a file of texts, one that happens to look like messages is a text
        if isinstance(value, list | tuple) or (self._layout.query_is_messages and is_message_list(value)):
            messages = messages_of(value, self._limits, remarks)
            return messages.query, messages.history, messages.reply
        return text_of("query", value, self._limits, remarks), (), None

    def _sources(self, value: Any, remarks: list[str]) -> tuple[Source, ...]:
        if "sources" in self._layout.switched_off:
            return ()
        if value is MISSING or value is None:
            column = self._layout.mapping["sources"]
            how = "is missing" if value is MISSING else "is null or empty"
            raise RowProblem("sources", f"column {column!r} {how}: write [] if nothing was retrieved")
        return sources_of(value, self._limits, self._split, remarks)

    def _response(self, value: Any, reply: str | None, has_column: bool, remarks: list[str]) -> str | None:  # noqa: FBT001
        if value is None:
            if not has_column and reply is not None:
                remarks.append(REPLY)
                return reply
            if has_column:
                remarks.append(EMPTY_CELL if self._empty_is_missing else NO_RESPONSE)
            return None
        if isinstance(value, Mapping):
            column = self._layout.mapping.get("response", "response")
            keys = [key for key, inner in value.items() if isinstance(inner, str)]
            path = f"{column}.{keys[0]}" if keys else f"{column}.KEY"
            reason = f"is {shown(value)}, not a text: --map response={path} takes a part, --map response= none"
            raise RowProblem("response", reason)
        return text_of("response", value, self._limits, remarks)

    def _check_first(self, case: Case, record: Record) -> None:
        digest = sha256(case.id.encode()).digest()[:16]
        first = self._first_row.setdefault(digest, record.row)
        if first != record.row:
            column = self._layout.mapping.get("id")
            if column is None or case.id == made_up_id(case.query, case.sources, case.response, case.history):
                raise RowProblem(None, f"same content as row {first}: give the rows ids if both are to count")
            reason = (
                f"{case.id!r} is the id of row {first} too: make ids unique (--map id= makes them from the content)"
            )
            raise RowProblem("id", reason)


def _before(turns: tuple[Turn, ...], query: str, response: str | None, remarks: list[str]) -> tuple[Turn, ...]:
    """The turns before the query, where a file's conversation holds the query, and maybe the response, as well."""
    kept = turns[:-1] if len(turns) > 1 and turns[-1].text == response and turns[-2].text == query else turns
    if kept and kept[-1].text == query:
        remarks.append(WHOLE_CONVERSATION)
        return kept[:-1]
    return turns


def made_up_id(query: str, sources: tuple[Source, ...], response: str | None, history: tuple[Turn, ...]) -> str:
    """An id made from the content: rows with the same content get the same one, wherever they stand."""
    texts = [[source.text, source.id] for source in sources]
    turns = [[turn.role, turn.text] for turn in history]
    return sha256(content_key(query, texts, response, turns).encode()).hexdigest()[:16]
