"""How each case of a run is headed under the run's own criteria, kept so that lists of cases needn't read records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sqlalchemy import select

from ragtriage.core.case import Case
from ragtriage.core.record import Record
from ragtriage.store.database import Database
from ragtriage.store.identity import digest
from ragtriage.store.schema import cases, readings

HEAD = 60
"""Characters of the query that are kept beside a reading."""

TOGETHER = 64
"""Cases that are read again together."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the diagnosis says of one case, in a row."""

    kind: str
    """How the case is headed: see `ragtriage.diagnosis.headline`."""
    component: str
    """Under which it is counted."""
    rules: tuple[str, ...]
    """The rules of its findings, the most pressing first."""
    sure: bool
    """Whether what heads it is sure."""


def reading_row(run: int, position: int, case: Case, reading: Reading) -> dict[str, Any]:
    """A reading as it is stored."""
    return {
        "run": run,
        "position": position,
        "kind": reading.kind,
        "component": reading.component,
        "rules": reading.rules,
        "sure": reading.sure,
        "head": " ".join(case.query[: 2 * HEAD].split())[:HEAD],
    }


def read_again(database: Database, run: int, found: Iterable[tuple[Record, Reading]]) -> None:
    """Replace the readings of cases that are stored already, as when the run's criteria have changed.

    Args:
        database: the store.
        run: the run's number.
        found: cases with what is said of them now; those that the run doesn't hold are left out.

    Raises:
        StoreError: the store can't be written.
    """
    left = iter(found)
    while some := list(islice(left, TOGETHER)):
        _replace(database, run, some)


def _replace(database: Database, run: int, some: Sequence[tuple[Record, Reading]]) -> None:
    own = {digest(record.case.id): (record.case, reading) for record, reading in some}
    places = select(cases.c.id_digest, cases.c.position).where(cases.c.run == run, cases.c.id_digest.in_(list(own)))
    known = database.read(lambda connection: connection.execute(places).all())
    rows = [reading_row(run, position, *own[one]) for one, position in known]
    database.write(lambda connection: database.insert(connection, readings, rows, replace=True))
