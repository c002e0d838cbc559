"""A stored run becomes a table of cases: scores, digests and tags, read by columns."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from ragtriage.core.case import Source, Turn
from ragtriage.readers.case_rows import made_up_id
from ragtriage.runs.case_row import CaseText
from ragtriage.runs.compare.case_table import (
    DIGESTED,
    EMPTY,
    SIZE,
    CaseTable,
    Digested,
    Digests,
    Flags,
    digest_of,
    question_digest,
    tag_text,
)
from ragtriage.runs.compare.difference import Numbers
from ragtriage.runs.run import Run

MADE_UP = re.compile(r"[0-9a-f]{16}")
"""What an id that was made from the content looks like."""
QUESTION = ("query", "history")
WHOLE = (*QUESTION, "response", "source")
"""The roles of the texts that such an id is made from."""
MOST_TAGS = 64
"""Tags that are read beside those that are named."""
Texts = Mapping[str, Sequence[CaseText]]


def read_table(run: Run, metrics: Sequence[str], tags: Collection[str] = ()) -> CaseTable:
    """The cases of a run, without what the rules found.

    Args:
        run: the run.
        metrics: whose scores are read.
        tags: tags that are wanted, whatever others there are.

    Raises:
        StoreError: the run can't be read.
    """
    places: dict[int, int] = {}
    ids: list[str] = []
    weights: list[float] = []
    relevant: list[Sequence[str] | None] = []
    by_tag: dict[str, dict[int, str]] = {tag: {} for tag in tags}
    for place, row in enumerate(run.facts()):
        places[row.position] = place
        ids.append(row.id)
        weights.append(row.weight)
        relevant.append(row.relevant_ids)
        for tag, value in row.tags.items():
            if (text := tag_text(value)) is not None and (tag in by_tag or len(by_tag) < MOST_TAGS):
                by_tag.setdefault(tag, {})[place] = text
    scores = {name: _scores(run.scores(name), places) for name in metrics}
    looks_made_up = 2 * sum(MADE_UP.fullmatch(name) is not None for name in ids) > len(ids)
    digests: dict[Digested, Digests] = {name: np.zeros(len(ids), np.uint64) for name in DIGESTED}
    made_up = 0
    for row in run.texts(WHOLE if looks_made_up else QUESTION):
        if row.position not in places:
            continue
        place = places[row.position]
        texts = row.by_role()
        for name, value in case_digests(texts, relevant[place]).items():
            digests[name][place] = value
        made_up += looks_made_up and _is_made_up(ids[place], texts)
    tagged = {tag: [found.get(place) for place in range(len(ids))] for tag, found in by_tag.items()}
    return CaseTable(
        ids,
        2 * made_up <= len(ids) or not ids,
        digests,
        np.array(weights, np.float64),
        {name: values for name, (values, _) in scores.items()},
        {name: failed for name, (_, failed) in scores.items()},
        tagged,
    )


def _scores(rows: Iterable[tuple[int, float | None, bool]], places: Mapping[int, int]) -> tuple[Numbers, Flags]:
    values, failed = np.full(len(places), np.nan), np.zeros(len(places), bool)
    for position, value, broke in rows:
        if value is not None:
            values[places[position]] = value
        failed[places[position]] = broke
    return values, failed


def case_digests(by_role: Texts, relevant_ids: Sequence[str] | None) -> dict[Digested, int]:
    """The digests of one case; what rests on a deleted text is left out."""
    found: dict[Digested, int] = {}
    query, history = by_role.get("query", ()), by_role.get("history", ())
    if all(one.text is not None for one in (*query, *history)):
        turns = [(turn.label or "", turn.text or "") for turn in history]
        found["question"] = question_digest("".join(one.text or "" for one in query), turns)
    sources = by_role.get("source", ())
    parts: dict[Digested, int | None] = {
        "query": _digest(query),
        "history": _digest(history, labelled=True),
        "reference": _digest(by_role.get("reference", ())),
        "sources": _digest(sorted(sources, key=lambda one: one.hash or b"")),
        "order": _digest(sources),
        "response": _digest(by_role.get("response", ())),
        "others": _others(by_role, relevant_ids),
    }
    return found | {name: value for name, value in parts.items() if value is not None}


def _others(by_role: Texts, relevant_ids: Sequence[str] | None) -> int | None:
    """The digest of what only some metrics read: samples, citation marks, ids."""
    names = [one.label for one in by_role.get("source", ())]
    read = [by_role.get(role, ()) for role in ("sample", "citation mark")]
    if not any(read) and not any(names) and relevant_ids is None:
        return EMPTY
    digests = [_digest(some) for some in read]
    if None in digests:
        return None
    return digest_of(repr((digests, names, relevant_ids)).encode("utf-8", "surrogatepass"))


def _digest(texts: Sequence[CaseText], *, labelled: bool = False) -> int | None:
    """The digest of some texts; None if one was deleted."""
    if not texts:
        return EMPTY
    hashes = [one.hash for one in texts]
    if None in hashes:
        return None
    if labelled:
        hashes += [(one.label or "").encode("utf-8", "surrogatepass") for one in texts]
    elif len(hashes) == 1:  # a digest already
        return int.from_bytes((hashes[0] or b"")[:SIZE], "big") or 1
    return digest_of(*filter(None, hashes))


def _is_made_up(name: str, by_role: Texts) -> bool:
    """Whether an id is the one made from the row; one of a row whose texts were deleted is taken for it."""
    if any(one.text is None for role in WHOLE for one in by_role.get(role, ())):
        return MADE_UP.fullmatch(name) is not None
    sources = tuple(Source(one.text or "", one.label) for one in by_role.get("source", ()))
    history = tuple(Turn(one.label or "", one.text or "") for one in by_role.get("history", ()))
    response = next((one.text for one in by_role.get("response", ())), None)
    query = next((one.text or "" for one in by_role.get("query", ())), "")
    return name == made_up_id(query, sources, response, history)
