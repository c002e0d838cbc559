"""A file named on the command line: its flags, how it is opened, and what is said of it before anything is judged."""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ragtriage.cli.console import fitted, tell
from ragtriage.cli.flags import parse_names, parse_pairs
from ragtriage.config import Settings
from ragtriage.core.errors import InputError
from ragtriage.core.files import open_private
from ragtriage.metrics import GROUPS
from ragtriage.metrics.names import metrics_note
from ragtriage.readers import CaseFile, Rejected, RowLimits, open_cases
from ragtriage.readers.files import STDIN, InputPath, OpenedFile, detect_format, input_file, is_pipe, open_bytes
from ragtriage.readers.json_objects import lines_by_id
from ragtriage.readers.named_functions import function_named, names_function
from ragtriage.readers.private_cases import AS_IT_IS, Privacy
from ragtriage.readers.traces.files import files_in, format_in
from ragtriage.readers.traces.pieces import TraceFormat
from ragtriage.readers.traces.tree import TraceOptions
from ragtriage.runs.manifest import ReadOptions
from ragtriage.runs.selection import QUOTED, RowCounts, too_many_rejected


@dataclass(frozen=True)
class CaseFlags:
    """How a file of cases is read."""

    mapping: list[str] | None = None
    split_sources: str | None = None
    citation_mark: str | None = None
    file_format: str | None = None
    max_text: int = 1_000_000
    max_sources: int = 1_000
    question: str | None = None
    sources: Literal["retrieved", "prompted"] = "retrieved"
    source_tools: str | None = None
    source_texts: str | None = None
    history: Literal["messages", "session", "off"] = "messages"

    def open(
        self, path: InputPath, settings: Settings, privacy: Privacy = AS_IT_IS, columns: Mapping[str, str] | None = None
    ) -> CaseFile:
        """Open a file of answered questions; what was collected from an application is JSONL with these columns."""
        given = self.reading(settings)
        return open_cases(
            path,
            mapping=given.mapping if columns is None else columns,
            split_sources=self.split_sources,
            limits=self._limits,
            format=self.file_format if columns is None else "jsonl",
            citation_mark=given.citation_mark,
            traces=self.traces,
            privacy=privacy,
        )

    def open_questions(self, path: InputPath, settings: Settings) -> CaseFile:
        """Open a file of questions that an application is to answer."""
        given = {name: column for name, column in settings.map.items() if name not in {"response", "sources"}}
        mapping = given | parse_pairs(self.mapping, "--map")
        return open_cases(path, mapping=mapping, limits=self._limits, format=self.file_format, questions=True)

    @property
    def traces(self) -> TraceOptions:
        """What is taken for what in traces."""
        return TraceOptions(
            self.question,
            self.sources,
            frozenset(parse_names(self.source_tools)),
            _texts_named(self.source_texts) if self.source_texts else None,
            self.history,
            mapping=parse_pairs(self.mapping, "--map"),  # the settings' are for the rows of other files
        )

    def reading(self, settings: Settings) -> ReadOptions:
        """The same for processes that open the files themselves."""
        return ReadOptions(
            mapping={**settings.map, **parse_pairs(self.mapping, "--map")},
            split_sources=self.split_sources,
            citation_mark=settings.citation_mark if self.citation_mark is None else self.citation_mark,
            format=self.file_format,
            max_text=self.max_text,
            max_sources=self.max_sources,
        )

    @property
    def _limits(self) -> RowLimits:
        return RowLimits(max_text=self.max_text, max_sources=self.max_sources)


def _texts_named(given: str) -> Callable[[str], str | None]:
    """Id → text, by a function of the user's or by a file of lines."""
    if names_function(given):
        return function_named(given, "--source-texts")
    texts: dict[str, str] = {}
    for place, name, row in lines_by_id(Path(given)):
        text = row.get("text")
        if not isinstance(text, str):
            what = "is missing" if text is None else "is no text"
            raise InputError(f"{place}, field 'text': {what}: give every line the text of its document")
        texts[name] = text
    return texts.get


@contextmanager
def rereadable(path: str) -> Iterator[OpenedFile]:
    """The file; what comes through a pipe is copied to a file first, since rows are read more than once."""
    file = input_file(path)
    if not is_pipe(path):
        yield file
        return
    with tempfile.TemporaryDirectory(prefix="ragtriage-") as folder:
        there = Path(folder) / "stdin.jsonl"
        with open_private(there) as copy, sys.stdin.buffer if path == STDIN else Path(path).open("rb") as stream:
            shutil.copyfileobj(stream, copy)
        yield OpenedFile(str(there), file.name)


@contextmanager
def read_as_one(paths: Sequence[str]) -> Iterator[OpenedFile]:
    """The file; several files or folders of traces are read as one, whatever their order."""
    with ExitStack() as stack:
        files = [stack.enter_context(rereadable(path)) for path in dict.fromkeys(paths)]
        files.sort(key=_place)
        first, *others = joined(files)
        if others:
            for one in files:
                if not Path(one.path).is_dir():
                    with open_bytes(one) as stream:  # one that isn't there, is empty or packed is told as such
                        detect_format(one, stream, None)
            raise InputError(
                f"{first} and {others[0]} can't be read as one: several files must hold traces of one format, other "
                "files are given one by one"
            )
        yield first


def joined(files: Sequence[OpenedFile]) -> list[OpenedFile]:
    """The files, in their order, where those with traces of the same format are one.

    A trace may begin in one of them and end in the next. Folders of traces are joined likewise.
    """
    if len(files) == 1:
        return list(files)
    sets: list[tuple[TraceFormat | None, list[OpenedFile]]] = []
    for file in files:
        form = format_in(files_in(file) or [file], RowLimits())
        same = next((one for known, one in sets if known is form), None) if form else None
        if same is None:
            sets.append((form, [file]))
        else:
            same.append(file)
    return [one[0] if len(one) == 1 else _as_one(one) for _, one in sets]


def _as_one(files: Sequence[OpenedFile]) -> OpenedFile:
    """Several files or folders of traces as one; a file that is named twice is read once."""
    by_place = {_place(part): part for one in files for part in files_in(one) or [one]}
    first, *others = files
    name = f"{first.name} and {len(others)} more"
    return OpenedFile(first.path, name, parts=tuple(by_place[place] for place in sorted(by_place)))


def _place(file: OpenedFile) -> Path:
    return Path(file.path).resolve()


def check_output(out: Path | None, file: str | Path, flag: str) -> None:
    """Refuse a place that can't be written, or that holds what is read, before anything is asked."""
    if out is None or str(out) == "-":
        return
    if not out.name or out.is_dir():
        raise InputError(f"{flag} {out}: is a folder: name a file in it")
    if out.exists() and Path(file).exists() and out.samefile(file):
        raise InputError(f"{flag} {out}: is the file that is read: name another one")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say in one sentence that a file can't be written, while it is."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} can't be written: {error.strerror or error}") from error


def print_columns(cases: CaseFile) -> None:
    """What was found in the file."""
    tell(f"{cases.name} ({cases.format})", *fitted((f"  {line}" for line in cases.describe()), sys.stderr))


def print_rejected(rejected: Sequence[object], total: int, *, count: int | None = None, what: str = "rows") -> None:
    """How many rows can't be used, and the first of them; `rejected` may be the first ones only, with their `count`."""
    count = len(rejected) if count is None else count
    if count:
        tell(f"{count:,} of {total:,} {what} can't be used:", *(f"  {row}" for row in rejected[:QUOTED]))
    if count > QUOTED:
        tell(f"  and {count - QUOTED:,} more")


def print_counts(counts: RowCounts) -> None:
    """The rows that can't be used, after a first pass."""
    print_rejected(counts.first_rejected, counts.selected + counts.rejected, count=counts.rejected)


def too_many(rejected: Sequence[Rejected], usable: int) -> bool:
    """Whether so many rows are unusable, or unread, that the numbers don't stand for the file."""
    return too_many_rejected(len(rejected), len(rejected) + usable) or any(row.ends for row in rejected)


def print_optional_metrics(counts: RowCounts, default_groups: Sequence[str]) -> None:
    """What is computed because the rows have what it needs, and what else they allow; nothing if metrics were named."""
    if not default_groups:
        return
    names = [m.name for group in default_groups[1:] for m in GROUPS[group]]
    if line := metrics_note(counts.optional, default_groups, names):
        tell(f"note: {line}")
