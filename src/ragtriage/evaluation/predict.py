"""Labelled rows in, predictions out: the judge measured from outside, by the path that an evaluation takes."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from json import JSONDecodeError
from pathlib import Path
from typing import Any, TextIO

from ragtriage.core import questions as ask
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.core.json_values import parse
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Failure, Verdict
from ragtriage.evaluation.question_rows import TASKS, predict
from ragtriage.judges.protocol import Judge

Row = dict[str, Any]

BATCH = 256
"""Rows that are asked about together: enough for full batches, little enough for a bounded memory."""

UNITS: dict[str, tuple[str, Callable[[str], Question]]] = {
    "claims": ("response", ask.claims),
    "questions": ("query", ask.questions),
    "sentences": ("response", ask.sentences),
}
"""What can be split → the field that is read where there is no `text`, and how to ask."""


def ask_rows(task: str, rows: Path, out: Path, judge: Judge) -> None:
    """Write one prediction for every row.

    Raises:
        ConfigError: the task isn't known.
        InputError: the file can't be read, or the other one not be written.
    """
    known = next((name for name in TASKS if name == task), None)
    if known is None:
        raise ConfigError(f"there is no task {task!r}: use one of {', '.join(TASKS)}")
    _through(
        rows, out, lambda batch: predict(judge, known, batch), {"verdict": None, "confidence": None, "score": None}
    )


def split_rows(unit: str, rows: Path, out: Path, judge: Judge) -> None:
    """Write the components of every row's text.

    Raises:
        ConfigError: the unit isn't known.
        InputError: the file can't be read.
    """
    if unit not in UNITS:
        raise ConfigError(f"nothing is split into {unit!r}: use one of {', '.join(UNITS)}")
    _through(rows, out, lambda batch: _split(judge, unit, batch), {"components": None})


async def _split(judge: Judge, unit: str, rows: list[Row]) -> list[Row]:
    field, write = UNITS[unit]
    out: list[Row] = [{"id": row.get("id")} for row in rows]
    texts: dict[int, str] = {}
    for i, row in enumerate(rows):
        text = row.get("text", row.get(field))
        if isinstance(text, str):
            texts[i] = text
        else:
            out[i] |= {"components": None, "error": f"the row has no text under 'text' or {field!r}"}
    places = list(texts)
    async for position, answer in judge.ask([write(texts[i]) for i in places]):
        match answer:
            case Failure(cause=cause):
                out[places[position]] |= {"components": None, "error": cause}
            case Verdict():
                out[places[position]] |= {"components": None, "error": "the judge gave a verdict"}
            case components:
                out[places[position]]["components"] = [
                    {"text": c.text, "start": c.span[0] if c.span else None, "end": c.span[1] if c.span else None}
                    for c in components
                    if not c.remark
                ]
    return out


def _through(rows: Path, out: Path, work: Callable[[list[Row]], Any], unreadable: Row) -> None:
    """Read rows, have batches of them worked on and write what comes, in order; `unreadable` is a broken row's form."""
    with _writing(out, rows) as target, asyncio.Runner() as runner:
        reading = _read(rows)
        while batch := list(islice(reading, BATCH)):
            done = iter(runner.run(work([row for row in batch if not isinstance(row, str)])))
            for row in batch:
                line = {"id": None, **unreadable, "error": row} if isinstance(row, str) else next(done)
                target.write(json.dumps(line, ensure_ascii=False) + "\n")


@contextmanager
def _writing(out: Path, rows: Path) -> Iterator[TextIO]:
    # half a surrogate pair, which no UTF-8 can hold, becomes the escape that JSON has for it
    if str(out) == "-":
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
        yield sys.stdout
        return
    if out.exists() and rows.exists() and out.samefile(rows):
        raise InputError(f"{out} is the file that is read: name another one with -o")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        whole = out.is_file() or not out.exists()
        part = out.with_name(out.name + ".part") if whole else out  # what was there stays until all is written
        try:
            with part.open("w", encoding="utf-8", errors="backslashreplace") as target:
                yield target
            if whole:
                part.replace(out)
        finally:
            if whole:
                part.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{out} can't be written: {error.strerror or error}") from error


def _read(path: Path) -> Iterator[Row | str]:
    """The rows of a JSONL file; of one that can't be read, what is wrong with it."""
    try:
        if str(path) == "-":
            yield from _rows(sys.stdin.buffer)
            return
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
            yield from _rows(lines)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} can't be read: {error}") from error


def _rows(lines: Iterable[bytes]) -> Iterator[Row | str]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = parse(line.removeprefix(b"\xef\xbb\xbf").decode())
        except UnicodeDecodeError:
            yield f"line {number} is not UTF-8"
        except JSONDecodeError as error:
            yield f"line {number} is broken JSON at column {error.pos + 1}: {error.msg}"
        else:
            yield row if isinstance(row, dict) else f"line {number} is not a JSON object"
