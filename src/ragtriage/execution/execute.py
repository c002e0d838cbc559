"""A job is executed into a folder: parts are handed out, what comes back is committed, and the run is finished.

How far it is is told in a line for people, and in a file in the run's folder for other programs.
"""

import json
import secrets
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from typing import Any

from ragtriage.core.amount import Amount
from ragtriage.core.display import dollars, listed, plural
from ragtriage.core.errors import InputError, JudgeError, StoreError
from ragtriage.core.files import Folder, folder_at
from ragtriage.execution.pools import Ended, Lost, Pool, PoolEvent
from ragtriage.execution.worker import Job, Task
from ragtriage.readers.files import ByteRange
from ragtriage.runs.manifest import CommittedPart, Manifest, PartPlan, check_same, check_versions
from ragtriage.runs.run import Run
from ragtriage.store.folder import commit, committed, folder_place, read_manifest, write_manifest
from ragtriage.store.folder_writer import finish, reopen
from ragtriage.store.lease import FolderLease

KEPT_EVERY = 5.0
"""Seconds between two writings of the file."""


@dataclass
class Progress:
    """Counts what is done.

    `rows` are about how many it is to read in all, with those of the `before` cases that aren't worked on again; 0 if
    that isn't known. `show` takes the line at every change, and every half second.
    """

    folder: Folder
    parts: int
    rows: int
    before: int = 0
    part: str = ""
    show: Callable[[str], None] = lambda _: None
    clock: Callable[[], float] = time.monotonic
    cases: int = field(default=0, init=False)
    failed_parts: int = field(default=0, init=False)
    done_parts: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._began = self.clock()
        self._kept = float("-inf")

    def done(self, part: CommittedPart) -> None:
        """A part is committed."""
        self.cases += part.cases
        self.done_parts += not part.left

    def failed(self) -> None:
        """A part has failed for good."""
        self.failed_parts += 1

    def tell(self, running: int, nodes: int, spent: Amount, working: int = 0) -> None:
        """Show the line, and write the file if it is time."""
        now = self.values(running, nodes, spent, working)
        self.show(line_of(now))
        if self.clock() - self._kept >= KEPT_EVERY:
            self._keep(now)

    def end(self, spent: Amount) -> None:
        """Write the file once more: nothing is in work any longer, and of what was, nothing counts."""
        self._keep(self.values(0, 0, spent))

    def _keep(self, now: Mapping[str, Any]) -> None:
        self._kept = self.clock()
        with suppress(StoreError):  # what matters is written, and told, by others
            self.folder.write(f"progress{self.part}.json", json.dumps(now).encode())

    def values(self, running: int, nodes: int, spent: Amount, working: int = 0) -> dict[str, Any]:
        """How far it is; of JSON's types. See `tell`."""
        seconds = max(self.clock() - self._began, 1e-9)
        done = self.cases + working
        rate = done / seconds
        all_done = self.done_parts == self.parts  # how many rows a JSONL file has is estimated
        left = 0 if all_done else max(0, self.rows - self.before - done)
        return {
            "cases": self.before + done,
            "of": self.rows or None,
            "parts": self.done_parts,
            "of_parts": self.parts,
            "failed_parts": self.failed_parts,
            "running": running,
            "nodes": nodes,
            "cases_a_second": round(rate, 3),
            "seconds_left": 0 if all_done else round(left / rate) if rate and self.rows else None,
            "cost": spent.cost,
            "requests": spent.requests,
        }


def rows_of(manifest: Manifest, wanted: Collection[PartPlan]) -> int:
    """About how many rows some parts have; 0 if that isn't known, as of a CSV file."""
    if any(one.rows is None and one.part is None for one in wanted):
        return 0
    known = sum(one.rows or 0 for one in manifest.plan)
    size = sum(map(_bytes, manifest.plan))
    a_byte = max(0, manifest.rows - known) / size if size else 0.0
    return sum(one.rows or 0 for one in wanted) + round(a_byte * sum(map(_bytes, wanted)))


def _bytes(plan: PartPlan) -> int:
    return plan.part.end - plan.part.start if isinstance(plan.part, ByteRange) else 0


def line_of(now: dict[str, Any]) -> str:
    """The line for people."""
    of = f" of about {now['of']:,}" if now["of"] else ""
    parts = [
        f"{now['cases']:,}{of} cases",
        f"{now['parts']:,} of {plural(now['of_parts'], 'part')}",
        f"{now['failed_parts']:,} failed" if now["failed_parts"] else "",
        f"{now['cases_a_second']:.1f} a second" if now["cases_a_second"] else "",
        f"about {_time(now['seconds_left'])} left" if now["seconds_left"] else "",
        f"{plural(now['nodes'], 'node')}" if now["nodes"] > 1 else "",
        plural(now["requests"], "request") if now["requests"] else "",
        dollars(now["cost"]) if now["cost"] else "",
    ]
    return ", ".join(filter(None, parts))


def _time(seconds: int) -> str:
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


ATTEMPTS = 3
"""How often a part is tried before it counts as failed."""
FIRST, FAILED_OF_FIRST = 10, 5
"""Where so many of the first parts fail, something is wrong with all: the rest isn't tried."""
TICK = 0.5
"""Seconds that are waited at most before it is looked around."""

Share = tuple[int, int]
"""Which of how many commands with the same folder this is, from 1."""


class Stop:
    """What a person wants: `gently` after the first Ctrl-C, `now` after the second."""

    def __init__(self) -> None:
        self.gently = self.now = False

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.now, self.gently = self.gently, True


@dataclass(frozen=True, slots=True)
class Resumed:
    """What a command finds before it works."""

    new: bool
    """Whether it begins the run."""
    todo: int
    """Parts that it is to work on."""
    own: int
    """Parts of its share, done or not; all without a share."""
    parts: int
    """Of the run."""
    cases: int
    """That are done, of its share."""


@dataclass(slots=True)
class JobOutcome:
    """What became of a job."""

    parts: dict[str, CommittedPart]
    """All parts that are done, by the ids of their plans."""
    failures: list[str] = field(default_factory=list)
    """A sentence for each part that failed: which rows, and why."""
    changed: list[str] = field(default_factory=list)
    """The files that changed while they were read."""
    stopped: str = ""
    """Why it ended early; empty if it didn't."""
    repeated: int = 0
    """Attempts that were lost or failed and were made again."""
    warnings: list[str] = field(default_factory=list)
    """What the processes have to say of their judge, each once."""
    aside: dict[str, str] = field(default_factory=dict)
    """Processes that were put aside, and why."""
    complete: bool = False
    """Whether every part of the run is done, also those of other shares."""
    left: int = 0
    """Parts of this command's share that aren't done."""
    left_to_others: int = 0
    """Parts of other shares that aren't done."""
    run: Run = field(init=False)
    """The run as it is now."""

    @property
    def cut_off(self) -> bool:
        """Whether a file couldn't be read to its end."""
        return any(part.ends for part in self.parts.values())


def execute(
    job: Job,
    address: str,
    new_pool: Callable[[Folder, int], Pool],
    *,
    stop: Stop | None = None,
    share: Share | None = None,
    strict: bool = False,
    show: Callable[[str], None] = lambda _: None,
    resumed: Callable[[Resumed], None] = lambda _: None,
) -> JobOutcome:
    """Begin a run in a folder or go on with one.

    `new_pool` starts the processes, at most as many as there are parts. `share` says which of how many commands this
    is; None for the only one. With `strict`, a process whose arithmetic differs from the first one's is put aside.
    `show` takes the line that says how far it is; `resumed` is called before the work.

    Raises:
        InputError: the folder holds another run: its input changed, or something else is asked for.
        JudgeError: the judge can't work at all, or no process can be had.
        StoreError: the folder can't be read or written, or another command works on the same parts.
    """
    folder = folder_at(address)
    _known(folder, job.manifest, address)  # what is refused should be so without a wait for another command
    suffix = f"-{share[0]}-of-{share[1]}" if share else ""
    with ExitStack() as stack:
        lease = stack.enter_context(FolderLease(folder, suffix))
        known = _known(folder, job.manifest, address)  # another one may have begun it meanwhile
        manifest = known or job.manifest
        if known is None:
            write_manifest(folder, manifest)
            manifest = read_manifest(folder) or manifest  # another share may have begun in the same moment
            check_same(manifest, job.manifest, address)
        parts = committed(folder)
        todo, own = unfinished(manifest, parts, share), own_parts(manifest, share)
        if todo:
            check_versions(manifest, job.manifest, address)
            _check_arithmetic(parts, address, strict=strict)
        cases = sum(parts[one.id].cases for one in own if one.id in parts)
        resumed(Resumed(known is None, len(todo), len(own), len(manifest.plan), cases))
        outcome = JobOutcome(parts)
        if todo:
            reopen(folder)
            again = {one.id for one in todo}
            before = sum(parts[one.id].cases for one in own if one.id in parts and one.id not in again)
            progress = Progress(folder, len(todo), rows_of(manifest, own), before, suffix, show)
            with closing(new_pool(folder, len(todo))) as pool:
                driver = _Driver(folder, manifest, pool, progress, lease.check, outcome, todo, strict, stop or Stop())
                try:
                    driver.drive()
                finally:
                    progress.end(pool.spent())
        # others may have come to their end meanwhile
        outcome.parts = committed(folder) if share else outcome.parts
        missing = {one.id for one in manifest.plan}
        missing -= {name for name, part in outcome.parts.items() if not part.left}
        outcome.left = sum(one.id in missing for one in own)
        outcome.left_to_others = len(missing) - outcome.left
        outcome.complete = not missing and not outcome.changed
        if outcome.complete and not any(part.cases for part in outcome.parts.values()):
            raise InputError(_nothing_usable(folder, manifest, outcome.parts, address))
        if outcome.complete:
            outcome.run = finish(folder, manifest, outcome.parts, address)
            return outcome
    outcome.run = Run(folder_place(folder, manifest, outcome.parts.values(), address))
    return outcome


@dataclass
class _Driver:
    """Hands parts out, commits what comes back, and decides when to stop."""

    folder: Folder
    manifest: Manifest
    pool: Pool
    progress: Progress
    check: Callable[[], None]
    """Raises where another command has taken over."""
    outcome: JobOutcome
    wanted: Collection[PartPlan]
    strict: bool
    stop: Stop

    def drive(self) -> None:
        """Work on parts until all are done, or none can be."""
        self._todo = deque(self.wanted)
        self._tries: Counter[str] = Counter()
        self._running: set[str] = set()
        self._tried = self._failed = 0
        self._probe = next((part.probe for part in self.outcome.parts.values() if part.probe), "")
        while self._running or (self._todo and not self._ending):
            if self.stop.now:
                break
            self._hand_out()
            for event in self.pool.wait(TICK):
                self._take(event)
            self.check()
            self.progress.tell(len(self._running), self.pool.nodes(), self.pool.spent(), self.pool.working())
        if self.stop.gently:
            self.outcome.stopped = self.outcome.stopped or "interrupted: give the same command again to go on"

    @property
    def _ending(self) -> bool:
        return self.stop.gently or bool(self.outcome.stopped)

    def _hand_out(self) -> None:
        while self._todo and not self._ending and self.pool.free():
            plan = self._todo.popleft()
            self._running.add(plan.id)
            self.pool.give(Task(plan, self.manifest.file_of(plan), secrets.token_hex(4)))

    def _take(self, event: PoolEvent) -> None:
        plan, outcome = event.task.plan, self.outcome
        self._running.discard(plan.id)
        if isinstance(event, Lost):
            self._again(plan, event.why)
            return
        result = event.result
        match result.ending:
            case "done" if result.part:
                outcome.stopped = outcome.stopped or result.told
                outcome.warnings += [told for told in result.warnings if told not in outcome.warnings]
                self._commit(plan, result.part, event)
            case "changed":
                if result.told not in outcome.changed:
                    outcome.changed.append(result.told)
                self._count(failed=True)
            case "stopped":
                self._todo.append(plan)
                outcome.stopped = outcome.stopped or result.told
            case "judge" | "versions":
                raise JudgeError(result.told)
            case _:
                self._again(plan, result.told)

    def _commit(self, plan: PartPlan, part: CommittedPart, event: Ended) -> None:
        outcome, who = self.outcome, event.who
        self._probe = self._probe or part.probe
        if self.strict and part.probe != self._probe:
            outcome.aside[who] = f"{who} on {part.host} computes otherwise ({part.probe}, not {self._probe})"
            self.pool.put_aside(who)
            self._todo.append(plan)
            if not self.pool.free() and not self._running:
                raise JudgeError(f"no process is left that computes alike: {'; '.join(outcome.aside.values())}")
            return
        self.check()
        known = outcome.parts.get(plan.id)
        if known and part.left and part.cases <= known.cases:
            return  # an earlier command had come as far
        commit(self.folder, part)
        outcome.parts[plan.id] = part
        self.progress.done(part)
        self._count(failed=False)

    def _again(self, plan: PartPlan, why: str) -> None:
        self._tries[plan.id] += 1
        if self._tries[plan.id] < ATTEMPTS:
            self.outcome.repeated += 1
            self._todo.append(plan)
            return
        self.outcome.failures.append(f"{self.manifest.says(plan)}: failed {ATTEMPTS} times: {why}")
        self.progress.failed()
        self._count(failed=True)

    def _count(self, *, failed: bool) -> None:
        self._tried += 1
        self._failed += failed
        if self._tried <= FIRST and self._failed >= FAILED_OF_FIRST and not self.outcome.stopped:
            self.outcome.stopped = f"stopped, as {self._failed} of the first {self._tried} parts failed"


def unfinished(manifest: Manifest, parts: Mapping[str, CommittedPart], share: Share | None = None) -> list[PartPlan]:
    """The parts that aren't done, or have cases that failed or weren't evaluated, in the order of the input."""
    mine = own_parts(manifest, share)
    return [one for one in mine if one.id not in parts or parts[one.id].failed or parts[one.id].left]


def own_parts(manifest: Manifest, share: Share | None = None) -> list[PartPlan]:
    """The parts of a share, done or not; all without one."""
    return [one for at, one in enumerate(manifest.plan) if share is None or at % share[1] == share[0] - 1]


def _known(folder: Folder, manifest: Manifest, address: str) -> Manifest | None:
    """The manifest of the run, if it was begun."""
    known = read_manifest(folder)
    if known is not None:
        check_same(known, manifest, address)
    return known


def _check_arithmetic(parts: Mapping[str, CommittedPart], address: str, *, strict: bool) -> None:
    """Refuse to go on strictly with a run that holds what was computed in two ways."""
    probes = Counter(part.probe for part in parts.values() if part.probe)
    if strict and len(probes) > 1:
        found = sorted(probes.items(), key=lambda one: (-one[1], one[0]))
        counts = listed([f"{probe} in {plural(count, 'part')}" for probe, count in found], "and")
        raise InputError(
            f"--strict: {address} already holds the work of processors with {len(probes)} kinds of arithmetic "
            f"({counts}): give another --out, or leave --strict out"
        )


def _nothing_usable(folder: Folder, manifest: Manifest, parts: Mapping[str, CommittedPart], address: str) -> str:
    found = folder_place(folder, manifest, parts.values(), address).rejected()
    first = f": row {found[0].row}: {found[0].reason}" if found else ""
    return f"{', '.join(manifest.inputs)}: none of its {len(found)} rows can be used; the first{first}"
