"""The memory of answers: what judges remember, so that nothing is asked or paid twice; by default where the runs are.

with open_answers() as answers:
    judge = Cached(judge, answers, durable=True)
    …
"""

import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from types import TracebackType

from sqlalchemy import Connection, delete, func, select

from ragtriage.core.amount import NOTHING, Amount
from ragtriage.core.display import plural
from ragtriage.core.errors import StoreError
from ragtriage.core.files import private_folder, state_folder
from ragtriage.core.verdicts import Answer
from ragtriage.judges.wrappers.cached import AnswerMemory, CachedAnswer, InMemory
from ragtriage.runs.codec import decode_answer, encode_answer
from ragtriage.store.database import Database, in_chunks, open_database, store_address
from ragtriage.store.lease import QuestionLocks
from ragtriage.store.migrations import prepare
from ragtriage.store.run_writer import RunWriter, raise_spending
from ragtriage.store.schema import answers, meta, tickets

BATCH = 500
"""Answers that wait for a transaction at most."""

SECONDS = 0.5
"""The longest that an answer waits while others follow."""

KEPT_FREE = 20_000
"""Answers that cost nothing which a process remembers by itself where the memory is a server's."""

_SPENT_ON = "spent on run "
"""What the key of a run's spending begins with in the `meta` of an overflow; the run's number follows."""

Spendings = Mapping[int, Mapping[str, float]]
"""The number of a run → what was spent on it, by column."""


def open_answers(where: str | Path | Database | None = None, *, create: bool = True) -> "Answers":
    """Open a memory of answers, and put into it what earlier commands couldn't.

    It is the memory at a place as for `open_store`, or in an open database, which stays open when the memory is closed.
    """
    if isinstance(where, Database):
        opened = Answers(where)
    else:
        database = open_database(store_address(where), create=create)
        try:
            prepare(database)
        except BaseException:
            database.close()
            raise
        opened = Answers(database, owned=True)
    opened.take_back()
    return opened


class Answers(AbstractContextManager["Answers"]):
    """Answers in a database; see `ragtriage.judges.wrappers.AnswerMemory`.

    Every method raises a `StoreError` where the database can't be read or written. Answers that it can't take go into
    an overflow, which the next command takes back.
    """

    def __init__(self, database: Database, *, owned: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._owned = owned
        self.payer: RunWriter | None = None
        """What the answers cost is written with this run, in the same transaction."""
        self.on_failure: Callable[[StoreError], None] = lambda _: None
        """Called when the database can't be read or written, before the error is raised: nothing more should be asked.
        """
        self.free: AnswerMemory = self if database.is_sqlite else InMemory(KEPT_FREE)
        """For answers that cost nothing: on a server they stay in this process, since asking is quicker."""
        self._waiting: dict[bytes, CachedAnswer] = {}
        self._spent = NOTHING
        self._overflow = Overflow(database)
        self._overflown: dict[bytes, CachedAnswer] = {}
        self._spent_on: Spendings = {}
        self._refused = False
        self._locks = QuestionLocks(database)
        self._clock = clock
        self._since = clock()

    @property
    def unsaved(self) -> str:
        """What became of answers that the database couldn't take, a part of a sentence; "" if there are none."""
        told = []
        if number := len(self._overflown):
            where = f"{plural(number, 'answer')} that it couldn't take {_are(number)} in {self._overflow.path}"
            told.append(f"{where}, and the next command puts {'it' if number == 1 else 'them'} into the store")
        if number := len(self._waiting):
            told.append(f"{plural(number, 'answer')} couldn't be written anywhere and {_are(number)} lost")
        return "; ".join(told)

    def recall(self, keys: Sequence[bytes]) -> Mapping[bytes, Answer]:
        """The answers that are known to these keys."""
        unwritten = self._unwritten()
        found = {key: unwritten[key].answer for key in keys if key in unwritten} if unwritten else {}
        wanted = [key for key in keys if key not in found]
        if wanted:
            with self._failures_told():
                rows = self._database.lookup(select(answers.c.key, answers.c.body), answers.c.key, wanted)
                found |= {key: decode_answer(body) for key, body in rows}
        return found

    def remember(self, entries: Iterable[CachedAnswer], spent: Amount = NOTHING) -> None:
        """Keep answers, none of them a failure, with what they cost; a key that is known stays as it is.

        They are safe after `flush`, or a moment later.
        """
        if not self._waiting:
            self._since = self._clock()
        for entry in entries:
            self._waiting.setdefault(entry.key, entry)
        self._spent = spent
        if len(self._waiting) >= BATCH or self._clock() - self._since >= SECONDS:
            self.flush()

    def flush(self) -> None:
        """Commit what waits; what the database can't take goes into the overflow."""
        if self._waiting or self._refused:
            with self._failures_told():
                try:
                    self._write()
                except StoreError as error:
                    self._refused = True
                    self._let_overflow(error)
                    raise

    def claim(self, keys: Sequence[bytes]) -> Collection[bytes]:
        """Claim questions that nobody else is asking; see `ragtriage.store.lease`."""
        with self._failures_told():
            return self._locks.claim(keys)

    def release(self, keys: Collection[bytes]) -> None:
        """Let others ask what wasn't answered."""
        unwritten = self._unwritten()
        self._locks.release({key for key in keys if key not in unwritten})

    def tickets(self) -> "StoredTickets":
        """The tickets of requests that a provider answers later."""
        return StoredTickets(self._database)

    def take_back(self) -> None:
        """Put into the database what earlier commands couldn't, or know it at least where that is still so."""
        if self._overflow.exists():
            with suppress(StoreError):
                self._overflown, self._spent_on = self._overflow.read()
                self._write()

    def close(self) -> None:
        """Commit what waits, and give up all claims."""
        try:
            self.flush()
        finally:
            self._locks.close()
            if self._owned:
                self._database.close()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self.close()
        except StoreError:
            if error is None:
                raise

    def _unwritten(self) -> Mapping[bytes, CachedAnswer]:
        """What isn't in the database."""
        return self._overflown | self._waiting if self._overflown else self._waiting

    def _write(self) -> None:
        unwritten = self._unwritten()

        def write(connection: Connection) -> None:
            _insert(connection, self._database, unwritten.values())
            self._locks.answered(connection, unwritten)
            if self.payer:
                self.payer.count_spending(self._spent)
                self.payer.keep_spending(connection)
            raise_spending(connection, self._spent_on)

        self._database.write(write)
        self._locks.forget(unwritten)
        self._overflow.remove(unwritten)
        self._waiting, self._overflown, self._spent_on, self._refused = {}, {}, {}, False

    def _let_overflow(self, error: StoreError) -> None:
        """Make safe what the database couldn't take, and say so in the error."""
        spent_on = dict(self._spent_on)
        if self.payer:
            self.payer.count_spending(self._spent)
            spent_on[self.payer.number] = self.payer.spending
        with suppress(StoreError, OSError):
            self._overflow.add(self._unwritten().values(), spent_on)
            self._overflown, self._spent_on, self._waiting = dict(self._unwritten()), spent_on, {}
        error.args = (f"{error}; {self.unsaved}",)

    @contextmanager
    def _failures_told(self) -> Iterator[None]:
        try:
            yield
        except StoreError as error:
            self.on_failure(error)
            raise


class Overflow:
    """A second memory, in the user's state folder, for what a full or lost one can't take.

    It is there only while it holds something. Several commands may use it at the same time.
    """

    def __init__(self, database: Database) -> None:
        where = str(database.file.path) if database.file else database.where
        of = blake2b(where.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        self.path = state_folder() / f"overflow-{of}.sqlite"

    def exists(self) -> bool:
        """Whether there is one."""
        try:
            return self.path.exists()
        except OSError:  # the folder of somebody else
            return False

    def read(self) -> tuple[dict[bytes, CachedAnswer], Spendings]:
        """All that is in it."""
        with self._opened() as database:
            found = database.all(select(answers))
            noted = database.all(select(meta).where(meta.c.key.startswith(_SPENT_ON)))
        kept = (
            CachedAnswer(row.key, row.kind, row.fingerprint, decode_answer(row.body), row.trial, row.batch or "")
            for row in found
        )
        spent_on = {int(row.key.removeprefix(_SPENT_ON)): json.loads(row.value) for row in noted}
        return {entry.key: entry for entry in kept}, spent_on

    def add(self, entries: Iterable[CachedAnswer], spent_on: Spendings) -> None:
        """Keep answers and what was spent on runs."""
        private_folder(self.path.parent)
        with self._opened() as database, database.writing() as connection:
            _insert(connection, database, entries)
            rows = [{"key": f"{_SPENT_ON}{run}", "value": json.dumps(dict(spent))} for run, spent in spent_on.items()]
            database.insert(connection, meta, rows, replace=True)

    def remove(self, keys: Iterable[bytes]) -> None:
        """Take out these answers, which the first memory holds now; with the last one the files go."""
        if not self.exists():
            return
        # while the transaction lasts nobody else adds any
        with suppress(StoreError, OSError), self._opened() as database, database.writing() as connection:
            for some in in_chunks(keys):
                connection.execute(delete(answers).where(answers.c.key.in_(some)))
            if not connection.execute(select(func.count()).select_from(answers)).scalar():
                for path in self.path.parent.glob(f"{self.path.name}*"):
                    with suppress(OSError):  # where an open file can't be deleted, an empty one is left
                        path.unlink()

    @contextmanager
    def _opened(self) -> Iterator[Database]:
        with closing(open_database(str(self.path), create=True)) as database:
            prepare(database)
            yield database


def _insert(connection: Connection, database: Database, entries: Iterable[CachedAnswer]) -> None:
    moment = time.time()
    rows = [
        {
            "key": entry.key,
            "kind": entry.kind,
            "fingerprint": entry.fingerprint,
            "trial": entry.trial,
            "body": encode_answer(entry.answer),
            "created": moment,
            "batch": entry.batch or None,
        }
        for entry in entries
    ]
    database.insert(connection, answers, rows, replace=False)


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


class StoredTickets:
    """Tickets of requests that a provider answers later, kept so that the next command can collect their replies.

    A `ragtriage.judges.llm.pending_requests.Tickets`. Several keys may share one batch. Every method raises a
    `StoreError` where the store can't be read or written.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, keys: Sequence[bytes]) -> Mapping[bytes, str]:
        """The texts that are kept under these keys (16 bytes each); keys without one are left out."""
        found = self._database.lookup(select(tickets.c.key, tickets.c.batch), tickets.c.key, keys)
        return {row.key: row.batch for row in found}

    def put(self, entries: Mapping[bytes, str]) -> None:
        """Keep texts, all or none, committed before this returns; what a key had is replaced."""
        moment = time.time()
        rows = [
            {"key": key, "fingerprint": "", "batch": batch, "submitted": moment}  # whose reply it is says the key
            for key, batch in entries.items()
        ]
        if rows:
            self._database.write(lambda connection: self._database.insert(connection, tickets, rows, replace=True))

    def drop(self, keys: Sequence[bytes]) -> None:
        """Keep nothing under these keys any more."""
        for some in in_chunks(keys):
            self._database.execute(delete(tickets).where(tickets.c.key.in_(some)))
