"""Tells whether a response declines: says that it can't answer, or that the information is missing."""

import re
from collections.abc import Sequence

from ragtriage.core.verdicts import Component, Verdict
from ragtriage.text.claim_parts import Marker
from ragtriage.text.claims import Said, read_response
from ragtriage.text.lexicon import REMARKS
from ragtriage.text.markup import visible_text
from ragtriage.text.questions import split_questions

_DECISIVE = frozenset({"gap", "refusal"})
_ASIDE = frozenset({"courtesy", "restated", "question", "lead-in"})
_WORD = re.compile(r"[^\W\d_]{3,}|\d+")
_EMPTY = REMARKS.words("empty_words")
_TABLE = {"nothing else": 0.97, "something beside": 0.85, "hedged": 0.3, "late": 0.1, "nowhere": 0.03}
"""What else the response says → the probability that it declines."""


def _stems(text: str) -> set[str]:
    return {word[:5] for word in _WORD.findall(text.lower()) if word not in _EMPTY}


def _on_point(gap: str, query: str) -> bool:
    """Whether the gap is what was asked about, not a detail beside it."""
    about = _stems(gap)
    return len(about) <= 1 or bool(about & _stems(query))


def _reading(query: str, said: Sequence[Said]) -> tuple[str, Component | None]:
    """A key of the table, and the component that decides."""
    decisive = [c for c, kind in said if kind in _DECISIVE]
    if not decisive:
        return "nowhere", None
    claims = [(number, c) for number, (c, kind) in enumerate(said) if not kind]
    if not claims:
        return "nothing else", decisive[0]
    content = [(number, c, kind) for number, (c, kind) in enumerate(said) if kind not in _ASIDE]
    at, gap, kind = content[0]
    if kind not in _DECISIVE or len(split_questions(query)) > 1 or not _on_point(gap.text, query):
        return "late", gap if kind in _DECISIVE else decisive[0]
    after = next((c for number, c in claims if number > at), None)
    same_sentence = (
        after is not None
        and gap.span is not None
        and after.span is not None
        and not gap.text.endswith((".", "!", ":"))
        and after.span[0] - gap.span[1] <= 12
    )
    if (
        same_sentence
        or REMARKS["hedge"].search(gap.text)
        or (after is not None and REMARKS["answers_yet"].match(after.text))
    ):
        return "hedged", gap
    return "something beside", gap


def declines(query: str, response: str, marker: Marker | None = None) -> Verdict:
    """Yes if the response declines instead of answering; no if it answers, even partly, or is empty.

    A response declines if it says that the information isn't there, or that it can't answer, and makes no claim; or if
    that is the first thing it says about a query that asks one thing, without a "but" or a "however" behind it. What
    says so is told by the `marker`, or else by rules, which know the common wordings.
    `score` is read from a table by what else the response says.
    """
    said = read_response(visible_text(response), query, marker, marked=True)
    reading, decides = _reading(query, said)
    score = _TABLE[reading]
    if decides is None:
        why = "The response says nowhere that it can't answer." if said else "The response is empty."
        return Verdict("no", score, 1 - score, why)
    if score > 0.5:
        why = "and makes no claim" if reading == "nothing else" else "and then tells only what stands beside it"
        return Verdict("yes", score, score, f"It says “{decides.text}” {why}.")
    claim = next(c.text for c, kind in said if not kind)
    return Verdict("no", score, 1 - score, f"It says “{decides.text}”, but it also answers: “{claim}”")
