"""What is kept of a watch beside its windows' runs: their bounds, the states of its detectors, its alarms.

And what became of a run's scores that were sent to other tools: sent, refused, or still to be sent. What is left of a
deleted window is written with its deletion, in `ragtriage.store.forgetting`.
"""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import Connection, delete, func, select, update

from ragtriage.core.errors import NotStoredError
from ragtriage.runs.case_row import SIZE
from ragtriage.runs.manifest import now
from ragtriage.store.database import Database
from ragtriage.store.schema import alarms, cases, detectors, judged, outbox, watches, windows

DetectorKey = tuple[str, str]
"""Metric and stratum."""


@dataclass(frozen=True, slots=True)
class WindowRow:
    """One window of a watch, beside its run."""

    run: int
    starts: str | None
    """When it begins, ISO 8601 in UTC; None where no case has a time, as is `ends`."""
    ends: str | None
    """When it ends; that moment belongs to the next window where windows have a length in time."""
    arrivals: int
    """Usable cases that came in it, whether judged or not."""
    drawn: int
    """Of its cases those whose lot was drawn."""
    counted: int = 0
    """How many of its cases, from the first on, have moved the detectors."""
    versions: tuple[str, ...] = ()
    """Of the application, in the order in which they came."""
    watch: str = ""


@dataclass(frozen=True, slots=True)
class AlarmRow:
    """One alarm."""

    number: int
    """0 before it is stored."""
    metric: str
    stratum: str
    run: int
    """The window in which it opened; its run may be deleted since."""
    position: int
    """The case of that window with which it opened."""
    told: Mapping[str, Any] = field(default_factory=dict)
    """Numbers and ids for people; see `ragtriage.monitor.alarms.Alarm`."""
    closed: str | None = None
    """When it was acknowledged, ISO 8601 in UTC; None while it is open."""
    watch: str = ""


class WatchTables:
    """The rows of one watch in a store. The project is empty for a file that is one folder's."""

    def __init__(self, database: Database, project: str, watch: str) -> None:
        self._database = database
        self._key = {"project": project, "watch": watch}

    def state(self) -> dict[str, Any] | None:
        """What the watch's detectors have in common; None where nothing was watched under this name yet."""
        wanted = select(watches.c.state).where(*self._mine(watches))
        return self._database.scalar(wanted)

    def detectors(self) -> dict[DetectorKey, dict[str, Any]]:
        """The states of the detectors."""
        wanted = select(detectors.c.metric, detectors.c.stratum, detectors.c.state).where(*self._mine(detectors))
        return {(row.metric, row.stratum): row.state for row in self._database.all(wanted)}

    def windows(self) -> list[WindowRow]:
        """The windows whose runs are still there, in the order of their runs."""
        return read_windows(self._database, self._key["project"], self._key["watch"])

    def alarms(self) -> list[AlarmRow]:
        """The open alarms."""
        found = read_alarms(self._database, self._key["project"])
        return [one for one in found if one.watch == self._key["watch"] and one.closed is None]

    def begin(self, state: Mapping[str, Any], states: Mapping[DetectorKey, Mapping[str, Any]]) -> None:
        """Put other detectors in the place of those that there are, as for a new baseline; their alarms stay."""

        def write(connection: Connection) -> None:
            connection.execute(delete(detectors).where(*self._mine(detectors)))
            self.keep(connection, state, states)

        self._database.write(write)

    def keep(
        self,
        connection: Connection,
        state: Mapping[str, Any],
        states: Mapping[DetectorKey, Mapping[str, Any]],
        window: WindowRow | None = None,
        opened: Iterable[AlarmRow] = (),
    ) -> None:
        """Write, in the transaction of the records, what they have moved; the same again is harmless.

        `states` are those of the detectors that have moved; an alarm that is stored already stays as it is.
        """
        database = self._database
        database.insert(connection, watches, [self._key | {"state": dict(state)}], replace=True)
        rows = [
            self._key | {"metric": metric, "stratum": stratum, "state": dict(one)}
            for (metric, stratum), one in states.items()
        ]
        database.insert(connection, detectors, rows, replace=True)
        if window:
            named = ("run", "starts", "ends", "arrivals", "drawn", "counted")
            row = {name: getattr(window, name) for name in named} | {"versions": list(window.versions)}
            database.insert(connection, windows, [self._key | row], replace=True)
        for alarm in opened:
            self._open(connection, alarm)

    def _open(self, connection: Connection, alarm: AlarmRow) -> None:
        where = {"metric": alarm.metric, "stratum": alarm.stratum, "run": alarm.run, "position": alarm.position}
        self._database.lock(connection, "begin")  # of two watches on a server each takes another number
        same = (alarms.c[name] == value for name, value in where.items())
        if connection.execute(select(alarms.c.number).where(*same)).first() is None:
            number = 1 + (connection.execute(select(func.max(alarms.c.number))).scalar() or 0)
            row = self._key | where | {"number": number, "closed": None, "told": dict(alarm.told)}
            self._database.insert(connection, alarms, [row], replace=True)

    def judged_before(self, ids: Sequence[bytes], starts: str | None, ends: str | None) -> dict[bytes, int]:
        """Those of these cases that a window of the same time holds, or held: digest of the id → its run."""
        overlapping = [one.run for one in self.windows() if _overlap((one.starts, one.ends), (starts, ends))]
        wanted = select(cases.c.id_digest, cases.c.run).where(cases.c.run.in_(overlapping))
        rows = self._database.lookup(wanted, cases.c.id_digest, ids if overlapping else ())
        found: dict[bytes, int] = {row.id_digest: row.run for row in rows}
        wanted_ids = set(ids)
        for run, held in self._deleted(starts, ends):
            parts = (held[at : at + SIZE] for at in range(0, len(held), SIZE))
            found |= {one: run for one in parts if one in wanted_ids and one not in found}
        return found

    def _deleted(self, starts: str | None, ends: str | None) -> Iterator[tuple[int, bytes]]:
        """The windows of this time that were deleted, with the digests of their cases' ids."""
        wanted = select(judged.c.run, judged.c.starts, judged.c.ends).where(*self._mine(judged)).order_by(judged.c.run)
        for row in self._database.all(wanted):
            if _overlap((row.starts, row.ends), (starts, ends)):
                yield row.run, self._database.scalar(select(judged.c.ids).where(judged.c.run == row.run)) or b""

    def _mine(self, table: Any) -> Iterable[Any]:
        return (table.c[name] == value for name, value in self._key.items())


def _overlap(one: tuple[str | None, str | None], other: tuple[str | None, str | None]) -> bool:
    """Whether two stretches of time, each as texts of one form, have a moment in common."""
    (a, b), (c, d) = one, other
    if a is None or b is None or c is None or d is None:
        return a is None and c is None
    return a <= d and c <= b


def read_windows(database: Database, project: str | None, watch: str | None = None) -> list[WindowRow]:
    """The windows of a project, of every one if None, in the order of their runs; only those of one watch, if named."""
    wanted = select(windows).order_by(windows.c.run)
    for column, value in ((windows.c.project, project), (windows.c.watch, watch)):
        wanted = wanted if value is None else wanted.where(column == value)
    rows = database.read(lambda connection: connection.execute(wanted).mappings().all())
    return [
        WindowRow(**{key: value for key, value in row.items() if key != "project"} | {"versions": (*row["versions"],)})
        for row in rows
    ]


def read_alarms(database: Database, project: str | None) -> list[AlarmRow]:
    """The alarms of a project, of every one if None, in their order, closed ones too."""
    wanted = select(alarms).order_by(alarms.c.number)
    wanted = wanted if project is None else wanted.where(alarms.c.project == project)
    rows = database.read(lambda connection: connection.execute(wanted).mappings().all())
    return [AlarmRow(**{key: value for key, value in row.items() if key != "project"}) for row in rows]


def acknowledge(database: Database, number: int, project: str | None, at_start: Mapping[str, Any]) -> AlarmRow:
    """Close an alarm, whose detector starts anew.

    `at_start` is put into the state of its detector. The alarm may have been closed before.
    """
    known = {one.number: one for one in read_alarms(database, project)}
    if number not in known:
        still = [str(one.number) for one in known.values() if one.closed is None]
        which = f"open are {', '.join(still)}" if still else "none is open"
        raise NotStoredError(f"there is no alarm {number}: {which}")
    alarm = known[number]

    def close(connection: Connection) -> None:
        this = alarms.c.number == number
        owner = connection.execute(select(alarms.c.project, alarms.c.closed).where(this)).one()
        if owner.closed is not None:
            return
        connection.execute(update(alarms).where(this).values(closed=now()))
        key = {"project": owner.project, "watch": alarm.watch, "metric": alarm.metric, "stratum": alarm.stratum}
        mine = [detectors.c[name] == value for name, value in key.items()]
        state = connection.execute(select(detectors.c.state).where(*mine)).scalar()
        if state is not None:
            connection.execute(update(detectors).where(*mine).values(state={**state, **at_start}))

    database.write(close)
    return alarm


EntryState = Literal["waiting", "sending", "sent", "refused"]
WAITING: EntryState = "waiting"
"""It couldn't be sent yet."""
SENDING: EntryState = "sending"
"""It was on its way when the process ended, or is: the tool may have it."""
SENT: EntryState = "sent"
REFUSED: EntryState = "refused"
"""The tool doesn't take it, so that it isn't sent again by itself."""


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """What became of one score."""

    body: bytes
    """The digest of what is sent, 16 bytes: what is sent anew has another one."""
    state: EntryState
    remote: str | None = None
    """What the tool calls it; None where it has no name of its own there, or isn't there."""
    reason: str | None = None
    """Why it waits or was refused, in words that quote nothing."""


class Outbox:
    """The entries of one run for one destination; every method raises a `StoreError` where the store fails.

    A destination is a tool and its address, without what is secret in it.
    """

    def __init__(self, database: Database, run: int, destination: str) -> None:
        self._database = database
        self._key = {"run": run, "destination": destination}

    def find(self, entries: Collection[bytes]) -> dict[bytes, OutboxEntry]:
        """Those of these entries that are known, by their digests of 16 bytes."""
        columns = (outbox.c.entry, outbox.c.body, outbox.c.state, outbox.c.remote, outbox.c.reason)
        mine = (outbox.c[name] == value for name, value in self._key.items())
        rows = self._database.lookup(select(*columns).where(*mine), outbox.c.entry, entries)
        return {row.entry: OutboxEntry(row.body, row.state, row.remote, row.reason) for row in rows}

    def keep(self, entries: Mapping[bytes, OutboxEntry]) -> None:
        """Write what became of entries, in one transaction."""
        rows = [
            self._key
            | {"entry": key, "body": one.body, "state": one.state, "remote": one.remote, "reason": one.reason}
            | {"since": time.time()}
            for key, one in entries.items()
        ]
        if rows:
            self._database.write(lambda connection: self._database.insert(connection, outbox, rows, replace=True))
