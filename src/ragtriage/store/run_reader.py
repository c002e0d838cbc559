"""Runs as they are stored: what is known of each as a whole, and its records in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, Label, Row, Select, Table, and_, case, func, select

from ragtriage.core.case import LEAST_WEIGHT, MOST_WEIGHT, counted_weight
from ragtriage.core.display import listed
from ragtriage.core.errors import NotStoredError
from ragtriage.core.record import Record
from ragtriage.core.validation import near_names
from ragtriage.core.verdicts import Outcome
from ragtriage.store.database import Database
from ragtriage.store.identity import digest
from ragtriage.store.record_values import case_from, outcome_from, record_from
from ragtriage.store.run_columns import TableColumns
from ragtriage.store.run_notes import TableNotes
from ragtriage.store.schema import (
    COUNTS,
    FINISHED,
    MADE_BY,
    RECORDS_AT,
    TESTS,
    State,
    case_texts,
    cases,
    not_by_tests,
    of_project,
    rejected,
    runs,
    scores,
    texts,
)

CHUNK = 64
"""Records that are read together."""

LIGHT_CHUNK = 1000
"""Rows without their texts that are read together."""

MOST_DIGITS, MOST_RUNS = 10, 2**31 - 1
"""Of a run's number: a server's table holds no larger one."""

LONGEST_SHOWN = 40
"""Characters of what a user gave that a message repeats."""

MOST_COMPARED = 10_000
"""Ids of cases that a misspelt one is held against."""


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
    address: str = ""
    """Of the record set that was opened by it; empty for a run of a store."""
    project: str = ""
    """What it belongs to; empty in runs from before there were projects, which belong to every one."""
    author: str | None = None
    """The database's user who began it; None in a file."""

    @property
    def typed(self) -> str:
        """What a user types for it: its number, or the address of its record set."""
        return self.address or str(self.number)

    @property
    def called(self) -> str:
        """What messages call it."""
        return self.address or f"run {self.number}"

    @property
    def by_tests(self) -> bool:
        """Whether a test session made it: such a run is shown by its number and never meant by `last`."""
        return self.configuration.get(MADE_BY) == TESTS

    @property
    def complete(self) -> bool:
        """Whether it was finished with every row evaluated and no failure."""
        return self.state == FINISHED and self.done == self.rows


class Rejection(Protocol):
    """A row that can't be used, as a reader tells it."""

    @property
    def row(self) -> int:
        """Its number in the file, from 1."""

    @property
    def field(self) -> str | None:
        """Which field is to blame; None if it is the row as a whole."""

    @property
    def reason(self) -> str:
        """Why, in a sentence."""


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A row that couldn't be used, as it was stored."""

    row: int
    field: str | None
    reason: str


def read_runs(connection: Connection, number: int | None = None, project: str | None = None) -> list[RunInfo]:
    """The runs of a project (all, if None), the newest first, or the one with this number."""
    mine = of_project(project) if number is None else runs.c.number == number
    found = connection.execute(_RUNS.where(mine)).mappings()
    return [_info({**row, "metrics": tuple(row["metrics"])}) for row in found]


def _info(row: dict[str, Any]) -> RunInfo:
    """A run in a line; of one whose records lie in a record set, the counts that were kept with it."""
    kept = row["configuration"].get(RECORDS_AT)
    return RunInfo(**row | ({name: kept[name] for name in COUNTS} if kept else {}))


def _counted(label: str, table: Table, *conditions: Any) -> Label[int]:
    counting = select(func.count()).select_from(table).where(table.c.run == runs.c.number, *conditions)
    return counting.correlate(runs).scalar_subquery().label(label)


_RUNS = select(
    *(runs.c[one.name] for one in fields(RunInfo) if one.name in runs.c),
    _counted("done", cases, ~cases.c.failed),
    _counted("failed", cases, cases.c.failed),
    _counted("rejected", rejected),
).order_by(runs.c.number.desc())


def read_means(connection: Connection, numbers: Sequence[int]) -> dict[int, dict[str, float]]:
    """See `Store.means`."""
    weight = case(
        (cases.c.weight < LEAST_WEIGHT, LEAST_WEIGHT), (cases.c.weight > MOST_WEIGHT, MOST_WEIGHT), else_=cases.c.weight
    )  # see `counted_weight`
    mean = func.sum(scores.c.value * weight) / func.sum(weight)
    of_case = and_(cases.c.run == scores.c.run, cases.c.position == scores.c.position)
    wanted = scores.c.run.in_(numbers) & scores.c.value.is_not(None)
    query = select(scores.c.run, scores.c.metric, mean).join_from(scores, cases, of_case).where(wanted)
    found: dict[int, dict[str, float]] = {number: {} for number in numbers}
    for run, metric, value in connection.execute(query.group_by(scores.c.run, scores.c.metric)):
        found[run][metric] = float(value)
    configurations = select(runs.c.number, runs.c.configuration).where(runs.c.number.in_(numbers))
    for run, configuration in connection.execute(configurations):
        found[run] |= configuration.get(RECORDS_AT, {}).get("means", {})
    return found


def read_run(connection: Connection, which: int | str, project: str | None = None) -> RunInfo:
    """The run with a number, also as a text, or the `last`: the newest, or the first of the newest repeated evaluation.

    A run that a test session made is never the last.

    Args:
        connection: to read from.
        which: a number, which may be of any project, or `last`.
        project: whose last run is meant; anybody's if None.

    Raises:
        NotStoredError: there is no such run; says which there are.
    """
    text = str(which).strip()
    by_number = select(runs.c.number, runs.c.repeats).order_by(runs.c.number.desc()).limit(10)
    mine = by_number.where(of_project(project))
    newest = connection.execute(mine.where(not_by_tests()) if text == "last" else mine).all()
    if not newest and (text == "last" or connection.execute(by_number).first() is None):
        raise NotStoredError(no_run(connection, project))
    there = f"the newest are {', '.join(str(row.number) for row in newest or connection.execute(by_number))}"
    if text != "last" and not (text.isascii() and text.isdecimal()):
        raise NotStoredError(f"{text[:LONGEST_SHOWN]!r} is no run: give its number, or last; {there}")
    if text == "last":
        return read_runs(connection, newest[0].repeats or newest[0].number)[0]
    found = read_runs(connection, int(text)) if len(text) <= MOST_DIGITS and int(text) <= MOST_RUNS else []
    if not found:
        raise NotStoredError(f"there is no run {text[:LONGEST_SHOWN]}; {there}")
    return found[0]


def no_run(connection: Connection, project: str | None) -> str:
    """That there is no last run, and of which projects there are runs."""
    if project is not None:
        others = connection.execute(select(runs.c.project).where(not_by_tests()).distinct().limit(10)).scalars()
        if named := sorted(others):
            return (
                f"the store holds no run of project {project!r}: there are runs of {listed(named, 'and')}; give "
                "--project, or --project '*' for all"
            )
    return "the store holds no run yet: evaluate a file first"


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A case's scores without its texts: what tables, slices and comparisons need."""

    id: str
    tags: Mapping[str, Any] = field(default_factory=dict)
    weight: float = 1.0
    language: str = "en"
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    """By metric; scores without their parts."""


T = TypeVar("T")

_Reader = Callable[[Connection, RunInfo, Sequence[Row[Any]]], list[T]]


class TableRun:
    """One run in the tables of a store; see `ragtriage.store.stored_run.StoredRun`."""

    def __init__(self, database: Database, info: RunInfo) -> None:
        self._database = database
        self.info = info

    @property
    def number(self) -> int:
        """The run's number."""
        return self.info.number

    def records(self) -> Iterator[Record]:
        """See `StoredRun`."""
        return self._in_portions(CHUNK, select(cases), _records)

    def record(self, case_id: str) -> Record:
        """See `StoredRun`."""
        with self._database.reading() as connection:
            here = (cases.c.run == self.number) & (cases.c.id_digest == digest(case_id))
            rows = connection.execute(select(cases).where(here)).all()
            if not rows:
                raise NotStoredError(
                    f"run {self.number} holds no case {case_id!r}{self._near_case(connection, case_id)}"
                )
            return _records(connection, self.info, rows)[0]

    def texts_deleted(self) -> int:
        """See `StoredRun`."""
        lost = (case_texts.c.run == self.number) & (case_texts.c.role == "query") & case_texts.c.hash.is_(None)
        with self._database.reading() as connection:
            return connection.execute(select(func.count()).select_from(case_texts).where(lost)).scalar_one()

    def _near_case(self, connection: Connection, case_id: str) -> str:
        """Which case may have been meant, for a message."""
        ids = select(cases.c.id).where(cases.c.run == self.number).order_by(cases.c.position).limit(MOST_COMPARED)
        near = near_names(case_id, connection.execute(ids).scalars(), 3)
        return f": did you mean {listed(near, 'or')}?" if near else f": `ragtriage show {self.number}` lists its cases"

    def rows(self) -> Iterator[StoredRow]:
        """See `StoredRun`."""
        columns = (cases.c.position, cases.c.id, cases.c.tags, cases.c.weight, cases.c.language)
        return self._in_portions(LIGHT_CHUNK, select(*columns), _light_rows)

    def columns(self) -> TableColumns:
        """See `StoredRun`."""
        return TableColumns(self._database, self.number)

    def notes(self) -> TableNotes:
        """See `StoredRun`."""
        return TableNotes(self._database, self.number)

    def rejected(self) -> list[RejectedRow]:
        """See `StoredRun`."""
        query = select(rejected).where(rejected.c.run == self.number).order_by(rejected.c.row, rejected.c.field)
        with self._database.reading() as connection:
            return [RejectedRow(row.row, row.field or None, row.reason) for row in connection.execute(query)]

    def _in_portions(self, size: int, query: Select[Any], read: _Reader[T]) -> Iterator[T]:
        """What is read from each case; no transaction is open while the caller works on it."""
        query = query.where(cases.c.run == self.number).order_by(cases.c.position).limit(size)
        after = -1
        while True:
            with self._database.reading() as connection:
                rows = connection.execute(query.where(cases.c.position > after)).all()
                if not rows:
                    return
                found = read(connection, self.info, rows)
            yield from found
            after = rows[-1].position


def _light_rows(connection: Connection, info: RunInfo, rows: Sequence[Row[Any]]) -> list[StoredRow]:
    found = _outcomes(connection, info, rows[0].position, rows[-1].position)
    return [
        StoredRow(row.id, row.tags, counted_weight(row.weight), row.language, found.get(row.position, {}))
        for row in rows
    ]


def _records(connection: Connection, info: RunInfo, rows: Sequence[Row[Any]]) -> list[Record]:
    first, last = rows[0].position, rows[-1].position
    found = _outcomes(connection, info, first, last)
    written = read_texts(connection, info.number, first, last)
    return [_record(row, written.get(row.position, []), found.get(row.position, {})) for row in rows]


def _record(row: Row[Any], written: list[Any], outcomes: dict[str, Outcome]) -> Record:
    values: dict[str, Any] = dict(row._mapping)  # noqa: SLF001  # SQLAlchemy's public name
    return record_from(case_from(values, ((text.role, text.label, text.text) for text in written)), values, outcomes)


def read_texts(connection: Connection, run: int, first: int, last: int) -> dict[int, list[Any]]:
    """The texts of a run's cases from one position to another: position → role, label, and text or None."""
    query = (
        select(case_texts.c.position, case_texts.c.role, case_texts.c.label, texts.c.text)
        .outerjoin(texts, texts.c.hash == case_texts.c.hash)
        .where(case_texts.c.run == run, case_texts.c.position.between(first, last))
        .order_by(case_texts.c.position, case_texts.c.role, case_texts.c.ordinal)
    )
    found: dict[int, list[Any]] = {}
    for row in connection.execute(query):
        found.setdefault(row.position, []).append(row)
    return found


def _outcomes(connection: Connection, info: RunInfo, first: int, last: int) -> dict[int, dict[str, Outcome]]:
    here = (scores.c.run == info.number) & scores.c.metric.in_(info.metrics) & scores.c.position.between(first, last)
    unordered: dict[int, dict[str, Outcome]] = {}
    for row in connection.execute(select(scores).where(here)):
        outcome = outcome_from(row.value, row.reason, row.failed, row.judged, row.unknown)
        unordered.setdefault(row.position, {})[row.metric] = outcome
    return {at: {name: by[name] for name in info.metrics if name in by} for at, by in unordered.items()}
