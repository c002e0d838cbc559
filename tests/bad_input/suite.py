"""The tables of bad input: what an entry says, how it is run, and what may be wrong with what comes out.

A line of a table is one fault: the files and the command that hold it, the exit code, and words of the message. What
every message has to be (short, no traceback, no path of this machine) and what every refused command has to leave
alone (the folder) is checked for all of them.
"""

import gzip
import json
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import chdir
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from pydantic import TypeAdapter

from examples import rows_of
from in_process import Said, plain_environment, said_by
from prepared_folders import PREPARED

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
STRICT = {"extra": "forbid"}
USAGE = 2
STORE = ".ragtriage"


@dataclass(frozen=True)
class Made:
    """A file that a text alone can't describe."""

    text: str = ""
    lines: list[Any] | None = None
    """The lines of a JSONL file: a text stands as it is, anything else as JSON."""
    encoding: str = "utf-8"
    """`latin-1` writes any bytes: each character of the text is one."""
    times: int = 1
    """How often the content is repeated."""
    gzip: bool = False
    cut: int | None = None
    """Only the first bytes of what would be written; a negative number leaves out the last ones."""
    parquet: dict[str, list[Any]] | None = None
    """The columns of a Parquet file."""
    copy: str = ""
    """A file of the repository, by its path from the root."""
    folder: bool = False

    __pydantic_config__: ClassVar[Any] = STRICT

    def write(self, path: Path) -> None:
        """Put it there."""
        if self.folder:
            path.mkdir()
            return
        if self.parquet is not None:
            _write_parquet(self.parquet, path)
            content = path.read_bytes()
        elif self.copy:
            content = (ROOT / self.copy).read_bytes()
        else:
            content = "".join([self.text, *map(_line, self.lines or ())]).encode(self.encoding) * self.times
        path.write_bytes((gzip.compress(content) if self.gzip else content)[: self.cut])


@dataclass(frozen=True)
class Entry:
    """One fault."""

    name: str
    """What is wrong, in words; no two entries of all tables have the same."""
    command: list[str]
    exit: int
    stderr: list[str]
    """Parts of the message."""
    files: dict[str, str | list[Any] | Made] = field(default_factory=dict)
    """Path → content: a text, the lines of a JSONL file, or what else it is."""
    prepare: str = ""
    """What is in the folder before: a name in `prepared_folders.py`."""
    env: dict[str, str] = field(default_factory=dict)
    stdin: str = ""
    stdout: list[str] = field(default_factory=list)
    """Parts of the output; without any, a refused command may print nothing there."""
    never: list[str] = field(default_factory=list)
    """Parts of neither, beside what no command may say."""
    lines: int = 12
    """Most lines on standard error."""
    leaves: list[str] = field(default_factory=list)
    """Files that a refused command may write; all others must be as they were."""

    __pydantic_config__: ClassVar[Any] = STRICT


NEVER = ("Traceback", "never retrieved", "site-packages")
"""What no command may say, whatever is wrong; nor the name of a Python exception."""
_EXCEPTION = re.compile(r"\w+(Error|Exception)\b")


def entries() -> dict[str, Entry]:
    """Those of all tables, by `table: name`."""
    found: dict[str, Entry] = {}
    shape = TypeAdapter(Entry)
    for table in sorted(HERE.glob("*.jsonl")):
        for number, row in enumerate(rows_of(table), 1):
            try:
                entry = shape.validate_python(row)
            except ValueError as error:
                raise ValueError(f"{table.name}, line {number}: {error}") from None
            key = f"{table.stem}: {entry.name}"
            if key in found:
                raise ValueError(f"{table.name}, line {number}: a second entry is called {entry.name!r}")
            found[key] = entry
    return found


def problems_of(entry: Entry, folder: Path, prepared: Callable[[str], Path]) -> list[str]:
    """Run an entry in an empty folder; what is wrong with the outcome, in words.

    Args:
        entry: the fault.
        folder: where it runs.
        prepared: a name in `prepared_folders.py` → a folder that is so prepared, to be copied.
    """
    if entry.prepare:
        shutil.copytree(prepared(entry.prepare), folder, dirs_exist_ok=True)
    for name, given in entry.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        _made(given).write(path)
    before = _kept(folder)
    modules = set(sys.modules)
    with chdir(folder), plain_environment(**entry.env):
        said = said_by(entry.command, entry.stdin.encode())
    for name in set(sys.modules) - modules:  # a user's modules, which the next entry may have under the same name
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
    return [*_wrong_words(entry, said, folder), *_changed(entry, before, _kept(folder))]


def _wrong_words(entry: Entry, said: Said, folder: Path) -> list[str]:
    told = []
    both, wanted = said.out + said.err, "".join([*entry.stderr, *entry.stdout])
    if said.code != entry.exit:
        told.append(f"exit code {said.code} instead of {entry.exit}")
    told += [f"standard error lacks {part!r}" for part in entry.stderr if part not in said.err]
    told += [f"standard output lacks {part!r}" for part in entry.stdout if part not in said.out]
    told += [f"it says {part!r}" for part in (*NEVER, *entry.never) if part in both]
    told += [f"it names the exception {found[0]}" for found in _EXCEPTION.finditer(both) if found[0] not in wanted]
    told += [f"it names {place}" for place in {str(ROOT), str(folder)} if place in both]
    if entry.exit == USAGE and said.out and not entry.stdout:
        told.append("a refused command prints to standard output")
    if said.err.count("\n") > entry.lines:
        told.append(f"standard error has more than {entry.lines} lines")
    return [*told, f"standard output: {said.out}", f"standard error: {said.err}"] if told else []


def _changed(entry: Entry, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[str]:
    """What a refused command did to its folder."""
    if entry.exit != USAGE:
        return []
    names = sorted({*before, *after} - set(entry.leaves))
    return [f"{name} isn't as it was" for name in names if before.get(name) != after.get(name)]


def _kept(folder: Path) -> dict[str, bytes]:
    """The content of every file; of a store only that it is there, since to read one may change its bytes."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    inside = ((path, path.relative_to(folder)) for path in files)
    return {str(STORE if STORE in rest.parts else rest): b"" if STORE in rest.parts else path.read_bytes()
            for path, rest in inside}  # fmt: skip


def _made(given: str | list[Any] | Made) -> Made:
    if isinstance(given, str):
        return Made(text=given)
    return Made(lines=given) if isinstance(given, list) else given


def _line(value: Any) -> str:
    return f"{value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}\n"


def _write_parquet(columns: Mapping[str, list[Any]], path: Path) -> None:
    import pyarrow as pa  # noqa: PLC0415  # an extra
    import pyarrow.parquet as pq  # noqa: PLC0415  # as above

    pq.write_table(pa.table(dict(columns)), path)


@cache
def prepare_in(folder: Path) -> Callable[[str], Path]:
    """Folders that are prepared once each, below this one."""

    @cache
    def prepared(name: str) -> Path:
        place = folder / name.replace(" ", "-")
        place.mkdir()
        with chdir(place), plain_environment():
            PREPARED[name]()
        return place

    return prepared
