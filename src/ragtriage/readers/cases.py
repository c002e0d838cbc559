"""A file of cases: opened, explained, read as a stream."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

from ragtriage.core.case import Case
from ragtriage.core.display import one_line
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.readers.case_rows import RowReader
from ragtriage.readers.columns import Layout, find_layout
from ragtriage.readers.field_values import ALIASES
from ragtriage.readers.files import (
    InputPath,
    OpenedFile,
    RowRange,
    detect_format,
    input_file,
    is_pipe,
    open_bytes,
    raw_rows,
)
from ragtriage.readers.paths import path_from
from ragtriage.readers.private_cases import AS_IT_IS, Privacy
from ragtriage.readers.problems import RawRow, Rejected, RowContext, RowLimits
from ragtriage.readers.traces.files import HEAD, MAPPING, TraceRows, files_in, filled, format_in, rows_of, with_places
from ragtriage.readers.traces.formats import format_of
from ragtriage.readers.traces.tree import TraceOptions
from ragtriage.text.citation_marks import pattern_of

_HEAD_BYTES = 32_000_000
ROWS = "rows"
"""What `mapping` calls the place of the rows."""


def open_cases(  # noqa: PLR0913  # how a file is read
    path: InputPath,
    *,
    mapping: Mapping[str, str] | None = None,
    split_sources: str | None = None,
    limits: RowLimits = RowLimits(),  # noqa: B008 - frozen
    format: str | None = None,  # noqa: A002 - the word that users know
    citation_mark: str | None = None,
    questions: bool = False,
    traces: TraceOptions = TraceOptions(),  # noqa: B008 - frozen
    privacy: Privacy = AS_IT_IS,
) -> "CaseFile":
    r"""Open a file of cases and find our fields in it; only its first hundred rows are read.

    Args:
        path: a JSONL, JSON, CSV (comma, semicolon, tab) or Parquet file; all but the last also packed by gzip.
        mapping: our field to the column that holds it, to a path into one (`output.text`, `docs[*].page_content`) or,
            for a field that holds a list, to several (`context_1,context_2`), where it isn't found by its name; `""`
            keeps a field from being found. `rows` is the path of the list that holds the rows, within a JSON document
            or within every row of another file.
        split_sources: what stands between the sources where a column holds them as one text; `\n` and `\t` are
            understood.
        limits: how much a row may hold.
        format: `"jsonl"`, `"json"`, `"csv"` or `"parquet"`; told from the content and the name if None.
        citation_mark: a regular expression for the application's own citation marks: see `Case.citation_mark`.
        questions: the file is to be asked: only the query is needed, and neither sources nor a response are looked
            for, so that columns of these names stay tags.
        traces: what is taken for what in a file or folder of traces, which is told from its content.
        privacy: what is done to every case before anything of it is shown or written.

    Raises:
        InputError: the file can't be used: it doesn't exist, is empty, a pipe or no UTF-8, or no column holds the
            query or the sources.
        ConfigError: `mapping`, `split_sources`, `format` or `citation_mark` is wrong.
        MissingExtraError: it is Parquet, and the extra isn't installed.
    """
    file = input_file(path)
    context = RowContext(limits, _unescaped(split_sources))
    if citation_mark is not None:
        pattern_of(citation_mark)
    wanted = dict(mapping or {})
    if files := files_in(file):
        form_of_traces = format_in(files, limits)
        if form_of_traces is not None:
            made = TraceRows(rows_of(files, limits), form_of_traces, with_places(wanted, traces))
            return _of_traces(file, made, context, citation_mark, privacy)
    nested = path_from(rows_at, "--map rows") if (rows_at := wanted.pop(ROWS, "")) else None
    if is_pipe(file.path):
        raise InputError(f"{file}: a pipe can be read only once: save it to a file")
    with open_bytes(file) as stream:
        form = detect_format(file, stream, format)
    raw = partial(raw_rows, file, form, limits, nested)
    with closing(raw(None)) as rows:
        head, is_all = _read_head(rows)
    usable = _usable(head, file.name)
    rows_of_head = [row.values for row in usable if row.values is not None]
    form_of_traces = None if nested or questions else format_of(rows_of_head)
    if form_of_traces is not None:
        whole: Iterator[RawRow] = raw(None)
        if form == "csv":  # an empty cell holds nothing, rather than an empty text
            whole = (replace(row, values=filled(row.values)) for row in whole)
        made = TraceRows(whole, form_of_traces, with_places(wanted, traces))
        return _of_traces(file, made, context, citation_mark, privacy)
    layout = find_layout(rows_of_head, wanted, file.name, first_row=usable[0].row, questions=questions)
    if usable[0].within is not None:
        layout = replace(layout, notes=(usable[0].within, *layout.notes))
    reader = partial(
        RowReader,
        layout,
        context,
        file.name,
        empty_is_missing=form == "csv",
        citation_mark=citation_mark,
        privacy=privacy,
    )
    return CaseFile(file, form, layout, reader, raw, head, is_all=is_all)


def _of_traces(
    file: OpenedFile, made: TraceRows, context: RowContext, citation_mark: str | None, privacy: Privacy
) -> "CaseFile":
    """The cases of traces."""
    rest = made.rows()
    head, is_all = _read_head(rest)
    if all(row.values is None for row in head) and (first := next((row for row in rest if row.values), None)):
        head, is_all = [*head, first], False
    if not any(row.values for row in head):
        reasons = "; ".join(line.removeprefix("unusable: ") for line in made.lines() if line.startswith("unusable: "))
        raise UnusableTraces(
            f"{file.name}: none of its {made.form.title} can be used: {reasons or 'it has none'}", made
        )
    usable = _usable(head, file.name)
    rows = [row.values for row in usable if row.values is not None]
    layout = find_layout(rows, MAPPING, file.name, first_row=usable[0].row)
    reader = partial(
        RowReader, layout, context, file.name, empty_is_missing=False, citation_mark=citation_mark, privacy=privacy
    )
    return CaseFile(file, made.form.name, layout, reader, lambda _: made.rows(), head, is_all=is_all, traces=made)


def _read_head(rest: Iterator[RawRow]) -> tuple[list[RawRow], bool]:
    head: list[RawRow] = []
    size = 0
    while len(head) < HEAD and size < _HEAD_BYTES:
        row = next(rest, None)
        if row is None:
            return head, True
        head.append(row)
        size += row.size
    return head, False


def _unescaped(separator: str | None) -> str | None:
    if separator is None:
        return None
    if not separator:
        raise ConfigError("--split-sources needs what stands between the sources, for example '\\n\\n'")
    return separator.replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r")


def _usable(head: Sequence[RawRow], name: str) -> list[RawRow]:
    usable = [row for row in head if row.values is not None]
    if usable:
        return usable
    if not head:
        raise InputError(f"{name}: holds no rows")
    first = head[0]
    where = f"row {first.row}" if first.line is None else f"line {first.line}"
    many = f"none of the first {len(head)} rows can be read" if len(head) > 1 else "its only row can't be read"
    raise InputError(f"{name}: {many}: {where}: {first.problem}")


class UnusableTraces(InputError):
    """None of the traces of a file can be used; they are there to be looked at."""

    def __init__(self, told: str, traces: TraceRows) -> None:
        super().__init__(told)
        self.traces = traces


class CaseFile:
    """An opened file of cases. Made by `open_cases`; nothing beyond the head of the file was read yet."""

    def __init__(  # what was found in the file, and the ways to read it
        self,
        file: OpenedFile,
        form: str,
        layout: Layout,
        new_reader: Callable[[], RowReader],
        raw: Callable[[RowRange], Iterator[RawRow]],
        head: Sequence[RawRow],
        *,
        is_all: bool,
        traces: TraceRows | None = None,
    ) -> None:
        self.path = file.path
        """Where the file is."""
        self.name = file.name
        """What messages call it."""
        self.format = form
        """`jsonl`, `json`, `csv`, `parquet`, or the format of its traces."""
        self.traces = traces
        """The traces that it holds; None for a file of cases."""
        self.mapping: Mapping[str, str] = layout.mapping
        """Our field to the column that it was found under."""
        self.tags: tuple[str, ...] = layout.tags
        """The other columns of the head; every column is kept."""
        self.first: Mapping[str, Any] | None = None
        """The first usable row's mapped values, shortened; None if the head holds none."""
        self._layout = layout
        self._new_reader = new_reader
        self._raw = raw
        self._reader: RowReader | None = None
        self._look_at(head, is_all=is_all)

    def _look_at(self, head: Sequence[RawRow], *, is_all: bool) -> None:
        """Note what the head of the file shows, without keeping its texts."""
        rows = "row" if len(head) == 1 else f"{len(head)} rows"
        span = f"the first {rows}" if not is_all else "the only row" if len(head) == 1 else f"all {rows}"
        reader = self._new_reader()
        rejected: list[Rejected] = []
        counts: list[int] = []
        for raw in head:
            row = reader.read(raw)
            if isinstance(row, Rejected):
                rejected.append(row)
                continue
            self.first = self.first or _shown(row, self.mapping)
            counts.append(len(row.known_sources))
        self._head_notes = tuple(("" if is_all else f"in {span}, ") + note for note in reader.notes())
        self._sources = self._unusable = ""
        if counts and "sources" in self.mapping:
            low, high = min(counts), max(counts)
            count = f"{low:,}" if low == high else f"{low:,} to {high:,}"
            self._sources = f" ({count} a row in {span})"
        if rejected:
            which = f"{len(rejected)} of {span}, the first" if len(head) > 1 else span
            self._unusable = f"unusable: {which}: {rejected[0]}"

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings in plain words; with the counts of the head, once rows are read with those of the rows read."""
        found = self._head_notes if self._reader is None else self._reader.notes()
        return (*self._layout.notes, *found)

    def rows(self) -> Iterator[Case | Rejected]:
        """Every row of the file, as a case or rejected with the reason, streamed from the start.

        May be called again, which reads the file again.

        Raises:
            InputError: the file is gone.
        """
        raw = self._raw(None)
        reader = self._reader = self._new_reader()
        yield from map(reader.read, raw)

    def rows_in(self, part: RowRange) -> Iterator[tuple[RawRow, Case | Rejected]]:
        """The rows of a part of the file, as they stand there and as cases, numbered from 1 within the part.

        Ids are unique within the part only.
        """
        if self.traces is not None:
            raise InputError(f"{self.name}: traces have no parts: make cases of them first (ragtriage traces FILE -o)")
        reader = self._reader = self._new_reader()
        for raw in self._raw(part):
            yield raw, reader.read(raw)

    def describe(self) -> list[str]:
        """What was found, in lines for people, to be shown before anything is judged."""
        lines = [f"the rows are {shape.name}" for shape in self._layout.shapes]
        if self.traces is None:
            lines += [
                f"{field} ← {one_line(self.mapping[field], 60)}{self._sources if field == 'sources' else ''}"
                for field in ALIASES
                if field in self.mapping
            ]
        else:
            lines += self.traces.lines()
        if self.traces is None and "id" not in self.mapping and "response" in self.mapping:
            lines.append("id: made from what each row holds, since no field is read as one (--map id=COLUMN)")
        names = [one_line(tag, 60) for tag in self.tags]
        more = f" and {len(names) - 40} more" if len(names) > 40 else ""
        lines.append(f"tags: {', '.join(names[:40])}{more}" if names else "tags: none")
        lines += [f"note: {note}" for note in self.notes]
        if self._unusable:
            lines.append(self._unusable)
        if self.first is not None:
            lines.append("first row:")
            lines += [f"  {field}: {value}" for field, value in self.first.items()]
        return lines


def _shown(case: Case, mapping: Mapping[str, str]) -> dict[str, str]:
    shown: dict[str, str] = {}
    for field in mapping:
        value: Any = getattr(case, field, None)
        match field:
            case "sources" if value is None:
                shown[field] = "not recorded"
            case "sources":
                texts = [f"“{one_line(source.text, 60)}”" for source in value[:2]]
                more = [f"… {len(value)} in all"] if len(value) > 2 else []
                shown[field] = ", ".join(texts + more) or "none"
            case "history":
                shown[field] = f"{len(value)} turns"
            case "samples" | "relevant_ids" | "source_ids":
                items = value or [source.id or "none" for source in case.known_sources if field == "source_ids"]
                shown[field] = ", ".join(one_line(str(item), 40) for item in items[:3]) or "none"
            case _ if value is None:
                shown[field] = "not given"
            case "query" | "response" | "reference":
                shown[field] = f"“{one_line(value, 100)}”"
            case _:
                shown[field] = one_line(str(value), 60)
    return shown
