"""Remarks told from claims: the kind of a clause, and where a sentence is partly one and partly the other."""

from __future__ import annotations

import re

from ragtriage.judges.embedded.decompose.remark_rules import RULES, Remark

_PART = re.compile(r"(?:,|;|\s[–—])\s+(?=(?:but|however|though|although|yet|while|whereas|so|nevertheless|they|it|as|since|and)\b)|;\s+", re.IGNORECASE)
_LONGEST = 1000


def remark(clause: str) -> Remark:
    """Which kind of remark a clause is; empty if it makes a claim."""
    said = clause.strip().replace("’", "'")[:_LONGEST]
    if said.endswith("?"):
        return "question"
    for kind, rule in RULES:
        if rule.match(said):
            return kind
    return ""


def parts(sentence: str) -> list[tuple[int, int, Remark]]:
    """A sentence's stretches with the kind of each; one for the whole, unless some are remarks and some are not."""
    whole = (0, len(sentence), remark(sentence))
    cuts = [m.span() for m in _PART.finditer(sentence[:_LONGEST])]
    if not cuts:
        return [whole]
    spans = list(zip([0, *(b for _, b in cuts)], [*(a for a, _ in cuts), len(sentence)], strict=True))
    kinds: list[Remark] = [remark(sentence[a:b]) for a, b in spans]
    if whole[2] and all(kinds):
        return [whole]
    found = [(a, b, kind) for (a, b), kind in zip(spans, kinds, strict=True)]
    return found if any(kinds) and not all(kinds) else [whole]
