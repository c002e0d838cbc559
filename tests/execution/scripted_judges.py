"""Judges that spawned processes can import, rows for them, and what a run in a folder is compared with."""

import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from stored_cases import answer

from in_process_pool import InProcess
from ragtriage.core.case import Record
from ragtriage.core.errors import Stopped
from ragtriage.core.files import Folder, folder_at
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer
from ragtriage.diagnosis.rules import thresholds_with
from ragtriage.execution.coordinator import Coordinator
from ragtriage.execution.evaluate_file import evaluate_file, fingerprints_of
from ragtriage.execution.execute import JobOutcome, execute
from ragtriage.execution.pools import Ended, LocalProcesses, Pool, PoolEvent
from ragtriage.execution.worker import Job, NewJudge, checked_versions
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.wrappers.cached import InMemory
from ragtriage.metrics import THELMA
from ragtriage.readers import open_cases
from ragtriage.report.run_report import run_json, stored_run_report
from ragtriage.runs.cutting import survey
from ragtriage.runs.evaluation_config import EvaluationConfig, to_stored
from ragtriage.runs.manifest import Manifest, ReadOptions, parts_digest
from ragtriage.runs.run import RejectedRow, Run
from ragtriage.runs.selection import ALL_ROWS
from ragtriage.runs.tally import tally_of
from ragtriage.store import Store
from ragtriage.store.folder import FolderPlace, folder_of

METRICS = tuple(metric.name for metric in THELMA)
CONFIG = EvaluationConfig(THELMA, thresholds_with({}))


def quick() -> FakeJudge:
    """Verdicts of every sort that depend on the texts alone."""
    return FakeJudge(answer, shuffled=1)


def slow() -> FakeJudge:
    """The same, a twentieth of a second a question."""
    return FakeJudge(answer, delay=0.05)


def blocking() -> FakeJudge:
    """The same, whose process does nothing else for a fiftieth of a second whenever a text is broken into claims."""

    def late(question: Question) -> Answer:
        if question.kind == "claims":
            time.sleep(0.02)
        return answer(question)

    return FakeJudge(late, shuffled=1)


def stuck_from_case_12() -> FakeJudge:
    """The same, whose process does nothing else for a minute at each question about one of the later cases."""

    def stuck(question: Question) -> Answer:
        number = re.search(r"number (\d+)", question.query or question.subject)
        if number and int(number[1]) >= 12:
            time.sleep(60)
        return answer(question)

    return FakeJudge(stuck, shuffled=1)


def killed_by_case_7() -> FakeJudge:
    """A judge whose process is killed by every question about one case."""

    def deadly(question: Question) -> Answer:
        if "number 7?" in question.query or "number 7 " in question.subject:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer(question)

    return FakeJudge(deadly)


def killed_once() -> FakeJudge:
    """A judge whose process is killed the first time that one case is judged."""

    def deadly(question: Question) -> Answer:
        mark = Path(os.environ["KILLED_ONCE"])
        if "number 7?" in question.query and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return answer(question)

    return FakeJudge(deadly)


def stopped_at(*cases: int) -> FakeJudge:
    """A judge that is stopped at the questions about some cases; the others' have been asked by then."""

    def unless_one_of_them(question: Question) -> Answer:
        if any(f"number {one}?" in question.query or f"number {one} " in question.subject for one in cases):
            raise Stopped("no money is left")
        return answer(question)

    return FakeJudge(unless_one_of_them, shuffled=1)


def row(i: int, **more: object) -> dict[str, Any]:
    """One row of the input."""
    return {
        "id": f"case {i}",
        "question": f"What is the price of the ticket number {i}?",
        "contexts": [f"The price of the ticket number {i} is six euros.", "All of the dogs travel for free."],
        "answer": f"The price of it is six euros. The ticket number {i} is valid for the day.",
        "part": i % 3,
    } | more


def written(path: Path, rows: Iterable[object]) -> Path:
    """A JSONL file; a text stands as it is."""
    lines = (one if isinstance(one, str) else json.dumps(one) for one in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def parquet(path: Path, rows: Sequence[dict[str, Any]], group: int) -> Path:
    """A Parquet file with row groups of so many rows."""
    pq.write_table(pa.Table.from_pylist(list(rows)), path, row_group_size=group)
    return path


def job(
    inputs: Sequence[str | Path],
    out: Path | str,
    *,
    judge: NewJudge = quick,
    size: int | None = 16,
    texts: bool = False,
) -> Job:
    """What evaluates these inputs into a folder."""
    names, options = [str(one) for one in inputs], ReadOptions()
    found = survey(names, options, size)
    manifest = Manifest(
        inputs=tuple(names),
        input_digest=parts_digest(found.plan),
        metrics=METRICS,
        judge="fake",
        fingerprints=fingerprints_of(CONFIG, judge()),
        configuration=to_stored(CONFIG, ALL_ROWS, {}),
        versions=checked_versions(),
        files=found.files,
        plan=found.plan,
        read_options=options,
        rows=found.rows,
        texts=texts,
    )
    return Job(folder_at(str(out)).address, manifest, judge, METRICS, CONFIG.thresholds)


NewPool = Callable[[Job, Folder, int], Pool]


def in_process(
    worked: Callable[[Ended], PoolEvent] = lambda ended: ended, names: Sequence[str] = ("this process",)
) -> NewPool:
    """This process works on the parts; see `InProcess`."""
    return lambda given, folder, _: InProcess(given, Coordinator(InMemory(), folder), worked, names)


def two_processes(given: Job, folder: Folder, most: int) -> Pool:
    """Two processes of this machine."""
    return LocalProcesses(given, min(2, most), Coordinator(InMemory(), folder))


def executed(given: Job, *, pool: NewPool = in_process(), **more: Any) -> JobOutcome:  # noqa: B008  # a function
    """Execute a job."""
    return execute(given, given.folder, lambda folder, most: pool(given, folder, most), **more)


def evaluated(
    inputs: Sequence[str | Path],
    out: Path | str,
    *,
    judge: NewJudge = quick,
    size: int | None = 16,
    texts: bool = False,
    **more: Any,
) -> JobOutcome:
    """Evaluate inputs into a folder, in this process if nothing else is said."""
    return executed(job(inputs, out, judge=judge, size=size, texts=texts), **more)


def place_of(found: Run) -> FolderPlace:
    """The folder that a run lies in."""
    place = folder_of(found)
    assert place is not None
    return place


def by_one_process(path: Path, store: Store, judge: NewJudge = quick, **reading: Any) -> Run:
    """The same cases, evaluated as ever."""
    return evaluate_file(open_cases(path, **reading), judge(), store, CONFIG).first.stored


def timeless(records: Iterable[Record]) -> list[Record]:
    """Records without how long they took."""
    return [replace(record, seconds=0.0) for record in records]


def as_json(run: Run) -> str:
    """What `--json` prints of a run, without which run it is."""
    told = run_json(stored_run_report(run, CONFIG, tally_of(run, CONFIG)))
    return json.dumps({**told, "run": 0, "input": ""})


def until(true: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for something."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came to it"
        time.sleep(0.02)


def numberless(run: Run) -> list[RejectedRow]:
    """The rows that one process rejected, without the numbers that the parts of a folder don't know."""
    twins = ((r"(as|of) row \d+", r"\1 an earlier row"), (r" at line \d+,", ","))
    found = []
    for one in run.rejected():
        reason = one.reason
        for pattern, said in twins:
            reason = re.sub(pattern, said, reason)
        found.append(replace(one, reason=reason))
    return found
