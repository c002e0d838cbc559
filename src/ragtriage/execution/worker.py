"""One part becomes a file of records: what a process is told, what it does, and what it answers.

It reads the part, evaluates it as the command does, and writes the file itself: the one function between the driver and
the processes. It keeps nothing between two parts but what is expensive to load, commits nothing, and may be called
twice for the same part: both give the same records.
"""

import hashlib
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Literal

from ragtriage.core.amount import Amount
from ragtriage.core.case import Record
from ragtriage.core.errors import ConfigError, InputError, JudgeError, RagtriageError, Stopped
from ragtriage.core.files import folder_at, stamp_of
from ragtriage.core.metric import Metric
from ragtriage.diagnosis.findings import Finding
from ragtriage.diagnosis.rules import COSTS, RULES, Costs, Rule
from ragtriage.execution.coordinator import SharedLimits, SharedMemory
from ragtriage.execution.evaluating import Evaluation
from ragtriage.judges.budget import Call, Ledger
from ragtriage.judges.build import BuiltJudge, build_judge
from ragtriage.judges.embedded.encoder import Encoder
from ragtriage.judges.judge_config import JudgeConfig, hub_model_of
from ragtriage.judges.protocol import Judge
from ragtriage.judges.session import JudgeSession
from ragtriage.judges.wrappers.cached import Cached, InMemory
from ragtriage.metrics import metrics_named
from ragtriage.metrics.custom_metrics import name_in
from ragtriage.readers import CaseFile
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.manifest import PYTHON, CommittedPart, InputFile, Manifest, PartPlan, versions_of
from ragtriage.runs.tally import SlicedTally
from ragtriage.store.folder_writer import FolderWriter

NewJudge = Callable[[], Judge]
"""Makes a judge; a function that every process can import."""
CHECKED = ("ragtriage", "onnxruntime", "numpy", "py3langid")
"""The packages that must have the same version everywhere, whoever judges: records depend on them."""
OF_MODELS = ("pydantic-ai-slim",)
OF_READERS = ("tokenizers", "torch", "transformers")
"""Those that must too where language models, or hub models, judge."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is the same for all parts of a run; every process gets it once."""

    folder: str
    """The address of the folder that the run lies in."""
    manifest: Manifest
    judge: JudgeConfig | NewJudge
    metrics: tuple[str, ...]
    """Names by which every process can load them."""
    thresholds: Mapping[str, float]
    rules: Sequence[Rule] = RULES
    costs: Costs = COSTS

    def config(self) -> EvaluationConfig:
        """The metrics, loaded, and the criteria."""
        return EvaluationConfig(metrics_named(self.metrics), self.thresholds, self.rules, self.costs)


@dataclass(frozen=True, slots=True)
class Task:
    """One part to be worked on."""

    plan: PartPlan
    file: InputFile
    attempt: str
    """In the name of the file that is written, so that no two attempts write the same."""


Ending = Literal["done", "failed", "changed", "stopped", "judge", "versions"]
"""How work on a part ended: only `done` may be committed, also if the judge stopped in the middle, which is told then;
its input `changed` meanwhile; the judge `stopped` before any case was done, or can't work at all (`judge`); this
process has other `versions`."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What became of a task."""

    ending: Ending
    told: str = ""
    """Why, if it isn't done, or not all of it."""
    part: CommittedPart | None = None
    """What is to be committed, if it is done."""
    warnings: tuple[str, ...] = ()
    """What the process has to say of its judge so far."""


def loadable_name(metric: Metric) -> str:
    """A name by which another process finds the metric, whatever folder it works in."""
    place = metric.origin
    if not place or not place.partition(":")[0].endswith(".py"):
        return place or metric.name
    path = place[: -len(name_in(place)) - 1]
    return f"{Path(path).resolve()}:{name_in(place)}"


def checked_versions(judge: JudgeConfig | None = None) -> dict[str, str]:
    """The versions of this process's packages that must be the same everywhere, and of Python."""
    packages = list(CHECKED)
    if judge and judge.paid:
        packages += OF_MODELS
    if judge and any(hub_model_of(name) for name in (*judge.local, judge.first)):
        packages += OF_READERS
    return versions_of([PYTHON, *packages])


def arithmetic() -> str:
    """The digest, 16 hexadecimal digits."""
    texts = files(__package__).joinpath("arithmetic.txt").read_text("utf-8").splitlines()
    encoder = Encoder(threads=1, kept=0)
    try:
        found = encoder.encode(texts)
    finally:
        encoder.close()
    whole = b"".join(found[text].vector.tobytes() + found[text].tokens.tobytes() for text in texts)
    return hashlib.blake2b(whole, digest_size=8).hexdigest()


KEPT_ANSWERS = 20_000
"""Answers that cost nothing and are remembered, so that memory doesn't grow with a part that is a whole file."""
TOLD_EVERY = 1.0
"""Seconds between two times that a process says how far it is."""


@dataclass
class Worker:
    """Works on parts, and keeps what is expensive to load.

    `tell` takes how many cases of the present part are done, every second.
    """

    job: Job
    call: Call
    who: str
    tell: Callable[[int], None] = lambda _: None
    config: EvaluationConfig = field(init=False)
    built: BuiltJudge = field(init=False)
    ledger: Ledger | None = field(init=False, default=None)
    """None where nothing costs money."""
    probe: str = field(init=False, default="")
    own_memory: InMemory | None = field(init=False, default=None)
    opened: tuple[str, CaseFile] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.config = self.job.config()
        judge = self.job.judge
        paid = isinstance(judge, JudgeConfig) and judge.paid
        self.own_memory = None if paid else InMemory(KEPT_ANSWERS)
        memory = self.own_memory or SharedMemory(self.call, self.who)
        if isinstance(judge, JudgeConfig):
            session = _session(judge, self.call, self.who) if paid else JudgeSession.of(judge)
            self.ledger = session.ledger if paid else None
            self.built = build_judge(session, memory, threads=1)
            self.built.open()
            self.probe = arithmetic()
        else:
            self.built = BuiltJudge(Cached(judge(), memory), memory)

    def work(self, task: Task) -> TaskResult:
        """Evaluate one part and write its records; whatever goes wrong is told, never raised."""
        ending: Ending = "failed"
        try:
            return self._worked(task)
        except JudgeError as error:
            ending, told = "judge", str(error)
        except (RagtriageError, OSError) as error:
            told = str(error)
            if isinstance(error, InputError) and _changed(task):
                ending, told = "changed", task.file.name
        except Exception as error:  # noqa: BLE001  # one part never costs the run
            told = f"{type(error).__name__}: {error}"
        finally:
            if self.own_memory:
                self.own_memory.entries.clear()
        return TaskResult(ending, told)

    def _worked(self, task: Task) -> TaskResult:
        changed, ledger = TaskResult("changed", task.file.name), self.ledger
        if _changed(task):
            return changed
        file = self._opened(task.file.address, task.file.name)
        folder = folder_at(self.job.folder)
        with closing(FolderWriter(folder, self.job.manifest, task.plan, task.attempt)) as writer:
            rows = ((raw.row, row) for raw, row in file.rows_in(task.plan.part))
            cases, tally, stopped = writer.todo(rows), SlicedTally(self.config), ""
            if ledger:
                ledger.begin_part()
            try:
                Evaluation(self.built, self.config, writer, tally).run(cases, self._tell_of(writer))
                self.built.memory.flush()
            except Stopped as error:
                stopped = str(error)
            finally:
                spent = ledger.end_part() if ledger else Amount()
            if ledger and ledger.error:
                raise ledger.error
            for _ in cases:  # rows are counted and rejected all the same
                pass
            left = writer.leave_out_the_rest()
            if _changed(task):
                return changed
            if left and not writer.done:
                return TaskResult("stopped", stopped)
            part = writer.written(left, self.probe, spent, tally.whole)
            return TaskResult("done", stopped, part, tuple(ledger.warnings) if ledger else ())

    def _tell_of(self, writer: FolderWriter) -> Callable[[Record, tuple[Finding, ...]], None]:
        told = time.monotonic()

        def tell(*_: object) -> None:
            nonlocal told
            if time.monotonic() - told >= TOLD_EVERY:
                told = time.monotonic()
                self.tell(writer.done)

        return tell

    def _opened(self, address: str, name: str) -> CaseFile:
        """A file of cases; its columns are found by its first rows, whichever part of it is read."""
        if self.opened is None or self.opened[0] != address:  # the parts of a file mostly follow each other
            self.opened = address, self.job.manifest.read_options.open(address, name)
        return self.opened[1]


def new_worker(job: Job, call: Call, who: str, tell: Callable[[int], None] = lambda _: None) -> Worker | TaskResult:
    """Load what all parts need; why this process can't work at all, if it can't."""
    wanted = job.manifest.versions
    own = versions_of(wanted)
    for package, known in wanted.items():
        if own.get(package) != known:
            there = f"{package} {own.get(package, 'missing')} on {socket.gethostname()}"
            return TaskResult("versions", f"{there}, {known} where the command runs: install the same version")
    try:
        return Worker(job, call, who, tell)
    except (ConfigError, JudgeError) as error:
        return TaskResult("judge", f"on {socket.gethostname()}: {error}")


def _changed(task: Task) -> bool:
    """Whether the file isn't what it was when it was planned."""
    return stamp_of(task.file.address) != task.file.stamp


def _session(judge: JudgeConfig, call: Call, who: str) -> JudgeSession:
    """The judge's session, in which the coordinator keeps all limits."""
    options = judge.options
    ledger = Ledger(budget=options.budget, max_requests=options.max_requests, call=call, who=who)
    if options.rpm is None and options.tpm is None:
        return JudgeSession.of(judge, ledger=ledger)
    return JudgeSession.of(judge, ledger=ledger, shared=lambda model: SharedLimits(call, who, model, ledger.fail))
