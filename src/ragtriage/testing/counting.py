"""A memory of answers that counts what it knew and what it was told."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ragtriage.core.amount import NOTHING, Amount
from ragtriage.core.verdicts import Answer
from ragtriage.judges.wrappers import AnswerMemory, CachedAnswer


class CountingMemory:
    """See `ragtriage.judges.wrappers.AnswerMemory`.

    Args:
        memory: what keeps the answers.
        older: a memory that is only read, such as a store that can't be written.

    Attributes:
        remembered: answers that were known.
        judged: answers that the judge gave.
    """

    def __init__(self, memory: AnswerMemory, older: AnswerMemory | None = None) -> None:
        self._memory = memory
        self._older = older
        self.remembered = 0
        self.judged = 0

    def recall(self, keys: Sequence[bytes]) -> Mapping[bytes, Answer]:
        """The answers that either memory knows."""
        found = dict(self._memory.recall(keys))
        if self._older is not None and (unknown := [key for key in keys if key not in found]):
            found |= self._older.recall(unknown)
        self.remembered += len(found)
        return found

    def remember(self, entries: Iterable[CachedAnswer], spent: Amount = NOTHING) -> None:
        """Count answers, and keep them."""
        kept = list(entries)
        self.judged += len(kept)
        self._memory.remember(kept, spent)

    def flush(self) -> None:
        """See `AnswerMemory`."""
        self._memory.flush()

    def claim(self, keys: Sequence[bytes]) -> Collection[bytes]:
        """See `AnswerMemory`."""
        return self._memory.claim(keys)

    def release(self, keys: Collection[bytes]) -> None:
        """See `AnswerMemory`."""
        self._memory.release(keys)
