"""Claims of a response."""

from __future__ import annotations

from ragtriage.judges.embedded.decompose.marks import plain
from ragtriage.judges.embedded.decompose.remarks import remark
from ragtriage.judges.embedded.decompose.sentences import split_sentences
from ragtriage.verdicts import Component, Components


def split_claims(text: str, query: str = "") -> Components:
    """Break a response into stand-alone claims, remarks marked as such."""
    return tuple(Component(plain(c.text), c.span, remark=bool(remark(c.text))) for c in split_sentences(text))
