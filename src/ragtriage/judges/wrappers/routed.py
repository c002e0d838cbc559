"""Each kind of question to the judge that is meant for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing

from ragtriage.core.questions import Kind, Question
from ragtriage.core.verdicts import Answer
from ragtriage.judges.protocol import REQUEST, Estimate, Judge
from ragtriage.judges.wrappers.streams import closing_stream, merged


class Routed:
    """Asks several judges at once, each its own kinds of questions; `judges` has one for every kind."""

    def __init__(self, judges: Mapping[Kind, Judge], name: str) -> None:
        self._judges = dict(judges)
        self._name = name

    def name(self) -> str:
        """The name that it was given."""
        return self._name

    def fingerprint(self, kind: Kind) -> str:
        """That of the judge of this kind."""
        return self._judges[kind].fingerprint(kind)

    def unsupported_reason(self, kind: Kind, language: str) -> str | None:
        """What the judge of this kind says."""
        return self._judges[kind].unsupported_reason(kind, language)

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """The sum of the judges'."""
        parts = (judge.estimate([questions[i] for i in positions]) for judge, positions in self._shares(questions))
        return sum(parts, Estimate())

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """See `Judge.ask`."""
        shares = self._shares(questions)
        streams = [_with_request(judge.ask([questions[i] for i in positions])) for judge, positions in shares]
        async with aclosing(merged(streams)) as answers:
            async for which, position, (request, answer) in answers:
                REQUEST.set(request)
                yield shares[which][1][position], answer

    def _shares(self, questions: Sequence[Question]) -> list[tuple[Judge, list[int]]]:
        """Every judge with the positions of its questions."""
        shares: dict[int, tuple[Judge, list[int]]] = {}
        for position, question in enumerate(questions):
            judge = self._judges[question.kind]
            shares.setdefault(id(judge), (judge, []))[1].append(position)
        return list(shares.values())


async def _with_request(answers: AsyncIterator[tuple[int, Answer]]) -> AsyncIterator[tuple[int, tuple[str, Answer]]]:
    """Each answer with the request that brought it, which another task than the judge's own can't see."""
    REQUEST.set("")
    async with closing_stream(answers):
        async for position, answer in answers:
            yield position, (REQUEST.get(), answer)
