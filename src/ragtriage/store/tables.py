"""Runs in the tables of a store: what is known of each as a whole, and their cases in bounded memory."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
from sqlalchemy import Connection, Label, RowMapping, Table, and_, case, delete, func, null, select, tuple_

from ragtriage.core.case import LEAST_WEIGHT, MOST_WEIGHT, Case
from ragtriage.core.display import listed
from ragtriage.core.errors import NotStoredError
from ragtriage.core.verdicts import Outcome
from ragtriage.runs.case_row import CaseHeading, CaseRow, CaseText, Columns, RowsHash, digest, outcome_from
from ragtriage.runs.run import FINISHED, RUNNING, CountedPart, RejectedRow, RunInfo
from ragtriage.runs.tally import kept_counts
from ragtriage.store.database import IN_ONE_STATEMENT, Database, in_chunks
from ragtriage.store.lease import STALE, RunBusyError, surely_dead
from ragtriage.store.schema import (
    COUNTS,
    RECORDS_AT,
    case_texts,
    cases,
    listed_for,
    meta,
    not_aside,
    readings,
    rejected,
    runs,
    scores,
    texts,
    windows,
)

CHUNK = 64
"""Records that are read together."""
LIGHT_CHUNK = 1000
"""Rows without their steps that are read together."""
SCORES_CHUNK = 20_000
"""Scores of one metric that are read together."""
MOST_DIGITS, MOST_RUNS = 10, 2**31 - 1
"""Of a run's number: a server's table holds no larger one."""
LONGEST_SHOWN = 40
"""Characters of what a user gave that a message repeats."""
_FACTS = ("position", "id", "tags", "weight", "language", "relevant_ids")
_ALL = (*_FACTS, "id_digest", "content", "failed", "seconds", "time", "trace_id", "steps")


class RunCounts:
    """How many cases of runs are done, failed, and rows rejected: counted once a run that nobody is writing."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], dict[str, int]] = {}

    def of(self, connection: Connection, rows: Sequence[RowMapping]) -> dict[int, dict[str, int]]:
        """The counts of the runs in some rows of the table `runs`, by their numbers."""
        keys = {row["number"]: (row["number"], row["state"], row["finished"], row["heartbeat"]) for row in rows}
        found = {number: self._known[key] for number, key in keys.items() if key in self._known}
        for some in in_chunks(number for number in keys if number not in found):
            for counted in connection.execute(_COUNTS.where(runs.c.number.in_(some))).mappings():
                found[counted["number"]] = {name: counted[name] for name in COUNTS}
        settled = (row["number"] for row in rows if row["owner"] is None and row["state"] != RUNNING)
        self._known |= {keys[number]: found[number] for number in settled if number in found}
        return found


def read_runs(
    connection: Connection, number: int | None = None, project: str | None = None, counts: RunCounts | None = None
) -> list[RunInfo]:
    """The runs of a project (all, if None), the newest first, or the one with this number.

    `counts` are those that are known already.
    """
    mine = listed_for(project) if number is None else runs.c.number == number
    rows = connection.execute(select(runs).where(mine).order_by(runs.c.number.desc())).mappings().all()
    known = (counts or RunCounts()).of(connection, rows)
    return [_info(row, known[row["number"]]) for row in rows if row["number"] in known]  # one may be deleted just now


def _info(row: RowMapping, counted: Mapping[str, int]) -> RunInfo:
    """A run in a line; of one whose records lie in a run in a folder, the counts that were kept with it."""
    kept = row["configuration"].get(RECORDS_AT)
    told = {one.name: row[one.name] for one in fields(RunInfo) if one.name in runs.c}
    told |= {name: (kept or counted)[name] for name in COUNTS}
    return RunInfo(**told | {"metrics": tuple(row["metrics"])})


def _counted(label: str, table: Table, *conditions: Any) -> Label[int]:
    counting = select(func.count()).select_from(table).where(table.c.run == runs.c.number, *conditions)
    return counting.correlate(runs).scalar_subquery().label(label)


_COUNTS = select(
    runs.c.number,
    _counted("done", cases, ~cases.c.failed),
    _counted("failed", cases, cases.c.failed),
    _counted("rejected", rejected),
)


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


def read_run(
    connection: Connection, which: int | str, project: str | None = None, counts: RunCounts | None = None
) -> RunInfo:
    """The run with a number, also as a text, or the `last`: the newest, or the first of the newest repeated evaluation.

    A run that tests or another framework's evaluation made is never the last.

    A number may be of any project, `last` is the project's, anybody's if None.
    """
    text = str(which).strip()
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS else None
    if number is not None and number <= MOST_RUNS and (found := read_runs(connection, number, counts=counts)):
        return found[0]
    by_number = select(runs.c.number, runs.c.repeats).where(listed_for(None)).order_by(runs.c.number.desc()).limit(10)
    mine = by_number.where(listed_for(project))
    newest = connection.execute(mine.where(not_aside()) if text == "last" else mine).all()
    if not newest and (text == "last" or connection.execute(by_number).first() is None):
        raise NotStoredError(no_run(connection, project))
    there = f"the newest are {', '.join(str(row.number) for row in newest or connection.execute(by_number))}"
    if text != "last" and not (text.isascii() and text.isdecimal()):
        raise NotStoredError(f"{text[:LONGEST_SHOWN]!r} is no run: give its number, or last; {there}")
    if text == "last":
        return read_runs(connection, newest[0].repeats or newest[0].number, counts=counts)[0]
    raise NotStoredError(f"there is no run {text[:LONGEST_SHOWN]}; {there}")


def no_run(connection: Connection, project: str | None) -> str:
    """That there is no last run, and of which projects there are runs."""
    if project is not None:
        others = connection.execute(
            select(runs.c.project).where(not_aside(), listed_for(None)).distinct().limit(10)
        ).scalars()
        if named := sorted(others):
            return (
                f"the store holds no run of project {project!r}: there are runs of {listed(named, 'and')}; give "
                "--project, or --project '*' for all"
            )
    return "the store holds no run yet: evaluate a file first"


class TablePlace:
    """One run in the tables of a store; see `ragtriage.runs.run.Place`."""

    def __init__(self, database: Database, info: RunInfo) -> None:
        self._database = database
        self.info = info

    def read(self, what: Columns, positions: range | None = None) -> Iterator[CaseRow]:
        """See `Place`; no transaction is open while the caller works on a portion."""
        columns = [cases.c[name] for name in (_ALL if what.steps else _FACTS)]
        query = select(*columns).where(cases.c.run == self.info.number).order_by(cases.c.position)
        if positions is not None:
            query = query.where(cases.c.position < positions.stop)
        query = query.limit(CHUNK if what.steps else LIGHT_CHUNK)
        after, run = -1 if positions is None else positions.start - 1, self.info.number

        def portion(connection: Connection, after: int) -> list[CaseRow]:
            rows = connection.execute(query.where(cases.c.position > after)).mappings().all()
            if not rows:
                return []
            span = rows[0]["position"], rows[-1]["position"]
            found = _outcomes(connection, self.info, *span, reasons=what.reasons) if what.scores else {}
            written: Mapping[int, Sequence[CaseText]] = {}
            if what.texts is not None:
                written = read_texts(connection, run, *span, what.texts, others=what.digests)
            headings = _headings(connection, run, *span) if what.headings else {}
            return [
                CaseRow(
                    **row,
                    outcomes=found.get(row["position"], {}),
                    texts=written.get(row["position"], ()),
                    heading=headings.get(row["position"]),
                )
                for row in rows
            ]

        while found := self._database.read(partial(portion, after=after)):
            yield from found
            after = found[-1].position

    def scores(self, metric: str) -> Iterator[tuple[int, float | None, bool]]:
        """See `Place`."""
        here = (scores.c.run == self.info.number) & (scores.c.metric == metric)
        query = select(scores.c.position, scores.c.value, scores.c.failed).where(here).order_by(scores.c.position)
        after = -1
        while True:
            found = self._database.all(query.where(scores.c.position > after).limit(SCORES_CHUNK))
            yield from map(tuple, found)
            if len(found) < SCORES_CHUNK:
                return
            after = found[-1].position

    def position(self, id_digest: bytes) -> int | None:
        """See `Place`."""
        here = (cases.c.run == self.info.number) & (cases.c.id_digest == id_digest)
        return self._database.scalar(select(cases.c.position).where(here))

    def texts_deleted(self) -> tuple[int, int]:
        """See `Place`."""
        lost = (case_texts.c.run == self.info.number) & (case_texts.c.role == "query") & case_texts.c.hash.is_(None)
        count = self._database.scalar(select(func.count()).select_from(case_texts).where(lost)) or 0
        return count, count

    def rejected(self) -> list[RejectedRow]:
        """See `Place`."""
        query = select(rejected).where(rejected.c.run == self.info.number).order_by(rejected.c.row, rejected.c.field)
        return [RejectedRow(row.row, row.field or None, row.reason) for row in self._database.all(query)]

    def version(self) -> str:
        """See `Place`: whoever writes it gives a sign of life with that."""
        silent = self._database.time() - func.coalesce(runs.c.heartbeat, 0.0)
        columns = (runs.c.state, runs.c.heartbeat, runs.c.owner, runs.c.owner_pid, runs.c.owner_host)
        query = select(*columns, silent.label("silent")).where(runs.c.number == self.info.number)
        if not (rows := self._database.all(query)):
            raise NotStoredError(f"there is no run {self.info.number} in {self._database.where}")
        (found,) = rows
        if found.owner and found.silent < STALE and not surely_dead(found.owner_host, found.owner_pid):
            raise RunBusyError(self.info.number, found.owner_pid, found.owner_host, found.silent)
        return f"{found.state} {found.heartbeat}"

    def counted(self) -> Iterator[CountedPart] | None:
        """See `Place`: all of it is one part."""
        known = kept_counts(self)
        return None if known is None else iter([CountedPart(range(self.info.rows), known, self._numbers)])

    def _numbers(self, metrics: Sequence[str]) -> dict[str, tuple[Any, Any]]:
        """The scores of metrics on all cases that have them, and these cases' weights."""
        own = select(cases.c.position, cases.c.weight).where(cases.c.run == self.info.number)
        rows = self._database.all(own.order_by(cases.c.position))
        places, weights = np.array([row[0] for row in rows], np.int64), np.array([row[1] for row in rows], np.float64)
        found = {}
        for name in metrics:
            there = [(position, value) for position, value, _ in self.scores(name) if value is not None]
            at = np.searchsorted(places, np.array([position for position, _ in there], np.int64))
            found[name] = np.array([value for _, value in there], np.float64), weights[at]
        return found

    def note(self, kind: str, digest: str, value: str | None = None) -> str | None:
        """See `Place`; notes stand in the table `meta`."""
        key = f"{kind} of run {self.info.number}: "
        if value is None:
            return self._database.scalar(select(meta.c.value).where(meta.c.key == key + digest))

        def replace(connection: Connection) -> None:
            connection.execute(delete(meta).where(meta.c.key.startswith(key)))
            connection.execute(self._database.upsert(meta), {"key": key + digest, "value": value})

        self._database.write(replace)
        return value


def read_texts(
    connection: Connection, run: int, first: int, last: int, roles: Sequence[str], *, others: bool = True
) -> dict[int, list[CaseText]]:
    """The texts of a run's cases from one position to another, by position.

    Of roles beside those that are named only the digests are read, and these only with `others`.
    """
    here = (case_texts.c.run == run) & case_texts.c.position.between(first, last)
    if not others:
        here &= case_texts.c.role.in_(roles)
    columns = (case_texts.c.role, case_texts.c.ordinal, case_texts.c.label, case_texts.c.hash)
    order = (case_texts.c.position, case_texts.c.role, case_texts.c.ordinal)
    if roles:
        wanted = and_(texts.c.hash == case_texts.c.hash, case_texts.c.role.in_(roles))
        query = select(case_texts.c.position, *columns, texts.c.text).outerjoin(texts, wanted)
    else:
        query = select(case_texts.c.position, *columns)
    found: dict[int, list[CaseText]] = {}
    for position, *values in connection.execute(query.where(here).order_by(*order)):
        found.setdefault(position, []).append(CaseText(*values))
    return found


def _headings(connection: Connection, run: int, first: int, last: int) -> dict[int, CaseHeading]:
    here = (readings.c.run == run) & readings.c.position.between(first, last)
    columns = (readings.c.position, readings.c.kind, readings.c.component, readings.c.rules, readings.c.sure)
    return {
        row.position: CaseHeading(row.kind, row.component, tuple(row.rules), row.sure)
        for row in connection.execute(select(*columns).where(here))
    }


def _outcomes(
    connection: Connection, info: RunInfo, first: int, last: int, *, reasons: bool
) -> dict[int, dict[str, Outcome]]:
    here = (scores.c.run == info.number) & scores.c.metric.in_(info.metrics) & scores.c.position.between(first, last)
    unordered: dict[int, dict[str, Outcome]] = {}
    columns = [column if reasons or column is not scores.c.reason else null().label("reason") for column in scores.c]
    for row in connection.execute(select(*columns).where(here)):
        outcome = outcome_from(row.value, row.reason, row.failed, row.judged, row.unknown)
        unordered.setdefault(row.position, {})[row.metric] = outcome
    return {at: {name: by[name] for name in info.metrics if name in by} for at, by in unordered.items()}


def shared_cases(database: Database, run: int, other: int, enough: float) -> int:
    """See `ragtriage.runs.run.RunList`."""

    def by_id(connection: Connection) -> int:
        own, same = cases.alias(), cases.alias()
        query = select(func.count()).select_from(own).join(same, own.c.id_digest == same.c.id_digest)
        return connection.execute(query.where(own.c.run == run, same.c.run == other)).scalar_one()

    def by_query(connection: Connection) -> int:
        queries = (case_texts.c.role == "query") & case_texts.c.hash.is_not(None)
        theirs = select(case_texts.c.hash).where(case_texts.c.run == other, queries)
        query = select(func.count()).where(case_texts.c.run == run, queries, case_texts.c.hash.in_(theirs))
        return connection.execute(query).scalar_one()

    found = database.read(by_id)
    return found if found >= enough else max(found, database.read(by_query))


class InputScan(RowsHash):
    """One pass over a file before it is judged: how many rows, their hash, and which changed since the last time.

    Memory doesn't grow with the file. Every method raises a `StoreError` where the store can't be read.
    """

    def __init__(self, database: Database, input: str, project: str | None = None) -> None:  # noqa: A002  # its word
        super().__init__()
        self._database = database
        self._unchanged = 0
        self._waiting: list[tuple[bytes, bytes]] = []
        same = (runs.c.input == input) & (runs.c.state == FINISHED) & not_aside() & listed_for(project)
        a_part = runs.c.number.in_(select(windows.c.run))  # of the file, as a watch read it
        last = select(func.max(runs.c.number)).where(same, ~a_part)
        self.last_run: int | None = database.scalar(last)
        """The newest finished run of the same file, None if there is none."""

    def add(self, case: Case) -> bytes:
        """Take one row in, and return its `content_hash`."""
        content = super().add(case)
        if self.last_run is not None:
            self._waiting.append((digest(case.id), content))
            if len(self._waiting) >= IN_ONE_STATEMENT:
                self._compare()
        return content

    def changed_since_last(self) -> int | None:
        """How many rows are new or differ from the last finished run of the same file; None if there is no such run."""
        if self.last_run is None:
            return None
        self._compare()
        return self.rows - self._unchanged

    def _compare(self) -> None:
        if self._waiting:
            pairs = tuple_(cases.c.id_digest, cases.c.content).in_(self._waiting)
            query = select(func.count()).select_from(cases).where(cases.c.run == self.last_run, pairs)
            self._unchanged += self._database.scalar(query) or 0
            self._waiting.clear()
