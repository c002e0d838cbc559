"""One partition becomes a file of records: reads it, evaluates it as the command does, writes the file itself.

The one function between the driver and the processes. It keeps nothing between two partitions but what is expensive to
load, commits nothing, and may be called twice for the same partition: both give the same records.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace

from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError, InputError, JudgeError, RagtriageError, Stopped
from ragtriage.core.record import Record
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.judges.budget import Amount
from ragtriage.judges.build import BuiltJudge, build_judge
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.judges.session import JudgeSession
from ragtriage.judges.wrappers import Cached, InMemory
from ragtriage.readers import CaseFile, Rejected
from ragtriage.readers.case_rows import made_up_id
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.summary import Tally
from ragtriage.scale.at_desk import DeskLimits, DeskMemory, OwnSpending
from ragtriage.scale.desk import Call
from ragtriage.scale.ids import entry_of, kept_entries, sorted_entries
from ragtriage.scale.markers import Marker, checksum_of
from ragtriage.scale.orders import Ending, Orders, Task, Worked, versions_of
from ragtriage.scale.part_file import PartWriter, PlacedRecord, file_checksum
from ragtriage.scale.places import folder_at, stamp_of
from ragtriage.scale.probe import arithmetic
from ragtriage.scale.spending import Limits
from ragtriage.store.identity import digest

FILES_KEPT = 4
"""Opened files whose columns are known: the partitions of a file mostly follow each other."""
KEPT_ANSWERS = 20_000
"""Answers that cost nothing and are remembered, so that memory doesn't grow with a partition that is a whole file."""
TOLD_EVERY = 1.0
"""Seconds between two times that a process says how far it is."""


@dataclass
class Loaded:
    """What a process keeps between two partitions.

    Args:
        orders: what it works by.
        call: asks the desk.
        who: this process, for the desk.
        tell: takes how many cases of the present partition are done, every second.
    """

    orders: Orders
    call: Call
    who: str
    tell: Callable[[int], None] = lambda _: None
    config: EvaluationConfig = field(init=False)
    built: BuiltJudge = field(init=False)
    spending: OwnSpending | None = field(init=False, default=None)
    """None where nothing costs money."""
    probe: str = field(init=False, default="")
    own_memory: InMemory | None = field(init=False, default=None)
    files: dict[str, CaseFile] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.config = self.orders.config()
        judge = self.orders.judge
        paid = isinstance(judge, JudgeConfig) and judge.paid
        self.own_memory = None if paid else InMemory(KEPT_ANSWERS)
        self.spending = spending = OwnSpending(self.call, self.who) if paid else None
        memory = self.own_memory or DeskMemory(self.call, self.who)
        if isinstance(judge, JudgeConfig):
            session = _session(judge, self.call, self.who, spending)
            self.built = build_judge(session, memory, threads=1)
            self.built.open()
            self.probe = arithmetic()
        else:
            self.built = BuiltJudge(Cached(judge(), memory), memory)

    def file(self, address: str, name: str) -> CaseFile:
        """A file of cases; its columns are found by its first rows, whichever part of it is read."""
        if address not in self.files:
            while len(self.files) >= FILES_KEPT:
                del self.files[next(iter(self.files))]
            self.files[address] = self.orders.reading.open(address, name)
        return self.files[address]


def load(orders: Orders, call: Call, who: str, tell: Callable[[int], None] = lambda _: None) -> Loaded | Worked:
    """Load what all partitions need; why this process can't work at all, if it can't."""
    own = versions_of(orders.versions)
    for package, wanted in orders.versions.items():
        if own.get(package) != wanted:
            there = f"{package} {own.get(package, 'missing')} on {socket.gethostname()}"
            return Worked("", "versions", f"{there}, {wanted} where the command runs: install the same version")
    try:
        return Loaded(orders, call, who, tell)
    except (ConfigError, JudgeError) as error:
        return Worked("", "judge", f"on {socket.gethostname()}: {error}")


def evaluate_partition(task: Task, loaded: Loaded) -> Worked:
    """Evaluate one partition and write its records; whatever goes wrong is told, never raised."""
    ending: Ending = "failed"
    try:
        return _evaluated(task, loaded)
    except JudgeError as error:
        ending, told = "judge", str(error)
    except (RagtriageError, OSError) as error:
        told = str(error)
        if isinstance(error, InputError) and _changed(task):
            ending, told = "changed", task.file.name
    except Exception as error:  # noqa: BLE001  # one partition never costs the run
        told = f"{type(error).__name__}: {error}"
    finally:
        if loaded.own_memory:
            loaded.own_memory.entries.clear()
    return Worked(task.partition.id, ending, told)


def _evaluated(task: Task, loaded: Loaded) -> Worked:
    name = task.partition.id
    changed = Worked(name, "changed", task.file.name)
    if _changed(task):
        return changed
    with closing(_Work(task, loaded)) as work:
        spending, stopped = loaded.spending, ""
        if spending:
            spending.begin()
        try:
            work.run()
        except Stopped as error:
            stopped = str(error)
        finally:
            spent = spending.settle() if spending else Amount()
        if spending and spending.error:
            raise spending.error
        if _changed(task):
            return changed
        if stopped and not work.leave_out_the_rest():
            return Worked(name, "stopped", stopped)
        return Worked(name, "done", stopped, marker=asdict(work.written(spent)))


def _changed(task: Task) -> bool:
    """Whether the file isn't what it was when it was planned."""
    return stamp_of(task.file.address) != task.file.stamp


class _Work:
    """One partition being worked on."""

    def __init__(self, task: Task, loaded: Loaded) -> None:
        self._task, self._loaded = task, loaded
        self._config = loaded.config
        self._file = loaded.file(task.file.address, task.file.name)
        self._has_ids = "id" in self._file.mapping
        self._part = PartWriter(loaded.config, texts=loaded.orders.texts)
        self._tally = Tally(self._config.metrics, self._config.thresholds, self._config.rules, self._config.costs)
        self._places: dict[str, tuple[int, int]] = {}
        self._ids = bytearray()
        """An entry a case; see `ragtriage.scale.ids`. A file may have millions."""
        self._rejected: list[Rejected] = []
        self._early: dict[int, PlacedRecord] = {}
        """Records that others come before which aren't there yet."""
        self._due = 0
        """The position of the first record that isn't kept."""
        self._reading = self._cases()
        self._rows = self._lines = self._cases_read = self._failed = self._left = 0
        self._began = self._told = time.monotonic()

    def close(self) -> None:
        """Let the records go that were gathered."""
        self._part.close()

    def run(self) -> None:
        """Evaluate all cases, and keep each as soon as all before it are there."""
        loaded, config, built, early = self._loaded, self._config, self._loaded.built, self._early
        records = evaluate_sync(
            self._reading, built.judge, metrics=config.metrics, also=config.diagnosis_steps, window=built.window
        )
        with closing(records):  # type: ignore[type-var]  # a generator
            for record in records:
                position, row = self._places.pop(record.case.id)
                early[position] = PlacedRecord(position, row, record)
                while self._due in early:
                    self._keep(early.pop(self._due))
                    self._due += 1
                if time.monotonic() - self._told >= TOLD_EVERY:
                    self._told = time.monotonic()
                    loaded.tell(self._due)
        loaded.built.memory.flush()

    def leave_out_the_rest(self) -> bool:
        """Make do with the cases that are done, as if the others weren't there; whether any are."""
        for _ in self._reading:  # rows are counted and rejected all the same
            pass
        kept = [*range(self._due), *sorted(self._early)]
        for position in kept[self._due :]:
            self._keep(replace(self._early[position], position=self._due))
            self._due += 1
        self._left = self._cases_read - len(kept)
        self._ids, self._cases_read = kept_entries(self._ids, kept), len(kept)
        return bool(kept)

    def written(self, spent: Amount) -> Marker:
        """Write the files; what is to be committed."""
        task, loaded = self._task, self._loaded
        part = f"{task.partition.id}-{task.attempt}"
        folder, content = folder_at(loaded.orders.folder), self._part.whole()
        told = [[one.row, one.line, one.field, one.reason, one.twin_of] for one in self._rejected]
        ids, rejections = sorted_entries(self._ids), json.dumps(told).encode()
        marker = Marker(
            partition=task.partition.id,
            part=part,
            checksum=file_checksum(content),
            rows=self._rows,
            lines=self._lines,
            cases=self._cases_read,
            failed=self._failed,
            left=self._left,
            rejected=len(self._rejected),
            ends=any(row.ends for row in self._rejected),
            probe=loaded.probe,
            seconds=time.monotonic() - self._began,
            spent=spent,
            host=socket.gethostname(),
            counts=self._tally.counts(),
            ids_checksum=checksum_of(ids),
            rejections_checksum=checksum_of(rejections) if self._rejected else "",
        )
        folder.write_from(marker.records, content)
        folder.write(marker.ids, ids)
        if self._rejected:
            folder.write(marker.rejections, rejections)
        return marker

    def _cases(self) -> Iterator[Case]:
        for raw, row in self._file.rows_in(self._task.partition.part, self._count_lines):
            self._rows = raw.row
            if isinstance(row, Rejected):
                self._rejected.append(row)
                continue
            position = self._cases_read
            self._cases_read += 1
            content_id = not self._has_ids or row.id == made_up_id(row.query, row.sources, row.response, row.history)
            self._ids += entry_of(digest(row.id), position, raw.row, made_up=content_id)
            self._places[row.id] = position, raw.row
            yield row

    def _count_lines(self, lines: int) -> None:
        self._lines = lines

    def _keep(self, placed: PlacedRecord) -> None:
        self._part.add(placed, self._tally.add(placed.record))
        self._failed += _has_failed(placed.record)


def _has_failed(record: Record) -> bool:
    return any(getattr(outcome, "failed", False) for outcome in record.outcomes.values())


def _session(judge: JudgeConfig, call: Call, who: str, spending: OwnSpending | None) -> JudgeSession:
    """The judge's session, in which the desk keeps all limits."""
    options = judge.options
    limits = Limits(options.budget, options.max_requests, options.rpm, options.tpm)
    own = replace(judge, options=replace(options, budget=None, max_requests=None, rpm=None, tpm=None))
    if spending is None:
        return JudgeSession.of(own)
    paced = limits.rpm is not None or limits.tpm is not None
    session = JudgeSession.of(own, shared=lambda model: DeskLimits(call, who, model, spending.fail) if paced else None)
    spending.keep(session.ledger, limits)
    return session
