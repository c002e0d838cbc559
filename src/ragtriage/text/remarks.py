"""Tells remarks from claims: the kind of a clause, and which parts of a sentence are remarks."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from ragtriage.text.lexicon import REMARKS

Remark = Literal["", "gap", "refusal", "about", "pointer", "courtesy", "restated", "question", "lead-in"]
"""`gap`: the sources don't say; `refusal`: the answer can't or won't; `about`: what the sources deal with; `pointer`:
where else to look; `restated`: the user's own question in other words; `lead-in`: the words before a list. Empty: a
claim."""


RULES: tuple[tuple[Remark, re.Pattern[str]], ...] = tuple(
    (rule["kind"], re.compile(REMARKS.filled(rule["pattern"]))) for rule in REMARKS.entries["rules"]
)
"""Tried in order; matched at the beginning of the sentence, straight apostrophes, without marks."""


ABOUT_SOURCES = frozenset({"gap", "refusal", "about"})
"""Kinds behind which "they" and "it" are the sources."""
_BECAUSE = re.compile(r"(?:as|since)\b", re.IGNORECASE)
_LONGEST = 1000


@lru_cache(512)  # a response is read by several questions, each for itself
def remark(clause: str, *, behind: Remark = "", opening: bool = True) -> Remark:
    """Which kind of remark a clause is by rules; empty if it makes a claim, or none of them knows it.

    `behind` is the kind of what stands before it; the user's question is restated only at the `opening` of a response.
    """
    said = clause.strip().replace("’", "'")[:_LONGEST]
    if said.endswith("?"):
        return "question"
    again = behind in ABOUT_SOURCES
    for kind, rule in RULES:
        if (kind == "restated" and not opening) or rule.match(said) is None:
            continue
        named = kind != "about" or again or REMARKS["sources_named"].search(said) or said.startswith("I ")
        return kind if named else ""
    return "gap" if again and REMARKS["again"].match(said) else ""


def pieces(sentence: str) -> list[tuple[int, int]]:
    """The stretches of a sentence that may be remarks or claims each for itself."""
    cuts = [m.span() for m in REMARKS["part"].finditer(sentence[:_LONGEST])]
    return list(zip([0, *(b for _, b in cuts)], [*(a for a, _ in cuts), len(sentence)], strict=True))


def parts(sentence: str, *, behind: Remark = "", opening: bool = True) -> list[tuple[int, int, Remark]]:
    """A sentence's stretches with the kind of each, by rules; one for the whole, unless some are remarks.

    A claim's stretch begins behind the word that joins it to the remark ("but", "so").
    """
    cut = pieces(sentence)
    rule = remark(sentence, behind=behind, opening=opening)
    if len(cut) == 1 or rule in {"restated", "question"}:
        return [(0, len(sentence), rule)]
    found: list[tuple[int, int, Remark]] = []
    before = behind
    for a, b in cut:
        joined = REMARKS["joined"].match(sentence, a, b)
        kept = joined.end() if joined and a else a
        kind = remark(sentence[a:b], behind=before, opening=opening and not a) or (
            remark(sentence[kept:b], behind=before, opening=False) if kept > a else ""
        )
        if found and not found[-1][2] and (_BECAUSE.match(sentence, a) or not any(c.isalpha() for c in sentence[a:b])):
            found[-1] = (found[-1][0], b, "")
            continue
        before = kind or before
        found.append((a if kind else kept, b, kind))
    if rule == "lead-in" and {kind for *_, kind in found} <= {"", "lead-in"}:
        return [(0, len(sentence), rule)]
    if all(kind for *_, kind in found):
        return [(0, len(sentence), found[0][2])]
    return found if any(kind for *_, kind in found) else [(0, len(sentence), rule)]
