"""What happens on a small Ray cluster, in one process of its own: Ray's threads and warnings stay out of the tests'.

python ray_driver.py FOLDER [FLAG …]: prints what it saw as one JSON object. The flags name the judge of the command.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

from scripted_judges import as_json, by_one_process, evaluated, killed_once, numberless, row, written

from in_process import said_by
from ragtriage.core.files import Folder
from ragtriage.execution.pools import Pool
from ragtriage.execution.ray_actors import RayActors
from ragtriage.execution.worker import Job
from ragtriage.runs.run import Run
from ragtriage.store import open_store

CLUSTER = """
import ray
ray.init("local", num_cpus=2, include_dashboard=False, object_store_memory=80_000_000, _memory=4e9, log_to_driver=False)
print(ray.get_runtime_context().gcs_address, flush=True)
input()
"""


@contextmanager
def cluster() -> Iterator[Iterator[str]]:
    """A cluster, which starts beside this process: its address comes when it is there."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    # its workers would give way to every other process of a busy machine
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
    with subprocess.Popen([sys.executable, "-c", CLUSTER], env=environment, text=True, **pipes) as process:
        assert process.stdout is not None
        yield process.stdout
        process.communicate("\n")


def told(run: Run) -> dict[str, Any]:
    """All that is to be equal."""
    whole = [(r.case, r.steps, r.outcomes, r.language) for r in run.records()]
    return {
        "cases": len(whole),
        "records": blake2b(repr(whole).encode("utf-8", "replace")).hexdigest(),
        "json": as_json(run),
        "rejected": str(numberless(run)),
    }


def two_actors(job: Job, _: Folder, most: int) -> Pool:
    """The pool."""
    return RayActors(job, 2, most)


def said(*command: object) -> list[Any]:
    """What `ragtriage evaluate` says of the rows: how it ended, its result, and the end of what it said beside it."""
    found = said_by(["evaluate", "rows.jsonl", "--metrics", "groundedness", "--json", *command])
    return [found.code, found.json if found.out else None, found.err.strip().rpartition("\n")[2]]


def main(*judging: str) -> dict[str, Any]:
    """A cluster that isn't there; actors of which one is killed, and one process; a budget on the cluster."""
    written(Path("rows.jsonl"), [row(i) for i in range(40)])
    odd = written(Path("odd.jsonl"), [*(row(i) for i in range(60)), "{broken", row(3)])
    priced = [*judging, "--price", "1000:2000"]
    there = [*priced, "--rpm", "100000", "--tpm", "1000000000", "--out", "run/", "--store", "other"]
    with cluster() as addresses:
        with open_store("store") as store:
            found: dict[str, Any] = {"one": told(by_one_process(odd, store))}
        found["alone"] = said(*priced)
        price = found["alone"][1]["spent"]["cost"]
        os.environ["RAY_ADDRESS"] = "127.0.0.1:1"
        found["unreached"] = said("--on", "ray", "--out", "nowhere/")
        from ray._common.usage import usage_lib  # noqa: PLC0415  # the command has imported Ray by now

        found["reports"] = usage_lib.usage_stats_enabled()
        os.environ["RAY_ADDRESS"] = next(addresses).strip()
        result = evaluated([odd], "killed", judge=killed_once, pool=two_actors)
        found["actors"] = [told(result.run), result.complete, result.repeated]
        found["half"] = said(*there, "--on", "ray:2", "--budget", price / 2)
        found["whole"] = said(*there, "--on", "local:1", "--budget", 2 * price)
    return found


if __name__ == "__main__":
    with chdir(sys.argv[1]):
        sys.stdout.write(json.dumps(main(*sys.argv[2:])) + "\n")
