"""The plan of a record set: what is evaluated, by whom, with what, in which partitions. It is the run's identity."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from ragtriage.core.display import listed, plural
from ragtriage.core.errors import InputError, StoreError
from ragtriage.scale.partitions import Partition
from ragtriage.scale.places import Folder
from ragtriage.scale.survey import PlannedFile, Reading, Survey
from ragtriage.store.run_writer import now

NAME = "plan.json"
FORMAT = 2
"""Of the record sets that are written: 2 has a checksum for every file."""
FORMATS = frozenset({1, FORMAT})
"""Those that can be read and gone on with; a record set of another is refused."""
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What a record set holds once it is complete."""

    inputs: tuple[str, ...]
    """Paths, globs and URLs as they were given."""
    files: tuple[PlannedFile, ...]
    partitions: tuple[Partition, ...]
    reading: Reading
    metrics: tuple[str, ...]
    """Their names, in the order of the tables."""
    judge: str
    fingerprints: Mapping[str, str]
    configuration: Mapping[str, Any]
    """Thresholds, rules and what else a run is shown by; see `ragtriage.runs.evaluation_config`."""
    versions: Mapping[str, str]
    """Of the programs that compute it."""
    rows: int = 0
    """About how many rows the input has; those of files that are one partition aren't known and count as none."""
    texts: bool = False
    """Whether the record set holds the cases' texts."""
    created: str = field(default_factory=now)

    @property
    def identity(self) -> str:
        """A digest of all that the records depend on: the partitions, the metrics and the judge; 32 digits."""
        whole = [
            [one.id for one in self.partitions],
            self.metrics,
            sorted(self.fingerprints.items()),
            _settings(self),
        ]
        return hashlib.blake2b(json.dumps(whole, default=str).encode(), digest_size=16).hexdigest()

    @property
    def rows_hash(self) -> str:
        """A digest of the partitions alone."""
        return hashlib.blake2b("".join(one.id for one in self.partitions).encode(), digest_size=16).hexdigest()

    def file_of(self, partition: Partition) -> PlannedFile:
        """The file that a partition is in."""
        return self.files[partition.file]

    def says(self, partition: Partition) -> str:
        """Which rows a partition has, for people."""
        return partition.says(self.file_of(partition).name)


def planned(found: Survey, **given: Any) -> RunPlan:
    """The plan of a survey; `given` are the other fields."""
    return RunPlan(files=found.files, partitions=found.partitions, rows=found.rows, **given)


def write_plan(folder: Folder, plan: RunPlan) -> None:
    """Write a plan.

    Raises:
        StoreError: the folder can't be written.
    """
    told = {one.name: getattr(plan, one.name) for one in fields(RunPlan)}
    told |= {
        "format": FORMAT,
        "identity": plan.identity,
        "files": [file.as_json() for file in plan.files],
        "partitions": [one.as_json() for one in plan.partitions],
        "reading": asdict(plan.reading),
    }
    folder.write(NAME, json.dumps(told, separators=(",", ":")).encode())


def read_plan(folder: Folder) -> RunPlan | None:
    """The plan of a record set; None where there is none.

    Raises:
        StoreError: it can't be read, is damaged, or was written by another version.
    """
    content = folder.read(NAME)
    if content is None:
        return None
    try:
        told = json.loads(content)
        if told.pop("format") not in FORMATS:
            raise StoreError(f"{folder.address} is a record set of another version: use the ragtriage that wrote it")
        del told["identity"]
        return RunPlan(
            **told
            | {
                "inputs": tuple(told["inputs"]),
                "files": tuple(map(PlannedFile.from_json, told["files"])),
                "partitions": tuple(map(Partition.from_json, told["partitions"])),
                "reading": Reading(**told["reading"]),
                "metrics": tuple(told["metrics"]),
            }
        )
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise StoreError(f"{folder.at(NAME)} is damaged ({error}): give another --out") from error


def check_same(known: RunPlan, new: RunPlan, address: str) -> None:
    """Refuse to go on with a record set of another run.

    Raises:
        InputError: its input, metrics or judge isn't what is asked for now; says what differs.
    """
    if known.identity == new.identity:
        return
    raise InputError(
        f"{address} holds another run: {listed([*_differences(known, new)], 'and')}; give another --out, or "
        "the command that the run was begun with"
    )


def _differences(known: RunPlan, new: RunPlan) -> Iterator[str]:
    before = {file.name: file for file in known.files}
    after = {file.name: file for file in new.files}
    both = [name for name in before if name in after]
    changed = [name for name in both if before[name].stamp != after[name].stamp]
    for what, names in (
        ("changed since", changed),
        ("no longer there", [name for name in before if name not in after]),
        ("not part of it", [name for name in after if name not in before]),
    ):
        if names:
            more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
            yield f"{', '.join(names[:_SHOWN])}{more} {'is' if len(names) == 1 else 'are'} {what}"
    if known.metrics != new.metrics:
        yield f"it has {_metrics(known.metrics, new.metrics)}"
    other = sorted(kind for kind in new.fingerprints if known.fingerprints.get(kind) != new.fingerprints[kind])
    if other:
        told = f"the judge answers {plural(len(other), 'kind')} of question otherwise ({', '.join(other[:_SHOWN])})"
        yield f"it was judged by {known.judge}" if known.judge != new.judge else told
    if _settings(known) != _settings(new):
        yield "its files are read, or its records kept, in another way (--map, --max-text, --texts, …)"


def _metrics(before: Sequence[str], after: Sequence[str]) -> str:
    more, fewer = [m for m in before if m not in after], [m for m in after if m not in before]
    told = [f"also {', '.join(more)}"] if more else []
    return " and ".join([*told, *([f"not {', '.join(fewer)}"] if fewer else [])]) or "its metrics in another order"


def _settings(plan: RunPlan) -> Any:
    """What else its records depend on: how files are read, and by which criteria the columns of findings were made."""
    criteria = {name: plan.configuration.get(name) for name in ("thresholds", "rules", "costs", "counting")}
    return json.loads(json.dumps([asdict(plan.reading), plan.texts, criteria]))
