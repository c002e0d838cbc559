"""What makes two rows, or two runs, the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from ragtriage.core.case import Case

SIZE = 16
"""Bytes of a digest: 128 bits, so that chance never makes two texts one."""


def digest(text: str) -> bytes:
    """The digest of a text, 16 bytes; any text has one, also one with lone surrogates."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()


def content_hash(case: Case) -> bytes:
    """The digest of everything in a case, its id and tags included, 16 bytes."""
    mark = [] if case.citation_mark is None else [case.citation_mark]  # rows without one stay what they were
    content = [
        case.id,
        case.query,
        [[source.text, source.id] for source in case.sources],
        case.response,
        case.reference,
        [[turn.role, turn.text] for turn in case.history],
        case.samples,
        case.relevant_ids,
        dict(case.tags),
        case.weight,
        case.time,
        case.trace_id,
        *mark,
    ]
    return digest(json.dumps(content, default=str))


class RowsHash:
    """The digest of a file's rows in their order, gathered one row at a time."""

    def __init__(self) -> None:
        self.rows = 0
        self._hash = hashlib.blake2b(digest_size=SIZE)

    def add(self, case: Case) -> bytes:
        """Take one row in, and return its `content_hash`."""
        content = content_hash(case)
        self._hash.update(content)
        self.rows += 1
        return content

    def hexdigest(self) -> str:
        """The digest of all rows so far, 32 hexadecimal digits."""
        return self._hash.hexdigest()


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """What a run's results depend on: the same identity means that the same would be computed again."""

    rows: str
    """`RowsHash.hexdigest()` of its rows."""
    metrics: tuple[str, ...]
    """The metrics' names, in the order of the tables."""
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    """The judge's fingerprint, by kind of question."""
    trial: int = 0
    """Which repetition of the same evaluation."""

    def hexdigest(self) -> str:
        """One text for all of it, 32 hexadecimal digits."""
        trial = [self.trial] if self.trial else []  # so that runs which were never repeated are found by what they were
        return digest(json.dumps([self.rows, self.metrics, sorted(self.fingerprints.items()), *trial])).hex()
