"""Sub-questions of a query."""

from __future__ import annotations

from ragtriage.judges.embedded.decompose.sentences import split_sentences
from ragtriage.verdicts import Component, Components


def split_questions(query: str) -> Components:
    """Break a query into stand-alone sub-questions; none if it asks nothing."""
    found = split_sentences(query)
    asked = tuple(c for c in found if c.text.endswith("?"))
    if asked:
        return asked
    a = len(query) - len(query.lstrip())
    return (Component(query.strip(), (a, a + len(query.strip()))),) if found else ()
