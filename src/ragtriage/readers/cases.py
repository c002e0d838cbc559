"""A file of cases: opened, explained, read as a stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.readers.case_rows import RowReader
from ragtriage.readers.columns import Layout, find_layout, value_at
from ragtriage.readers.field_names import ALIASES
from ragtriage.readers.files import Format, can_be_read_again, open_bytes, records, tell_format
from ragtriage.readers.problems import Limits, Rejected
from ragtriage.readers.records import Record
from ragtriage.readers.source_values import kind_of
from ragtriage.readers.text_values import shortened
from ragtriage.text.citations.marks import pattern_of

HEAD = 100
"""Rows that are looked at before the reading starts."""
_HEAD_BYTES = 32_000_000


def open_cases(
    path: str | Path,
    *,
    mapping: Mapping[str, str] | None = None,
    split_sources: str | None = None,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    format: str | None = None,  # noqa: A002 - the word that users know
    citation_mark: str | None = None,
    questions: bool = False,
) -> CaseFile:
    r"""Open a file of cases and find our fields in it; only its first hundred rows are read.

    Args:
        path: a JSONL, JSON, CSV (comma, semicolon, tab) or Parquet file; all but the last also packed by gzip;
            `"-"` is the standard input.
        mapping: our field to the column that holds it, or to a dotted path into one (`output.text`), where it isn't
            found by its name; `""` keeps a field from being found.
        split_sources: what stands between the sources where a column holds them as one text; `\n` and `\t` are
            understood.
        limits: how much a row may hold.
        format: `"jsonl"`, `"json"`, `"csv"` or `"parquet"`; told from the content and the name if None.
        citation_mark: a regular expression for the application's own citation marks: see `Case.citation_mark`.
        questions: the file is to be asked: only the query is needed, and neither sources nor a response are looked
            for, so that columns of these names stay tags.

    Raises:
        InputError: the file can't be used: it doesn't exist, is empty, isn't UTF-8, or no column holds the query or
            the sources.
        ConfigError: `mapping`, `split_sources`, `format` or `citation_mark` is wrong.
        MissingExtraError: it is Parquet, and the extra isn't installed.
    """
    name = str(path)
    separator = _unescaped(split_sources)
    if citation_mark is not None:
        pattern_of(citation_mark)
    again = can_be_read_again(name)
    stream = open_bytes(name)
    try:
        form = tell_format(name, stream, format)
    except BaseException:
        stream.close()
        raise
    rest = records(name, stream, form, limits)
    head = _read_head(rest)
    if again:
        rest.close()
    layout = find_layout(_usable(head.records, name), mapping or {}, name, questions=questions)
    if head.records[0].within is not None:
        layout = replace(layout, notes=(head.records[0].within, *layout.notes))
    return CaseFile(name, form, layout, head, limits, separator, None if again else rest, citation_mark)


@dataclass(frozen=True, slots=True)
class _Head:
    """The first rows of a file."""

    records: list[Record]
    is_all: bool
    """The file has no more."""


def _read_head(rest: Iterator[Record]) -> _Head:
    head: list[Record] = []
    size = 0
    while len(head) < HEAD and size < _HEAD_BYTES:
        record = next(rest, None)
        if record is None:
            return _Head(head, is_all=True)
        head.append(record)
        size += record.size
    return _Head(head, is_all=False)


def _unescaped(separator: str | None) -> str | None:
    if separator is None:
        return None
    if not separator:
        raise ConfigError("--split-sources needs what stands between the sources, for example '\\n\\n'")
    return separator.replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r")


def _usable(head: list[Record], name: str) -> list[Mapping[str, Any]]:
    usable = [record.values for record in head if record.values is not None]
    if usable:
        return usable
    if not head:
        raise InputError(f"{name}: holds no rows")
    first = head[0]
    where = f"row {first.row}" if first.line is None else f"line {first.line}"
    if all(record.undecodable for record in head):
        raise InputError(f"{name}: is not UTF-8: {where}: {first.problem}")
    many = f"none of the first {len(head)} rows can be read" if len(head) > 1 else "its only row can't be read"
    raise InputError(f"{name}: {many}: {where}: {first.problem}")


class CaseFile:
    """An opened file of cases. Made by `open_cases`; nothing beyond the head of the file was read yet."""

    def __init__(
        self,
        path: str,
        form: Format,
        layout: Layout,
        head: _Head,
        limits: Limits,
        separator: str | None,
        rest: Iterator[Record] | None,
        citation_mark: str | None,
    ) -> None:
        self.path = path
        """The file, as it was named; `-` is the standard input."""
        self.format: str = form
        """`jsonl`, `json`, `csv` or `parquet`."""
        self.mapping: Mapping[str, str] = layout.mapping
        """Our field to the column that it was found under."""
        self.tags: tuple[str, ...] = layout.tags
        """The other columns of the head; every column is kept."""
        self._form: Format = form
        self._layout = layout
        self._limits = limits
        self._separator = separator
        self._citation_mark = citation_mark
        self._pipe = None if rest is None else chain(head.records, rest)
        self._read_again = rest is None
        self._reader = self._new_reader()
        self._look = _Look(head, layout, self._reader)
        self._reading = False

    def _new_reader(self) -> RowReader:
        empty_is_missing = self.format == "csv"
        return RowReader(
            self._layout,
            self._limits,
            self._separator,
            self.path,
            empty_is_missing=empty_is_missing,
            citation_mark=self._citation_mark,
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings in plain words; with the counts of the head, once rows are read with those of the rows read."""
        where = "" if self._reading or self._look.is_all else f"in {self._look.span}, "
        return (*self._layout.notes, *(where + note for note in self._reader.tally.notes()))

    @property
    def first(self) -> Mapping[str, Any] | None:
        """The first usable row's mapped values, shortened; None if the head holds none."""
        return self._look.first

    def rows(self) -> Iterator[Case | Rejected]:
        """Every row of the file, as a case or rejected with the reason, streamed from the start.

        May be called again, which reads the file again, except for the standard input.

        Raises:
            InputError: the file is gone, or the standard input was read already.
        """
        if self._read_again:
            source: Iterator[Record] = records(self.path, open_bytes(self.path), self._form, self._limits)
        elif self._pipe is not None:
            source, self._pipe = self._pipe, None
        else:
            raise InputError(f"{self.path}: a pipe can be read only once: save it to a file")
        reader = self._reader = self._new_reader()
        self._reading = True
        for record in source:
            yield reader.read(record)

    def describe(self) -> list[str]:
        """What was found, in lines for people, to be shown before anything is judged."""
        lines = [self._found(field) for field in ALIASES if field in self.mapping]
        names = [shortened(tag, 60) for tag in self.tags]
        more = f" and {len(names) - 40} more" if len(names) > 40 else ""
        lines.append(f"tags: {', '.join(names[:40])}{more}" if names else "tags: none")
        lines += [f"note: {note}" for note in self.notes]
        if self._look.rejected:
            count = f"{self._look.rejected} of " if self._look.rows > 1 else ""
            lines.append(f"unusable: {count}{self._look.span}, the first: {self._look.first_rejected}")
        if self.first is not None:
            lines.append("first row:")
            lines += [f"  {field}: {value}" for field, value in self.first.items()]
        return lines

    def _found(self, field: str) -> str:
        line = f"{field} ← {shortened(self.mapping[field], 60)}"
        if field != "sources" or self._look.sources is None:
            return line
        low, high = self._look.sources
        count = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        return f"{line} ({self._look.kind}, {count} a row in {self._look.span})"


class _Look:
    """What the head of a file shows, without keeping its texts.

    Args:
        head: its rows.
        layout: where the fields are.
        reader: what turns them into cases.
    """

    def __init__(self, head: _Head, layout: Layout, reader: RowReader) -> None:
        self.first: Mapping[str, Any] | None = None
        self.sources: tuple[int, int] | None = None
        self.rejected = 0
        self.first_rejected: Rejected | None = None
        self.rows = len(head.records)
        self.is_all = head.is_all
        rows = "row" if self.rows == 1 else f"{self.rows} rows"
        self.span = f"the first {rows}" if not self.is_all else "the only row" if self.rows == 1 else f"all {rows}"
        kinds: Counter[str] = Counter()
        for record in head.records:
            row = reader.read(record)
            if isinstance(row, Rejected):
                self.rejected += 1
                self.first_rejected = self.first_rejected or row
                continue
            self.first = self.first or _shown(row, layout.mapping)
            if "sources" not in layout.mapping:
                continue
            low, high = self.sources or (len(row.sources), len(row.sources))
            self.sources = min(low, len(row.sources)), max(high, len(row.sources))
            kinds[kind_of(value_at(record.values or {}, layout.mapping["sources"]))] += bool(row.sources)
        self.kind = kinds.most_common(1)[0][0] if kinds else ""


def _shown(case: Case, mapping: Mapping[str, str]) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for field in mapping:
        value: Any = getattr(case, field, None)
        if field == "source_ids":
            value = [source.id or "none" for source in case.sources]
        match field:
            case "sources":
                texts = [f"“{shortened(source.text, 60)}”" for source in value[:2]]
                more = [f"… {len(value)} in all"] if len(value) > 2 else []
                shown[field] = ", ".join(texts + more) or "none"
            case "history":
                shown[field] = f"{len(value)} turns"
            case "samples" | "relevant_ids" | "source_ids":
                shown[field] = ", ".join(shortened(str(item), 40) for item in (value or ())[:3]) or "none"
            case "query" | "response" | "reference":
                shown[field] = "not given" if value is None else f"“{shortened(value, 100)}”"
            case _:
                shown[field] = "not given" if value is None else shortened(str(value), 60)
    return shown
