"""The judge that asks a decision model."""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from ragtriage.core.display import plural
from ragtriage.core.questions import Kind, Question
from ragtriage.core.verdicts import Answer, Failure
from ragtriage.judges.decisions.asking import (
    REFUSED,
    Probabilities,
    StateRequest,
    bytes_of,
    in_windows,
    likeliest,
    readable,
    state_request,
    together,
    typed_count,
    verdicts,
)
from ragtriage.judges.decisions.influence import MOVED
from ragtriage.judges.decisions.models import DECIDED, DecisionModel, DecisionWords
from ragtriage.judges.decisions.transport import NoDecisions, TooLarge, answers_in, body_of
from ragtriage.judges.llm.channel import Channel, RetriesExhausted
from ragtriage.judges.llm.options import Price, Prompt, Reply, Send, tokens_of
from ragtriage.judges.llm.requests import Request, group_questions
from ragtriage.judges.protocol import Arrived, Estimate, RequestReply, by_requests

T = TypeVar("T")

BATCH = 64
"""Typed questions in a request."""
VERSION = 1
"""Of the form of requests, and of how a probability becomes a verdict: raise it when stored answers would change."""
_UNCUT = 1_000_000
"""So many questions that no group of them is cut."""
_OF_LENGTH = re.compile(r"token|byte|character|context|length|KiB|KB", re.IGNORECASE)
"""In a refusal: it is about the length of a request, and not about the number of its questions."""


@dataclass(slots=True)
class _Limits:
    """What the server takes, as far as it is known."""

    typed: int
    body: int
    """Bytes."""

    def learn(self, typed: int, body: int, refusal: str) -> None:
        """A request with so many typed questions, of so many bytes, was too large."""
        if "question" in refusal.lower() and not _OF_LENGTH.search(refusal) and typed > 1:
            self.typed = min(self.typed, typed - 1)
        else:
            self.body = min(self.body, body - 1)


@dataclass(frozen=True, slots=True)
class _Written:
    """Questions as they are sent together."""

    questions: Request
    asked: StateRequest
    body: str

    @property
    def size(self) -> int:
        """Bytes."""
        return bytes_of(self.body)

    @property
    def id(self) -> str:
        """The short id of the request."""
        return hashlib.blake2b(self.body.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


class DecisionJudge:
    """Verdicts with probabilities by a decision model, many questions about one state in a request.

    It breaks no text up, writes nothing and measures no similarity; a judge of texts stands beside it.
    """

    def __init__(
        self,
        model: DecisionModel,
        send: Send,
        channel: Channel,
        words: DecisionWords,
        *,
        batch_size: int = BATCH,
        largest_body: int | None = None,
        price: Price | None = None,
    ) -> None:
        self._model = model
        self._send = send
        self._channel = channel
        self._words = words
        self._limits = _Limits(batch_size, largest_body or model.service.largest_body)
        self._price = price
        self._method = hashlib.blake2b(f"{model.name}\0{model.url}".encode(), digest_size=6).hexdigest()
        self._turned = False
        """Whether a request was sent in reverse, too."""

    def name(self) -> str:
        """`SERVICE:MODEL`, with its address if that was the user's choice."""
        return self._model.name

    def fingerprint(self, kind: Kind) -> str:
        """The model, where it is, and the words of this kind; not how many questions go together, or its price."""
        words = f"{self._words.digest(kind)}.{VERSION}" if kind in DECIDED else "-"
        return f"decide:{self._model.name[:80]}:{self._method}:{words}"

    def unsupported_reason(self, kind: Kind, language: str) -> str | None:  # noqa: ARG002  # none was measured
        """Everything but the kinds that no decision model is asked."""
        return None if kind in DECIDED else f"a decision model isn't asked for {kind}"

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """Requests, and tokens by their length: four bytes of a body are one."""
        total = Estimate(price=None if self._price is None else 0.0) if questions else Estimate()
        for written in self._requests([q for q in questions if q.kind in DECIDED]):
            for part in self._parts(written.asked):
                tokens = tokens_of(self._body(part))
                total += Estimate(1, tokens, 0, self._price.of(tokens, 0) if self._price else None)
        return total

    def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """See `ragtriage.judges.protocol.Judge.ask`; the answers of one request come together."""
        return by_requests(questions, DECIDED, "a decision model", self._requests, self._stream)

    async def _stream(self, written: _Written, arrived: Arrived | None) -> AsyncIterator[RequestReply]:
        """One request's id and its answers, all at once."""
        yield written.id, await self._answered(written, arrived)

    def _requests(self, questions: Sequence[Question]) -> Iterator[_Written]:
        """Questions by what they are about, in parts that the server takes, as far as that can be had by parting."""
        for group in group_questions(questions, _UNCUT):
            part: list[Question] = []
            count = 0
            for question in group.questions:
                weight = typed_count(question, group)
                if part and count + weight > self._limits.typed:
                    yield from self._fitting(replace(group, questions=tuple(part)))
                    part, count = [], 0
                part.append(question)
                count += weight
            yield from self._fitting(replace(group, questions=tuple(part)))

    def _fitting(self, request: Request) -> Iterator[_Written]:
        """A request in parts of as many bytes as the server takes; one question alone stays, however large."""
        written = self._written(request)
        fits = len(written.asked.typed) <= self._limits.typed and written.size <= self._limits.body
        if fits or len(request.questions) < 2:
            yield written
            return
        for half in _halves(request):
            yield from self._fitting(half)

    def _written(self, request: Request) -> _Written:
        asked = state_request(request, self._words)
        return _Written(request, asked, self._body(asked))

    def _body(self, asked: StateRequest) -> str:
        return body_of(self._model.service.wire, self._model.model, asked.state, asked.typed)

    def _parts(self, asked: StateRequest) -> list[StateRequest]:
        """One question whose typed ones are more than may go together, in parts; anything else as it is."""
        most = self._limits.typed
        return [replace(asked, typed=asked.typed[at : at + most]) for at in range(0, len(asked.typed), most)]

    async def _answered(self, written: _Written, arrived: Arrived | None) -> Mapping[Question, Answer]:
        """The answers to a request, in as many exchanges as that takes."""
        questions = written.questions.questions
        if len(questions) == 1 and written.size > self._limits.body:
            return await self._by_windows(written, arrived)
        sent = min(len(written.asked.typed), self._limits.typed)
        try:
            found = await self._exchange(written, arrived)
        except RetriesExhausted as error:
            if not isinstance(error.__cause__, TooLarge):
                return dict.fromkeys(questions, Failure(str(error)))
            self._limits.learn(sent, written.size, str(error))
            return await self._smaller(written, error, arrived, fewer=self._limits.typed < sent)
        missing = [question for question in questions if question not in found]
        if missing:
            alone = [self._written(replace(written.questions, questions=(question,))) for question in missing]
            for answers in await _all([self._answered(one, arrived) for one in alone]):
                found |= answers
        return found

    async def _smaller(
        self, written: _Written, error: RetriesExhausted, arrived: Arrived | None, *, fewer: bool
    ) -> Mapping[Question, Answer]:
        """The answers to a request that the server found too large."""
        request = written.questions
        parts = list(self._fitting(request))
        if len(parts) == 1 and len(request.questions) > 1:
            parts = [self._written(half) for half in _halves(request)]
        if len(parts) > 1 or fewer:
            found: dict[Question, Answer] = {}
            for answers in await _all([self._answered(part, arrived) for part in parts]):
                found |= answers
            return found
        if written.size > self._limits.body:
            return await self._by_windows(written, arrived)
        return dict.fromkeys(request.questions, Failure(str(error)))

    async def _by_windows(self, written: _Written, arrived: Arrived | None) -> Mapping[Question, Answer]:
        """The answer to one question about texts that are too large: of the best window, or the best two together."""
        (question,) = written.questions.questions
        texts, empty = question.evidence or (question.subject,), ("",) * len(question.evidence)
        blank = replace(question, evidence=empty, subject=question.subject if empty else "")
        around = self._written(group_questions([blank], 1)[0]).size
        # in a body some characters take two bytes, or four
        share = sum(map(bytes_of, texts)) / max(1, written.size - around)
        windows = in_windows(question, int(share * (self._limits.body - around)))
        if len(windows) < 2:
            return {
                question: Failure(
                    f"with the texts that {question.kind} is asked about a request has {written.size:,} bytes, and the "
                    f"server takes {self._limits.body:,}"
                )
            }
        answers = [found[one] for one, found in zip(windows, await self._each(windows, arrived), strict=True)]
        if both := together(question, windows, answers):
            answers.append((await self._each([both], arrived))[0][both])
        return {question: likeliest(answers)}

    async def _each(self, questions: Sequence[Question], arrived: Arrived | None) -> list[Mapping[Question, Answer]]:
        """The answers to questions, each asked by itself."""
        requests = [self._written(group_questions([question], 1)[0]) for question in questions]
        return await _all([self._answered(request, arrived) for request in requests])

    async def _exchange(self, written: _Written, arrived: Arrived | None) -> dict[Question, Answer]:
        """A request and its reply; a question that the reply doesn't answer lacks."""
        asked = written.asked

        def read(reply: Reply) -> tuple[list[Probabilities | None], dict[Question, Answer]]:
            answers = answers_in(self._model.service.wire, reply.text, asked.typed)
            found = verdicts(asked, answers)
            if not found:
                raise NoDecisions("the reply has no probability that can be read")
            if arrived is not None:
                arrived(found, written.id)
            return answers, found

        parts = self._parts(asked)
        if len(parts) > 1:
            found = verdicts(asked, [one for part in await _all([self._part(part) for part in parts]) for one in part])
            if arrived is not None:
                arrived(found, written.id)
            return found
        answers, found = await self._channel.ask(self._send, Prompt("", written.body, {}, 0), read)
        if not self._turned and len(asked.typed) > 1:
            self._turned = True
            await self._try_otherwise(asked, answers)
        return found

    async def _part(self, part: StateRequest) -> list[Probabilities | None]:
        """What is answered to some of the typed questions that one question takes."""

        def read(reply: Reply) -> list[Probabilities | None]:
            answers = answers_in(self._model.service.wire, reply.text, part.typed)
            pairs = zip(part.typed, answers, strict=True)
            known = (one.is_choice or answer == REFUSED or readable(answer) for one, answer in pairs)
            if not all(known):
                raise NoDecisions("the reply has no probability that can be read")
            return answers

        return await self._channel.ask(self._send, Prompt("", self._body(part), {}, 0), read)

    async def _try_otherwise(self, asked: StateRequest, answers: Sequence[Probabilities | None]) -> None:
        """Ask the same in reverse and without the first question, once a run.

        A model whose answers hang on what is asked beside them, or in which order, should be known for it.
        """
        turned = replace(asked, typed=asked.typed[:0:-1])
        read = partial(answers_in, self._model.service.wire, questions=turned.typed)
        try:
            body = self._body(turned)
            again = await self._channel.ask(self._send, Prompt("", body, {}, 0), lambda reply: read(text=reply.text))
        except RetriesExhausted:
            return
        pairs = zip(answers[1:], again[::-1], strict=True)
        moved = sum(readable(a) and readable(b) and abs(a - b) > MOVED for a, b in pairs)
        if moved:
            answered = f"{moved} of {plural(len(again), 'answer')}"
            self._channel.ledger.warn(
                f"{self._model.name}: {answered} moved by over {MOVED:.2f} beside other questions: try --batch-size 1"
            )


def _halves(request: Request) -> tuple[Request, Request]:
    middle = (len(request.questions) + 1) // 2
    return replace(request, questions=request.questions[:middle]), replace(
        request, questions=request.questions[middle:]
    )


async def _all(answers: Sequence[Awaitable[T]]) -> list[T]:
    """All that is awaited, at once; an error after the others have ended, so that nothing paid for is lost."""
    found = await asyncio.gather(*answers, return_exceptions=True)
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return [one for one in found if not isinstance(one, BaseException)]
