"""Asks an application every query once: several at a time, again where it pays, and no further where it is down."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ragtriage.collect.answers_file import CollectionTally
from ragtriage.collect.application import TIMED_OUT, Reply, Unanswered, answered_row, failed_row
from ragtriage.core.case import Case
from ragtriage.core.errors import ApplicationError

FIRST = 10
"""So many failures, and no answer yet, are enough to know that the application can't be asked."""
LONGEST_WAIT = 120.0
"""Seconds; a server that asks for more is taken to be down."""
LONGEST_PAUSE = 30.0
"""Seconds between two attempts where the server doesn't say how long to wait."""


class Answering(Protocol):
    """What is asked: an application, or something around one."""

    async def ask(self, case: Case) -> Reply:
        """See `Application`."""
        ...

    async def close(self) -> None:
        """See `Application`."""
        ...


class Lines(Protocol):
    """Where answers go: see `CollectedLines`."""

    @property
    def tally(self) -> CollectionTally:
        """What is there, in numbers."""
        ...

    def has(self, case: Case) -> bool:
        """Whether a case was asked."""
        ...

    def add(self, row: Mapping[str, Any]) -> None:
        """Append one case."""
        ...


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """How an application is asked."""

    concurrency: int = 8
    """Queries at once."""
    timeout: float = 120.0
    """Seconds that an attempt may take."""
    attempts: int = 4
    """How often a query is asked at most, where the application is busy, broken for the moment or out of reach."""
    pause: float = 0.5
    """Seconds before the second attempt; doubled before every further one."""


def ask_all(
    cases: Iterable[Case],
    application: Answering,
    lines: Lines,
    policy: RequestPolicy,
    advance: Callable[[], None],
) -> None:
    """Ask all cases that the file doesn't hold yet, and append each as soon as it is known.

    Args:
        cases: what to ask; read as a stream.
        application: whom to ask; closed at the end.
        lines: where the cases go.
        policy: how to ask.
        advance: called for each case that was asked now.

    Raises:
        ApplicationError: nothing was answered, or it is down: says why. What the failure alone says (an address that
            can't be reached, a reply that can't be read) is then not written, so that the same command asks it again.
        InputError: the file holds another query under the id of a case.
        OSError: the file can't be written any more.
    """
    asyncio.run(_Asking(application, lines, policy, advance).all(iter(cases)))


class _Asking:
    def __init__(
        self, application: Answering, lines: Lines, policy: RequestPolicy, advance: Callable[[], None]
    ) -> None:
        self._application, self._lines, self._policy, self._advance = application, lines, policy, advance
        self._not_before = 0.0
        self._answered = False
        self._streak: list[Unanswered] = []
        """Failures since the last sign of life."""
        self._held: list[dict[str, Any]] = []
        """Cases that failed for a reason that may lie in the settings: written once the application gives an answer."""

    async def all(self, cases: Iterator[Case]) -> None:
        workers = [asyncio.ensure_future(self._work(cases)) for _ in range(self._policy.concurrency)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            await self._application.close()
        if self._held and not self._lines.tally.answered:
            raise ApplicationError(f"no query was answered: {self._streak[-1].detail}")
        self._write_held()

    async def _work(self, cases: Iterator[Case]) -> None:
        for case in cases:
            if self._lines.has(case):
                continue
            try:
                reply, seconds = await self._ask(case)
            except Unanswered as why:
                self._failed(case, why)
            else:
                self._alive()
                self._answered = True
                self._lines.add(answered_row(case, reply, seconds))
            self._advance()

    async def _ask(self, case: Case) -> tuple[Reply, float]:
        """The reply, and the seconds that it took."""
        attempt = 0
        while True:
            attempt += 1
            while (wait := self._not_before - time.monotonic()) > 0:  # noqa: ASYNC110  # a reply may prolong it
                await asyncio.sleep(wait)
            begun = time.monotonic()
            try:
                async with asyncio.timeout(self._policy.timeout):
                    return await self._application.ask(case), time.monotonic() - begun
            except TimeoutError:
                detail = f"no answer within {self._policy.timeout:g} s (--app-timeout)"
                raise Unanswered(TIMED_OUT, detail, broken=False) from None
            except Unanswered as why:
                if not why.again or attempt >= self._policy.attempts or (why.wait or 0) > LONGEST_WAIT:
                    raise
                await self._pause(why, attempt)

    async def _pause(self, why: Unanswered, attempt: int) -> None:
        """Wait until the next attempt; where the server names the time, all wait."""
        if why.wait is not None:
            self._not_before = max(self._not_before, time.monotonic() + why.wait)
            return
        longest = min(self._policy.pause * 2 ** (attempt - 1), LONGEST_PAUSE)
        await asyncio.sleep(longest * random.uniform(0.75, 1.25))  # noqa: S311  # spreads attempts, hides nothing

    def _failed(self, case: Case, why: Unanswered) -> None:
        row = failed_row(case, why)
        if self._answered and not why.down:
            self._alive()
            self._lines.add(row)
            return
        self._streak.append(why)
        if why.broken:
            self._held.append(row)
        else:
            self._lines.add(row)
        # what runs at once fails at once: one short outage must not look like a streak
        most = max(FIRST, 2 * self._policy.concurrency) if self._answered else FIRST
        if len(self._streak) >= most:
            before = "since its last answer" if self._answered else "and nothing was answered"
            raise ApplicationError(f"stopped: {len(self._streak)} queries failed {before}: {why.detail}")

    def _alive(self) -> None:
        self._streak.clear()
        self._write_held()

    def _write_held(self) -> None:
        for row in self._held:
            self._lines.add(row)
        self._held.clear()
