"""Each kind of question to the judge that is meant for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing

from ragtriage.core.questions import Kind, Question
from ragtriage.core.verdicts import Answer, Failure
from ragtriage.judges.protocol import Batching, Estimate, Judge
from ragtriage.judges.wrappers.streams import closing, merged


class Routed:
    """Asks several judges at once, each its own kinds of questions."""

    def __init__(self, judges: Mapping[Kind, Judge], name: str) -> None:
        self._judges = dict(judges)
        self._batching = {id(judge): judge for judge in judges.values() if isinstance(judge, Batching)}
        self._batch_ids: dict[Question, str] = {}
        self._name = name

    def name(self) -> str:
        """The name that it was given."""
        return self._name

    def fingerprint(self, kind: Kind) -> str:
        """That of the judge of this kind."""
        judge = self._judges.get(kind)
        return judge.fingerprint(kind) if judge else "nobody"

    def unsupported_reason(self, kind: Kind, language: str) -> str | None:
        """What the judge of this kind says; a kind that nobody has can't be answered."""
        judge = self._judges.get(kind)
        return judge.unsupported_reason(kind, language) if judge else self._nobody(kind)

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """The sum of the judges'."""
        parts = (judge.estimate([questions[i] for i in positions]) for judge, positions in self._shares(questions))
        return sum(parts, Estimate())

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """See `Judge.ask`."""
        shares = list(self._shares(questions))
        for position, question in enumerate(questions):
            if question.kind not in self._judges:
                yield position, Failure(self._nobody(question.kind))
        streams = [self._stream(judge, [questions[i] for i in positions]) for judge, positions in shares]
        try:
            async with aclosing(merged(streams)) as answers:
                async for which, position, answer in answers:
                    yield shares[which][1][position], answer
        finally:
            for question in questions:
                self._batch_ids.pop(question, None)

    def batch_of(self, question: Question) -> str:
        """See `Batching`; "" where the judge of this kind doesn't tell."""
        return self._batch_ids.pop(question, "")

    async def _stream(self, judge: Judge, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """What the judge yields; it is asked at once for the request of an answer, which it forgets when it goes on."""
        batching = self._batching.get(id(judge))
        async with closing(judge.ask(questions)) as answers:
            async for position, answer in answers:
                if batching:
                    self._batch_ids[questions[position]] = batching.batch_of(questions[position])
                yield position, answer

    def _shares(self, questions: Sequence[Question]) -> Iterator[tuple[Judge, list[int]]]:
        """Every judge with the positions of its questions."""
        shares: dict[int, tuple[Judge, list[int]]] = {}
        for position, question in enumerate(questions):
            judge = self._judges.get(question.kind)
            if judge:
                shares.setdefault(id(judge), (judge, []))[1].append(position)
        yield from shares.values()

    def _nobody(self, kind: Kind) -> str:
        return f"the judge {self._name} has nobody for {kind!r} questions"
