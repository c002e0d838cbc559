"""Collects the questions of many concurrent callers into batches that a worker thread answers."""

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

_Waiting = list[tuple[Question, asyncio.Future[Answer]]]


class QuestionBatcher:
    """Questions in, answers out, over any number of event loops.

    The worker answers a batch in a thread, one answer a question, in order; it may be called twice at a time.
    """

    def __init__(self, worker: Callable[[Sequence[Question]], list[Answer]]) -> None:
        self._worker = worker
        self._loops: weakref.WeakKeyDictionary[
            asyncio.AbstractEventLoop, tuple[_Waiting, set[asyncio.Task[None] | None]]
        ] = weakref.WeakKeyDictionary()

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """Yield (position, answer), in the order of the questions, as far as it is known."""
        loop = asyncio.get_running_loop()
        waiting, tasks = self._loops.setdefault(loop, ([], set()))
        futures: list[asyncio.Future[Answer]] = [loop.create_future() for _ in questions]
        waiting += zip(questions, futures, strict=True)
        if len(tasks) < _AT_ONCE:
            tasks.add(loop.create_task(self._work(waiting, tasks)))
        try:
            for place, future in enumerate(futures):
                yield place, await future
        finally:
            for future in futures:
                future.cancel()

    async def _work(self, waiting: _Waiting, tasks: set[asyncio.Task[None] | None]) -> None:
        """Answer batch after batch until nothing waits."""
        try:
            while waiting:
                await asyncio.sleep(_PAUSE)
                batch = [(question, future) for question, future in waiting[:_BATCH] if not future.done()]
                del waiting[:_BATCH]
                if batch:
                    await self._answer(batch)
        finally:
            # At once, and not when the loop comes to it: whoever asks in between would find everybody at work.
            tasks.discard(asyncio.current_task())

    async def _answer(self, batch: _Waiting) -> None:
        try:
            answers = await asyncio.to_thread(self._worker, [question for question, _ in batch])
        except Exception as error:  # noqa: BLE001 - handed on to everyone who waits
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
        except asyncio.CancelledError:
            for _, future in batch:
                future.cancel()
            raise
        else:
            for (_, future), answer in zip(batch, answers, strict=True):
                if not future.done():
                    future.set_result(answer)
