"""Things that belong to the event loop that they were first used in, such as open connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Kept(Generic[T]):
    thing: T
    end: AsyncGenerator[None, None]
    """Closes the thing when it is closed."""


class PerLoop(Generic[T]):
    """One thing for each running event loop, closed when its loop ends.

    Args:
        make: makes one.
        close: closes it; awaited in its own loop.
    """

    def __init__(self, make: Callable[[], T], close: Callable[[T], Awaitable[None]]) -> None:
        self._make = make
        self._close = close
        self._kept: dict[asyncio.AbstractEventLoop, _Kept[T]] = {}

    def here(self) -> T:
        """The running loop's, made when it is first asked for."""
        loop = asyncio.get_running_loop()
        kept = self._kept.get(loop)
        if kept is None:
            for other in [other for other in self._kept if other.is_closed()]:
                del self._kept[other]
            thing = self._make()
            kept = self._kept[loop] = _Kept(thing, self._until_the_end(loop, thing))
            with suppress(StopIteration):
                anext(kept.end).send(None)  # nothing is awaited before the first yield
        return kept.thing

    async def close(self) -> None:
        """Close the running loop's, if there is one; the next use makes another."""
        kept = self._kept.get(asyncio.get_running_loop())
        if kept is not None:
            await kept.end.aclose()

    async def _until_the_end(self, loop: asyncio.AbstractEventLoop, thing: T) -> AsyncGenerator[None, None]:
        """Waits: a loop closes the asynchronous generators that it began, as its last act."""
        try:
            yield
        finally:
            self._kept.pop(loop, None)
            await self._close(thing)
