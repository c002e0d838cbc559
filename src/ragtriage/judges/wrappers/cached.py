"""Answers from memory what was answered before: what keeps answers, its keys, and the judge that looks there first."""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Literal, Protocol

from ragtriage.core.amount import NOTHING, Amount
from ragtriage.core.errors import StoreError
from ragtriage.core.questions import Kind, Question
from ragtriage.core.verdicts import Answer, Failure
from ragtriage.judges.protocol import ARRIVED, REQUEST, Estimate, Judge, closing_stream

KEY_SIZE = 16
"""Bytes of a key: 128 bits, so that chance never gives one question another's answer."""


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """One answer with its key."""

    key: bytes
    """See `AnswerKeys`."""
    kind: Kind | Literal["written"]
    """What was asked; `written` is a text that a model was asked to write, which is no verdict."""
    fingerprint: str
    """The judge's, for this kind."""
    answer: Answer
    """Never a failure."""
    trial: int = 0
    """Which repetition; every trial has answers of its own."""
    batch: str = ""
    """The request that it travelled in; see `ragtriage.judges.protocol.REQUEST`."""


class AnswerMemory(Protocol):
    """What keeps answers between evaluations; every method may raise a `StoreError`."""

    def recall(self, keys: Sequence[bytes]) -> Mapping[bytes, Answer]:
        """The answers that are known to these keys; keys without one are left out."""

    def remember(self, entries: Iterable[CachedAnswer], spent: Amount = NOTHING) -> None:
        """Keep answers, none of them a failure, with what they cost; a key that is known stays as it is.

        They may wait for others for a moment, at most to `flush`.
        """

    def flush(self) -> None:
        """Make safe what waits."""

    def claim(self, keys: Sequence[bytes]) -> Collection[bytes]:
        """Claim questions that nobody else is asking; those that aren't returned are being asked, or answered by now.

        A claim ends with `remember` or `release`.
        """

    def release(self, keys: Collection[bytes]) -> None:
        """Let others ask what wasn't answered; keys without a claim, or with an answer, are left alone."""


class InMemory:
    """Answers in a dictionary, for as long as the process lives. Of more than `most` the oldest are forgotten."""

    def __init__(self, most: int | None = None) -> None:
        self.entries: OrderedDict[bytes, CachedAnswer] = OrderedDict()
        self._most = most

    def recall(self, keys: Sequence[bytes]) -> Mapping[bytes, Answer]:
        """See `AnswerMemory`."""
        return {key: self.entries[key].answer for key in keys if key in self.entries}

    def remember(self, entries: Iterable[CachedAnswer], spent: Amount = NOTHING) -> None:  # noqa: ARG002  # not kept
        """See `AnswerMemory`."""
        for entry in entries:
            self.entries.setdefault(entry.key, entry)
        while self._most is not None and len(self.entries) > self._most:
            self.entries.popitem(last=False)

    def flush(self) -> None:
        """See `AnswerMemory`; nothing ever waits."""

    def claim(self, keys: Sequence[bytes]) -> Collection[bytes]:
        """See `AnswerMemory`; nobody else asks."""
        return keys

    def release(self, keys: Collection[bytes]) -> None:
        """See `AnswerMemory`."""


class AnswerKeys:
    """The keys of many questions to one judge; a text that several questions share is hashed once.

    A key depends on the kind, the judge's fingerprint of that kind, every field of the question and the trial, and on
    nothing else. Make a new object for each batch, so that the texts that it remembers are bounded by the batch.
    """

    def __init__(self, fingerprint: Callable[[Kind], str], trial: int = 0) -> None:
        text = self._text = cache(lambda text: _digest(text.encode("utf-8", "surrogatepass")))
        self._evidence = cache(lambda texts: _digest(b"".join(map(text, texts))))
        self._head = cache(lambda kind: text(repr((kind, fingerprint(kind), trial))))

    def key(self, question: Question) -> bytes:
        """16 bytes."""
        at = b"-" if question.at is None else b"%d" % question.at
        texts = self._text(question.subject) + self._text(question.query) + self._text(question.context)
        return _digest(self._head(question.kind) + texts + self._evidence(question.evidence) + at)


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=KEY_SIZE).digest()


FIRST_PAUSE, LONGEST_PAUSE = 0.02, 0.5
"""Seconds between two looks for the answers that another evaluation is asking for."""


class Cached:
    """Answers from memory what was answered before, and asks the inner judge the rest, each distinct question once.

    A question that is being asked for one caller isn't asked for a second one meanwhile: the second waits. What is paid
    for is also waited for where another evaluation with the same memory is asking it, and asked here if that one gives
    no answer. Failures are never kept, so the next evaluation asks again. It belongs innermost, right around the
    judge that costs something, so that nothing that was answered is lost by what stands around it.

    Args:
        durable: for answers that were paid for: those that arrive together (the answers of one request, or of several
            that end in the same pass of the event loop) are made safe together, before anything else is waited for and
            before another request is sent. So a kill loses at most what was in flight. Else answers wait for others,
            half a second at most, and are lost with a killed process.
        trial: which repetition of the same questions this is.
        before_waiting: called again and again while another evaluation is waited for; what it raises ends the waiting.
        spent: says what was spent so far, which is kept with the answers.
    """

    def __init__(
        self,
        judge: Judge,
        memory: AnswerMemory,
        *,
        durable: bool = False,
        trial: int = 0,
        before_waiting: Callable[[], None] = lambda: None,
        spent: Callable[[], Amount] = Amount,
    ) -> None:
        self._judge = judge
        self._memory = memory
        self._durable = durable
        self._trial = trial
        self._before_waiting = before_waiting
        self._spent = spent
        self._underway: dict[bytes, asyncio.Future[Answer]] = {}
        self._flushing: asyncio.Future[StoreError | None] | None = None
        self._kept: set[bytes] = set()
        """Keys of answers that were kept as they arrived and haven't been yielded yet."""

    def name(self) -> str:
        """The inner judge's."""
        return self._judge.name()

    def fingerprint(self, kind: Kind) -> str:
        """The inner judge's."""
        return self._judge.fingerprint(kind)

    def unsupported_reason(self, kind: Kind, language: str) -> str | None:
        """The inner judge's."""
        return self._judge.unsupported_reason(kind, language)

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """What the questions would take that aren't in memory."""
        places = self._places(questions)
        known = self._memory.recall(list(places))
        return self._judge.estimate([questions[at[0]] for key, at in places.items() if key not in known])

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """See `Judge.ask`."""
        places = self._places(questions)
        left = list(places)
        pause = FIRST_PAUSE
        while left:
            # nothing is awaited before the promises are made, so two callers can't both think that they are first
            known = self._memory.recall(left)
            others = {key: future for key in left if key not in known and (future := self._asked_elsewhere(key))}
            unknown = [key for key in left if key not in known and key not in others]
            claimed = set(self._memory.claim(unknown)) if unknown and self._durable else set(unknown)
            own = [key for key in unknown if key in claimed]
            with self._promising(own) as promises:
                for key, answer in known.items():
                    for position in places[key]:
                        yield position, answer
                async with aclosing(self._ask({key: questions[places[key][0]] for key in own}, promises)) as answers:
                    async for key, answer in answers:
                        for position in places[key]:
                            yield position, answer
            left = [key for key in unknown if key not in claimed]
            for key, future in others.items():
                await asyncio.wait([future])
                if future.cancelled():
                    left.append(key)  # its asker gave up
                    continue
                for position in places[key]:
                    yield position, future.result()
            if left and not own:
                self._before_waiting()
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    def _places(self, questions: Sequence[Question]) -> dict[bytes, list[int]]:
        """Key → the positions of the questions that have it."""
        keys = AnswerKeys(self._judge.fingerprint, self._trial)
        places: dict[bytes, list[int]] = {}
        for position, question in enumerate(questions):
            places.setdefault(keys.key(question), []).append(position)
        return places

    def _asked_elsewhere(self, key: bytes) -> asyncio.Future[Answer] | None:
        future = self._underway.get(key)
        return future if future and future.get_loop() is asyncio.get_running_loop() else None

    @contextmanager
    def _promising(self, keys: Sequence[bytes]) -> Iterator[Mapping[bytes, asyncio.Future[Answer]]]:
        """Let other callers wait for these keys' answers; those that never come are cancelled."""
        loop = asyncio.get_running_loop()
        promises: dict[bytes, asyncio.Future[Answer]] = {key: loop.create_future() for key in keys}
        self._underway |= promises
        try:
            yield promises
        finally:
            if self._durable:
                self._release(keys)
            for key, future in promises.items():
                if not loop.is_closed():
                    future.cancel()
                if self._underway.get(key) is future:
                    del self._underway[key]

    def _release(self, keys: Sequence[bytes]) -> None:
        """Let others ask what wasn't answered; where the memory can't be written, the claims lapse by themselves."""
        with suppress(StoreError):
            self._memory.release(keys)

    async def _ask(
        self, asked: Mapping[bytes, Question], promises: Mapping[bytes, asyncio.Future[Answer]]
    ) -> AsyncGenerator[tuple[bytes, Answer], None]:
        """Ask the inner judge, keep each answer as it arrives, and tell those who wait for it."""
        if not asked:
            return
        keys, questions = list(asked), list(asked.values())
        REQUEST.set("")
        fingerprints = {kind: self._judge.fingerprint(kind) for kind in {question.kind for question in questions}}
        known = dict(zip(questions, keys, strict=True))

        def keep(found: Mapping[Question, Answer], request: str) -> None:
            self._remember(
                CachedAnswer(known[question], question.kind, fingerprints[question.kind], answer, self._trial, request)
                for question, answer in found.items()
                if not isinstance(answer, Failure) and question in known
            )

        ARRIVED.set(keep if self._durable else None)
        async with closing_stream(self._judge.ask(questions)) as answers:
            async for position, answer in answers:
                key = keys[position]
                keep({questions[position]: answer}, REQUEST.get())
                self._kept.discard(key)
                if not promises[key].done():
                    promises[key].set_result(answer)
                yield key, answer
        if self._durable:
            await self._made_safe()

    def _remember(self, found: Iterable[CachedAnswer]) -> None:
        """Keep answers; those that are kept already, since they came twice, cost nothing."""
        entries = [entry for entry in found if entry.key not in self._kept]
        if not entries:
            return
        if not self._durable:
            self._memory.remember(entries, self._spent())
            return
        self._kept |= {entry.key for entry in entries}
        with suppress(StoreError):  # other answers are on their way: the flush that follows raises it again
            self._memory.remember(entries, self._spent())
        loop = asyncio.get_running_loop()
        if self._flushing is None or self._flushing.get_loop() is not loop:
            self._flushing = loop.create_future()
            # runs as soon as the judge has nothing more to yield for now, also if nobody listens any more
            loop.call_soon(self._flush, self._flushing)

    def _flush(self, done: asyncio.Future[StoreError | None]) -> None:
        self._flushing = None
        try:
            self._memory.flush()
        except StoreError as error:  # what couldn't be kept goes on waiting, and the end of `_ask` raises it
            done.set_result(error)
        else:
            done.set_result(None)

    async def _made_safe(self) -> None:
        """Wait for the transaction that is due, rather than make one for every caller that ends in this pass."""
        if self._flushing is None:
            self._memory.flush()  # nothing waits, but for what couldn't be kept before
            return
        done = self._flushing
        await asyncio.wait([done])
        error = done.result()
        if error:
            raise error
