"""Remarks told from claims: the kind of a clause, and where a sentence is partly one and partly the other."""

from __future__ import annotations

import re
from functools import lru_cache

from ragtriage.judges.embedded.decompose.remark_rules import AGAIN, RULES, Remark
from ragtriage.judges.embedded.decompose.subjects import AUXILIARY

ABOUT_SOURCES = frozenset({"gap", "refusal", "about"})
"""Kinds behind which "they" and "it" are the sources."""
_PART = re.compile(
    rf"(?:,|;|\s[–—])\s+(?=(?:but|however|though|although|yet|while|whereas|nevertheless|so|they|it|as|"
    rf"since)\b[^,;]*\s\w|and\b[^,;]*\b(?:{AUXILIARY}|me|you)\b)|;\s+",
    re.IGNORECASE,
)
_JOINED = re.compile(
    r"(?:but|and|however|though|although|yet|while|whereas|so|as|since|nevertheless),?[ ]+", re.IGNORECASE
)
_BECAUSE = re.compile(r"(?:as|since)\b", re.IGNORECASE)
_SOURCES_NAMED = re.compile(r"\b(?:passages?|sources?|contexts?|excerpts?|snippets?)\b", re.IGNORECASE)
_LONGEST = 1000


@lru_cache(4096)  # a response is read by several questions, each for itself
def remark(clause: str, *, behind: Remark = "", opening: bool = True) -> Remark:
    """Which kind of remark a clause is; empty if it makes a claim.

    `behind` is the kind of what stands before it; the user's question is restated only at the `opening` of a response.
    """
    said = clause.strip().replace("’", "'")[:_LONGEST]
    if said.endswith("?"):
        return "question"
    again = behind in ABOUT_SOURCES
    for kind, rule in RULES:
        if (kind == "restated" and not opening) or rule.match(said) is None:
            continue
        named = kind != "about" or again or _SOURCES_NAMED.search(said) or said.startswith("I ")
        return kind if named else ""
    return "gap" if again and AGAIN.match(said) else ""


def parts(sentence: str, *, behind: Remark = "", opening: bool = True) -> list[tuple[int, int, Remark]]:
    """A sentence's stretches with the kind of each; one for the whole, unless some are remarks and some are claims.

    A claim's stretch begins behind the word that joins it to the remark ("but", "so").
    """
    whole = (0, len(sentence), remark(sentence, behind=behind, opening=opening))
    cuts = [m.span() for m in _PART.finditer(sentence[:_LONGEST])]
    if not cuts or whole[2] in {"restated", "question"}:
        return [whole]
    found: list[tuple[int, int, Remark]] = []
    for a, b in zip([0, *(b for _, b in cuts)], [*(a for a, _ in cuts), len(sentence)], strict=True):
        joined = _JOINED.match(sentence, a, b)
        kept = joined.end() if joined and a else a
        kind = remark(sentence[a:b], behind=behind, opening=opening and not a) or (
            remark(sentence[kept:b], behind=behind, opening=False) if kept > a else ""
        )
        if found and not found[-1][2] and (_BECAUSE.match(sentence, a) or not any(c.isalpha() for c in sentence[a:b])):
            found[-1] = (found[-1][0], b, "")
            continue
        behind = kind or behind
        found.append((a if kind else kept, b, kind))
    if whole[2] == "lead-in" and {kind for *_, kind in found} <= {"", "lead-in"}:
        return [whole]
    if all(kind for *_, kind in found):
        return [(0, len(sentence), found[0][2])]
    return found if any(kind for *_, kind in found) else [whole]
