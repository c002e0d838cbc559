"""One run, read the same way wherever it is kept, in tables or in the files of a folder; what its owner says of it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ragtriage.core.amount import Amount
from ragtriage.core.case import Record, counted_weight
from ragtriage.core.display import listed, one_line
from ragtriage.core.errors import NotStoredError
from ragtriage.core.validation import near_names
from ragtriage.runs.case_row import FACTS, SCORED, WHOLE, CaseRow, Columns, digest

if TYPE_CHECKING:
    from ragtriage.core.statistics import Numbers

ABOUT = "about"
"""Under which a run's stored configuration has it; what it is known again by doesn't depend on it."""
LONGEST_NAME = 60
"""Characters of a name that are shown."""
_PATIENCE = 2.0
"""Seconds that git may take; in a very large repository a run does without its commit."""


@dataclass(frozen=True, slots=True)
class About:
    """What is said of a run; each is empty where there is nothing."""

    name: str = ""
    note: str = ""
    commit: str = ""
    """The first characters of its digest, with a + where files that git knows were changed since."""

    @classmethod
    def of(cls, configuration: Mapping[str, Any]) -> About:
        """What a run's stored configuration says."""
        said = configuration.get(ABOUT, {})
        return cls(**{one.name: str(said.get(one.name, "")) for one in fields(cls)})

    def stored(self) -> dict[str, dict[str, str]]:
        """What is stored in a run's configuration; nothing where nothing is said."""
        said = {key: value for key, value in asdict(self).items() if value}
        return {ABOUT: said} if said else {}

    def over(self, before: About) -> About:
        """What is said of a run that is continued: a new name and note go first, the first commit stays."""
        return replace(
            before, name=self.name or before.name, note=self.note or before.note, commit=before.commit or self.commit
        )

    @property
    def facts(self) -> tuple[str, str]:
        """Name and commit, each on one line; empty where there is none."""
        return one_line(self.name, LONGEST_NAME), f"commit {one_line(self.commit, 20)}" if self.commit else ""


NOTHING_SAID = About()


def commit_in(folder: Path) -> str:
    """The commit that is checked out in a folder: `1a2b3c4d5e`, with a + where tracked files are changed.

    Empty where there is no repository, no commit or no git, and where git takes too long.
    """
    # without a lock and without starting a file monitor
    command = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false"]
    command += ["describe", "--always", "--abbrev=10", "--dirty=+", "--exclude=*"]
    try:
        found = subprocess.run(  # noqa: S603  # a fixed command
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE, check=True
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    return found.stdout.strip()


State = Literal["running", "finished", "interrupted", "copying"]
RUNNING: State = "running"
FINISHED: State = "finished"
INTERRUPTED: State = "interrupted"
COPYING: State = "copying"
"""It is on its way from another place, or was when the copy was cut off, and isn't listed."""

MADE_BY = "made_by"
"""The key in a run's configuration that says what made it; without one, a person's command did."""
TESTS = "pytest"
"""Made by a test session."""
HARNESS = "harness"
"""Made by the evaluation of another framework."""
ASIDE = (TESTS, HARNESS)
"""What is made on the way of something else, so never the `last` run that a person means."""


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run in a line."""

    number: int
    identity: str
    """`RunIdentity.hexdigest()`."""
    state: State
    """`running` also after a kill -9: nobody was left to say so."""
    created: str
    """UTC, ISO 8601."""
    finished: str | None
    input: str
    """The file that it was read from, as it was given."""
    rows_hash: str
    rows: int
    metrics: tuple[str, ...]
    judge: str
    fingerprints: Mapping[str, str]
    """By kind of question."""
    configuration: Mapping[str, Any]
    versions: Mapping[str, str]
    seconds: float
    """Spent evaluating, over all continuations."""
    cost: float
    """In US dollars."""
    done: int
    """Rows that are evaluated and didn't fail."""
    failed: int
    rejected: int
    """Complaints about rows that can't be used."""
    requests: int = 0
    """Paid requests, repeated ones included, over all continuations; so are the tokens."""
    tokens_in: int = 0
    tokens_out: int = 0
    trial: int = 0
    """Which repetition of the same evaluation it is; 0 for the first, and where nothing is repeated."""
    repeats: int | None = None
    """The number of the first run of a repeated evaluation; None in the first one, and where nothing is repeated."""
    address: str = ""
    """Of the folder that was opened by it; empty for a run of a store."""
    project: str = ""
    """What it belongs to; empty in runs from before there were projects, which belong to every one."""
    author: str | None = None
    """The database's user who began it; None in a file."""

    @property
    def about(self) -> About:
        """Its name, a note and the commit."""
        return About.of(self.configuration)

    @property
    def spent(self) -> Amount:
        """What requests to models took, over all continuations."""
        return Amount(self.cost, self.requests, self.tokens_in, self.tokens_out)

    @property
    def typed(self) -> str:
        """What a user types for it: its number, or the address of its run in a folder."""
        return self.address or str(self.number)

    @property
    def called(self) -> str:
        """What messages call it."""
        return self.address or f"run {self.number}"

    @property
    def by_tests(self) -> bool:
        """Whether a test session made it."""
        return self.configuration.get(MADE_BY) == TESTS

    @property
    def aside(self) -> bool:
        """Whether tests or another framework's evaluation made it: shown by its number and never meant by `last`."""
        return self.configuration.get(MADE_BY) in ASIDE

    @property
    def complete(self) -> bool:
        """Whether it was finished with every row evaluated and no failure."""
        return self.state == FINISHED and self.done == self.rows


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A row that couldn't be used, as it was stored."""

    row: int
    field: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class CountedPart:
    """What was counted of one part of a run."""

    positions: range
    counts: Mapping[str, Any] | None
    """See `ragtriage.runs.summary.Tally.counts`; None where its records have to be counted, because of duplicates."""
    scores: Callable[[Sequence[str]], Mapping[str, tuple[Numbers, Numbers]]]


class Place(Protocol):
    """One run where it is kept. Everything is read when it is asked for; a `StoreError` where it can't be."""

    @property
    def info(self) -> RunInfo:
        """What is known of it as a whole."""

    def read(self, what: Columns, positions: range | None = None) -> Iterator[CaseRow]:
        """Its cases in the order of the input, in portions, so that memory is bounded.

        Args:
            what: what is read of each.
            positions: only those at these positions, which follow each other; None for all.
        """

    def scores(self, metric: str) -> Iterator[tuple[int, float | None, bool]]:
        """(position, value, whether the judge failed) of one metric; the value is None if it is undefined."""

    def position(self, id_digest: bytes) -> int | None:
        """Where the case with this digest of its id stands; None if there is none."""

    def texts_deleted(self) -> tuple[int, int]:
        """How many of its cases have no texts any more, and of how many of these they were deleted on purpose."""

    def rejected(self) -> Sequence[RejectedRow]:
        """The rows of the input that couldn't be used, in their order."""

    def counted(self) -> Iterator[CountedPart] | None:
        """What was counted of each part by the run's own criteria; None where that isn't kept."""

    def version(self) -> str:
        """What is another one after whatever is written to it.

        Raises:
            RunBusyError: somebody is writing it.
            NotStoredError: it is gone.
        """

    def note(self, kind: str, digest: str, value: str | None = None) -> str | None:
        """What was computed from the whole run and is kept: of each kind the last that was written.

        Args:
            kind: what it is.
            digest: of all that it rests on.
            value: what is to be kept from now on, without a text of a case; None to read.

        Returns:
            The note; None if none was written by this digest.
        """


MOST_COMPARED = 10_000
"""Ids of cases that a misspelt one is held against."""


@dataclass(frozen=True)
class Run:
    """One run as it is kept.

    Everything is read when it is asked for; every method raises a `StoreError` where it can't be read.
    """

    place: Place

    @property
    def info(self) -> RunInfo:
        """What is known of it as a whole."""
        return self.place.info

    @property
    def number(self) -> int:
        """The run's number."""
        return self.info.number

    def records(self, positions: range | None = None) -> Iterator[Record]:
        """All records in the order of the input, or those at some positions; a deleted text reads as `DELETED`."""
        return (row.record() for row in self.place.read(WHOLE, positions))

    def record(self, case_id: str) -> Record:
        """One case's record."""
        at = self.place.position(digest(case_id))
        if at is None:
            ids = (row.id for row in islice(self.place.read(FACTS), MOST_COMPARED))
            near = near_names(case_id, ids, 3)
            hint = (
                f"did you mean {listed(near, 'or')}?" if near else f"`ragtriage show {self.info.typed}` lists its cases"
            )
            raise NotStoredError(f"{self.info.called} holds no case {case_id!r}: {hint}")
        return next(self.records(range(at, at + 1)))

    def rows(self) -> Iterator[CaseRow]:
        """All cases with their scores, without texts and verdicts, in the order of the input."""
        return map(_with_counted_weight, self.place.read(SCORED))

    def facts(self) -> Iterator[CaseRow]:
        """Ids, tags, weights and relevant ids of all cases, and nothing else."""
        return map(_with_counted_weight, self.place.read(FACTS))

    def texts_deleted(self) -> int:
        """How many of its cases have no texts any more."""
        return self.place.texts_deleted()[0]

    def rejected(self) -> Sequence[RejectedRow]:
        """The rows of the input that couldn't be used, in their order."""
        return self.place.rejected()


def _with_counted_weight(row: CaseRow) -> CaseRow:
    weight = counted_weight(row.weight)
    return row if weight == row.weight else replace(row, weight=weight)


class RunList(Protocol):
    """The runs that can be chosen from; see `ragtriage.store.Store`."""

    def runs(self, *, everywhere: bool = False) -> Sequence[RunInfo]:
        """Those of the project, or all, the newest first."""

    def run(self, number: int | str = "last") -> Run:
        """One run to read, by its number, or `last`."""

    def shared_cases(self, run: int, other: int, enough: float) -> int:
        """How many cases two runs have in common: by ids or, where fewer than enough are, by queries."""
