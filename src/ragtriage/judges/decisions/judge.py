"""The judge that asks a decision model."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial

from ragtriage.core.questions import Kind, Question
from ragtriage.core.verdicts import Answer, Failure
from ragtriage.judges.decisions.asking import Probabilities, StateRequest, state_request, typed_count, verdicts
from ragtriage.judges.decisions.models import DecisionModel
from ragtriage.judges.decisions.transport import TooLarge
from ragtriage.judges.decisions.windows import in_windows, likeliest, together
from ragtriage.judges.decisions.wire import answers_in, body_of
from ragtriage.judges.decisions.words import DECIDED, DecisionWords
from ragtriage.judges.llm.channel import Channel, RetriesExhausted
from ragtriage.judges.llm.messages import MalformedReply, Prompt, Reply, Send, tokens_of
from ragtriage.judges.llm.options import Price
from ragtriage.judges.llm.requests import Request, group_questions
from ragtriage.judges.protocol import ARRIVED, REQUEST, Arrived, Estimate, merged

BATCH = 64
"""Typed questions in a request."""
MOVED = 0.05
"""From this difference on, the probabilities of an answer are others."""
VERSION = 1
"""Of the form of requests, and of how a probability becomes a verdict: raise it when stored answers would change."""
_UNCUT = 1_000_000
"""So many questions that no group of them is cut."""


@dataclass(slots=True)
class _Limits:
    """What the server takes, as far as it is known."""

    typed: int
    body: int
    """Bytes."""

    def learn(self, asked: StateRequest, body: int, refusal: str) -> None:
        """A request was too large."""
        if "question" in refusal and len(asked.typed) > 1:
            self.typed = min(self.typed, len(asked.typed) - 1)
        else:
            self.body = min(self.body, body - 1)


class DecisionJudge:
    """Verdicts with probabilities by a decision model, many questions about one state in a request.

    It breaks no text up, writes nothing and measures no similarity; a judge of texts stands beside it.

    Args:
        model: which.
        send: carries one request: see `DecisionTransport.send`.
        channel: the way to it, with its limits and the ledger.
        words: in which it is asked.
        batch_size: the most typed questions in a request.
        largest_body: bytes of a request that the server takes; None for what is known of its service.
        price: None if it isn't known.
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
        self._answering = ""
        """The model that the replies name."""

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
        for request in self._requests([q for q in questions if q.kind in DECIDED]):
            tokens = tokens_of(self._body(state_request(request, self._words)))
            total += Estimate(1, tokens, 0, self._price.of(tokens, 0) if self._price else None)
        return total

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """See `ragtriage.judges.protocol.Judge.ask`; the answers of one request come together."""
        places: dict[Question, list[int]] = {}
        for position, question in enumerate(questions):
            if question.kind in DECIDED:
                places.setdefault(question, []).append(position)
            else:
                yield position, Failure(f"a decision model isn't asked for {question.kind}")
        arrived = ARRIVED.get()
        streams = [self._stream(request, arrived) for request in self._requests(list(places))]
        async with aclosing(merged(streams)) as replies:
            async for _, _, (request_id, answers) in replies:
                for question, answer in answers.items():
                    for position in places[question]:
                        REQUEST.set(request_id)
                        yield position, answer

    async def _stream(
        self, request: Request, arrived: Arrived | None
    ) -> AsyncIterator[tuple[int, tuple[str, Mapping[Question, Answer]]]]:
        """One request's id and its answers, all at once."""
        answers = await self._answered(request, arrived)
        yield 0, (_id_of(self._body(state_request(request, self._words))), answers)

    def _requests(self, questions: Sequence[Question]) -> Iterator[Request]:
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

    def _fitting(self, request: Request) -> Iterator[Request]:
        """A request in parts of as many bytes as the server takes; one question alone stays, however large."""
        asked = state_request(request, self._words)
        fits = len(asked.typed) <= self._limits.typed and _size(self._body(asked)) <= self._limits.body
        if fits or len(request.questions) < 2:
            yield request
            return
        for half in _halves(request):
            yield from self._fitting(half)

    def _body(self, asked: StateRequest) -> str:
        return body_of(self._model.service.wire, self._model.model, asked.state, asked.typed)

    async def _answered(self, request: Request, arrived: Arrived | None) -> Mapping[Question, Answer]:
        """The answers to a request, in as many exchanges as that takes."""
        asked = state_request(request, self._words)
        body = self._body(asked)
        if len(request.questions) == 1 and _size(body) > self._limits.body:
            return await self._by_windows(request, _size(body), arrived)
        try:
            found = await self._exchange(asked, body, arrived)
        except RetriesExhausted as error:
            if not isinstance(error.__cause__, TooLarge):
                return dict.fromkeys(request.questions, Failure(str(error)))
            self._limits.learn(asked, _size(body), str(error))
            return await self._in_parts(request, error, arrived)
        missing = [question for question in request.questions if question not in found]
        if missing:
            alone = [self._answered(replace(request, questions=(question,)), arrived) for question in missing]
            for answers in await _all(alone):
                found |= answers
        return found

    async def _in_parts(
        self, request: Request, error: RetriesExhausted, arrived: Arrived | None
    ) -> Mapping[Question, Answer]:
        """The answers to a request that the server found too large."""
        parts = list(self._fitting(request))
        if len(parts) == 1 and len(request.questions) > 1:
            parts = list(_halves(request))
        if len(parts) > 1:
            found: dict[Question, Answer] = {}
            for answers in await _all([self._answered(part, arrived) for part in parts]):
                found |= answers
            return found
        body = self._body(state_request(request, self._words))
        if _size(body) > self._limits.body:
            return await self._by_windows(request, _size(body), arrived)
        return dict.fromkeys(request.questions, Failure(str(error)))

    async def _by_windows(self, request: Request, size: int, arrived: Arrived | None) -> Mapping[Question, Answer]:
        """The answer to one question about texts that are too large: of the best window, or the best two together."""
        (question,) = request.questions
        texts = sum(map(_size, (*question.evidence, "" if question.evidence else question.subject)))
        windows = in_windows(question, self._limits.body - (size - texts))
        if len(windows) < 2:
            return {
                question: Failure(
                    f"the texts that {question.kind} is asked about take {size:,} bytes, and the server takes "
                    f"{self._limits.body:,}"
                )
            }
        answers = [found[one] for one, found in zip(windows, await self._each(windows, arrived), strict=True)]
        if both := together(question, windows, answers):
            answers.append((await self._each([both], arrived))[0][both])
        return {question: likeliest(answers)}

    async def _each(self, questions: Sequence[Question], arrived: Arrived | None) -> list[Mapping[Question, Answer]]:
        """The answers to questions, each asked by itself."""
        requests = [group_questions([question], 1)[0] for question in questions]
        return await _all([self._answered(request, arrived) for request in requests])

    async def _exchange(self, asked: StateRequest, body: str, arrived: Arrived | None) -> dict[Question, Answer]:
        """One request and its reply; a question that the reply doesn't answer lacks."""

        def read(reply: Reply) -> tuple[list[Probabilities | None], dict[Question, Answer]]:
            answers = answers_in(self._model.service.wire, reply.text, asked.typed)
            found = verdicts(asked, answers)
            if not found:
                raise MalformedReply("the reply has no probability that can be read")
            self._look_at_model(reply.model)
            if arrived is not None:
                arrived(found, _id_of(body))
            return answers, found

        answers, found = await self._channel.ask(self._send, Prompt("", body, {}, 0), read)
        if not self._turned and len(asked.typed) > 1:
            self._turned = True
            await self._try_in_reverse(asked, answers)
        return found

    async def _try_in_reverse(self, asked: StateRequest, answers: Sequence[Probabilities | None]) -> None:
        """Ask the same in reverse, once a run: a model whose answers hang on their order should be known for it."""
        turned = replace(asked, typed=asked.typed[::-1])
        read = partial(answers_in, self._model.service.wire, questions=turned.typed)
        try:
            body = self._body(turned)
            again = await self._channel.ask(self._send, Prompt("", body, {}, 0), lambda reply: read(text=reply.text))
        except RetriesExhausted:
            return
        pairs = zip(answers, again[::-1], strict=True)
        moved = sum(isinstance(a, float) and isinstance(b, float) and abs(a - b) > MOVED for a, b in pairs)
        if moved:
            self._warn(f"{moved} of {len(answers)} answers moved by over {MOVED:.2f} in another order: "
                       "try --batch-size 1")  # fmt: skip

    def _look_at_model(self, model: str) -> None:
        if model and self._answering and model != self._answering:
            self._warn(f"replies name the model {model}, earlier ones {self._answering}")
        self._answering = model or self._answering

    def _warn(self, text: str) -> None:
        told = f"{self._model.name}: {text}"
        if told not in self._channel.ledger.warnings:
            self._channel.ledger.warnings.append(told)


def _halves(request: Request) -> tuple[Request, Request]:
    middle = (len(request.questions) + 1) // 2
    return replace(request, questions=request.questions[:middle]), replace(
        request, questions=request.questions[middle:]
    )


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _id_of(body: str) -> str:
    """The short id of a request, from its body."""
    return hashlib.blake2b(body.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


async def _all(answers: Sequence[Awaitable[Mapping[Question, Answer]]]) -> list[Mapping[Question, Answer]]:
    """All that is awaited, at once; an error after the others have ended, so that nothing paid for is lost."""
    found = await asyncio.gather(*answers, return_exceptions=True)
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return [one for one in found if not isinstance(one, BaseException)]
