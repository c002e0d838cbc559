"""What keeps answers, and the keys by which it finds them again."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, Protocol

from ragtriage.core.amount import NOTHING, Amount
from ragtriage.core.questions import Kind, Question
from ragtriage.core.verdicts import Answer

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
        ...

    def remember(self, entries: Iterable[CachedAnswer], spent: Amount = NOTHING) -> None:
        """Keep answers, none of them a failure, with what they cost; a key that is known stays as it is.

        They may wait for others for a moment, at most to `flush`.

        Args:
            entries: the answers.
            spent: what was spent so far by whoever gives them, on these and all before.
        """
        ...

    def flush(self) -> None:
        """Make safe what waits."""
        ...

    def claim(self, keys: Sequence[bytes]) -> Collection[bytes]:
        """Claim questions that nobody else is asking; those that aren't returned are being asked, or answered by now.

        A claim ends with `remember` or `release`.
        """
        ...

    def release(self, keys: Collection[bytes]) -> None:
        """Let others ask what wasn't answered; keys without a claim, or with an answer, are left alone."""
        ...


class InMemory:
    """Answers in a dictionary, for as long as the process lives.

    Args:
        most: how many; of more the oldest are forgotten. None: there may be any number.
    """

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
