"""The judge that asks a language model."""

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from ragtriage.core.questions import DECOMPOSITIONS, Kind, Question
from ragtriage.core.verdicts import Answer, Failure
from ragtriage.judges.llm.channel import RetriesExhausted
from ragtriage.judges.llm.letters import LetterForm
from ragtriage.judges.llm.options import Price, Prompt, Reply
from ragtriage.judges.llm.requests import Form, ReadReply, Request, group_questions
from ragtriage.judges.protocol import Arrived, Estimate, RequestReply, by_requests

T = TypeVar("T")


class AskModel(Protocol):
    """Puts one prompt to the model until its reply can be read: `Channel.ask` live, `BatchQueue.ask` by tickets."""

    async def __call__(self, prompt: Prompt, read: Callable[[Reply], T], /) -> T:
        """See `ragtriage.judges.llm.channel.Channel.ask`."""


MOST_ROUNDS = 5
"""Replies that leave questions out after which these are given up."""


class LLMJudge:
    """Verdicts, decompositions and written questions by a language model, several questions in a request.

    It answers the kinds of question that its form can ask, in any language: JSON and letters all but `sentences` and
    `similarity`, which no model need be asked.

    The identity is what else the answers depend on: the server's address, parameters. `warn` is told once what whoever
    reads the result should know.
    """

    def __init__(
        self,
        name: str,
        ask: AskModel,
        form: Form,
        *,
        batch_size: int = 32,
        price: Price | None = None,
        identity: str = "",
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._name = name
        self._ask = ask
        self._form = form
        self._batch_size = batch_size
        self._price = price
        self._identity = identity
        self._warn = warn

    def name(self) -> str:
        """`provider:model`."""
        return self._name

    def fingerprint(self, kind: Kind) -> str:
        """Model, parameters and server, the head with the user's guidance, and this kind's prompt and version."""
        form, asked = self._form.identity(kind), kind in self._form.kinds
        method = hashlib.blake2b(f"{self._name}\0{self._identity}{form}".encode(), digest_size=6).hexdigest()
        by = "decide" if asked and form and kind not in DECOMPOSITIONS else "llm"
        return f"{by}:{self._name[:80]}:{method}:{self._form.words(kind) if asked else '-'}"

    def unsupported_reason(self, kind: Kind, language: str) -> str | None:  # noqa: ARG002  # models know most languages
        """Everything but the kinds that no model is asked."""
        return None if kind in self._form.kinds else f"a language model isn't asked for {kind}"

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """Requests, and tokens by their length: see `ragtriage.judges.llm.options.tokens_of`."""
        total = Estimate(price=None if self._price is None else 0.0) if questions else Estimate()
        for request in group_questions([q for q in questions if q.kind in self._form.kinds], self._batch_size):
            sent, back = self._form.render(request).tokens, self._form.reply_tokens(request)
            total += Estimate(1, sent, back, self._price.of(sent, back) if self._price else None)
        return total

    def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """See `ragtriage.judges.protocol.Judge.ask`; the answers of one request come together."""
        grouped = partial(group_questions, batch_size=self._batch_size)
        return by_requests(questions, self._form.kinds, "a language model", grouped, self._stream)

    async def _stream(self, request: Request, arrived: Arrived | None) -> AsyncIterator[RequestReply]:
        """The id of a request and its answers, all at once; then those of what its reply left out, asked again."""
        waiting = [(request, 1)]
        while waiting:
            request, rounds = waiting.pop(0)
            prompt = self._form.render(request)
            request_id = hashlib.blake2b(prompt.user.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
            try:
                found = await self._ask(prompt, self._reading(request, request_id, arrived))
            except RetriesExhausted as error:
                yield request_id, dict.fromkeys(request.questions, Failure(str(error)))
                continue
            yield request_id, found.answers
            if rounds < MOST_ROUNDS:
                waiting += [(one, rounds + 1) for one in found.again]
            else:
                left = [question for one in found.again for question in one.questions]
                yield request_id, dict.fromkeys(left, Failure(f"{MOST_ROUNDS} replies left it out"))

    def _reading(self, request: Request, request_id: str, arrived: Arrived | None) -> Callable[[Reply], ReadReply]:
        """What reads a reply, and has its answers kept in the same moment."""

        def read(reply: Reply) -> ReadReply:
            found = self._form.read(request, reply)
            if arrived is not None:
                arrived(found.answers, request_id)
            if isinstance(self._form, LetterForm) and not reply.tokens:
                self._warn(f"{self._name}: its server gives letters without their probabilities")
            return found

        return read
