"""From a probability to a verdict with its confidence, its reason, and whether it is sure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ragtriage.judges.questions import Question
from ragtriage.verdicts import Verdict

if TYPE_CHECKING:
    from ragtriage.judges.embedded.scorer import Scored

_QUOTE = 120
"""Characters of a passage that an explanation quotes."""


@dataclass(frozen=True, slots=True)
class Cuts:
    """Where verdicts are cut; the numbers belong to the fitted models and lie beside their coefficients."""

    repeats: float
    """Two sentences with at least this cosine may say the same."""
    sure: float
    """A claim with at most this probability is called unsupported in red."""

    @classmethod
    def of(cls, fitted: Mapping[str, Any]) -> Cuts:
        """As they stand in the file."""
        return cls(float(fitted["repeats"]), float(fitted["sure"]))


def verdict_of(question: Question, found: Scored, cuts: Cuts) -> Verdict:
    """The verdict on one question."""
    if question.kind == "similarity":
        return _similarity(found, cuts)
    value: Literal["yes", "no"] = "yes" if found.probability >= 0.5 else "no"
    confidence = max(found.probability, 1.0 - found.probability)
    sure = question.kind != "supported" or value == "yes" or (found.probability <= cuts.sure and not found.table)
    return Verdict(value, found.probability, confidence, _explained(question, found), sure)


def _similarity(found: Scored, cuts: Cuts) -> Verdict:
    """Yes from the threshold on, unless the two differ in a number or name: then they only sound alike."""
    cosine = -1.0 if found.cosine is None else found.cosine
    if not found.quote:
        return Verdict("no", cosine, 1.0, "there is nothing else to compare with")
    repeats = cosine >= cuts.repeats and found.probability >= 0.5
    chance = max(found.probability, 0.5) if repeats else min(found.probability, 0.5)
    reason = f"closest sentence ({cosine:.2f}): {_quoted(found.quote)}"
    return Verdict("yes" if repeats else "no", cosine, chance if repeats else 1.0 - chance, reason)


def _explained(question: Question, found: Scored) -> str:
    """The closest passage, and what is missing from all of them."""
    what = "closest true answer" if question.kind == "same_answer" else "closest passage"
    reason = f"{what}: {_quoted(found.quote)}"
    if question.kind == "supported" and found.missing:
        reason += f"; not found there: {', '.join(found.missing[:5])}"
    return reason


def _quoted(text: str) -> str:
    """A text in quotes, cut at a word."""
    text = " ".join(text.split())
    if len(text) > _QUOTE:
        text = text[:_QUOTE].rsplit(" ", 1)[0] + " …"
    return f"“{text}”"
