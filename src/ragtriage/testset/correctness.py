"""Which answers are right: what the file says, else the typed match, else a judge's same-answer verdict."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ragtriage.core.questions import same_answer
from ragtriage.core.verdicts import Failure, Verdict
from ragtriage.judges.protocol import Judge
from ragtriage.testset.answered_rows import Row
from ragtriage.testset.matching import TOLERANCE, truths_for_judge, typed_match

Source = Literal["the file", "typed match", "judge", "nobody"]
Given = Literal["sibling", "gold"]
"""What an application is given when it is asked again: the sources of a right answer of the group, or the database's
row as a text."""


@dataclass(frozen=True, slots=True)
class SecondAnswer:
    """What the application answered the second time, with sources that suffice."""

    given: Given
    correct: bool
    response: str


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether one answer is right."""

    correct: bool | None
    """None if it is undecided: there is no response, or neither the typed match nor the judge could tell."""
    by: Source
    why: str = ""
    failed: bool = False
    """Whether the judge failed on it, so that another call may decide it."""
    second_answer: SecondAnswer | None = None
    """Of a wrong answer: what the application says when it is given sources that suffice, where it was asked."""


def decide(rows: Sequence[Row], judge: Callable[[], Judge] | None, tolerance: float = TOLERANCE) -> list[Decision]:
    """Decide every row, in order.

    A row's own `correct` is used as it stands. A row without a response is undecided: a time-out isn't a wrong answer.

    Args:
        rows: of any clusters.
        judge: makes the judge that decides what the typed match can't tell; called only if there is such a row. None
            leaves these rows undecided.
        tolerance: for numbers, see `typed_match`.

    Raises:
        JudgeError: the judge can't work at all.
    """
    decisions = [_without_judge(row, tolerance) for row in rows]
    open_rows = [i for i, decision in enumerate(decisions) if decision is None]
    if open_rows and judge is not None:
        judged = asyncio.run(_ask(judge(), [rows[i] for i in open_rows]))
        for i, decision in zip(open_rows, judged, strict=True):
            decisions[i] = decision
    return [decision or Decision(None, "nobody", "The typed match can't tell.") for decision in decisions]


def _without_judge(row: Row, tolerance: float) -> Decision | None:
    """None where a judge is needed."""
    if row.correct is not None:
        return Decision(row.correct, "the file")
    if row.response is None:
        return Decision(None, "nobody", "The application gave no response.")
    if row.answer is None:
        return Decision(None, "nobody", "The true answer isn't known.")
    verdict = typed_match(row.query, row.answer, row.response, tolerance, row.answer_type)
    if verdict.value == "unknown":
        return None
    return Decision(verdict.value == "yes", "typed match", verdict.explanation)


async def _ask(judge: Judge, rows: Sequence[Row]) -> list[Decision]:
    questions = [same_answer(row.query, truths_for_judge(row.answer or ()), row.response or "") for row in rows]
    found = [Decision(None, "judge", "The judge gave no answer.", failed=True)] * len(rows)
    async for place, answer in judge.ask(questions):
        match answer:
            case Verdict(value=value, explanation=why):
                found[place] = Decision(None if value == "unknown" else value == "yes", "judge", why)
            case Failure(cause=cause):
                found[place] = Decision(None, "judge", f"The judge failed: {cause}", failed=True)
    return found


@dataclass(frozen=True, slots=True)
class MatcherCheck:
    """The typed match against labels: how often it says what the labels say."""

    counts: Counter[tuple[bool, str]]
    """(label, verdict of the typed match) → how many rows."""

    @property
    def rows(self) -> int:
        """How many rows have a label, a true answer and a response."""
        return self.counts.total()


def check_matcher(rows: Sequence[Row], tolerance: float = TOLERANCE) -> MatcherCheck:
    """Hold the typed match against `correct`, on the rows that have it beside an answer and a response."""
    return MatcherCheck(
        Counter(
            (row.correct, typed_match(row.query, row.answer, row.response, tolerance, row.answer_type).value)
            for row in rows
            if row.correct is not None and row.answer is not None and row.response is not None
        )
    )
