"""Labelled rows in, predictions out: the judge measured from outside, by the path that an evaluation takes."""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from ragtriage.errors import ConfigError, InputError
from ragtriage.judges import questions as ask
from ragtriage.judges.chosen import judge_named
from ragtriage.judges.protocol import Judge
from ragtriage.judges.questions import Question
from ragtriage.judges.rows import TASKS, predict
from ragtriage.verdicts import Failure, Verdict

BATCH = 256
"""Rows that are asked about together: enough for full batches, little enough for a bounded memory."""

UNITS: dict[str, tuple[str, Callable[[str], Question]]] = {
    "claims": ("response", ask.claims),
    "questions": ("query", ask.questions),
    "sentences": ("response", ask.sentences),
}
"""What can be split → the field that is read where there is no `text`, and how to ask."""


def ask_rows(task: str, rows: Path, out: Path, judge_name: str, *, any_language: bool = False) -> None:
    """Write one prediction for every row.

    Raises:
        ConfigError: the task or the judge isn't known.
        InputError: the file can't be read.
    """
    known = next((name for name in TASKS if name == task), None)
    if known is None:
        raise ConfigError(f"there is no task {task!r}: use one of {', '.join(TASKS)}")
    judge = judge_named(judge_name, any_language=any_language)
    _through(rows, out, lambda batch: predict(judge, known, batch))


def split_rows(unit: str, rows: Path, out: Path, judge_name: str, *, any_language: bool = False) -> None:
    """Write the components of every row's text.

    Raises:
        ConfigError: the unit or the judge isn't known.
        InputError: the file can't be read.
    """
    if unit not in UNITS:
        raise ConfigError(f"nothing is split into {unit!r}: use one of {', '.join(UNITS)}")
    judge = judge_named(judge_name, any_language=any_language)
    _through(rows, out, lambda batch: _split(judge, unit, batch))


async def _split(judge: Judge, unit: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    field, write = UNITS[unit]
    out: list[dict[str, Any]] = [{"id": row.get("id")} for row in rows]
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


def _through(rows: Path, out: Path, work: Callable[[list[dict[str, Any]]], Any]) -> None:
    """Read rows, have batches of them worked on and write what comes, in order."""
    with _writing(out) as target, asyncio.Runner() as runner:
        reading = _read(rows)
        while batch := list(islice(reading, BATCH)):
            for line in runner.run(work(batch)):
                target.write(json.dumps(line, ensure_ascii=False) + "\n")


@contextmanager
def _writing(out: Path) -> Iterator[TextIO]:
    if str(out) == "-":
        yield sys.stdout
        return
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        target = out.open("w", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{out} can't be written: {error.strerror or error}") from error
    with target:
        yield target


def _read(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a JSONL file; one that can't be read becomes an empty row, which every task answers with an error."""
    if str(path) == "-":
        yield from _rows(sys.stdin)
        return
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            yield from _rows(lines)
    except (OSError, UnicodeDecodeError, EOFError) as error:
        raise InputError(f"{path} can't be read: {error}") from error


def _rows(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            row = None
        yield row if isinstance(row, dict) else {}
