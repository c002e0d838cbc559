"""The manifest of a run: what is evaluated, by whom, with what, in which parts; and a part that is done.

It is written once.
"""

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, BinaryIO, Self

from ragtriage.core.amount import Amount
from ragtriage.core.display import listed, plural
from ragtriage.core.errors import InputError
from ragtriage.core.files import Stamp, open_input
from ragtriage.readers import CaseFile, RowLimits, open_cases
from ragtriage.readers.files import ByteRange, OpenedFile, RowGroups, RowRange
from ragtriage.runs.case_row import digest

MOST_COUNTED = 1_000_000_000
"""Bytes that are looked through to say at which line a part begins."""
_READ = 1 << 20
_SHOWN = 5
_FLAGS: Mapping[str, str] = {
    "mapping": "--map", "split_sources": "--split-sources", "citation_mark": "--citation-mark", "format": "--format",
    "max_text": "--max-text", "max_sources": "--max-sources",
}  # fmt: skip
"""How a file is read → the flag that says so."""
_CRITERIA: Mapping[str, str] = {
    "thresholds": "its findings are by other thresholds (show and report take --threshold, so nothing has to be judged "
    "again)",
    "rules": "its findings are by other rules of yours",
    "costs": "its faults are shown from another probability on ([costs])",
    "counting": "its verdicts count in another way ([base_rates], or --matching)",
}
"""What else findings depend on → what is said where it isn't the same."""


@dataclass(frozen=True, slots=True)
class PartPlan:
    """Some rows of one file."""

    id: str
    """A digest of the file, its size and version, and which rows: 20 hexadecimal digits."""
    file: int
    part: RowRange
    rows: int | None
    """How many rows it has, where that is known before it is read."""
    first: int | None = None
    """The number of its first row in the file, from 1, where that is known."""

    def as_json(self) -> list[Any]:
        """The short form in which the plan keeps it."""
        match self.part:
            case ByteRange(start, end):
                told: list[Any] = ["bytes", start, end]
            case RowGroups(first, count, skip, take):
                told = ["groups", first, count, skip, take]
            case None:
                told = ["all"]
        return [self.id, self.file, self.rows, self.first, *told]

    @classmethod
    def from_json(cls, told: Sequence[Any]) -> Self:
        """Undo `as_json`."""
        name, file, rows, first, kind, *numbers = told
        part = ByteRange(*numbers) if kind == "bytes" else RowGroups(*numbers) if kind == "groups" else None
        return cls(name, file, part, rows, first)

    def says(self, file: str, lines: tuple[int, int] | None = None) -> str:
        """Which rows it is, for people; `lines` are those of a part by bytes, if they are known."""
        match self.part:
            case ByteRange(start, end):
                within = f"bytes {start:,} to {end:,}"
                return f"{file}, lines {lines[0]:,} to {lines[1]:,} ({within})" if lines else f"{file}, {within}"
            case RowGroups() if self.first is not None and self.rows is not None:
                return f"{file}, rows {self.first:,} to {self.first + self.rows - 1:,}"
            case _:
                return f"{file}, {'all rows' if self.rows is None else plural(self.rows, 'row')}"


def part_id(address: str, stamp: Stamp, part: RowRange) -> str:
    """The id of a part."""
    whole = json.dumps([address, stamp.size, stamp.version, PartPlan("", 0, part, None).as_json()[4:]])
    return hashlib.blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How files of cases are read: the arguments of `ragtriage.readers.open_cases`."""

    mapping: Mapping[str, str] = field(default_factory=dict)
    split_sources: str | None = None
    citation_mark: str | None = None
    format: str | None = None
    max_text: int = RowLimits().max_text
    max_sources: int = RowLimits().max_sources

    def open(self, address: str, name: str) -> CaseFile:
        """Open a file; its first rows are read."""
        opened = open_cases(
            OpenedFile(address, name),
            mapping=self.mapping,
            split_sources=self.split_sources,
            limits=RowLimits(max_text=self.max_text, max_sources=self.max_sources),
            format=self.format,
            citation_mark=self.citation_mark,
        )
        if opened.traces is not None:
            told = "are traces, whose spans stand all over the file: make cases of them first"
            raise InputError(f"{name}: {told} (ragtriage traces {name} -o cases.jsonl)")
        return opened


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file of the input."""

    address: str
    name: str
    size: int
    version: str
    format: str = ""
    mapping: Mapping[str, str] = field(default_factory=dict)
    """Our field to the column that holds it."""
    tags: tuple[str, ...] = ()
    problem: str = ""
    """Why none of its rows can be used; empty if some may."""

    @property
    def stamp(self) -> Stamp:
        """What it was when it was planned."""
        return Stamp(self.size, self.version)

    def as_json(self) -> dict[str, Any]:
        """As the plan keeps it."""
        return {name: value for name, value in asdict(self).items() if value}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Self:
        """Undo `as_json`."""
        return cls(**{"size": 0, **told, "tags": tuple(told.get("tags", ()))})


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a run holds once it is complete."""

    inputs: tuple[str, ...]
    """Paths, globs and URLs as they were given."""
    input_digest: str
    """Of the rows where one pass reads them, else of the parts: files, their versions and which rows."""
    metrics: tuple[str, ...]
    """Their names, in the order of the tables."""
    judge: str
    fingerprints: Mapping[str, str]
    """By kind of question, and of own metrics."""
    configuration: Mapping[str, Any]
    """Thresholds, rules and what else a run is shown by; see `ragtriage.runs.evaluation_config`."""
    versions: Mapping[str, str]
    """Of the programs that compute it."""
    files: tuple[InputFile, ...] = ()
    plan: tuple[PartPlan, ...] = ()
    """The parts, in the order of the input; none where the input is read as one."""
    read_options: ReadOptions = field(default_factory=ReadOptions)
    rows: int = 0
    """About how many rows the input has; those of files that are one part aren't known and count as none."""
    texts: bool = True
    created: str = field(default_factory=lambda: now())  # noqa: PLW0108  # found when it is called
    trial: int = 0

    @property
    def identity(self) -> str:
        """See `RunIdentity`."""
        return RunIdentity(self.input_digest, self.metrics, self.fingerprints, self.trial).hexdigest()

    def file_of(self, part: PartPlan) -> InputFile:
        """The file that a part is in."""
        return self.files[part.file]

    def says(self, part: PartPlan) -> str:
        """Which rows a part has, for people; the lines of a part of a JSONL file are counted for it."""
        file, lines = self.file_of(part), None
        if isinstance(part.part, ByteRange):
            with suppress(OSError), open_input(file.address) as stream:
                lines = lines_of(stream, part.part)
        return part.says(file.name, lines)

    def as_json(self) -> dict[str, Any]:
        """Of JSON's types, for `from_json`."""
        told = {one.name: getattr(self, one.name) for one in fields(self)}
        return told | {
            "identity": self.identity,
            "files": [file.as_json() for file in self.files],
            "plan": [one.as_json() for one in self.plan],
            "read_options": asdict(self.read_options),
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Self:
        """Undo `as_json`."""
        own = {name: value for name, value in told.items() if name != "identity"}
        return cls(
            **own
            | {
                "inputs": tuple(own["inputs"]),
                "files": tuple(map(InputFile.from_json, own["files"])),
                "plan": tuple(map(PartPlan.from_json, own["plan"])),
                "read_options": ReadOptions(**own["read_options"]),
                "metrics": tuple(own["metrics"]),
            }
        )


def parts_digest(plan: Sequence[PartPlan]) -> str:
    """The digest of an input that is read in parts, 32 hexadecimal digits."""
    return hashlib.blake2b("".join(one.id for one in plan).encode(), digest_size=16).hexdigest()


def now() -> str:
    """The time, UTC, ISO 8601, so exact that two runs of the same input are told apart by it."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


PYTHON = "python"


def versions_of(packages: Iterable[str]) -> dict[str, str]:
    """The versions of this process's packages, as far as they are installed; PYTHON is Python's, without its patch."""
    found = {}
    for package in packages:
        with suppress(PackageNotFoundError):
            found[package] = f"{sys.version_info[0]}.{sys.version_info[1]}" if package == PYTHON else version(package)
    return found


def check_same(known: Manifest, new: Manifest, address: str) -> None:
    """Refuse to go on with another run."""
    # the same files may have been cut in another way by an earlier version: the parts of the run count then
    if found := [*_differences(known, new)]:
        raise InputError(
            f"{address} holds another run: {listed(found, 'and')}; give another --out, or the command that the run was "
            "begun with"
        )


def check_versions(known: Manifest, new: Manifest, address: str) -> None:
    """Refuse to add records to those of other versions: one run is the work of one program.

    Only what the plan names is compared; one that was written before may name less.
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


def _differences(known: Manifest, new: Manifest) -> Iterator[str]:
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
        yield f"it has the metrics {', '.join(known.metrics)}"
    other = sorted(kind for kind in new.fingerprints if known.fingerprints.get(kind) != new.fingerprints[kind])
    if other:
        told = f"the judge answers {plural(len(other), 'kind')} of question otherwise ({', '.join(other[:_SHOWN])})"
        yield f"it was judged by {known.judge}" if known.judge != new.judge else told
    before_read, read = (_as_json(asdict(plan.read_options), _FLAGS) for plan in (known, new))
    flags = [flag for name, flag in _FLAGS.items() if before_read[name] != read[name]]
    if flags:
        yield f"its files are read in another way ({', '.join(flags)})"
    if known.texts != new.texts:
        yield "it holds the texts (--texts)" if known.texts else "it doesn't hold the texts (--texts)"
    criteria, own = (_as_json(plan.configuration, _CRITERIA) for plan in (known, new))
    yield from (told for name, told in _CRITERIA.items() if criteria[name] != own[name])


def _as_json(told: Mapping[str, Any], names: Iterable[str]) -> dict[str, str]:
    """As texts, since a manifest that was read has lists where a new one has tuples."""
    return {name: json.dumps(told.get(name), sort_keys=True) for name in names}


def lines_of(stream: BinaryIO, part: ByteRange) -> tuple[int, int] | None:
    """The first and last line, from 1, of a part of a JSONL file; None where too much would have to be read for it."""
    if part.end > MOST_COUNTED:
        return None
    stream.seek(0)
    before = _line_breaks(stream, part.start)
    own = _line_breaks(stream, part.end - part.start)
    stream.seek(part.end - 1)
    return before + 1, before + own + (stream.read(1) != b"\n")


def _line_breaks(stream: BinaryIO, size: int) -> int:
    found = 0
    while size > 0 and (chunk := stream.read(min(_READ, size))):
        found += chunk.count(b"\n")
        size -= len(chunk)
    return found


@dataclass(frozen=True, slots=True)
class CommittedPart:
    """One part that is done."""

    plan: str
    """The id of the part's plan; see `ragtriage.runs.manifest.PartPlan`."""
    name: str
    """What it is kept under; of two attempts at the same plan each has its own."""
    checksum: str
    """Of all that is kept of it: 32 hexadecimal digits of BLAKE2b."""
    rows: int
    """Of the input, whether they can be used or not."""
    cases: int
    failed: int
    rejected: int
    left: int = 0
    """Cases that weren't evaluated, as the judge was stopped."""
    forgotten: int = 0
    ends: bool = False
    """Whether nothing behind it could be read, though there is more."""
    probe: str = ""
    """Of the processor's arithmetic; empty where no embedded model judges."""
    host: str = ""
    seconds: float = 0.0
    """That a process worked on it."""
    spent: Amount = field(default_factory=Amount)
    counts: Mapping[str, Any] = field(default_factory=dict)
    """By the run's own criteria; see `ragtriage.runs.summary.Tally.counts`."""

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Self:
        """Undo `asdict`."""
        return cls(**{**told, "spent": Amount(**told["spent"])})


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """What a run's results depend on: the same identity means that the same would be computed again."""

    rows: str
    """`RowsHash.hexdigest()` of its rows."""
    metrics: tuple[str, ...]
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    trial: int = 0

    def hexdigest(self) -> str:
        """One text for all of it, 32 hexadecimal digits."""
        trial = [self.trial] if self.trial else []  # so that runs which were never repeated are found by what they were
        return digest(json.dumps([self.rows, self.metrics, sorted(self.fingerprints.items()), *trial])).hex()
