"""Removes what a claim says about its origin before it is compared with the sources.

"Based on the provided passages, the fee is 5 euros (Passage 2) [3]" claims that the fee is 5 euros; no passage contains
the words about passages.
"""

from __future__ import annotations

import re

from ragtriage.judges.embedded.rules import RULES

_NAMED = RULES.regex("named_text")
_LINK = RULES.regex("link")
_SAYS = RULES.regex("text_says")
_LEADS = (
    re.compile(
        rf"^\s*{_LINK}(?:based (?:solely |only )?(?:on|upon)|according to|per"
        r"|as (?:stated|mentioned|noted|described|explained) (?:in|by))\s+"
        rf"(?:(?:the\s+)?information\s+(?:provided\s+|given\s+|contained\s+)?(?:in|from|by)\s+)?{_NAMED}\s*[,:]\s*",
        re.IGNORECASE,
    ),
    re.compile(rf"^\s*{_LINK}{_NAMED}\s+{_SAYS}", re.IGNORECASE),
)


def without_attribution(claim: str) -> str:
    """The claim without marks and phrases of attribution; as it stands if nothing else would be left."""
    text = RULES["attribution_marks"].sub("", claim)
    for lead in _LEADS:
        text = lead.sub("", text, count=1)
    text = text.strip()
    return text if sum(c.isalpha() for c in text) > 2 else claim
