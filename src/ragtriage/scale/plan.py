"""The plan of a record set: what is evaluated, by whom, with what, in which partitions. It is the run's identity."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from ragtriage.core.display import listed, plural
from ragtriage.core.errors import InputError, StoreError
from ragtriage.core.filesystems import Folder, open_input
from ragtriage.readers.files import ByteRange
from ragtriage.scale.partitions import Partition, lines_of
from ragtriage.scale.survey import PlannedFile, Reading, Survey
from ragtriage.store.run_writer import now

NAME = "plan.json"
FORMAT = 2
"""Of the record sets that are written: 2 has a checksum for every file."""
FORMATS = frozenset({1, FORMAT})
"""Those that can be read and gone on with; a record set of another is refused."""
_SHOWN = 5
_FLAGS: Mapping[str, str] = {
    "mapping": "--map", "split_sources": "--split-sources", "citation_mark": "--citation-mark", "format": "--format",
    "max_text": "--max-text", "max_sources": "--max-sources",
}  # fmt: skip
"""How a file is read → the flag that says so."""
_CRITERIA: Mapping[str, str] = {
    "rules": "its findings are by other rules of yours",
    "costs": "its faults are shown from another probability on ([costs])",
    "counting": "its verdicts count in another way ([base_rates], or --matching)",
}
"""What else findings depend on → what is said where it isn't the same."""


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
        """Which rows a partition has, for people; the lines of a part of a JSONL file are counted for it."""
        file, lines = self.file_of(partition), None
        if isinstance(partition.part, ByteRange):
            with suppress(OSError), open_input(file.address) as stream:
                lines = lines_of(stream, partition.part)
        return partition.says(file.name, lines)


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
    # the same files may have been cut in another way by an earlier version: the partitions of the set count then
    if found := [*_differences(known, new)]:
        raise InputError(
            f"{address} holds another run: {listed(found, 'and')}; give another --out, or the command that the run was "
            "begun with"
        )


def check_versions(known: RunPlan, new: RunPlan, address: str) -> None:
    """Refuse to add records to those of other versions: one record set is the work of one program.

    Only what the plan names is compared; one that was written before may name less.

    Raises:
        InputError: a package has another version here; says which, with both.
    """
    others = [
        f"{package} {version}, here it is {new.versions.get(package, 'missing')}"
        for package, version in known.versions.items()
        if new.versions.get(package) != version
    ]
    if others:
        raise InputError(
            f"{address} was begun with {listed(others, 'and')}: what is left has to be judged by the same versions; "
            "install them, or give another --out"
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
    before_read, read = (json.loads(json.dumps(asdict(plan.reading))) for plan in (known, new))
    flags = [_FLAGS[name] for name in _FLAGS if before_read[name] != read[name]]
    if flags:
        yield f"its files are read in another way ({', '.join(flags)})"
    if known.texts != new.texts:
        yield "it holds the texts (--texts)" if known.texts else "it doesn't hold the texts (--texts)"
    yield from _other_criteria(_criteria(known), _criteria(new))


def _other_criteria(known: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    before, after = (one["thresholds"] or {} for one in (known, new))
    others = [
        f"{name}={before.get(name, 'none')} and not {after.get(name, 'none')}"
        for name in {**before, **after}
        if before.get(name) != after.get(name)
    ]
    if others:
        more = f" and {len(others) - _SHOWN:,} more" if len(others) > _SHOWN else ""
        yield (
            f"its findings are by the threshold {', '.join(others[:_SHOWN])}{more} (show and report take --threshold, "
            "so nothing has to be judged again)"
        )
    yield from (told for name, told in _CRITERIA.items() if known[name] != new[name])


def _metrics(before: Sequence[str], after: Sequence[str]) -> str:
    more, fewer = [m for m in before if m not in after], [m for m in after if m not in before]
    told = [f"also {', '.join(more)}"] if more else []
    return " and ".join([*told, *([f"not {', '.join(fewer)}"] if fewer else [])]) or "its metrics in another order"


def _settings(plan: RunPlan) -> Any:
    """What else its records depend on: how files are read, and by which criteria the columns of findings were made."""
    return json.loads(json.dumps([asdict(plan.reading), plan.texts, _criteria(plan)]))


def _criteria(plan: RunPlan) -> dict[str, Any]:
    told = {name: plan.configuration.get(name) for name in ("thresholds", *_CRITERIA)}
    return json.loads(json.dumps(told))  # type: ignore[no-any-return]  # as a plan that was read has them
