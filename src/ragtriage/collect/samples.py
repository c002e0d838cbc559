"""Further responses to the questions of a collected file: drawn, kept as they come, and put into its rows.

Samples go into a file of their own beside the collected one, a line as soon as one is known, so that a kill takes away
none. They are put into the rows when all are drawn, or when the next call begins.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ragtriage.collect.answers_file import CollectedLines, CollectionTally
from ragtriage.collect.application import Application, Reply
from ragtriage.core.case import Case
from ragtriage.core.errors import InputError
from ragtriage.core.files import atomic_path
from ragtriage.readers.json_objects import append

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
    """Samples that were asked for."""
    drawn: int = 0
    """Those that were answered."""
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


class SampledAnswers:
    """The samples of the cases in a file of collected cases; use it as a context manager.

    Opening it puts into the rows what an earlier call drew and couldn't, closing it what this one did.

    Args:
        path: the file of collected cases.
        count: how many samples each case with a response is to have.
        temperature: at which they are drawn; None where the application can't be told.
        retry_failed: draw again in place of samples that weren't answered.
        flag: by which a user names the file.

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

    def __enter__(self) -> Self:
        return self

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


@dataclass(frozen=True, slots=True)
class SampledApplication:
    """An application that is asked for samples: see `SampledAnswers.of`."""

    application: Application

    async def ask(self, case: Case) -> Reply:
        """Ask one query again.

        Raises:
            Unanswered: there is no answer, and why.
        """
        return await self.application.ask(replace(case, id=case.id.rpartition("#")[0]))

    async def close(self) -> None:
        """Let go of connections."""
        await self.application.close()
