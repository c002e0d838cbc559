"""What judges yield: closed when nobody listens any more, and several as one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from ragtriage.core.errors import Stopped

T = TypeVar("T")


@asynccontextmanager
async def closing_stream(answers: AsyncIterator[T]) -> AsyncGenerator[AsyncIterator[T], None]:
    """Close what a judge yields from, if it can be closed, when nobody listens any more."""
    try:
        yield answers
    finally:
        if isinstance(answers, AsyncGenerator):
            await answers.aclose()


async def merged(streams: Sequence[AsyncIterator[tuple[int, T]]]) -> AsyncGenerator[tuple[int, int, T], None]:
    """Read from all at once and yield (which stream, position, answer) as each comes.

    An error of one is raised after the others have ended, so that nothing that they were paid for is lost; of several
    errors one that means more than having stopped on purpose.
    """
    if len(streams) == 1:
        async with closing_stream(streams[0]) as answers:
            async for position, answer in answers:
                yield 0, position, answer
        return
    waiting: asyncio.Queue[tuple[int, int, T] | None] = asyncio.Queue()

    async def read(which: int, stream: AsyncIterator[tuple[int, T]]) -> None:
        try:
            async with closing_stream(stream) as answers:
                async for position, answer in answers:
                    waiting.put_nowait((which, position, answer))
        finally:
            waiting.put_nowait(None)

    tasks = [asyncio.create_task(read(which, stream)) for which, stream in enumerate(streams)]
    try:
        for _ in tasks:
            while (found := await waiting.get()) is not None:
                yield found
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        errors = [error for error in ended if error is not None]
        if errors:
            raise min(errors, key=lambda error: isinstance(error, Stopped))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
