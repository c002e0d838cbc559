"""What a judge is, and how what it yields is read: closed when nobody listens any more, and several as one.

Every judge, embedded or behind an API, and every judge around judges (cached, budgeted, …) fulfils this one protocol.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from typing import Protocol, TypeVar, runtime_checkable

from ragtriage.core.errors import Stopped
from ragtriage.core.questions import Kind, Question
from ragtriage.core.verdicts import Answer, Failure

TURN: ContextVar[int] = ContextVar("turn", default=0)
"""The place, in the order of the input, of the case that is being asked about. A judge whose questions must queue
answers those of earlier cases first, so that a run that is stopped has whole cases and not the beginnings of many."""

REQUEST: ContextVar[str] = ContextVar("request", default="")
"""The short id (hexadecimal digits) of the request that brought the answer which a judge yields now; "" if unknown. A
judge that puts several questions into one request sets it before it yields."""

Arrived = Callable[[Mapping[Question, Answer], str], None]
"""Questions → their answers, and the short id of the request that brought them; see `ARRIVED`."""
ARRIVED: ContextVar[Arrived | None] = ContextVar("arrived", default=None)
"""Who keeps answers. A judge that pays for them calls it in the moment in which it reads a reply, before another
request may start: until what it yields has gone through all judges around it, a busy event loop has taken many turns,
and a kill would lose what was paid for. It is looked up when `ask` begins, since another judge may set it later."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a batch of questions would take."""

    requests: int = 0
    """Paid requests; 0 for a judge that runs on this machine."""
    tokens_in: int = 0
    tokens_out: int = 0
    price: float | None = 0.0
    """In US dollars; None if the price of the model isn't known."""

    def __add__(self, other: Estimate) -> Estimate:
        return self._with(other, 1)

    def __sub__(self, other: Estimate) -> Estimate:
        """What is saved by asking less; the price is None if either isn't known."""
        return self._with(other, -1)

    def as_json(self) -> dict[str, float | None]:
        """The stable form for machines."""
        return asdict(self)

    def _with(self, other: Estimate, sign: int) -> Estimate:
        return Estimate(
            self.requests + sign * other.requests,
            self.tokens_in + sign * other.tokens_in,
            self.tokens_out + sign * other.tokens_out,
            None if self.price is None or other.price is None else self.price + sign * other.price,
        )


@runtime_checkable
class Judge(Protocol):
    """Finds out what a step needs to know."""

    def name(self) -> str:
        """What a person would type to choose this judge, for example `embedded`."""

    def fingerprint(self, kind: Kind) -> str:
        """A short text that changes whenever the answers to this kind of question may change, and only then."""

    def unsupported_reason(self, kind: Kind, language: str) -> str | None:
        """None if the judge answers this kind in this language (ISO 639-1), else the reason in words."""

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """What asking these questions would take."""

    def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """Yield (position, answer) as each becomes known, every question exactly once, in any order.

        A question that can't be answered yields a `Failure`.

        Raises:
            JudgeError: no question can be answered (the model is missing, the key is refused).
        """


T = TypeVar("T")


@asynccontextmanager
async def closing_stream(answers: AsyncIterator[T]) -> AsyncGenerator[AsyncIterator[T], None]:
    """Close what a judge yields from, if it can be closed, when nobody listens any more."""
    try:
        yield answers
    finally:
        if isinstance(answers, AsyncGenerator):
            await answers.aclose()


RequestReply = tuple[str, Mapping[Question, Answer]]
"""The short id of a request, and the answers that it brought."""


async def by_requests(
    questions: Sequence[Question],
    asked: Collection[Kind],
    who: str,
    grouped: Callable[[Sequence[Question]], Iterable[T]],
    stream: Callable[[T, Arrived | None], AsyncIterator[RequestReply]],
) -> AsyncGenerator[tuple[int, Answer], None]:
    """Yield (position, answer) where several questions share a request, whose answers come together.

    Equal questions are asked once; those of kinds that aren't `asked` of `who` fail. `grouped` makes requests of the
    distinct questions, `stream` gives the replies to one.
    """
    places: dict[Question, list[int]] = {}
    for position, question in enumerate(questions):
        if question.kind in asked:
            places.setdefault(question, []).append(position)
        else:
            yield position, Failure(f"{who} isn't asked for {question.kind}")
    arrived = ARRIVED.get()
    async with aclosing(merged([stream(one, arrived) for one in grouped(list(places))])) as replies:
        async for _, (request_id, answers) in replies:
            for question, answer in answers.items():
                for position in places[question]:
                    REQUEST.set(request_id)
                    yield position, answer


async def merged(streams: Sequence[AsyncIterator[T]]) -> AsyncGenerator[tuple[int, T], None]:
    """Read from all at once and yield (which stream, what it yields) as each comes.

    An error of one is raised after the others have ended, so that nothing that they were paid for is lost; of several
    errors one that means more than having stopped on purpose.
    """
    if len(streams) == 1:
        async with closing_stream(streams[0]) as answers:
            async for answer in answers:
                yield 0, answer
        return
    waiting: asyncio.Queue[tuple[int, T] | None] = asyncio.Queue()

    async def read(which: int, stream: AsyncIterator[T]) -> None:
        try:
            async with closing_stream(stream) as answers:
                async for answer in answers:
                    waiting.put_nowait((which, answer))
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
