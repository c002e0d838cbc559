"""What is known about a run as a whole."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal, Protocol

from sqlalchemy import Connection, Row, case, func, select

from ragtriage.core.errors import NotStoredError
from ragtriage.store.schema import cases, rejected, runs

State = Literal["running", "finished", "interrupted"]

RUNNING: State = "running"
FINISHED: State = "finished"
INTERRUPTED: State = "interrupted"


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run in a line."""

    number: int
    identity: str
    """`RunIdentity.hexdigest()`."""
    state: State
    """`running` also after a kill -9: nobody was left to say so."""
    created: str
    """UTC, ISO 8601."""
    finished: str | None
    """When it was finished or interrupted."""
    input: str
    """The file that it was read from, as it was given."""
    rows_hash: str
    rows: int
    """How many usable rows the file has."""
    metrics: tuple[str, ...]
    judge: str
    fingerprints: Mapping[str, str]
    """By kind of question."""
    configuration: Mapping[str, Any]
    """Thresholds and flags."""
    versions: Mapping[str, str]
    """Of the programs that computed it."""
    seconds: float
    """Spent evaluating, over all continuations."""
    cost: float
    """In US dollars."""
    done: int
    """Rows that are evaluated and didn't fail."""
    failed: int
    """Rows with at least one score that failed."""
    rejected: int
    """Complaints about rows that can't be used."""
    requests: int = 0
    """Paid requests, repeated ones included, over all continuations; so are the tokens."""
    tokens_in: int = 0
    tokens_out: int = 0
    trial: int = 0
    """Which repetition of the same evaluation it is; 0 for the first, and where nothing is repeated."""
    repeats: int | None = None
    """The number of the first run of a repeated evaluation; None in the first one, and where nothing is repeated."""

    @property
    def complete(self) -> bool:
        """Whether it was finished with every row evaluated and no failure."""
        return self.state == FINISHED and self.done == self.rows


class Rejection(Protocol):
    """A row that can't be used, as a reader tells it."""

    @property
    def row(self) -> int:
        """Its number in the file, from 1."""
        ...

    @property
    def field(self) -> str | None:
        """Which field is to blame; None if it is the row as a whole."""
        ...

    @property
    def reason(self) -> str:
        """Why, in a sentence."""
        ...


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A row that couldn't be used, as it was stored."""

    row: int
    field: str | None
    reason: str


def now() -> str:
    """The time, UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def versions() -> dict[str, str]:
    """The versions of what computes a run."""
    found = {"python": platform.python_version()}
    for package in ("ragtriage", "onnxruntime", "pydantic-ai-slim"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def read_runs(connection: Connection, number: int | None = None) -> list[RunInfo]:
    """All runs, the newest first, or the one with this number."""
    failed = func.sum(case((cases.c.failed, 1), else_=0)).label("failed")
    counting = select(cases.c.run, func.count().label("kept"), failed).group_by(cases.c.run)
    turning_down = select(rejected.c.run, func.count().label("rejected")).group_by(rejected.c.run)
    if number is not None:
        counting = counting.where(cases.c.run == number)
        turning_down = turning_down.where(rejected.c.run == number)
    counted, turned_down = counting.subquery("counted"), turning_down.subquery("turned_down")
    query = (
        select(runs, counted.c.kept, counted.c.failed, turned_down.c.rejected)
        .outerjoin(counted, counted.c.run == runs.c.number)
        .outerjoin(turned_down, turned_down.c.run == runs.c.number)
        .order_by(runs.c.number.desc())
    )
    if number is not None:
        query = query.where(runs.c.number == number)
    return [_info(row) for row in connection.execute(query)]


def read_run(connection: Connection, which: int | str) -> RunInfo:
    """One run.

    Args:
        connection: where to read it.
        which: its number, also as a text, or `last`: the newest, or the first run of the newest repeated evaluation.

    Raises:
        NotStoredError: there is no such run; says which there are.
    """
    text = str(which).strip()
    if text != "last" and not text.isdecimal():
        raise NotStoredError(f"{text!r} is no run: give its number, or last")
    number = _last(connection) if text == "last" else int(text)
    found = read_runs(connection, number) if number else []
    if found:
        return found[0]
    there = [
        str(n) for n in connection.execute(select(runs.c.number).order_by(runs.c.number.desc()).limit(10)).scalars()
    ]
    if not there:
        raise NotStoredError("the store holds no run yet: evaluate a file first")
    raise NotStoredError(f"there is no run {text}; the newest are {', '.join(there)}")


def _last(connection: Connection) -> int | None:
    row = connection.execute(select(runs.c.number, runs.c.repeats).order_by(runs.c.number.desc()).limit(1)).first()
    return None if row is None else row.repeats or row.number


def _info(row: Row[Any]) -> RunInfo:
    kept, failed = row.kept or 0, int(row.failed or 0)
    return RunInfo(
        number=row.number,
        identity=row.identity,
        state=row.state,
        created=row.created,
        finished=row.finished,
        input=row.input,
        rows_hash=row.rows_hash,
        rows=row.rows,
        metrics=tuple(json.loads(row.metrics)),
        judge=row.judge,
        fingerprints=json.loads(row.fingerprints),
        configuration=json.loads(row.configuration),
        versions=json.loads(row.versions),
        seconds=row.seconds,
        cost=row.cost,
        done=kept - failed,
        failed=failed,
        rejected=row.rejected or 0,
        requests=row.requests,
        tokens_in=row.tokens_in,
        tokens_out=row.tokens_out,
        trial=row.trial,
        repeats=row.repeats,
    )
