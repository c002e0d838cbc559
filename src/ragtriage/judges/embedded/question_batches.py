"""Collects the questions of many concurrent callers into batches that a worker thread answers."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator, Callable, Sequence

from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer

_BATCH = 128
"""Questions in one batch: enough to keep the encoders' threads busy, few enough to answer within a second or two."""
_PAUSE = 0.002
"""Seconds to wait for other callers before a batch is made."""
_AT_ONCE = 2
"""Batches at work: while one is compared (Python), the next is encoded (native threads)."""

Worker = Callable[[Sequence[Question]], list[Answer]]


class _Queue:
    """What one event loop's callers are waiting for."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._waiting: list[tuple[Question, asyncio.Future[Answer]]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def put(self, questions: Sequence[Question]) -> list[asyncio.Future[Answer]]:
        """Queue questions; each future gets one answer."""
        loop = asyncio.get_running_loop()
        futures: list[asyncio.Future[Answer]] = [loop.create_future() for _ in questions]
        self._waiting += zip(questions, futures, strict=True)
        if len(self._tasks) < _AT_ONCE:
            self._tasks.add(loop.create_task(self._work()))
        return futures

    async def _work(self) -> None:
        """Answer batch after batch until nothing waits."""
        try:
            await self._answer()
        finally:
            # At once, and not when the loop comes to it: whoever asks in between would find everybody at work.
            self._tasks.discard(asyncio.current_task())

    async def _answer(self) -> None:
        while self._waiting:
            await asyncio.sleep(_PAUSE)
            batch, self._waiting = self._waiting[:_BATCH], self._waiting[_BATCH:]
            batch = [(question, future) for question, future in batch if not future.done()]
            if not batch:
                continue
            try:
                answers = await asyncio.to_thread(self._worker, [question for question, _ in batch])
            except Exception as error:  # noqa: BLE001 - handed on to everyone who waits
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
                continue
            except asyncio.CancelledError:
                for _, future in batch:
                    future.cancel()
                raise
            for (_, future), answer in zip(batch, answers, strict=True):
                if not future.done():
                    future.set_result(answer)


class QuestionBatcher:
    """Questions in, answers out, over any number of event loops.

    Args:
        worker: answers a batch in a thread, one answer a question, in order. May be called twice at a time.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._queues: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue] = weakref.WeakKeyDictionary()

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """Yield (position, answer), in the order of the questions, as far as it is known."""
        loop = asyncio.get_running_loop()
        queue = self._queues.get(loop)
        if queue is None:
            queue = self._queues[loop] = _Queue(self._worker)
        futures = queue.put(questions)
        try:
            for place, future in enumerate(futures):
                yield place, await future
        finally:
            for future in futures:
                future.cancel()
