"""The judge that asks a language model."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Protocol, TypeVar

from ragtriage.core.questions import Kind, Question
from ragtriage.core.verdicts import Answer, Failure
from ragtriage.judges.llm.channel import RetriesExhausted
from ragtriage.judges.llm.kinds import ASKED_KINDS
from ragtriage.judges.llm.messages import Prompt, Reply
from ragtriage.judges.llm.options import Price
from ragtriage.judges.llm.prompts import ASKED, Prompts
from ragtriage.judges.llm.requests import (
    Request,
    TooFewQuestions,
    expected_reply_tokens,
    group_questions,
    parse_reply,
    render,
)
from ragtriage.judges.protocol import ARRIVED, REQUEST, Arrived, Estimate, merged

T = TypeVar("T")


class AskModel(Protocol):
    """Puts one prompt to the model until its reply can be read: `Channel.ask` live, `BatchQueue.ask` by tickets."""

    async def __call__(self, prompt: Prompt, read: Callable[[Reply], T], /) -> T:
        """See `ragtriage.judges.llm.channel.Channel.ask`."""
        ...


def fingerprint_of(name: str, method: str, words: str, version: int) -> str:
    """What identifies the answers of a model, asked with these parameters, words, and version of the kind.

    The first version isn't written: answers that were stored before there were versions are of the first.
    """
    return f"llm:{name[:80]}:{method}:{words}" + (f".{version}" if version > 1 else "")


class LLMJudge:
    """Verdicts, decompositions and written questions by a language model, several questions in a request.

    It answers every kind of question but `sentences` and `similarity`, which no model need be asked, in any language.

    The identity is what else the answers depend on: the server's address, parameters.
    """

    def __init__(
        self,
        name: str,
        ask: AskModel,
        prompts: Prompts,
        *,
        batch_size: int = 32,
        price: Price | None = None,
        identity: str = "",
    ) -> None:
        self._name = name
        self._ask = ask
        self._prompts = prompts
        self._batch_size = batch_size
        self._price = price
        self._method = hashlib.blake2b(f"{name}\0{identity}".encode(), digest_size=6).hexdigest()

    def name(self) -> str:
        """`provider:model`."""
        return self._name

    def fingerprint(self, kind: Kind) -> str:
        """Model, parameters and server, the head with the user's guidance, and this kind's prompt and version."""
        if kind not in ASKED:
            return f"llm:{self._name[:80]}:{self._method}:-"
        return fingerprint_of(self._name, self._method, self._prompts.digest(kind), ASKED_KINDS[kind].version)

    def unsupported_reason(self, kind: Kind, language: str) -> str | None:  # noqa: ARG002  # models know most languages
        """Everything but the kinds that no model is asked."""
        return None if kind in ASKED else f"a language model isn't asked for {kind}"

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """Requests, and tokens by their length: see `ragtriage.judges.llm.messages.tokens_of`."""
        total = Estimate(price=None if self._price is None else 0.0) if questions else Estimate()
        for request in group_questions([q for q in questions if q.kind in ASKED], self._batch_size):
            sent, back = render(request, self._prompts).tokens, expected_reply_tokens(request)
            total += Estimate(1, sent, back, self._price.of(sent, back) if self._price else None)
        return total

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """See `ragtriage.judges.protocol.Judge.ask`; the answers of one request come together."""
        places: dict[Question, list[int]] = {}
        for position, question in enumerate(questions):
            if question.kind in ASKED:
                places.setdefault(question, []).append(position)
            else:
                yield position, Failure(f"a language model isn't asked for {question.kind}")
        requests = group_questions(list(places), self._batch_size)
        arrived = ARRIVED.get()
        async with aclosing(merged([self._stream(request, arrived) for request in requests])) as replies:
            async for _, _, (request_id, answers) in replies:
                for question, answer in answers.items():
                    for position in places[question]:
                        REQUEST.set(request_id)
                        yield position, answer

    async def _stream(
        self, request: Request, arrived: Arrived | None
    ) -> AsyncIterator[tuple[int, tuple[str, Mapping[Question, Answer]]]]:
        """One request's id and its answers, all at once."""
        prompt = render(request, self._prompts)
        request_id = hashlib.blake2b(prompt.user.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
        short = False

        def parse(reply: Reply) -> Mapping[Question, Answer]:
            """Too few written questions are asked for once more; then those that there are have to do."""
            nonlocal short
            try:
                found = parse_reply(request, reply, fewer=short)
            except TooFewQuestions:
                short = True
                raise
            if arrived is not None:
                arrived(found, request_id)
            return found

        try:
            answers = await self._ask(prompt, parse)
        except RetriesExhausted as error:
            answers = dict.fromkeys(request.questions, Failure(str(error)))
        yield 0, (request_id, answers)
