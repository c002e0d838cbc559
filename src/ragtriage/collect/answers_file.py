"""The file of collected cases and their samples: a line each, appended as it becomes known, gone on with after any end.

Samples, further responses to the same questions, go into a file of their own beside the collected one, so that a kill
takes away none. They are put into the rows when all are drawn, or when the next call begins.
"""

from __future__ import annotations

import json
import os
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from ragtriage.core.case import Case
from ragtriage.core.errors import InputError
from ragtriage.core.files import atomic_path
from ragtriage.readers.files import raw_rows
from ragtriage.readers.json_objects import append, open_to_append

COLLECTED_COLUMNS = {"id": "id", "query": "query", "response": "response", "sources": "sources"}
"""Where our fields are in a file of collected cases, whatever the columns of its questions are called."""
TIMED_OUT = "time-out"
"""The cause of a case that took too long."""


class CollectedLines(AbstractContextManager["CollectedLines"]):
    """A file of collected cases; use it as a context manager.

    Opening it reads what is there. A last line that was cut off is taken away; every whole one counts as asked. Where
    `retry_failed`, the cases without a response are taken away, so that they are asked again. `before` is how many
    cases it held then; `flag` is by which a user names the file.

    Raises:
        ConfigError: its name doesn't end in `.jsonl`.
        InputError: it can't be read or written, or holds something else than collected cases.
    """

    def __init__(self, path: Path, *, retry_failed: bool = False, flag: str = "-o") -> None:
        self.path = path
        self._flag = flag
        self.tally = CollectionTally()
        self._queries: dict[bytes, bytes] = {}
        self._file = open_to_append(path, "collected cases")
        try:
            self._take_up(retry_failed=retry_failed)
        except BaseException:
            os.close(self._file)
            raise
        self.before = self.tally.asked

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._file)

    def has(self, case: Case) -> bool:
        """Whether a case was asked; an InputError where one with its id was, but another query."""
        query = self._queries.get(_digest(case.id))
        if query is not None and query != _digest(case.query):
            raise InputError(
                f"{self.path}: holds another query under the id {case.id!r}: the questions have changed; "
                f"name another file with {self._flag}"
            )
        return query is not None

    def add(self, row: Mapping[str, Any]) -> None:
        """Append one case; when this returns, the operating system has it, and a kill can't take it away."""
        append(self._file, row)
        self._note(row)

    def _note(self, row: Mapping[str, Any]) -> None:
        self._queries[_digest(str(row["id"]))] = _digest(str(row["query"]))
        self.tally.add(row)

    def _take_up(self, *, retry_failed: bool) -> None:
        """Read what is there, and leave out what is to be asked again."""
        failed = False
        for row in self._rows():
            if retry_failed and _failed(row):
                failed = True
            else:
                self._note(row)
        if not failed:
            return
        with atomic_path(self.path) as kept:  # at once, so that a kill leaves the one file or the other
            with kept.open("wb", buffering=0) as file:
                for row in self._rows():
                    if not _failed(row):
                        append(file.fileno(), row)
            os.close(self._file)
        self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0))

    def _rows(self) -> Iterator[dict[str, Any]]:
        for row in raw_rows(self.path):
            if row.values is None or not row.values.keys() >= {"id", "query", "response"}:
                raise InputError(
                    f"{self.path}, line {row.line}: is no collected case (an object with id, query and response): "
                    f"name another file with {self._flag}"
                )
            yield dict(row.values)


def _failed(row: Mapping[str, Any]) -> bool:
    """Whether it has no response for a failure; a retriever gives none, but the time that it took."""
    return row.get("response") is None and "seconds" not in row


def _digest(text: str) -> bytes:
    """16 bytes for a text, so that a million cases cost little memory."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass
class CollectionTally:
    """Counts collected rows as they come."""

    asked: int = 0
    answered: int = 0
    empty: int = 0
    """Those of the answered whose response is empty or blank."""
    unrecorded: int = 0
    """Those of the answered whose sources are not recorded."""
    failures: Counter[str] = field(default_factory=Counter)
    """Cause → rows without a response."""
    _seconds: array[float] = field(default_factory=lambda: array("d"))

    def add(self, row: Mapping[str, Any]) -> None:
        """Count one row."""
        self.asked += 1
        if _failed(row):
            self.failures[str(row.get("failure") or "no answer")] += 1
            return
        response = row.get("response")
        self.answered += 1
        self.empty += response is not None and not str(response).strip()
        self.unrecorded += row.get("sources", ()) is None
        if isinstance(seconds := row.get("seconds"), int | float):
            self._seconds.append(seconds)

    def seconds(self, percent: float) -> float | None:
        """So many per cent of the answers took at most this long (linear between neighbours); None without any."""
        return float(np.percentile(self._seconds, percent)) if self._seconds else None

    def as_json(self) -> dict[str, Any]:
        """All of it, for machines; `median` and `p95` are seconds, null where nothing was answered."""
        others = {cause: count for cause, count in self.failures.most_common() if cause != TIMED_OUT}
        return {
            "asked": self.asked,
            "answered": self.answered,
            "empty": self.empty,
            "sources_not_recorded": self.unrecorded,
            "timed_out": self.failures[TIMED_OUT],
            "failed": others,
            "seconds": {"median": self.seconds(50), "p95": self.seconds(95)},
        }

    def lines(self) -> list[str]:
        """All of it, for people."""
        found = self.as_json()
        empty = f", {self.empty:,} of them with an empty text" if self.empty else ""
        causes = ", ".join(f"{cause} {count:,}" for cause, count in found["failed"].items())
        lines = [
            f"asked {self.asked:,}",
            f"answered {self.answered:,}{empty}",
            f"timed out {found['timed_out']:,}",
            f"failed {sum(found['failed'].values()):,}" + (f": {causes}" if causes else ""),
        ]
        if self.unrecorded:
            lines.append(f"sources not recorded for {self.unrecorded:,}: no retriever told what it found")
        if self._seconds:
            lines.append("seconds an answer: median {median:.2f}, p95 {p95:.2f}".format(**found["seconds"]))
        return lines


TEMPERATURE = 1.0
"""At which samples are drawn if nothing else is said: GRAMMAR's setting."""
_KEPT = ("id", "query", "response", "failure")
"""Of the row of one sample, what is needed to put it into its case's row."""


@dataclass(slots=True)
class SampleTally:
    """The samples of a file in numbers."""

    cases: int = 0
    """Cases that have a response and were sampled."""
    asked: int = 0
    drawn: int = 0
    alike: int = 0
    """Cases all of whose samples are the response word for word."""
    failures: Counter[str] = field(default_factory=Counter)
    """Cause → samples that weren't answered, of this call."""

    @property
    def all_alike(self) -> bool:
        """Whether no sample differs from its response: the application doesn't vary, or something remembers answers."""
        return 0 < self.cases == self.alike

    def as_json(self) -> dict[str, Any]:
        """All of it, for machines."""
        return {"cases": self.cases, "asked": self.asked, "drawn": self.drawn, "alike": self.alike} | {
            "failed": dict(self.failures.most_common())
        }

    def lines(self) -> Iterator[str]:
        """All of it, for people."""
        missing = self.asked - self.drawn
        failed = f", {missing:,} failed" if missing else ""
        causes = ", ".join(f"{cause} {count:,}" for cause, count in self.failures.most_common())
        yield f"samples {self.drawn:,} for {self.cases:,} responses{failed}" + (f": {causes}" if causes else "")
        if self.all_alike:
            yield (
                "note: every sample is its response word for word: the application answers the same each time, or "
                "something remembers its answers; that samples agree says nothing then"
            )


class SampledAnswers(AbstractContextManager["SampledAnswers"]):
    """The samples of the cases in a file of collected cases, `count` for each with a response; a context manager.

    Opening it puts into the rows what an earlier call drew and couldn't, closing it what this one did. The temperature
    is None where the application can't be told; where `retry_failed`, samples that weren't answered are drawn again.

    Raises:
        InputError: a file can't be read or written, or its samples were drawn at another temperature.
    """

    def __init__(
        self, path: Path, count: int, temperature: float | None, *, retry_failed: bool = False, flag: str = "-o"
    ) -> None:
        self._path, self._count, self._temperature, self._flag = path, count, temperature, flag
        self._beside = path.with_name(f"{path.stem}.samples.jsonl")
        self._put_into_rows()
        self._open = {key: todo for key, todo in self._todo(retry_failed=retry_failed) if todo}
        self._lines = CollectedLines(self._beside, flag=flag)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._lines.__exit__(kind, error, at)
        self._put_into_rows()

    @property
    def missing(self) -> int:
        """How many are to be drawn."""
        return sum(map(len, self._open.values()))

    @property
    def tally(self) -> CollectionTally:
        """What was drawn now, in numbers."""
        return self._lines.tally

    def has(self, case: Case) -> bool:
        """Whether a sample was drawn; see `of`."""
        return self._lines.has(case)

    def add(self, row: Mapping[str, Any]) -> None:
        """Keep one sample; when this returns, a kill can't take it away."""
        kept = {name: row[name] for name in _KEPT if name in row}
        self._lines.add(kept | ({"temperature": self._temperature} if self._temperature is not None else {}))

    def of(self, cases: Iterable[Case]) -> Iterator[Case]:
        """The samples to draw: a case each, whose id has the number of the sample behind its own."""
        for case in cases:
            for number in self._open.get(case.id, ()):
                yield replace(case, id=f"{case.id}#{number}")

    def counted(self) -> SampleTally:
        """The samples in the rows; call it when this is closed."""
        tally = SampleTally(failures=self._lines.tally.failures)
        for row in self._rows():
            if row["response"] is not None and (asked := row.get("samples_asked")):
                samples = row.get("samples") or []
                tally.cases += 1
                tally.asked += asked
                tally.drawn += len(samples)
                tally.alike += bool(samples) and {str(text).strip() for text in samples} == {row["response"].strip()}
        return tally

    def _todo(self, *, retry_failed: bool) -> Iterator[tuple[str, range]]:
        """Every answered case's id, with the numbers of the samples that it lacks."""
        for row in self._rows():
            if row["response"] is None:
                continue
            asked = row.get("samples_asked") or 0
            if asked and row.get("samples_temperature") != self._temperature:
                raise InputError(
                    f"{self._path}: holds samples drawn {_at(row.get('samples_temperature'))}, and now they would be "
                    f"drawn {_at(self._temperature)}: name another file with {self._flag}"
                )
            there = len(row.get("samples") or ()) if asked and retry_failed else asked
            yield str(row["id"]), range(asked + 1, asked + 1 + max(0, self._count - there))

    def _rows(self) -> Iterator[dict[str, Any]]:
        with self._path.open("rb") as stream:
            yield from map(json.loads, stream)

    def _put_into_rows(self) -> None:
        """Put the samples that lie beside into the rows of their cases, and remove the file beside them.

        A kill in between leaves both: samples have numbers, so that none is put in twice.
        """
        if not self._beside.exists():
            return
        drawn: dict[str, list[tuple[int, Mapping[str, Any]]]] = defaultdict(list)
        with CollectedLines(self._beside, flag=self._flag):
            pass  # mends an end that was cut off
        with self._beside.open("rb") as stream:
            for sample in map(json.loads, stream):
                key, _, number = str(sample["id"]).rpartition("#")
                drawn[key].append((int(number), sample))
        if drawn:
            with atomic_path(self._path) as new, new.open("wb", buffering=0) as file:
                for row in self._rows():
                    append(file.fileno(), _with_samples(row, drawn.get(str(row["id"]), ())))
                os.fsync(file.fileno())
        self._beside.unlink()


def _with_samples(row: dict[str, Any], drawn: Iterable[tuple[int, Mapping[str, Any]]]) -> dict[str, Any]:
    """A row with further samples, in the order of their numbers. Those that its questions' file gave give way."""
    asked = row.get("samples_asked") or 0
    new = sorted(((number, sample) for number, sample in drawn if number > asked), key=lambda one: one[0])
    if not new:
        return row
    texts = [sample["response"] for _, sample in new if sample["response"] is not None]
    found = row | {"samples": (row.get("samples") or [] if asked else []) + texts, "samples_asked": asked + len(new)}
    temperature = new[0][1].get("temperature")
    return found if temperature is None else found | {"samples_temperature": temperature}


def _at(temperature: float | None) -> str:
    return "without a temperature" if temperature is None else f"at temperature {temperature:g}"
