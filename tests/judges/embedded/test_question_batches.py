"""The gatherer, which must never leave a question lying."""

import asyncio
import threading
import time
from collections.abc import Sequence

from ragtriage.core import questions as ask
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer, Verdict
from ragtriage.judges.embedded.question_batches import QuestionBatcher


def test_a_question_that_comes_while_both_batches_end_is_answered() -> None:
    at_work = threading.Semaphore(0)
    go_on = threading.Event()
    answered: list[Answer] = []

    def worker(batch: Sequence[Question]) -> list[Answer]:
        at_work.release()
        go_on.wait(10)
        return [Verdict("yes") for _ in batch]

    async def caller(gatherer: QuestionBatcher, claim: str) -> None:
        answered.extend([answer async for _, answer in gatherer.ask([ask.supported(claim, ["text"])])])
        if len(answered) == 1:  # who comes first asks again, before the loop has seen that the batches' tasks are done
            answered.extend([answer async for _, answer in gatherer.ask([ask.supported("and then", ["text"])])])

    async def both() -> None:
        gatherer = QuestionBatcher(worker)
        callers = []
        for claim in ("one", "two"):
            callers.append(asyncio.create_task(caller(gatherer, claim)))
            await asyncio.to_thread(at_work.acquire)  # each in a batch of its own
        go_on.set()
        time.sleep(0.1)  # noqa: ASYNC251  # the loop is kept busy until both have ended, so it sees both at once
        await asyncio.wait_for(asyncio.gather(*callers), 10)

    asyncio.run(both())
    assert answered == [Verdict("yes")] * 3
