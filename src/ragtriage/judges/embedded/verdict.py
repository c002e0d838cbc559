"""From a probability to a verdict with its confidence, its reason, and whether it is sure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answered, Verdict
from ragtriage.judges.embedded.scored import Scored

_QUOTE = 120
"""Characters of a passage that an explanation quotes."""


@dataclass(frozen=True, slots=True)
class Cuts:
    """Where verdicts are cut; the numbers belong to the fitted models and lie beside their coefficients."""

    repeats: float
    """Two sentences with at least this cosine may say the same."""
    sure: float
    """A claim with at most this probability is called unsupported in red, and is over a table called so at all."""
    unsure: float
    """A claim between this probability and a half is neither supported nor unsupported."""

    @classmethod
    def of(cls, fitted: Mapping[str, Any]) -> Cuts:
        """As they stand in the file."""
        return cls(float(fitted["repeats"]), float(fitted["sure"]), float(fitted["unsure"]))


def verdict_of(question: Question, found: Scored, cuts: Cuts) -> Verdict:
    """The verdict on one question."""
    if question.kind == "similarity":
        return _similarity(found, cuts)
    value: Answered = "yes" if found.probability >= 0.5 else "no"
    sure = True
    if question.kind == "supported" and value == "no":
        # Rows and fields are read less well than sentences: there only what is nowhere to be found is called so.
        value = "unknown" if found.probability > (cuts.sure if found.table else cuts.unsure) else "no"
        sure = found.probability <= cuts.sure and not found.table
    chance = _without_lean(found)
    if question.kind == "supported" and value == "no" and found.derived:
        # the models miss what stands nowhere, and can't calculate
        value, chance, sure = "unknown", max(chance, cuts.unsure), True
    if value == "yes" and (found.foreign or found.denied):
        # most often the number is wrong; over rows and fields it is as often one that was worked out from them
        value, chance, sure = ("unknown", min(chance, 0.5), True) if found.table else ("no", min(chance, 0.4), False)
    confidence = {"yes": chance, "no": 1.0 - chance, "unknown": max(chance, 1.0 - chance)}[value]
    return Verdict(value, chance, confidence, _explained(question, found), sure)


def _without_lean(found: Scored) -> float:
    """The probability of yes as it is believed; a yes that is given in doubt may have less than a half."""
    if not found.lean:
        return found.probability
    odds = math.log(found.probability / (1.0 - found.probability)) - found.lean
    return 1.0 / (1.0 + math.exp(-odds))


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
    if question.kind == "supported" and found.denied:
        reason = f"a passage says otherwise: {_quoted(found.denied)}"
    elif question.kind == "supported" and found.foreign:
        reason += f"; nothing there accounts for {', '.join(found.foreign[:5])}"
    elif question.kind == "supported" and found.missing:
        reason += f"; not found there: {', '.join(found.missing[:5])}"
    return reason


def _quoted(text: str) -> str:
    """A text in quotes, cut at a word."""
    text = " ".join(text.split())
    if len(text) > _QUOTE:
        text = text[:_QUOTE].rsplit(" ", 1)[0] + " …"
    return f"“{text}”"
