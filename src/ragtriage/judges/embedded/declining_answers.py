"""Whether a response that declines gives the same answer as another one: told by rules, as the model can't tell it.

Two refusals say the same, so an application that declines every time is consistent. Yet a refusal is never the true
answer, not even beside a truth that reads like one.
"""

from __future__ import annotations

from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Verdict
from ragtriage.text import declines


def refused(question: Question) -> Verdict | None:
    """The verdict on `same_answer` where refusals decide it; None elsewhere."""
    if question.kind != "same_answer":
        return None
    own = declines(question.query, question.subject)
    if own.value != "yes":
        return None
    if question.at is None:
        return Verdict("no", 1.0 - _sure(own), _sure(own), "The response declines, so it gives no true answer.")
    others = [declines(question.query, text) for text in question.evidence]
    sure = min(_sure(own), max((_sure(other) for other in others if other.value == "yes"), default=0.0))
    return Verdict("yes", sure, sure, "Both decline to answer.") if sure else None


def _sure(told: Verdict) -> float:
    return 1.0 if told.score is None else told.score
