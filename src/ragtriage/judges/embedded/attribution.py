"""What a claim says about where it comes from, taken off before it is held against the sources.

"Based on the provided passages, the fee is 5 euros (Passage 2) [3]" claims that the fee is 5 euros; the words about
passages stand in no passage.
"""

from __future__ import annotations

import re

_TEXTS = (
    r"(?:passages?|sources?|documents?|documentation|contexts?|texts?|excerpts?|snippets?|articles?|information"
    r"|materials?|contents?|results?)"
)
_GIVEN = (
    r"(?:the\s+|these\s+|this\s+|your\s+)?"
    r"(?:(?:given|provided|retrieved|above|following|available|supplied|cited|search)\s+)*"
)
_NUMBERS = r"(?:\s*(?:no\.|#)?\s*\[?\d+\]?(?:\s*(?:,|and|&|-|–)\s*\[?\d+\]?)*)?"
_NAMED = rf"{_GIVEN}{_TEXTS}{_NUMBERS}(?:\s+(?:provided|given|above|retrieved))?"
_LINK = (
    r"(?:(?:therefore|so|overall|however|thus|additionally|finally|also|in summary|in short|hence|further|moreover)"
    r",?\s+)?"
)
_SAYS = (
    r"(?:also\s+|further\s+|only\s+)?(?:states?|says?|mentions?|notes?|explains?|suggests?|highlights?|indicates?|"
    r"confirms?|shows?|describes?|reports?|specif(?:y|ies))\s+(?:that\s+)?"
)
_MARKS = re.compile(
    rf"\s*\(\s*(?:see\s+|from\s+|in\s+)?{_TEXTS}\s*\[?\d[\d\s,&\]\[–-]*(?:and\s*\d+\s*)?\)"
    r"|\s*\[\^?\d+(?:\s*[,–-]\s*\d+)*\]|\s*【[^】]{1,20}】",
    re.IGNORECASE,
)
_LEADS = (
    re.compile(
        rf"^\s*{_LINK}(?:based (?:solely |only )?(?:on|upon)|according to|per"
        r"|as (?:stated|mentioned|noted|described|explained) (?:in|by))\s+"
        rf"(?:(?:the\s+)?information\s+(?:provided\s+|given\s+|contained\s+)?(?:in|from|by)\s+)?{_NAMED}\s*[,:]\s*",
        re.IGNORECASE,
    ),
    re.compile(rf"^\s*{_LINK}{_NAMED}\s+{_SAYS}", re.IGNORECASE),
)


def bare(claim: str) -> str:
    """The claim without marks and phrases of attribution; as it stands if nothing else would be left."""
    text = _MARKS.sub("", claim)
    for lead in _LEADS:
        text = lead.sub("", text, count=1)
    text = text.strip()
    return text if sum(c.isalpha() for c in text) > 2 else claim
