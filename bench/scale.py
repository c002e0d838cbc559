"""Many processes, many actors, nodes that are killed: what bench/results/speed.md says of them is measured here.

python bench/scale.py local --copies 4        # --on local:2 against one process with two threads, embedded judge
python bench/scale.py schedule                # 64 actors that only wait, Ray on this machine
python bench/scale.py nodes                   # 4 nodes of which one is killed every minute, against one process
python bench/scale.py memory                  # a CSV file, one part, by one process; its records in bytes
python bench/scale.py reading                 # what 1,000 rows of one large row group cost, by where they stand
python bench/scale.py linear 1 2 4 8 16       # cases/s by how many actors, on the cluster that RAY_ADDRESS names
"""

import argparse
import base64
import csv
import io
import json
import math
import multiprocessing
import random
import re
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, cast

from ragtriage.core.case import Record
from ragtriage.core.files import Folder, folder_at
from ragtriage.core.questions import DECOMPOSITIONS, Kind, Question
from ragtriage.core.verdicts import Answer, Component, Verdict
from ragtriage.demo import DATA
from ragtriage.diagnosis.rules import thresholds_with
from ragtriage.execution.coordinator import Coordinator
from ragtriage.execution.evaluate_file import evaluate_file, fingerprints_of
from ragtriage.execution.execute import JobOutcome, execute
from ragtriage.execution.pools import LocalProcesses, Pool
from ragtriage.execution.ray_actors import RayActors, ray_module
from ragtriage.execution.worker import Job, checked_versions
from ragtriage.judges.build import build_judge
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.judges.protocol import Estimate
from ragtriage.judges.session import JudgeSession
from ragtriage.judges.wrappers.cached import InMemory
from ragtriage.metrics import THELMA, metrics_named
from ragtriage.readers import open_cases
from ragtriage.readers.table_files import parquet_table
from ragtriage.runs.cutting import survey
from ragtriage.runs.evaluation_config import EvaluationConfig, to_stored
from ragtriage.runs.manifest import Manifest, ReadOptions, parts_digest
from ragtriage.runs.selection import ALL_ROWS
from ragtriage.store import open_store

WAIT = 0.5
"""Seconds that a case takes where actors only wait."""
MINUTE = 60.0
PAUSE = 0.06
"""Seconds that every case takes where nodes are killed, so that several are."""
_SENTENCE = re.compile(r"[^.?!\s][^.?!]*[.?!]?")


NewPool = Callable[[Job, Folder, int], Pool]


class Waiting:
    """A judge that takes half a second for every case, and no processor time."""

    def name(self) -> str:
        """What it is called."""
        return "waiting"

    def fingerprint(self, kind: Kind) -> str:
        """The same for ever."""
        return f"waiting:{kind}"

    def unsupported_reason(self, kind: Kind, language: str) -> str | None:  # noqa: ARG002  # the protocol
        """It answers everything."""
        return None

    def estimate(self, questions: Sequence[Question]) -> Estimate:  # noqa: ARG002  # the protocol
        """Nothing."""
        return Estimate()

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """Claims at once, verdicts later; nothing else happens meanwhile."""
        if any(question.kind == "supported" for question in questions):
            time.sleep(WAIT)  # noqa: ASYNC251  # the process is to be as busy as one that computes
        for place, question in enumerate(questions):
            text = question.subject
            yield place, (Component(text, (0, len(text))),) if question.kind in DECOMPOSITIONS else Verdict("yes", 0.9)


def scripted(seconds: float = 0.0) -> FakeJudge:
    """Verdicts of every sort that depend on the texts alone; every text that is broken into claims takes so long."""

    def answer(question: Question) -> Answer:
        if question.kind == "claims":
            time.sleep(seconds)
        return by_its_digest(question)

    return FakeJudge(answer, name="scripted")


def by_its_digest(question: Question) -> Answer:
    """Sentences, and verdicts of every sort."""
    if question.kind in DECOMPOSITIONS:
        return tuple(Component(m.group(), m.span()) for m in _SENTENCE.finditer(question.subject))
    drawn = blake2b(repr((question.kind, question.subject, question.evidence)).encode()).digest()[0]
    value = "no" if drawn % 4 == 0 else "unknown" if drawn % 17 == 0 else "yes"
    return Verdict(value, drawn / 255, 0.75, "by its digest", chance=drawn / 255)


class Forgetful(Waiting):
    """A judge like `scripted` that, other than the fake, remembers nothing of what it was asked, and never waits."""

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """Everything at once."""
        for place, question in enumerate(questions):
            yield place, by_its_digest(question)


def example_cases(path: Path, count: int) -> Path:
    """So many rows, the example cases again and again under ids of their own."""
    rows = [json.loads(line) for line in (DATA / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
    with path.open("w", encoding="utf-8") as file:
        for i in range(count):
            one = rows[i % len(rows)]
            # every response is another one, so that no process remembers what it answered about it
            answer = one.get("answer") and f"{one['answer']} See page {i}."
            file.write(json.dumps({**one, "id": f"{one['id']}-{i // len(rows)}", "answer": answer}) + "\n")
    return path


def job_of(path: Path, out: Path, judge: Any, metrics: str, size: int | None = None) -> Job:
    """What evaluates a file into a folder."""
    config = EvaluationConfig(metrics_named(metrics.split(",")), thresholds_with({}))
    built = build_judge(JudgeSession.of(judge)).judge if isinstance(judge, JudgeConfig) else judge()
    names, found = tuple(m.name for m in config.metrics), survey([str(path)], ReadOptions(), size)
    manifest = Manifest(
        inputs=(path.name,),
        input_digest=parts_digest(found.plan),
        metrics=names,
        judge=built.name(),
        fingerprints=fingerprints_of(config, built),
        configuration=to_stored(config, ALL_ROWS, {}),
        versions=checked_versions(),
        files=found.files,
        plan=found.plan,
        rows=found.rows,
        texts=False,
    )
    return Job(folder_at(str(out)).address, manifest, judge, names, config.thresholds)


def shown_now_and_then() -> Callable[[str], None]:
    """Prints a line every twenty seconds."""
    last = [time.monotonic()]

    def show(line: str) -> None:
        if time.monotonic() - last[0] > 20:
            last[0] = time.monotonic()
            print(f"    {line}", flush=True)

    return show


def timed(job: Job, pool: NewPool, show: Callable[[str], None] | None = None) -> tuple[JobOutcome, float]:
    """What became of a job, and how long it took."""
    began = time.monotonic()
    outcome = execute(job, job.folder, lambda folder, most: pool(job, folder, most), show=show or shown_now_and_then())
    assert outcome.complete, (outcome.failures, outcome.stopped)
    return outcome, time.monotonic() - began


def local_processes(count: int) -> NewPool:
    """So many processes of this machine."""
    return lambda job, folder, _: LocalProcesses(job, count, Coordinator(InMemory(), folder))


def local(folder: Path, copies: int) -> None:
    """--on local:2 against one process with two threads."""
    path = example_cases(folder / "cases.jsonl", 47 * copies)
    config = EvaluationConfig(THELMA, thresholds_with({}))
    began = time.monotonic()
    with open_store(folder / "store") as store:
        evaluate_file(open_cases(path), JudgeSession.of(JudgeConfig()), store, config)
    one = 47 * copies / (time.monotonic() - began)
    most = [0, 0]
    end = threading.Event()
    threading.Thread(target=_watch_memory, args=(most, end), daemon=True).start()

    _, seconds = timed(job_of(path, folder / "run", JudgeConfig(), "thelma"), local_processes(2))
    end.set()
    two = 47 * copies / seconds
    print(f"one process, two threads: {one:.2f} cases/s; local:2: {two:.2f} cases/s, {two / one:.2f} times as many")
    print(f"largest process: {most[0] / 1e6:.0f} MB (the bar: 0.95 times, 450 MB)")
    print(f"folder: {_size_of(folder / 'run') / (47 * copies):,.0f} bytes a case, no texts")


def memory(folder: Path, cases: int) -> None:
    """A CSV file, which is one part, by one process: its memory as it goes on."""
    rows = [json.loads(line) for line in (DATA / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
    path = folder / "cases.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["id", "question", "contexts", "answer"])
        for i in range(cases):
            one = rows[i % len(rows)]
            # no text comes twice, so that nothing is remembered in place of something else
            sources = json.dumps([f"{text} Page {i}." for text in one["contexts"]])
            lines.writerow([i, f"{one['question']} ({i})", sources, f"{one.get('answer') or ''} See page {i}."])
    told: list[tuple[int, int]] = []
    most = [0, 0]
    end = threading.Event()
    threading.Thread(target=_watch_memory, args=(most, end), daemon=True).start()

    _, seconds = timed(
        job_of(path, folder / "run", Forgetful, "thelma"),
        local_processes(1),
        lambda line: told.append((int(line.split()[0].replace(",", "")), most[1])),
    )
    end.set()
    for share in range(1, 11):
        done, size = next(one for one in told if one[0] >= cases * share // 10)
        print(f"    {done:,} cases: {size / 1e6:.0f} MB")
    print(f"{cases:,} cases of {path.stat().st_size / 1e6:.0f} MB in {seconds:.0f} s, at most {most[0] / 1e6:.0f} MB")
    print(f"folder: {_size_of(folder / 'run') / cases:,.0f} bytes a case, scripted judge, no texts")


def reading(folder: Path, rows: int) -> None:
    """A Parquet file with one row group of 19 kB a row, which hardly packs: what a part reads of it."""
    import pyarrow as pa  # noqa: PLC0415  # an extra
    import pyarrow.parquet as pq  # noqa: PLC0415

    path, drawn = folder / "cases.parquet", random.Random(1)
    fields = [("query", pa.string()), ("sources", pa.list_(pa.string())), ("response", pa.string())]
    portions = []
    for first in range(0, rows, 1_000):
        places = range(first, min(rows, first + 1_000))
        columns = {
            "query": [f"What is said on page {i}?" for i in places],
            "sources": [[base64.b85encode(drawn.randbytes(15_200)).decode()] for _ in places],
            "response": [f"Nothing on page {i}." for i in places],
        }
        portions.append(pa.RecordBatch.from_pydict(columns, pa.schema(fields)))
    pq.write_table(pa.Table.from_batches(portions), path, row_group_size=rows)  # in memory, twice
    groups = pq.read_metadata(path).num_row_groups
    print(f"{rows:,} rows, {path.stat().st_size / 1e6:,.0f} MB, row groups: {groups}", flush=True)
    for first in (0, rows // 2, rows - 1_000):
        with multiprocessing.get_context("spawn").Pool(1) as alone:
            found, read, seconds, peak = alone.apply(_read_of, (path, first))
        print(f"    {found} rows from {first:,} on: {read / 1e6:,.0f} MB read, {seconds:.1f} s, peak {peak:.0f} MB")


def _read_of(path: Path, first: int) -> tuple[int, int, float, float]:
    """Read 1,000 rows: how many there were, the bytes read for them, seconds, and the peak of memory in MB."""
    read, began = [0], time.monotonic()
    found = sum(1 for _ in parquet_table(str(path), lambda: cast("BinaryIO", _Counted(path, read)), 0, 1, first, 1_000))
    told = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())  # `ru_maxrss` would be the parent's
    peak = int(told[1]) / 1024 if told else math.nan
    return found, read[0], time.monotonic() - began, peak


class _Counted(io.FileIO):
    """A file whose bytes are counted as they are read."""

    def __init__(self, path: Path, read: list[int]) -> None:
        super().__init__(path)
        self._read = read

    def readinto(self, buffer: Any) -> int | None:
        """See `io.RawIOBase`."""
        found = super().readinto(buffer)
        self._read[0] += found or 0
        return found

    def read(self, size: int | None = -1) -> bytes | None:
        """See `io.RawIOBase`."""
        found = super().read(-1 if size is None else size)
        self._read[0] += len(found or b"")
        return found


def _size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def schedule(folder: Path, actors: int, cases: int, size: int | None) -> None:
    """Actors that only wait: how much of the ideal is left."""
    ray = ray_module()
    ray.init(num_cpus=actors, include_dashboard=False, log_to_driver=False, object_store_memory=80_000_000,
             _memory=actors * 1_000_000_000)  # fmt: skip
    path = example_cases(folder / "cases.jsonl", cases)
    began_work = [0.0]

    def start(job: Job, _: Folder, most: int) -> Pool:
        found = RayActors(job, actors, most)
        while found.free() < min(actors, most):
            found.wait(1.0)
        began_work[0] = time.monotonic()
        return found

    began = time.monotonic()
    timed(job_of(path, folder / "run", Waiting, "groundedness", size), start)
    seconds, whole = time.monotonic() - began_work[0], time.monotonic() - began
    ideal = cases * WAIT / actors
    print(
        f"{cases} cases, {actors} actors: {seconds:.0f} s, ideal {ideal:.0f} s: {ideal / seconds:.0%} (the bar: 90 %)"
    )
    print(f"with the start of the actors: {whole:.0f} s")


def nodes(folder: Path, cases: int, every: float) -> None:
    """Four nodes of which one is killed every minute, and replaced: all cases once, as one process has them."""
    ray = ray_module()
    from ray.cluster_utils import Cluster  # noqa: PLC0415  # after reports of use are off

    path = example_cases(folder / "cases.jsonl", cases)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": 80_000_000})
    alive = [cluster.add_node(num_cpus=1, object_store_memory=80_000_000) for _ in range(4)]
    ray.init(cluster.address, log_to_driver=False)
    killed, due = 0, time.monotonic() + every

    def kill(line: str) -> None:
        nonlocal killed, due
        if time.monotonic() < due:
            return
        cluster.remove_node(alive.pop(0), allow_graceful=False)
        alive.append(cluster.add_node(num_cpus=1, object_store_memory=80_000_000))
        killed, due = killed + 1, time.monotonic() + every
        print(f"    {killed} killed; {line}", flush=True)

    job = job_of(path, folder / "run", partial(scripted, PAUSE), "thelma")
    outcome, seconds = timed(job, lambda own, _, most: RayActors(own, 4, most), kill)
    print(f"{cases} cases on 4 nodes, {killed} times one was killed: {seconds:.0f} s")
    sizes = [part.cases for part in outcome.parts.values()]
    again = outcome.repeated * max(sizes)
    print(f"parts begun again: {outcome.repeated}, at most {again / cases:.1%} more cases (the bar: 10 %)")
    ray.shutdown()
    cluster.shutdown()
    began = time.monotonic()
    with open_store(folder / "store") as store:
        config = EvaluationConfig(THELMA, thresholds_with({}))
        one = evaluate_file(open_cases(path), scripted(), store, config).first.stored
        print(f"one process: {time.monotonic() - began:.0f} s")
        same = digests(outcome.run.records()) == digests(one.records())
    print(f"records equal, times aside: {same}")
    assert same


def digests(records: Iterator[Record]) -> tuple[int, str]:
    """How many records there are, and a digest of all, times aside."""
    whole, count = blake2b(digest_size=16), 0
    for record in records:
        whole.update(repr((record.case, record.steps, record.outcomes, record.language)).encode("utf-8", "replace"))
        count += 1
    return count, whole.hexdigest()


def linear(folder: Path, counts: Sequence[int], copies: int) -> None:
    """Cases a second by how many actors, embedded judge, on the cluster that RAY_ADDRESS names."""
    path = example_cases(folder / "cases.jsonl", 47 * copies)
    first = 0.0
    for count in counts:
        job = job_of(path, folder / f"run-{count}", JudgeConfig(), "thelma", 50)
        _, seconds = timed(job, lambda own, _, most, count=count: RayActors(own, count, most))  # type: ignore[misc]
        rate = 47 * copies / seconds
        first = first or rate / count
        print(f"| {count} | {rate:.2f} | {rate / count / first:.0%} |")


def _watch_memory(most: list[int], end: threading.Event) -> None:
    """Keep (the most bytes that a child had, what the last one has now) up to date."""
    while not end.wait(0.5):
        for child in multiprocessing.active_children():
            told = Path(f"/proc/{child.pid}/status")
            found = re.search(r"VmRSS:\s+(\d+)", told.read_text()) if told.exists() else None
            most[1] = int(found[1]) * 1024 if found else most[1]
            most[0] = max(most[0], most[1])


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["local", "schedule", "nodes", "memory", "reading", "linear"])
    parser.add_argument("counts", nargs="*", type=int, default=[1, 2, 4, 8])
    parser.add_argument("--copies", type=int, default=4)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--actors", type=int, default=64)
    parser.add_argument("--size", type=int, help="rows of a part; by default as the command cuts them")
    parser.add_argument("--every", type=float, default=MINUTE)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = given.folder or Path(made)
        folder.mkdir(exist_ok=True)
        match given.what:
            case "local":
                local(folder, given.copies)
            case "schedule":
                schedule(folder, given.actors, given.cases, given.size)
            case "nodes":
                nodes(folder, given.cases, given.every)
            case "reading":
                reading(folder, given.cases)
            case "memory":
                memory(folder, given.cases)
            case _:
                linear(folder, given.counts, given.copies)


if __name__ == "__main__":
    main()
