"""The judge that measures similarity by a provider's embeddings."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING

from ragtriage.core.display import quoted
from ragtriage.core.questions import Kind, Question
from ragtriage.core.verdicts import Answer, Answered, Failure, Verdict
from ragtriage.judges.llm.channel import Channel, RetriesExhausted
from ragtriage.judges.llm.models import address_of, price_of, split_name
from ragtriage.judges.llm.options import LLMOptions, Reply, RequestRejected, TransientError, tokens_of
from ragtriage.judges.llm.transport import Embedder
from ragtriage.judges.protocol import Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    EmbeddingVector = NDArray[np.float64]

Embed = Callable[[Sequence[str]], Awaitable[tuple[Sequence[Sequence[float]], Reply]]]
"""Texts → a vector for each, and a reply that says what it took; raises an `ExchangeError`."""

THRESHOLDS: Mapping[str, float] = {
    "text-embedding-3-small": 0.75,
    "text-embedding-3-large": 0.75,
    "text-embedding-ada-002": 0.93,
    "amazon.titan-embed-text-v1": 0.85,
    "amazon.titan-embed-text-v2": 0.8,
}
"""Model → the cosine from which two texts are taken to say the same. Guesses from how close each model puts texts
in general; none was measured. A name that begins so counts as the model."""
USUAL_THRESHOLD = 0.85
MOST_TEXTS = 256
MOST_TOKENS = 50_000
"""Of all texts of a request together."""
_FEWER: Mapping[str, int] = {"bedrock:cohere": 96, "bedrock:": 1, "cohere:": 96, "google:": 100, "google-cloud:": 100}
"""The beginning of a name → the most texts in a request, where it is fewer."""


class EmbeddingJudge:
    """Says how close a text is to the closest of others, by the cosine of their embeddings, and answers nothing else.

    A verdict is yes from a threshold on. The thresholds weren't measured, so read the scores rather than the verdicts,
    or see on your own texts where paraphrases end.
    """

    def __init__(self, name: str, options: LLMOptions, channel: Channel, embed: Embed | None = None) -> None:
        self._name = name
        self._options = options
        self._channel = channel
        self._price = price_of(name, options)
        self._threshold = threshold_of(name)
        self._embed = embed or Embedder(name, options)

    def name(self) -> str:
        """`PROVIDER:MODEL`."""
        return self._name

    def fingerprint(self, kind: Kind) -> str:  # noqa: ARG002  # it answers one kind
        """The model, the server's address and the threshold."""
        where = hashlib.blake2b((address_of(self._name, self._options) or "").encode(), digest_size=6).hexdigest()
        return f"embeddings:{self._name[:160]}:{where}:{self._threshold:g}"

    def unsupported_reason(self, kind: Kind, language: str) -> str | None:  # noqa: ARG002  # models know most languages
        """Similarity, in any language."""
        return None if kind == "similarity" else f"embeddings measure similarity; they don't answer {kind!r}"

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """Requests, and tokens by the length of the texts, each counted once."""
        requests = list(self._requests(questions))
        tokens = sum(tokens_of(text) for texts in requests for text in texts)
        if not requests:
            return Estimate()
        return Estimate(len(requests), tokens, 0, self._price.of(tokens, 0) if self._price else None)

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """See `ragtriage.judges.protocol.Judge.ask`; all texts travel together, each once."""
        running = [asyncio.ensure_future(self._fetch(texts)) for texts in self._requests(questions)]
        try:
            found = {text: vector for part in await asyncio.gather(*running) for text, vector in part.items()}
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        for position, question in enumerate(questions):
            yield position, self._answer(question, found)

    def _answer(self, question: Question, found: Mapping[str, EmbeddingVector | Failure]) -> Answer:
        reason = self.unsupported_reason(question.kind, "")
        if reason:
            return Failure(reason)
        texts = _texts(question)
        if not texts:
            return Verdict("no", -1.0, explanation="there is nothing else to compare with")
        vectors: list[EmbeddingVector] = []
        for text in texts:
            vector = found[text]
            if isinstance(vector, Failure):
                return vector
            vectors.append(vector)
        best, closest = highest_cosine(vectors[0], vectors[1:])
        value: Answered = "yes" if best >= self._threshold else "no"
        return Verdict(value, best, explanation=f"closest text ({best:.2f}): {quoted(texts[closest + 1])}")

    async def _fetch(self, texts: Sequence[str]) -> Mapping[str, EmbeddingVector | Failure]:
        """A vector for each text, or why there is none."""
        found: Sequence[Sequence[float]] = ()

        async def once() -> Reply:
            nonlocal found
            vectors, reply = await self._embed(texts)
            sound = all(vector and isfinite(sum(vector)) for vector in vectors)
            if len(vectors) != len(texts) or not sound or len({len(vector) for vector in vectors}) > 1:
                raise TransientError(f"malformed response: no {len(texts)} vectors of the same length")
            found = vectors
            return reply

        try:
            tokens = sum(map(tokens_of, texts))
            await self._channel.run(once, tokens_in=tokens, largest_reply=0)
        except RetriesExhausted as error:
            if len(texts) == 1 or not isinstance(error.__cause__, RequestRejected):
                return dict.fromkeys(texts, Failure(str(error)))
            half = len(texts) // 2  # one text may be to blame, and the others are good
            return {**await self._fetch(texts[:half]), **await self._fetch(texts[half:])}
        return {text: unit_vector(vector) for text, vector in zip(texts, found, strict=True)}

    def _requests(self, questions: Sequence[Question]) -> Iterator[list[str]]:
        """The texts of each request: all that a vector is needed for, once, in the order of the questions."""
        most = next((most for beginning, most in _FEWER.items() if self._name.startswith(beginning)), MOST_TEXTS)
        wanted = dict.fromkeys(text for question in questions for text in _texts(question))
        request: list[str] = []
        tokens = 0
        for text in wanted:
            size = tokens_of(text)
            if request and (len(request) == most or tokens + size > MOST_TOKENS):
                yield request
                request, tokens = [], 0
            request.append(text)
            tokens += size
        if request:
            yield request


def threshold_of(name: str) -> float:
    """The cosine from which two texts are taken to say the same; see `THRESHOLDS`."""
    _, model = split_name(name)
    return next((value for known, value in THRESHOLDS.items() if model.startswith(known)), USUAL_THRESHOLD)


def unit_vector(vector: Sequence[float]) -> EmbeddingVector:
    """The vector with length 1; one without length stays as it is, and is as far from all as from its opposite."""
    import numpy as np  # noqa: PLC0415  # loaded when vectors are there, so that a command starts quickly

    found = np.asarray(vector, dtype=np.float64)
    length = float(np.linalg.norm(found))
    return found / length if length else found


def highest_cosine(own: EmbeddingVector, others: Sequence[EmbeddingVector]) -> tuple[float, int]:
    """The highest cosine of vectors of length 1, in [-1, 1], and the place of the first one that has it."""
    import numpy as np  # noqa: PLC0415  # see `unit_vector`

    cosines = np.stack(others) @ own
    place = int(np.argmax(cosines))
    return max(-1.0, min(1.0, float(cosines[place]))), place


def _texts(question: Question) -> list[str]:
    """The question's text and those that it is compared with; empty if there is nothing to compare."""
    others = [text for place, text in enumerate(question.evidence) if place != question.at and text.strip()]
    return [question.subject, *others] if question.kind == "similarity" and others and question.subject.strip() else []
