"""Which case of the base is which case of the new side.

By id where both sides have ids of their own; else by the question, since an id that was made from the content changes
with every answer.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragtriage.core.errors import InputError
from ragtriage.core.statistics import Places
from ragtriage.runs.compare.case_table import CaseTable, hashed_id
from ragtriage.runs.compare.comparison import PairedBy

MOST_OTHER_QUESTIONS = 0.1
"""The share of pairs by id with another question above which ids are taken for row numbers."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """Pairs of cases, in the order of the new side."""

    by: PairedBy
    base: Places
    """The place of each pair's case on the base side; shape (pairs,)."""
    new: Places
    only_base: Places
    only_new: Places
    other_question: Places
    """Places on the new side of pairs by id that were left out: another question."""
    ambiguous: Places
    """Which pairs, by their place in `base` and `new`, can't be told from another one of the same question."""
    near_ids: int = 0
    """Cases without a pair whose ids differ only in upper and lower case or white space."""


def pair_up(base: CaseTable, new: CaseTable, by: PairedBy | None = None) -> Pairing:
    """Pair the cases of two sides."""
    chosen: PairedBy = by or ("id" if base.own_ids and new.own_ids else "query")
    if chosen == "id":
        return _by_id(base, new)
    return _by_question(base, new)


def _by_id(base: CaseTable, new: CaseTable) -> Pairing:
    hashed = base.hashed_ids != new.hashed_ids
    theirs_by_name, mine_by_name = (
        [*map(hashed_id, table.ids)] if hashed and not table.hashed_ids else table.ids for table in (base, new)
    )
    at = {name: place for place, name in enumerate(theirs_by_name)}
    found = np.array([at.get(name, -1) for name in mine_by_name], np.int64)
    there = np.flatnonzero(found >= 0)
    mine, theirs = new.digests["question"][there], base.digests["question"][found[there]]
    other = (mine != theirs) & (mine != 0) & (theirs != 0)
    if other.sum() > MOST_OTHER_QUESTIONS * len(there):
        raise InputError(
            f"of {len(there):,} cases with the same id on both sides {int(other.sum()):,} ask another question: the "
            "ids look like row numbers; pair by the question instead: --pair query"
        )
    kept = there[~other]
    left_base = np.setdiff1d(np.arange(len(base)), found[there])
    left_new = np.flatnonzero(found < 0)
    return Pairing(
        "id", found[kept], kept, left_base, left_new, there[other], np.array([], np.int64),
        _near((base.ids[int(place)] for place in left_base), (new.ids[int(place)] for place in left_new)),
    )  # fmt: skip


def _near(base: Iterable[str], new: Iterable[str]) -> int:
    """How many ids of either side would be the same but for case and white space."""
    own = {"".join(name.split()).casefold() for name in base}
    return sum("".join(name.split()).casefold() in own for name in new)


def _keys(table: CaseTable) -> list[Hashable]:
    """What a case is paired by: its question, or its id where that isn't known."""
    return [int(own) or name for own, name in zip(table.digests["question"], table.ids, strict=True)]


def _by_question(base: CaseTable, new: CaseTable) -> Pairing:
    waiting: dict[Hashable, list[int]] = defaultdict(list)
    for place, key in enumerate(_keys(base)):
        waiting[key].append(place)
    asked: dict[Hashable, list[int]] = defaultdict(list)
    for place, key in enumerate(_keys(new)):
        asked[key].append(place)
    pairs: list[tuple[int, int, bool]] = []
    for key, mine in asked.items():
        pairs += _of_one_question(base, new, waiting.get(key, []), mine)
    pairs.sort()
    ours = np.array([one for one, _, _ in pairs], np.int64)
    theirs = np.array([other for _, other, _ in pairs], np.int64)
    unsure = np.flatnonzero(np.array([ambiguous for *_, ambiguous in pairs], bool))
    return Pairing(
        "query",
        theirs,
        ours,
        np.setdiff1d(np.arange(len(base)), theirs),
        np.setdiff1d(np.arange(len(new)), ours),
        np.array([], np.int64),
        unsure,
    )


def _of_one_question(
    base: CaseTable, new: CaseTable, theirs: Sequence[int], mine: Sequence[int]
) -> Iterable[tuple[int, int, bool]]:
    """The pairs (new, base, whether ambiguous) of cases that ask the same question.

    Those with the same set of sources first, in the order of the input; the k-th of the others with the k-th.
    """
    if not theirs:
        return
    if len(theirs) == len(mine) == 1:
        yield mine[0], theirs[0], False
        return
    by_sources: dict[Any, list[int]] = defaultdict(list)
    for place in theirs:
        by_sources[int(base.digests["sources"][place])].append(place)
    rest = []
    taken: set[int] = set()
    for place in mine:
        own = int(new.digests["sources"][place])
        if own and by_sources[own]:
            other = by_sources[own].pop(0)
            taken.add(other)
            yield place, other, False
        else:
            rest.append(place)
    for place, other in zip(rest, [place for place in theirs if place not in taken], strict=False):
        yield place, other, True
