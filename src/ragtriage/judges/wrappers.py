"""Judges around judges: each fulfils the judge protocol by asking another one."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Protocol

from ragtriage.errors import StoreError
from ragtriage.judges.protocol import Estimate, Judge
from ragtriage.judges.questions import Kind, Question
from ragtriage.verdicts import Answer, Failure

KEY_SIZE = 16
"""Bytes of a key: 128 bits, so that chance never gives one question another's answer."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """One answer with its key."""

    key: bytes
    """See `Keys`."""
    kind: Kind
    fingerprint: str
    """The judge's, for this kind."""
    answer: Answer
    """Never a failure."""
    trial: int = 0
    """Which repetition; every trial has answers of its own."""


class AnswerMemory(Protocol):
    """What keeps answers between evaluations."""

    def recall(self, keys: Sequence[bytes]) -> Mapping[bytes, Answer]:
        """The answers that are known to these keys; keys without one are left out.

        Raises:
            StoreError: it can't be read.
        """
        ...

    def remember(self, entries: Iterable[Remembered]) -> None:
        """Keep answers; a key that is known stays as it is. They may wait for others for a moment, at most to `flush`.

        Args:
            entries: answers, none of them a failure.

        Raises:
            StoreError: they can't be kept.
        """
        ...

    def flush(self) -> None:
        """Make safe what waits.

        Raises:
            StoreError: it can't be kept.
        """
        ...


class InMemory:
    """Answers in a dictionary, for as long as the process lives."""

    def __init__(self) -> None:
        self.entries: dict[bytes, Remembered] = {}

    def recall(self, keys: Sequence[bytes]) -> Mapping[bytes, Answer]:
        """See `AnswerMemory`."""
        return {key: self.entries[key].answer for key in keys if key in self.entries}

    def remember(self, entries: Iterable[Remembered]) -> None:
        """See `AnswerMemory`."""
        for entry in entries:
            self.entries.setdefault(entry.key, entry)

    def flush(self) -> None:
        """See `AnswerMemory`; nothing ever waits."""


class Keys:
    """The keys of many questions to one judge; a text that several questions share is hashed once.

    A key depends on the kind, the judge's fingerprint of that kind, every field of the question and the trial, and on
    nothing else. Make a new object for each batch, so that the texts that it remembers are bounded by the batch.

    Args:
        fingerprint: the judge's method.
        trial: which repetition.
    """

    def __init__(self, fingerprint: Callable[[Kind], str], trial: int = 0) -> None:
        self._fingerprint = fingerprint
        self._trial = trial
        self._heads: dict[Kind, bytes] = {}
        self._texts: dict[str, bytes] = {}
        self._evidence: dict[tuple[str, ...], bytes] = {}

    def key(self, question: Question) -> bytes:
        """16 bytes."""
        evidence = self._evidence.get(question.evidence)
        if evidence is None:
            evidence = _digest(b"".join(self._text(text) for text in question.evidence))
            self._evidence[question.evidence] = evidence
        at = b"-" if question.at is None else b"%d" % question.at
        texts = self._text(question.subject) + self._text(question.query) + self._text(question.context)
        return _digest(self._head(question.kind) + texts + evidence + at)

    def _head(self, kind: Kind) -> bytes:
        head = self._heads.get(kind)
        if head is None:
            head = _digest(repr((kind, self._fingerprint(kind), self._trial)).encode("utf-8", "surrogatepass"))
            self._heads[kind] = head
        return head

    def _text(self, text: str) -> bytes:
        found = self._texts.get(text)
        if found is None:
            found = self._texts[text] = _digest(text.encode("utf-8", "surrogatepass"))
        return found


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=KEY_SIZE).digest()


class Cached:
    """Answers from memory what was answered before, and asks the inner judge the rest, each distinct question once.

    A question that is being asked for one caller isn't asked for a second one meanwhile: the second waits. Failures are
    never kept, so the next evaluation asks again. It belongs innermost, right around the judge that costs something, so
    that nothing that was answered is lost by what stands around it.

    Args:
        judge: what is asked.
        memory: what keeps the answers.
        durable: for answers that were paid for: those that arrive together (the answers of one request) are made safe
            together, before anything else is waited for. Else answers wait for others, half a second at most, and are
            lost with a killed process.
        trial: which repetition of the same questions this is.
    """

    def __init__(self, judge: Judge, memory: AnswerMemory, *, durable: bool = False, trial: int = 0) -> None:
        self._judge = judge
        self._memory = memory
        self._durable = durable
        self._trial = trial
        self._underway: dict[bytes, asyncio.Future[Answer]] = {}
        self._flushing: asyncio.Handle | None = None

    def name(self) -> str:
        """The inner judge's."""
        return self._judge.name()

    def fingerprint(self, kind: Kind) -> str:
        """The inner judge's."""
        return self._judge.fingerprint(kind)

    def can(self, kind: Kind, language: str) -> str | None:
        """The inner judge's."""
        return self._judge.can(kind, language)

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """What the questions would take that aren't in memory.

        Raises:
            StoreError: the memory can't be read.
        """
        places = self._places(questions)
        known = self._memory.recall(list(places))
        return self._judge.estimate([questions[at[0]] for key, at in places.items() if key not in known])

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """See `Judge.ask`.

        Raises:
            JudgeError: the inner judge can't answer anything.
            StoreError: the memory can't be read or written.
        """
        places = self._places(questions)
        left = list(places)
        while left:
            # nothing is awaited before the promises are made, so two callers can't both think that they are first
            known = self._memory.recall(left)
            others = {key: future for key in left if key not in known and (future := self._asked_elsewhere(key))}
            own = [key for key in left if key not in known and key not in others]
            with self._promising(own) as promises:
                for key, answer in known.items():
                    for position in places[key]:
                        yield position, answer
                async with aclosing(self._ask({key: questions[places[key][0]] for key in own}, promises)) as answers:
                    async for key, answer in answers:
                        for position in places[key]:
                            yield position, answer
            left = []
            for key, future in others.items():
                await asyncio.wait([future])
                if future.cancelled():
                    left.append(key)  # its asker gave up
                    continue
                for position in places[key]:
                    yield position, future.result()

    def _places(self, questions: Sequence[Question]) -> dict[bytes, list[int]]:
        """Key → the positions of the questions that have it."""
        keys = Keys(self._judge.fingerprint, self._trial)
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
            for key, future in promises.items():
                if not loop.is_closed():
                    future.cancel()
                if self._underway.get(key) is future:
                    del self._underway[key]

    async def _ask(
        self, asked: Mapping[bytes, Question], promises: Mapping[bytes, asyncio.Future[Answer]]
    ) -> AsyncGenerator[tuple[bytes, Answer], None]:
        """Ask the inner judge, keep each answer as it arrives, and tell those who wait for it."""
        if not asked:
            return
        keys, questions = list(asked), list(asked.values())
        fingerprints = {kind: self._judge.fingerprint(kind) for kind in {question.kind for question in questions}}
        try:
            async with _closing(self._judge.ask(questions)) as answers:
                async for position, answer in answers:
                    key, kind = keys[position], questions[position].kind
                    if not isinstance(answer, Failure):
                        self._remember(Remembered(key, kind, fingerprints[kind], answer, self._trial))
                    if not promises[key].done():
                        promises[key].set_result(answer)
                    yield key, answer
        finally:
            if self._durable:
                self._flush()

    def _remember(self, entry: Remembered) -> None:
        self._memory.remember([entry])
        if self._durable and not self._flushing:
            # runs as soon as the judge has nothing more to yield for now
            self._flushing = asyncio.get_running_loop().call_soon(self._flush_in_passing)

    def _flush_in_passing(self) -> None:
        with suppress(StoreError):  # what couldn't be kept goes on waiting, and the end of `_ask` raises it
            self._flush()

    def _flush(self) -> None:
        if self._flushing:
            self._flushing.cancel()
            self._flushing = None
        self._memory.flush()


@asynccontextmanager
async def _closing(
    answers: AsyncIterator[tuple[int, Answer]],
) -> AsyncGenerator[AsyncIterator[tuple[int, Answer]], None]:
    """Close what a judge yields from, if it can be closed, when nobody listens any more."""
    try:
        yield answers
    finally:
        if isinstance(answers, AsyncGenerator):
            await answers.aclose()
