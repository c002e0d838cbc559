"""A text of several claims is supported if each of them is.

A citing response is judged segment by segment, and a segment may say several things. The models were fitted on single
claims: read as one, a text of which a part is made up passes for what its other parts are. Claim by claim, four times
as many of such texts are found (docs/judges.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer, Verdict
from ragtriage.text import split_claims, split_sentences

SHOWN = 120
"""Characters of a claim that are quoted."""
_ORDER = {"no": 0, "unknown": 2, "yes": 3}
"""The weakest first; a failure stands behind no, since it might have been any."""


def claimwise(question: Question) -> tuple[Question, ...]:
    """One question a claim, for a part of a response that has several sentences; else the question itself."""
    if question.kind != "supported" or not question.context or len(split_sentences(question.subject)) < 2:
        return (question,)
    claims = [c.text for c in split_claims(question.subject, question.query) if not c.remark]
    return tuple(replace(question, subject=claim) for claim in claims) if len(claims) > 1 else (question,)


def weakest(asked: Sequence[Question], answers: Sequence[Answer]) -> Answer:
    """The answer that decides: the weakest one, which says which claim it is about."""
    question, found = min(zip(asked, answers, strict=True), key=lambda pair: _rank(pair[1]))
    if len(asked) == 1 or not isinstance(found, Verdict):
        return found
    said = question.subject if len(question.subject) <= SHOWN else question.subject[: SHOWN - 1] + "…"
    return replace(found, explanation=f"“{said}”: {found.explanation}")


def _rank(answer: Answer) -> tuple[int, float]:
    return (_ORDER[answer.value], answer.score or 0.0) if isinstance(answer, Verdict) else (1, 0.0)
