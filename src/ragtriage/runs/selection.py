"""Which rows of a file are evaluated, and how many of them can be used."""

import hashlib
import heapq
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.core.validation import near_names
from ragtriage.metrics.names import optional_data_of
from ragtriage.readers import CaseFile, Rejected

QUOTED = 10
"""Rejected rows that are quoted; all are counted."""


OPTIONAL_TAGS = frozenset({"seconds", "retrieved", "failure", "failure_detail"})
"""Tags that collected cases have where there is something to tell: that none has one is no mistake."""


@dataclass(frozen=True, slots=True)
class RowSelection:
    """Which of a file's usable rows are evaluated; all by default."""

    limit: int | None = None
    sample: int | None = None
    """N at random; the same seed draws the same ones."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.limit is not None and self.sample is not None:
            raise ConfigError("--limit takes the first rows and --sample random ones: give one of them")


ALL_ROWS = RowSelection()


def too_many_rejected(rejected: int, total: int) -> bool:
    """Whether more than a tenth of the rows can't be used, so that the numbers don't stand for the file."""
    return 10 * rejected > total


@dataclass(slots=True)
class RowCounts:
    """What one pass over the selected rows found, before anything is judged."""

    selected: int = 0
    rejected: int = 0
    """Rows that can't be used, as far as the file was read."""
    first_rejected: list[Rejected] = field(default_factory=list)
    conversations: int = 0
    optional: Counter[str] = field(default_factory=Counter)
    """Optional content, which only some metrics need → selected rows that have it; see `ragtriage.metrics.names`."""
    tags: dict[str, None] = field(default_factory=dict)
    """The names of all tags that a selected row has, in their order."""
    cut_off: bool = False

    @property
    def incomplete(self) -> bool:
        """Whether so many rows are unusable, or unread, that the numbers don't stand for the file."""
        return self.cut_off or too_many_rejected(self.rejected, self.selected + self.rejected)

    def select(self, case: Case) -> None:
        """Count a usable row."""
        self.selected += 1
        self.conversations += bool(case.history)
        self.optional.update(optional_data_of(case))
        if not case.tags.keys() <= self.tags.keys():
            self.tags.update(dict.fromkeys(case.tags))

    def reject(self, row: Rejected) -> None:
        """Count an unusable row."""
        self.rejected += 1
        self.cut_off = self.cut_off or row.ends
        if len(self.first_rejected) < QUOTED:
            self.first_rejected.append(row)

    def require_some(self, name: str) -> None:
        """Refuse a file without a usable row."""
        if not self.selected:
            first = f": {self.first_rejected[0]}" if self.first_rejected else ""
            if self.rejected == 1:
                raise InputError(f"{name}: its only row can't be used{first}")
            first = f"; the first{first}" if first else ""
            raise InputError(f"{name}: none of its {self.rejected} rows can be used{first}")


def require_tag(by: str | None, tags: Collection[str], called: str = "tag") -> None:
    """Refuse to slice by a tag that no row has."""
    if by is None or by in tags or by in OPTIONAL_TAGS:
        return
    near = near_names(by, tags)
    there = (
        f"there is {', '.join(list(tags)[:QUOTED])}{' …' if len(tags) > QUOTED else ''}" if tags else "they have none"
    )
    raise ConfigError(f"--by {by}: no row has this {called}: {f'did you mean {near[0]}?' if near else there}")


def require_tag_of(file: CaseFile, selection: RowSelection, by: str | None) -> None:
    """Refuse to slice by a tag that no selected row of a file has, before anything is made; see `require_tag`."""
    if by is None or by in OPTIONAL_TAGS:
        return
    counts = RowCounts()
    if all(by not in case.tags for case in SelectedCases(file, selection).counted(counts)):
        counts.require_some(file.name)
        require_tag(by, counts.tags)


def require_traces(files: Sequence[CaseFile], selection: RowSelection) -> None:
    """Refuse files of which no selected row has a trace id, before anything is made."""
    counts = RowCounts()
    for file in files:
        if any(case.trace_id for case in SelectedCases(file, selection).counted(counts)):
            return
    counts.require_some(files[0].name)
    raise ConfigError(
        f"{files[0].name}: no case has a trace id, so its scores can be sent back to nothing: leave out where they are "
        "to go, or give traces, or rows with a column trace_id"
    )


class SelectedCases:
    """The selected cases of a file; can be read several times, in the file's order."""

    def __init__(self, file: CaseFile, selection: RowSelection) -> None:
        self._file, self._selection = file, selection
        self._sampled: frozenset[bytes] | None = None
        if selection.sample is not None:
            # the smallest digests, so that the order of the rows doesn't matter
            digests = (case_digest(row, selection.seed) for row in file.rows() if isinstance(row, Case))
            self._sampled = frozenset(heapq.nsmallest(selection.sample, digests))

    def read(self, on_rejected: Callable[[Rejected], None]) -> Iterator[Case]:
        """Stream the cases; rows that can't be used go to `on_rejected` as they come."""
        count = 0
        for row in self._file.rows():
            if isinstance(row, Rejected):
                on_rejected(row)
            elif self._sampled is None or case_digest(row, self._selection.seed) in self._sampled:
                yield row
                count += 1
                if count == self._selection.limit:
                    return

    def counted(self, counts: RowCounts) -> Iterator[Case]:
        """Stream the cases, and count selected and rejected rows."""
        for case in self.read(counts.reject):
            counts.select(case)
            yield case


def case_digest(case: Case, seed: int = 0) -> bytes:
    """What decides whether a case is in a random sample: nothing but its id and the seed."""
    return hashlib.blake2b(f"{seed}:{case.id}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
