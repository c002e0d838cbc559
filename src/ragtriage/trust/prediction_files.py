"""A file of rows in, a file of predictions or components out: `ragtriage judge ask` and `judge split`."""

import asyncio
import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from ragtriage.core import questions as ask
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.core.files import atomic_write
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Failure
from ragtriage.evaluation.predict import BATCH, TASKS, predict, problem_of
from ragtriage.judges.protocol import Judge
from ragtriage.readers.files import STDIN, raw_rows
from ragtriage.runs.selection import too_many_rejected

JsonRow = dict[str, Any]

UNITS: dict[str, tuple[str, Callable[[str], Question]]] = {
    "claims": ("response", ask.claims),
    "questions": ("query", ask.questions),
    "sentences": ("response", ask.sentences),
}
"""What can be split → the field that is read where there is no `text`, and how to ask."""


@dataclass(slots=True)
class RowErrors:
    """The rows of a file that got an error in place of a prediction."""

    rows: int = 0
    """All rows of the file."""
    rejected: list[str] = field(default_factory=list)
    """Why rows can't be used: broken, or without a field."""
    failed: int = 0
    """Rows on which the judge failed."""

    @property
    def incomplete(self) -> bool:
        """Whether the judge failed, or so many rows can't be used that the predictions don't stand for the file."""
        return self.failed > 0 or too_many_rejected(len(self.rejected), self.rows)


def write_predictions(task: str, rows: Path, out: Path, judge: Judge) -> RowErrors:
    """Write one prediction for every row.

    Returns:
        Which rows have none.
    """
    known = next((name for name in TASKS if name == task), None)
    if known is None:
        raise ConfigError(f"there is no task {task!r}: use one of {', '.join(TASKS)}")
    unreadable = {"verdict": None, "confidence": None, "score": None}
    return _write_batches(rows, out, lambda batch: predict(judge, known, batch), partial(problem_of, known), unreadable)


def write_components(unit: str, rows: Path, out: Path, judge: Judge) -> RowErrors:
    """Write the components of every row's text.

    Returns:
        Which rows have none.
    """
    if unit not in UNITS:
        raise ConfigError(f"nothing is split into {unit!r}: use one of {', '.join(UNITS)}")
    return _write_batches(
        rows, out, lambda batch: _split(judge, unit, batch), partial(_lacking_text, unit), {"components": None}
    )


def _text_to_split(unit: str, row: JsonRow) -> object:
    return row.get("text", row.get(UNITS[unit][0]))


def _lacking_text(unit: str, row: JsonRow) -> str | None:
    """Why a row can't be split; None if it can."""
    return (
        None
        if isinstance(_text_to_split(unit, row), str)
        else f"the row has no text under 'text' or {UNITS[unit][0]!r}"
    )


async def _split(judge: Judge, unit: str, rows: list[JsonRow]) -> list[JsonRow]:
    write = UNITS[unit][1]
    out: list[JsonRow] = [{"id": row.get("id")} for row in rows]
    texts: dict[int, str] = {}
    for i, row in enumerate(rows):
        text = _text_to_split(unit, row)
        if isinstance(text, str):
            texts[i] = text
        else:
            out[i] |= {"components": None, "error": _lacking_text(unit, row)}
    places = list(texts)
    async for position, answer in judge.ask([write(texts[i]) for i in places]):
        if isinstance(answer, tuple):
            spans = [(c.text, c.span or (None, None)) for c in answer if not c.remark]
            found: JsonRow = {
                "components": [{"text": text, "start": start, "end": end} for text, (start, end) in spans]
            }
        else:
            found = {
                "components": None,
                "error": answer.cause if isinstance(answer, Failure) else "the judge gave a verdict",
            }
        out[places[position]] |= found
    return out


def _write_batches(
    rows: Path,
    out: Path,
    work: Callable[[list[JsonRow]], Any],
    problem: Callable[[JsonRow], str | None],
    unreadable: JsonRow,
) -> RowErrors:
    """Read rows, work on batches of them and write the results in order; `unreadable` is written for a broken row."""
    errors = RowErrors()
    with _open_output(out) as target, asyncio.Runner() as runner:
        reading = _read_rows(rows)
        while batch := list(islice(reading, BATCH)):
            done = iter(runner.run(work([row for row in batch if not isinstance(row, str)])))
            for row in batch:
                line = {"id": None, **unreadable, "error": row} if isinstance(row, str) else next(done)
                target.write(json.dumps(line, ensure_ascii=False) + "\n")
                errors.rows += 1
                if isinstance(row, str):
                    errors.rejected.append(row)
                elif reason := problem(row):
                    errors.rejected.append(f"row {errors.rows}: {reason}")
                else:
                    errors.failed += "error" in line
    name = "standard input" if str(rows) == STDIN else rows
    if not errors.rows:
        raise InputError(f"{name}: holds no rows")
    if len(errors.rejected) == errors.rows:
        raise InputError(f"{name}: none of its {errors.rows:,} rows can be used; the first: {errors.rejected[0]}")
    return errors


@contextmanager
def _open_output(out: Path) -> Iterator[TextIO]:
    # half a surrogate pair, which no UTF-8 can hold, becomes the escape that JSON has for it
    if str(out) == "-":
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
        yield sys.stdout
        return
    try:
        regular = out.is_file() or not out.exists()
        errors = "backslashreplace"
        with atomic_write(out, errors) if regular else out.open("w", encoding="utf-8", errors=errors) as target:
            yield target
    except OSError as error:
        raise InputError(f"{out} can't be written: {error.strerror or error}") from error


def _read_rows(path: Path) -> Iterator[JsonRow | str]:
    """The rows of a JSONL file; of one that can't be read, what is wrong with it."""
    for record in raw_rows(str(path)):
        if record.ends:
            raise InputError(f"{path}: {record.problem}")
        yield dict(record.values) if record.values is not None else f"row {record.row}: {record.problem}"
