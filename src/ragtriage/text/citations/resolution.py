"""What the names in citation marks stand for: ids of sources, or their positions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ragtriage.text.citations.marks import Mark


def sources_named(
    marks: Sequence[Mark], ids: Sequence[str | None], meanings: Mapping[str, str]
) -> dict[str, tuple[int, ...]]:
    """Every name of the marks → the sources that it names, by position from 0; () where it names none.

    Names are ids, if every name of the response is one; else numbers are positions, counted from 1. A response in which
    no number is a position, but some are ids, is read by ids all the same: one wrong id must not make all others wrong.
    An id in other letters, `[Doc-1]`, names the one source whose id differs in nothing else.
    A label whose footnote names one source by its id stands for that one.

    Args:
        marks: all marks of a response.
        ids: of the case's sources, in their order.
        meanings: label → what its footnote, or its line in the list of references, says.
    """
    by_id: dict[str, tuple[int, ...]] = {}
    for at, name in enumerate(ids):
        if name:
            by_id[name] = (*by_id.get(name, ()), at)
    names = list(dict.fromkeys(name for mark in marks for name in mark.names))
    alike = {name: [known for known in by_id if known.casefold() == name.casefold()] for name in names}
    by_id |= {name: by_id[known[0]] for name, known in alike.items() if name not in by_id and len(known) == 1}
    explained = {name: named for name in names if (named := _explained(meanings.get(name, ""), by_id))}
    left = [name for name in names if name not in explained]
    positions = {name: _position(name, len(ids)) for name in left}
    known = [name for name in left if name in by_id]
    if len(known) == len(left) or (known and not any(positions.values())):
        return explained | {name: by_id.get(name, ()) for name in left}
    return explained | {name: positions[name] if name.isdigit() else by_id.get(name, ()) for name in left}


def _position(name: str, count: int) -> tuple[int, ...]:
    return (int(name) - 1,) if re.fullmatch(r"[0-9]{1,6}", name) and 1 <= int(name) <= count else ()


def _explained(meaning: str, by_id: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The one source that a footnote names by its id; a number alone says too little."""
    if not meaning:
        return ()
    named = [
        at
        for name, at in by_id.items()
        if len(name) > 1 and not name.isdigit() and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", meaning)
    ]
    return named[0] if len(named) == 1 else ()
