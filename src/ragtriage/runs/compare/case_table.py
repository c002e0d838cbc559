"""A side of a comparison as columns: a case a row, read out of one run or put together from several.

Scores, digests of texts, tags; no text is held.
"""

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from ragtriage.core.case import Source, Turn
from ragtriage.core.statistics import Flags, Numbers, Places
from ragtriage.readers.case_rows import made_up_id
from ragtriage.runs.case_row import CaseText, Columns
from ragtriage.runs.run import Run


def mean_over_trials(grid: Numbers) -> Numbers:
    """Each case's mean of its defined scores; shape (n, trials) → (n,), NaN where none is defined."""
    there = ~np.isnan(grid)
    count = there.sum(axis=1)
    total = np.where(there, grid, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def noise_variance(grid: Numbers) -> float | None:
    """The mean over cases of the variance (n − 1) over trials: σ². Shape (n, trials); None if no case has two."""
    several = (~np.isnan(grid)).sum(axis=1) > 1
    return float(np.mean(np.nanvar(grid[several], axis=1, ddof=1))) if several.any() else None


def noise_error(
    weights: Numbers, total: float, base: tuple[float | None, int], new: tuple[float | None, int]
) -> float | None:
    """The standard error that the judge alone makes: √(Σ wᵢ² (σ_b²/R_b + σ_n²/R_n)) / Σ w.

    `weights` are of the pairs whose judged inputs changed, since the others get their remembered answers; `total` is of
    all. Of each side σ² and the number of trials R; a side without a σ² takes the other's, and None is given if neither
    has one.
    """
    (one, trials_b), (other, trials_n) = base, new
    one, other = (one if one is not None else other), (other if other is not None else one)
    if one is None or other is None or not total:
        return None
    return math.sqrt(float(weights @ weights) * (one / trials_b + other / trials_n)) / total


Digests = np.ndarray[Any, np.dtype[np.uint64]]


Digested = Literal["question", "query", "history", "reference", "sources", "order", "response", "others"]
DIGESTED: tuple[Digested, ...] = get_args(Digested)
"""What of a case is told apart by a digest of 8 bytes, 0 where it isn't known: the question (its query and history,
upper and lower case and white space apart), the query and the history as they are worded, the reference, the sources as
a set and in their order, the response, and what only some metrics read (samples, relevant ids, citation marks)."""
SIZE = 8


@dataclass(frozen=True, slots=True)
class FoundColumns:
    """What the rules found on each case."""

    holds: Mapping[str, Numbers]
    """Rule → 1 where it holds, 0 where it doesn't, between them where that is only likely or trials disagree; NaN where
    it can't be decided."""
    sure: Mapping[str, Numbers]
    """The same for findings that are sure."""
    component: Sequence[str]
    heading: Sequence[str]
    """The rule of its most pressing finding, else that component."""
    likely: Mapping[str, Numbers]
    """Rule → the probability that it holds, also where that is too low to be shown, the mean over trials; NaN as in
    `holds`."""


@dataclass(frozen=True, slots=True)
class CaseTable:
    """The cases of one side."""

    ids: Sequence[str]
    own_ids: bool
    """False if most of them were made from the content, so that they change with every answer."""
    digests: Mapping[Digested, Digests]
    weight: Numbers
    scores: Mapping[str, Numbers]
    """Metric → its score, the mean over trials; NaN where it is undefined."""
    failed: Mapping[str, Flags]
    """Metric → where the judge failed, and no trial has a score."""
    tags: Mapping[str, Sequence[str | None]]
    """Tag → each case's value as a text, None where it has none."""
    found: FoundColumns | None = None
    hashed_ids: bool = False
    noise: Mapping[str, float] = field(default_factory=dict)
    """Metric → the variance of a score over trials; none where there is one trial."""

    def __len__(self) -> int:
        return len(self.ids)


def digest_of(*parts: bytes) -> int:
    """The digest of some parts, in this order, as a number above 0."""
    whole = b"".join([len(part).to_bytes(8, "big") + part for part in parts])
    return int.from_bytes(hashlib.blake2b(whole, digest_size=SIZE).digest(), "big") or 1


EMPTY = digest_of()
"""The digest of nothing: a case without a history, a reference, …"""


def question_digest(query: str, history: Iterable[tuple[str, str]]) -> int:
    """The digest of a question: NFKC, case-folded, white space as one blank.

    `history` is role and text of each message before it.
    """
    said = [normalised(query), *(normalised(part) for turn in history for part in turn)]
    return digest_of(*(part.encode("utf-8", "surrogatepass") for part in said))


def normalised(text: str) -> str:
    """A text without what makes no other question: case, white space, compatibility forms."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return " ".join(plain.casefold().split())


def hashed_id(name: str) -> str:
    """What stands for an id where ids are to stay private, 16 hexadecimal digits."""
    return f"{digest_of(name.encode('utf-8', 'surrogatepass')):016x}"


def tag_text(value: Any) -> str | None:
    """A tag's value as a text: a text as it is, anything else as JSON; None for none and an empty one."""
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


MADE_UP = re.compile(r"[0-9a-f]{16}")
"""What an id that was made from the content looks like."""
QUESTION = ("query", "history")
WHOLE = (*QUESTION, "response", "source")
"""The roles of the texts that such an id is made from."""
MOST_TAGS = 64
"""Tags that are read beside those that are named."""
TextsByRole = Mapping[str, Sequence[CaseText]]


def read_table(run: Run, metrics: Sequence[str], tags: Collection[str] = ()) -> CaseTable:
    """The cases of a run, without what the rules found."""
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
    scores = {name: _scores(run.place.scores(name), places) for name in metrics}
    looks_made_up = 2 * sum(MADE_UP.fullmatch(name) is not None for name in ids) > len(ids)
    digests: dict[Digested, Digests] = {name: np.zeros(len(ids), np.uint64) for name in DIGESTED}
    made_up = 0
    for row in run.place.read(Columns(texts=WHOLE if looks_made_up else QUESTION)):
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


def case_digests(by_role: TextsByRole, relevant_ids: Sequence[str] | None) -> dict[Digested, int]:
    """The digests of one case; what rests on a deleted text is left out."""
    if "source" not in by_role and all(one.hash is None for some in by_role.values() for one in some):
        return {}  # a folder doesn't keep which texts a case had that it hasn't any more
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


def _others(by_role: TextsByRole, relevant_ids: Sequence[str] | None) -> int | None:
    """The digest of what only some metrics read: samples, citation marks, ids, and what wasn't recorded."""
    names = [one.label for one in by_role.get("source", ())]
    read = [by_role.get(role, ()) for role in ("sample", "citation mark", "unrecorded")]
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


def _is_made_up(name: str, by_role: TextsByRole) -> bool:
    """Whether an id is the one made from the row; one of a row whose texts were deleted is taken for it."""
    if any(one.text is None for role in WHOLE for one in by_role.get(role, ())):
        return MADE_UP.fullmatch(name) is not None
    sources = tuple(Source(one.text or "", one.label) for one in by_role.get("source", ()))
    history = tuple(Turn(one.label or "", one.text or "") for one in by_role.get("history", ()))
    response = next((one.text for one in by_role.get("response", ())), None)
    query = next((one.text or "" for one in by_role.get("query", ())), "")
    return name == made_up_id(query, sources, response, history)


def merged_tables(tables: Sequence[CaseTable], rows: Sequence[Places]) -> CaseTable:
    """Several runs of the same cases as one: the mean of each score over runs, in the order of the first.

    `rows` are, of each table, the places of the first one's cases, −1 where it has none; shape (n,).
    """
    first = tables[0]
    scores, failed, noise = {}, {}, {}
    for name in first.scores:
        grid = np.column_stack([_taken(table.scores[name], at) for table, at in zip(tables, rows, strict=True)])
        scores[name] = mean_over_trials(grid)
        broke = [(at >= 0) & table.failed[name][at] for table, at in zip(tables, rows, strict=True)]
        failed[name] = np.any(broke, axis=0) & np.isnan(scores[name])
        variance = noise_variance(grid)
        if variance is not None:
            noise[name] = variance
    found = [(table.found, at) for table, at in zip(tables, rows, strict=True) if table.found]
    digests = {name: _together([table.digests[name][at] for table, at in zip(tables, rows, strict=True)])
               for name in DIGESTED}  # fmt: skip
    return CaseTable(
        first.ids,
        first.own_ids,
        digests,
        first.weight,
        scores,
        failed,
        first.tags,
        _found(found) if len(found) == len(tables) else None,
        noise=noise,
    )


def _found(columns: Sequence[tuple[FoundColumns, Places]]) -> FoundColumns:
    """The findings of several runs: the share of runs that have each; cases are headed as in the first."""
    first = columns[0][0]

    def shares(of: Callable[[FoundColumns], Mapping[str, Numbers]]) -> dict[str, Numbers]:
        return {
            rule: mean_over_trials(np.column_stack([_taken(of(found)[rule], at) for found, at in columns]))
            for rule in of(first)
        }

    return FoundColumns(
        shares(lambda f: f.holds),
        shares(lambda f: f.sure),
        first.component,
        first.heading,
        shares(lambda f: f.likely),
    )


def _taken(values: Numbers, at: Places) -> Numbers:
    return np.where(at >= 0, values[at], np.nan)


def _together(columns: Sequence[Digests]) -> Digests:
    """One digest for those of all runs: the same if all are the same, 0 if one isn't known."""
    whole = columns[0].copy()
    differ, unknown = np.zeros(len(whole), bool), whole == 0
    for column in columns[1:]:
        differ |= column != columns[0]
        unknown |= column == 0
        whole = whole * np.uint64(6364136223846793005) + column
    return np.where(unknown, np.uint64(0), np.where(differ, whole | np.uint64(1), columns[0]))
