"""Drives evaluations over actors, as a process of its own: Ray's threads and warnings stay out of the tests' process.

python ray_driver.py ROWS FOLDER
"""

import json
import sys
from hashlib import blake2b
from pathlib import Path
from typing import Any

from scripted_judges import as_json, by_one_process, evaluated, killed_once, numberless

from ragtriage.core.files import Folder
from ragtriage.execution.pools import Pool
from ragtriage.execution.ray_actors import RayActors
from ragtriage.execution.worker import Job
from ragtriage.runs.run import Run
from ragtriage.store import open_store


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


def main(rows: Path, folder: Path) -> None:
    """Two actors of which one is killed; one process."""
    result = evaluated([rows], folder / "run", judge=killed_once, pool=two_actors)
    assert result.complete, (result.failures, result.stopped)
    with open_store(folder / "store") as store:
        found = {"actors": [told(result.run), result.repeated], "one": told(by_one_process(rows, store))}
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
