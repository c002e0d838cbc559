"""From a probability to a verdict with its reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ragtriage.core.display import LONGEST_QUOTE, quoted
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import CHECK, Answer, Answered, Components, Verdict, with_chance
from ragtriage.judges.embedded.claimed_text import without_attribution
from ragtriage.text.claims import Marker
from ragtriage.text.declines import declines
from ragtriage.text.differences import differences, likely_place
from ragtriage.text.sentences import split_sentences

NEAR = 0.6
"""From this share of a claim's words in one sentence on, an unsupported claim is one that the sentence contradicts."""
MOST_DIFFERENCES = 3
"""Details that are shown beside a quote."""


@dataclass(frozen=True, slots=True)
class Scored:
    """What was found for one question."""

    probability: float
    """Of yes, in (0, 1)."""
    quote: str = ""
    """What it rests on most: the closest passage, sentence or true answer."""
    missing: tuple[str, ...] = ()
    """Numbers and names of the claim that stand nowhere in the evidence, as it writes them."""
    unsupported: tuple[str, ...] = ()
    """Numbers of the claim that nothing in the evidence, the query or a calculation accounts for."""
    calculated: bool = False
    """Whether the claim states a date or number that the response works out rightly, and that stands nowhere."""
    untold: bool = False
    """Whether nobody can tell: a "no" alone, of which it isn't said what it denies."""
    contradicted_by: str = ""
    """A sentence of the evidence that contradicts the claim in one detail."""
    highest: float = 1.0
    """The probability that it has at most, whatever the models say."""
    doubted: str = ""
    """The words of the claim that the reader doubts most."""
    cosine: float | None = None
    """Similarity only: with the closest of the others, in [-1, 1]."""
    nearness: float = 0.0
    """Share of the claim's words, weighted by rarity, that the closest sentence has."""
    table: bool = False
    """Whether the evidence is mostly rows and fields, or the claim is code."""


@dataclass(frozen=True, slots=True)
class FittedThresholds:
    """Where verdicts change; the numbers belong to the fitted models and lie beside their coefficients."""

    repeats: float
    """Two sentences with at least this cosine may say the same."""


def verdict_of(question: Question, found: Scored, thresholds: FittedThresholds) -> Verdict:
    """The verdict on one question."""
    if question.kind == "similarity":
        return _similarity(found, thresholds)
    chance = found.probability
    if found.untold or (question.kind == "supported" and found.calculated and chance < CHECK):
        # the models miss what stands nowhere, and can't calculate
        return Verdict("unknown", chance, 1.0 - chance, _explained(question, found, "unknown"))
    contradicted = question.kind == "supported" and (found.contradicted_by != "" or found.nearness >= NEAR)
    decided = with_chance(Verdict("no", chance, contradicted=contradicted), chance)
    return replace(decided, explanation=_explained(question, found, decided.value))


def _similarity(found: Scored, thresholds: FittedThresholds) -> Verdict:
    """Yes from the threshold on, unless the two differ in a number or name: then they only sound alike."""
    cosine = -1.0 if found.cosine is None else found.cosine
    if not found.quote:
        return Verdict("no", cosine, 1.0, "there is nothing else to compare with")
    repeats = cosine >= thresholds.repeats and found.probability >= 0.5
    chance = max(found.probability, 0.5) if repeats else min(found.probability, 0.5)
    reason = f"closest sentence ({cosine:.2f}): {quoted(found.quote)}"
    return Verdict("yes" if repeats else "no", cosine, chance if repeats else 1.0 - chance, reason)


def _explained(question: Question, found: Scored, value: Answered) -> str:
    """The closest passage, what the claim says otherwise, and what is missing from all passages."""
    if question.kind != "supported":
        what = "closest true answer" if question.kind == "same_answer" else "closest passage"
        return f"{what}: {quoted(found.quote)}"
    if found.contradicted_by and value != "yes" and not found.calculated:
        return f"a passage says otherwise: {_quoted_beside(question.subject, found.contradicted_by, contradicts=True)}"
    doubted = value != "yes" and not found.calculated
    quote = _quoted_beside(question.subject, found.quote) if doubted else quoted(found.quote)
    reason = f"closest passage: {quote}"
    if found.unsupported:
        return f"{reason}; nothing there accounts for {', '.join(found.unsupported[:5])}"
    if found.missing:
        return f"{reason}; not found there: {', '.join(found.missing[:5])}"
    return f"{reason}; most in doubt: “{found.doubted}”" if doubted and found.doubted and "≠" not in quote else reason


def _quoted_beside(claim: str, passage: str, *, contradicts: bool = False) -> str:
    """A quote in which is seen what a claim says otherwise, with that behind it: "… a fee of £35", £53 ≠ £35."""
    found = differences(without_attribution(claim), passage, contradicts=contradicts)
    if not found:
        return quoted(passage, likely_place(claim, passage))
    place = found[0].place[0], max(one.place[1] for one in found)
    shown = quoted(passage, place if place[1] - place[0] < LONGEST_QUOTE else found[0].place)
    return f"{shown}, {', '.join(map(str, found[:MOST_DIFFERENCES]))}"


SHOWN = 120
"""Characters of a claim that are quoted."""
_ORDER = {"no": 0, "unknown": 2, "yes": 3}
"""The weakest first; a failure stands behind no, since it might have been any."""


def questions_by_claim(question: Question, split: Callable[[str, str], Components]) -> tuple[Question, ...]:
    """One question a claim, for a part of a response that has several sentences; else the question itself.

    `split` tells the claims of a text, beside the query.
    """
    if question.kind != "supported" or not question.context or len(split_sentences(question.subject)) < 2:
        return (question,)
    claims = [c.text for c in split(question.subject, question.query) if not c.remark]
    return tuple(replace(question, subject=claim) for claim in claims) if len(claims) > 1 else (question,)


def weakest_answer(asked: Sequence[Question], answers: Sequence[Answer]) -> Answer:
    """The answer that decides: the weakest one, which says which claim it is about."""
    question, found = min(zip(asked, answers, strict=True), key=lambda pair: _rank(pair[1]))
    if len(asked) == 1 or not isinstance(found, Verdict):
        return found
    said = question.subject if len(question.subject) <= SHOWN else question.subject[: SHOWN - 1] + "…"
    return replace(found, explanation=f"“{said}”: {found.explanation}")


def _rank(answer: Answer) -> tuple[int, float]:
    return (_ORDER[answer.value], answer.score or 0.0) if isinstance(answer, Verdict) else (1, 0.0)


def verdict_on_refusals(question: Question, marker: Marker) -> Verdict | None:
    """The verdict on `same_answer` where refusals decide it; None elsewhere."""
    if question.kind != "same_answer":
        return None
    own = declines(question.query, question.subject, marker)
    if own.value != "yes":
        return None
    if question.at is None:
        return Verdict("no", 1.0 - _sure(own), _sure(own), "The response declines, so it gives no true answer.")
    others = [declines(question.query, text, marker) for text in question.evidence]
    sure = min(_sure(own), max((_sure(other) for other in others if other.value == "yes"), default=0.0))
    return Verdict("yes", sure, sure, "Both decline to answer.") if sure else None


def _sure(told: Verdict) -> float:
    return 1.0 if told.score is None else told.score
