"""The judge that measures similarity by a provider's embeddings."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING

from ragtriage.core.errors import JudgeError
from ragtriage.core.questions import Kind, Question
from ragtriage.core.verdicts import Answer, Answered, Failure, Verdict
from ragtriage.judges.llm.channel import Channel, GaveUp
from ragtriage.judges.llm.messages import ExchangeError, Rejected, Reply, Transient, Unusable, tokens_of
from ragtriage.judges.llm.model_names import address_of, split_name
from ragtriage.judges.llm.options import LLMOptions
from ragtriage.judges.llm.pricing import price_of
from ragtriage.judges.llm.transport import Embedder
from ragtriage.judges.protocol import Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

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
_FEWER: Mapping[str, int] = {
    "bedrock:cohere": 96,
    "bedrock:": 1,
    "cohere:": 96,
    "google:": 100,
    "google-cloud:": 100,
}
"""The beginning of a name → the most texts in a request, where it is fewer."""
QUOTED = 120
"""Characters of a text that an explanation quotes."""


@dataclass(slots=True)
class _Found:
    """What became of texts."""

    vectors: dict[str, Vector] = field(default_factory=dict)
    """Of length 1."""
    failures: dict[str, Failure] = field(default_factory=dict)


class EmbeddingJudge:
    """Says how close a text is to the closest of others, by the cosine of their embeddings, and answers nothing else.

    A verdict is yes from a threshold on. The thresholds weren't measured, so read the scores rather than the verdicts,
    or see on your own texts where paraphrases end.

    Args:
        name: `PROVIDER:MODEL`.
        options: the address, headers and timeout.
        channel: limits, repeats and pays for the requests; None to make each once.
        embed: makes the vectors, if not the provider.

    Raises:
        ConfigError: the name, its key or its address is wrong or missing.
        MissingExtraError: the provider's package isn't installed.
    """

    def __init__(
        self, name: str, options: LLMOptions, channel: Channel | None = None, embed: Embed | None = None
    ) -> None:
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
        packs = list(_packs(_texts(questions), _most_texts(self._name)))
        tokens = sum(tokens_of(text) for pack in packs for text in pack)
        if not packs:
            return Estimate()
        return Estimate(len(packs), tokens, 0, self._price.of(tokens, 0) if self._price else None)

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """See `ragtriage.judges.protocol.Judge.ask`; all texts travel together, each once."""
        found = _Found()
        packs = list(_packs(_texts(questions), _most_texts(self._name)))
        running = [asyncio.ensure_future(self._fetch(pack, found)) for pack in packs]
        try:
            await asyncio.gather(*running)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        for position, question in enumerate(questions):
            yield position, self._answer(question, found)

    def _answer(self, question: Question, found: _Found) -> Answer:
        reason = self.unsupported_reason(question.kind, "")
        if reason:
            return Failure(reason)
        others = [text for place, text in enumerate(question.evidence) if place != question.at and text.strip()]
        if not others or not question.subject.strip():
            return Verdict("no", -1.0, explanation="there is nothing else to compare with")
        for text in (question.subject, *others):
            if text in found.failures:
                return found.failures[text]
        best, closest = nearest(found.vectors[question.subject], [found.vectors[text] for text in others])
        value: Answered = "yes" if best >= self._threshold else "no"
        return Verdict(value, best, explanation=f"closest text ({best:.2f}): {_quoted(others[closest])}")

    async def _fetch(self, texts: Sequence[str], found: _Found) -> None:
        """Add a vector for each text, or why there is none."""
        try:
            vectors = await self._vectors(texts)
        except Rejected as error:
            if len(texts) == 1:
                found.failures[texts[0]] = Failure(str(error))
                return
            half = len(texts) // 2  # one text may be to blame, and the others are good
            await self._fetch(texts[:half], found)
            await self._fetch(texts[half:], found)
        except (GaveUp, ExchangeError) as error:
            found.failures |= dict.fromkeys(texts, Failure(str(error)))
        else:
            found.vectors |= {text: direction(vector) for text, vector in zip(texts, vectors, strict=True)}

    async def _vectors(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """A vector for each text."""
        found: list[Sequence[float]] = []

        async def once() -> Reply:
            vectors, reply = await self._embed(texts)
            sound = all(vector and isfinite(sum(vector)) for vector in vectors)
            if len(vectors) != len(texts) or not sound or len({len(vector) for vector in vectors}) > 1:
                raise Transient(f"malformed response: no {len(texts)} vectors of the same length")
            found[:] = vectors
            return reply

        try:
            if self._channel is None:
                await once()
            else:
                tokens = sum(map(tokens_of, texts))
                await self._channel.run(once, tokens_in=tokens, largest_reply=0, priced=self._price)
        except GaveUp as error:
            if isinstance(error.__cause__, Rejected):
                raise error.__cause__ from None
            raise
        except Unusable as error:
            raise JudgeError(str(error)) from None
        return found


def threshold_of(name: str) -> float:
    """The cosine from which two texts are taken to say the same; see `THRESHOLDS`."""
    _, model = split_name(name)
    return next((value for known, value in THRESHOLDS.items() if model.startswith(known)), USUAL_THRESHOLD)


def direction(vector: Sequence[float]) -> Vector:
    """The vector with length 1; one without length stays as it is, and is as far from all as from its opposite."""
    import numpy as np  # noqa: PLC0415  # loaded when vectors are there, so that a command starts quickly

    found = np.asarray(vector, dtype=np.float64)
    length = float(np.linalg.norm(found))
    return found / length if length else found


def nearest(own: Vector, others: Sequence[Vector]) -> tuple[float, int]:
    """The highest cosine of vectors of length 1, in [-1, 1], and the place of the first one that has it."""
    import numpy as np  # noqa: PLC0415  # see `direction`

    cosines = np.stack(others) @ own
    place = int(np.argmax(cosines))
    return max(-1.0, min(1.0, float(cosines[place]))), place


def _texts(questions: Sequence[Question]) -> list[str]:
    """Every text that a vector is needed for, once, in the order of the questions."""
    wanted: dict[str, None] = {}
    for question in questions:
        others = [text for place, text in enumerate(question.evidence) if place != question.at and text.strip()]
        if question.kind == "similarity" and others and question.subject.strip():
            wanted |= dict.fromkeys((question.subject, *others))
    return list(wanted)


def _packs(texts: Sequence[str], most: int) -> Iterator[list[str]]:
    """The texts of each request."""
    pack: list[str] = []
    tokens = 0
    for text in texts:
        size = tokens_of(text)
        if pack and (len(pack) == most or tokens + size > MOST_TOKENS):
            yield pack
            pack, tokens = [], 0
        pack.append(text)
        tokens += size
    if pack:
        yield pack


def _most_texts(name: str) -> int:
    return next((most for beginning, most in _FEWER.items() if name.startswith(beginning)), MOST_TEXTS)


def _quoted(text: str) -> str:
    """A text in quotes, cut at a word."""
    text = " ".join(text.split())
    return f"“{text}”" if len(text) <= QUOTED else f"“{text[:QUOTED].rsplit(' ', 1)[0]} …”"
