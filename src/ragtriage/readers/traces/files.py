"""A file or folder of traces, read as rows of cases, and what was taken for what."""

import re
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from ragtriage.core.case import Case
from ragtriage.core.display import one_line, plural
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.readers.field_values import ALIASES
from ragtriage.readers.files import OpenedFile, detect_format, open_bytes, raw_rows
from ragtriage.readers.problems import RawRow, RowLimits
from ragtriage.readers.traces.assembling import FIELDS, MOST_TURNS, TURNS, assembled, with_history
from ragtriage.readers.traces.attributes import kind_of
from ragtriage.readers.traces.formats import format_of
from ragtriage.readers.traces.index import ODD, HeldTrace, TraceIndex, UnreadTrace
from ragtriage.readers.traces.pieces import TraceFormat
from ragtriage.readers.traces.spans import Trace, TraceSpan
from ragtriage.readers.traces.tree import Assembled, TraceOptions, Tree, span_place

HEAD = 100
"""Rows that are looked at before the reading starts."""
ENDINGS = (".json", ".jsonl", ".ndjson", ".parquet", ".pq", ".json.gz", ".jsonl.gz", ".zst")
"""Of the files in a folder of traces; those packed by zstd are told as such."""
CONVERSATIONS = 10_000
"""Of which earlier turns are kept at once."""
TRACE = "trace "
"""How it begins why a trace is no case."""
SHOWN = 8
"""Reasons that are told by themselves."""
_NUMBER = re.compile(r"^\d[\d,]* documents were")
CUT_FROM, CUT_MANY = 100, 5
"""So many texts of one and the same length, from this on, that is the longest there is, were probably cut."""


def with_places(mapping: Mapping[str, str], options: TraceOptions) -> TraceOptions:
    """What is said of where fields stand in traces."""
    places = dict(options.places)
    for name, text in (mapping if options.mapping is None else options.mapping).items():
        if name == "sources" and not text:
            options = replace(options, sources="off")
        elif name in {"query", "response"} and text:
            places[name] = span_place(name, text)
        else:
            raise ConfigError(
                f"--map {name}={text}: of traces only query and response can be named, and sources= left out"
            )
    return replace(options, places=places)


MAPPING = {name: name if name in FIELDS else "" for name in ALIASES} | {"history": TURNS}
"""Our fields to the columns of a trace's row, so that no tag is taken for a field."""


def files_in(file: OpenedFile) -> list[OpenedFile]:
    """The files that are read as one, those of a folder by name, and of the folders in it; none if it is one file."""
    if file.parts or not file.path:
        return list(file.parts)
    try:
        inside = Path(file.path).rglob("*") if Path(file.path).is_dir() else ()
        found = sorted(path for path in inside if path.name.lower().endswith(ENDINGS) and path.is_file())
    except OSError:  # told when it is opened
        return []
    return [OpenedFile(str(path), str(path)) for path in found]


def format_in(files: Iterable[OpenedFile], limits: RowLimits) -> TraceFormat | None:
    """The format of the traces in these files; None if they hold none."""
    return format_of([row.values for row in islice(rows_of(files, limits), HEAD) if row.values])


def rows_of(files: Iterable[OpenedFile], limits: RowLimits) -> Iterator[RawRow]:
    """The rows of several files, as of one; each names its file.

    A file that can't be read at all counts as one that breaks off.
    """
    for file in files:
        empty = False
        try:
            with open_bytes(file) as stream:
                empty = not stream.peek(1)
                form = detect_format(file, stream, None)
        except InputError as error:
            yield RawRow(1, problem=str(error), ends=not empty)  # an empty one holds nothing that is lost
            continue
        for row in raw_rows(file, form, limits):
            yield replace(row, file=file.name, values=filled(row.values) if form == "csv" else row.values)


def filled(values: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """A row of CSV, where an empty cell holds nothing, rather than an empty text."""
    return None if values is None else {name: value for name, value in values.items() if value != ""}


def _placed(problem: RawRow) -> str:
    """What is wrong with a row that can't be read; of several files with the one in which it stands."""
    where = f"row {problem.row}" if problem.line is None else f"line {problem.line}"
    return f"{problem.file}, {where}: {problem.problem}" if problem.file else str(problem.problem)


@dataclass(slots=True)
class TraceSummary:
    """What was taken for what, counted."""

    traces: int = 0
    spans: int = 0
    taken: dict[str, Counter[str]] = field(default_factory=dict)
    notes: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    lengths: dict[int, set[int]] = field(default_factory=dict)
    """The longest lengths so far → the different texts of that length."""

    def count(self, one: Assembled) -> None:
        """Count one question."""
        for name, where in one.taken.items():
            self.taken.setdefault(name, Counter())[where] += 1
        self.notes.update(one.notes)
        if one.values is None:
            self.rejected[_NUMBER.sub("some documents were", one.problem)] += 1
            return
        if "sources" not in one.taken:
            self.taken.setdefault("sources", Counter())["left out"] += 1
        if one.values["response"] is None:
            self.taken.setdefault("response", Counter())["failed" if one.values.get("failure") else "not recorded"] += 1
        texts = (one.values["query"], one.values["response"], *(s["text"] for s in one.values["sources"] or ()))
        for text in texts:
            if text and len(text) >= CUT_FROM and len(text) >= max(self.lengths, default=0):
                self.lengths.setdefault(len(text), set()).add(hash(text))

    @property
    def cut(self) -> str:
        """That texts were probably cut when they were recorded; empty if there is no sign of it."""
        longest = max(self.lengths, default=0)
        if not longest or len(self.lengths[longest]) < CUT_MANY:
            return ""
        limit = "the application's OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT"
        return (
            f"{len(self.lengths[longest])} texts have {longest:,} characters and none has more: probably cut by {limit}"
        )


class TraceRows:
    """The traces of a file as rows; they may be read again and again.

    Attributes:
        index: all traces.
        summary: of what was read last.
    """

    def __init__(self, rows: Iterable[RawRow], form: TraceFormat, options: TraceOptions) -> None:
        self.form = form
        self.options = options
        self.index = TraceIndex(rows, form)
        self.summary = TraceSummary()

    def rows(self) -> Iterator[RawRow]:
        """Every question of every trace, by when the traces began; first the rows that can't be read."""
        summary = self.summary = TraceSummary()
        number = 0
        for problem in self.index.problems:
            number += 1
            yield replace(problem, row=number, line=None if problem.file else problem.line, problem=_placed(problem))
        before: OrderedDict[str, _Earlier] = OrderedDict()
        for trace in self.index.traces():
            summary.traces += 1
            summary.spans += len(trace.spans) if isinstance(trace, Trace) else trace.spans
            for one in self._questions(trace):
                summary.count(one)
                number += 1
                if self.options.history == "session" and one.conversation:
                    _with_turns(one, before)
                if one.values is None:
                    yield RawRow(number, problem=f"{TRACE}{trace.id}: {one.problem}")
                else:
                    yield RawRow(number, values=one.values)

    def _questions(self, trace: HeldTrace) -> list[Assembled]:
        if isinstance(trace, UnreadTrace):
            return [Assembled(problem=trace.reason)]
        try:
            return assembled(Tree(trace), self.options)
        except ODD as error:
            return [Assembled(problem=f"has values that no tool writes: {type(error).__name__}: {error}")]

    def lines(self) -> list[str]:
        """What was taken for what, in lines for people; of what was read so far."""
        summary = self.summary
        whole = plural(len(self.index), "trace")
        read = whole if summary.traces == len(self.index) else f"the first {summary.traces:,} of {whole}"
        lines = [f"{self.form.title} · {read}, {plural(summary.spans, 'span')}"]
        for name, shown in (("query", "question"), ("sources", "sources"), ("response", "response")):
            counts = summary.taken.get(name, Counter())
            if counts:
                lines.append(f"{shown} ← " + " · ".join(f"{where} {n:,}" for where, n in counts.most_common(4)))
        lines += [f"note: in {plural(n, 'trace')}: {note}" for note, n in summary.notes.most_common()]
        if summary.cut:
            lines.append(f"note: {summary.cut}")
        reasons = (summary.rejected + self.index.refused).most_common()
        lines += [f"unusable: {n:,}: {one_line(reason, 200)}" for reason, n in reasons[:SHOWN]]
        if more := reasons[SHOWN:]:
            lines.append(f"unusable: {sum(n for _, n in more):,}: for {plural(len(more), 'other reason')}")
        if problems := self.index.problems:
            first = one_line(_placed(problems[0]), 160)
            lines.append(f"unusable: {plural(len(problems), 'row')} of the file, the first: {first}")
        return lines


@dataclass(slots=True)
class _Earlier:
    """What was said in a conversation so far."""

    cut: bool
    """Whether its beginning is missing."""
    turns: list[dict[str, str]] = field(default_factory=list)


def _with_turns(one: Assembled, before: OrderedDict[str, _Earlier]) -> None:
    """Put what earlier traces of the conversation said before a question, and what this one says behind it.

    A conversation whose first trace here was given earlier messages, or has no question that was recorded, began
    before.
    """
    known = before.setdefault(one.conversation, _Earlier(bool(one.earlier) or not one.said))
    before.move_to_end(one.conversation)
    if one.values is not None:
        one.values.update(with_history(known.turns, cut=known.cut))
    known.turns += one.said
    known.cut = known.cut or len(known.turns) > MOST_TURNS
    del known.turns[:-MOST_TURNS]
    while len(before) > CONVERSATIONS:
        before.popitem(last=False)


def case_row(case: Case) -> dict[str, Any]:
    """A case as a row of a file of cases."""
    sources = None if case.sources is None else [{"text": one.text, "id": one.id} for one in case.sources]
    fields = {
        "id": case.id,
        "query": case.query,
        "sources": sources,
        "response": case.response,
        "history": [{"role": turn.role, "content": turn.text} for turn in case.history],
        "trace_id": case.trace_id,
        "time": case.time,
        "weight": case.weight,
    }
    tags = {f"metadata.{name}" if name in fields else name: value for name, value in case.tags.items()}
    return {name: value for name, value in {**tags, **fields}.items() if value not in (None, []) or name == "sources"}


def explained(trace: Trace, options: TraceOptions) -> list[str]:
    """A trace as a tree, with what was taken from each span and why."""
    tree = Tree(trace)
    found = assembled(tree, options)
    chosen: dict[str, list[str]] = {}
    for one in found:
        for span_id, said in one.chosen.items():
            chosen.setdefault(span_id, []).extend(said)
    lines = [f"trace {trace.id} · {plural(len(trace.spans), 'span')}"]
    waiting = [(span, 1) for span in trace.spans[::-1] if span.id not in tree.parents]
    while waiting:
        span, depth = waiting.pop()
        lines += _told(span, chosen, depth)
        waiting += [(below, depth + 1) for below in tree.below.get(span.id, ())[::-1]]
    for one in found:
        if one.values is None:
            lines.append(f"no case: {one.problem}")
            continue
        lines.append(f"case {one.values['id']}")
        lines.append(f"  question: {one_line(one.values['query'], 100)}")
        lines += [f"  source: {one_line(str(source['text']), 100)}" for source in one.values["sources"] or ()]
        response = one.values["response"]
        lines.append(f"  response: {'not recorded' if response is None else one_line(response, 100)}")
        lines += [f"  note: {note}" for note in one.notes]
    return lines


def _told(span: TraceSpan, chosen: Mapping[str, list[str]], depth: int) -> Iterator[str]:
    kind = kind_of(span)
    took = f" {(span.end - span.start) / 1e9:.2f} s" if span.start is not None and span.end is not None else ""
    failed = " · failed" if span.status == "error" else ""
    yield f"{'  ' * depth}{kind} {one_line(span.name, 60)}{took}{failed}"
    for said in chosen.get(span.id, ()):
        yield f"{'  ' * depth}  → {said}"
    if span.id not in chosen and kind in {"retrieval", "rerank", "agent", "chain", "model"}:
        keys = [name for name in span.attributes if "." in name or name in {"input", "output", "inputs", "outputs"}]
        yield f"{'  ' * depth}  nothing taken; it has {', '.join(sorted(keys)[:8]) or 'no attributes'}"
