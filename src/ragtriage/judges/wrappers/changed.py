"""A judge whose answers are changed after they are given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence

from ragtriage.core.errors import ConfigError
from ragtriage.core.questions import Kind, Question
from ragtriage.core.verdicts import Answer
from ragtriage.judges.protocol import Estimate, Judge
from ragtriage.judges.wrappers.streams import closing_stream


class ChangedAnswers(ABC):
    """Asks a judge and changes what it answers.

    It belongs around `Cached`: what was answered stays known however it is changed.

    Args:
        judge: who is asked.
    """

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    @abstractmethod
    def fingerprint(self, kind: Kind) -> str:
        """The inner judge's, with what is changed for this kind."""

    @abstractmethod
    def changed(self, kind: Kind, answer: Answer) -> Answer:
        """One answer to a question of this kind, as it is to be."""

    def name(self) -> str:
        """The inner judge's."""
        return self._judge.name()

    def unsupported_reason(self, kind: Kind, language: str) -> str | None:
        """The inner judge's."""
        return self._judge.unsupported_reason(kind, language)

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """The inner judge's."""
        return self._judge.estimate(questions)

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """See `Judge.ask`."""
        async with closing_stream(self._judge.ask(questions)) as answers:
            async for position, answer in answers:
                yield position, self.changed(questions[position].kind, answer)


def other_version(table: str, judge: str, known: str, now: str) -> ConfigError:
    """What a table of the settings is refused with that was fitted for another version of its judge."""
    return ConfigError(
        f"{table} was fitted for {judge} as {known}, and it is {now} now: calibrate again with "
        "`ragtriage trust calibrate`, or take the table out of the settings"
    )
