"""What processes that ask language models share, in the hands of one of them: answers, money, limits a minute.

`Coordinator` is that one's end; `Ledger`, `SharedLimits` and `SharedMemory` are what the others see of it.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragtriage.core.amount import NOTHING, Amount
from ragtriage.core.files import Folder
from ragtriage.core.verdicts import Answer
from ragtriage.judges.budget import PAUSE, Budget, Call, SpendingLimits
from ragtriage.judges.llm.admission import OwnLimits, Reservation
from ragtriage.judges.wrappers.cached import AnswerMemory, CachedAnswer


class Coordinator(Budget):
    """The budget that several processes share, and the answers to their calls; one lives for a command.

    `limits` are of all commands that work on the run, and `share` says which of how many of them it works for.
    """

    def __init__(
        self,
        memory: AnswerMemory,
        folder: Folder,
        limits: SpendingLimits = SpendingLimits(),  # noqa: B008  # frozen
        share: tuple[int, int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(folder, limits, share, clock)
        self._memory = memory
        self._claimed: dict[bytes, str] = {}
        of = share[1] if share else 1
        self._a_minute = tuple(None if most is None else most / of for most in (limits.rpm, limits.tpm))
        self._limits_of: dict[str, OwnLimits] = {}
        self._started: dict[int, tuple[OwnLimits, Reservation]] = {}
        self._numbered = 0

    def recall(self, _: str, keys: Sequence[bytes]) -> Mapping[bytes, Answer]:
        """See `AnswerMemory`."""
        return self._memory.recall(keys)

    def remember(self, who: str, entries: Iterable[CachedAnswer], spent: Amount) -> None:
        """See `AnswerMemory`; they are safe when this returns. The process has spent so much since it was started."""
        entries = list(entries)
        self._memory.remember(entries)
        self._memory.flush()
        for entry in entries:
            self._claimed.pop(entry.key, None)
        self.report(who, spent)

    def claim(self, who: str, keys: Sequence[bytes]) -> Collection[bytes]:
        """See `AnswerMemory`; a question that another process asks isn't claimed."""
        free = [key for key in keys if self._claimed.get(key, who) == who]
        claimed = self._memory.claim(free) if free else ()
        self._claimed.update(dict.fromkeys(claimed, who))
        return list(claimed)

    def release(self, who: str, keys: Collection[bytes]) -> None:
        """See `AnswerMemory`."""
        own = [key for key in keys if self._claimed.get(key) == who]
        for key in own:
            del self._claimed[key]
        self._memory.release(own)

    def start(self, _: str, model: str, tokens: int) -> tuple[float, int]:
        """Start a request under the limits a minute: (seconds until it is asked again, 0), or (0, its number)."""
        limits = self._limits_of.setdefault(model, OwnLimits(*self._a_minute))
        found = limits.start(self._clock(), tokens)
        if not isinstance(found, Reservation):
            return found, 0
        self._numbered += 1
        self._started[self._numbered] = limits, found
        return 0.0, self._numbered

    def correct(self, _: str, number: int, tokens: int) -> None:
        """A request took so many tokens in truth."""
        limits, reservation = self._started.pop(number)
        limits.correct(reservation, tokens)

    def forget(self, who: str) -> None:
        """A process is lost: its questions may be asked by others; what it was granted may have been spent."""
        for key in [key for key, owner in self._claimed.items() if owner == who]:
            del self._claimed[key]
            self._memory.release([key])
        super().forget(who)

    def call(self, name: str, *given: Any) -> Any:
        """One of the methods above, by its name."""
        return getattr(self, name)(*given)


class SharedLimits:
    """The limits a minute of one model, kept by the coordinator; see `ragtriage.judges.llm.admission.MinuteLimits`."""

    def __init__(self, call: Call, who: str, model: str, fail: Callable[[Exception], None]) -> None:
        self._call, self._who, self._model, self._fail = call, who, model, fail

    def start(self, now: float, tokens: int) -> Reservation | float:
        """See `MinuteLimits`; the coordinator's own clock counts."""
        try:
            wait, number = self._call("start", self._who, self._model, tokens)
        except Exception as error:  # noqa: BLE001  # see `Ledger.fail`
            self._fail(error)
            return PAUSE
        return float(wait) if wait > 0 else Reservation(now, tokens, number)

    def correct(self, reservation: Reservation, tokens: int) -> None:
        """See `MinuteLimits`."""
        try:
            self._call("correct", self._who, reservation.number, tokens)
        except Exception as error:  # noqa: BLE001  # see `Ledger.fail`
            self._fail(error)


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """The coordinator's memory of answers as a process sees it; see `AnswerMemory`."""

    call: Call
    who: str

    def recall(self, keys: Sequence[bytes]) -> Mapping[bytes, Answer]:
        """See `AnswerMemory`."""
        return self.call("recall", self.who, keys) if keys else {}

    def remember(self, entries: Iterable[CachedAnswer], spent: Amount = NOTHING) -> None:
        """See `AnswerMemory`."""
        if entries := list(entries):
            self.call("remember", self.who, entries, spent)

    def flush(self) -> None:
        """See `AnswerMemory`; nothing ever waits."""

    def claim(self, keys: Sequence[bytes]) -> Collection[bytes]:
        """See `AnswerMemory`."""
        return self.call("claim", self.who, keys) if keys else ()

    def release(self, keys: Collection[bytes]) -> None:
        """See `AnswerMemory`."""
        if keys:
            self.call("release", self.who, list(keys))
