"""The cases of a side as columns: what is compared of each, without a text.

All columns have the shape (n,) and the order of the input.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from ragtriage.runs.compare.difference import Numbers

Digests = np.ndarray[Any, np.dtype[np.uint64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]
Digested = Literal["question", "query", "history", "reference", "sources", "order", "response", "others"]
DIGESTED: tuple[Digested, ...] = get_args(Digested)
"""What of a case is told apart by a digest of 8 bytes, 0 where it isn't known: the question (its query and history,
upper and lower case and white space apart), the query and the history as they are worded, the reference, the sources as
a set and in their order, the response, and what only some metrics read (samples, relevant ids, citation marks)."""
SIZE = 8
"""Bytes of a digest."""


@dataclass(frozen=True, slots=True)
class FoundColumns:
    """What the rules found on each case."""

    holds: Mapping[str, Numbers]
    """Rule → 1 where it holds, 0 where it doesn't, between them where that is only likely or trials disagree; NaN where
    it can't be decided."""
    sure: Mapping[str, Numbers]
    """The same for findings that are sure."""
    component: Sequence[str]
    """Under which component each case is counted."""
    heading: Sequence[str]
    """The rule of its most pressing finding, else that component."""
    likely: Mapping[str, Numbers] = field(default_factory=dict)
    """Rule → the probability that it holds, also where that is too low to be shown, the mean over trials; NaN as in
    `holds`. Empty where it isn't known: of a baseline file that was made without."""


@dataclass(frozen=True, slots=True)
class CaseTable:
    """The cases of one side."""

    ids: Sequence[str]
    own_ids: bool
    """False if most of them were made from the content, so that they change with every answer."""
    digests: Mapping[Digested, Digests]
    weight: Numbers
    """As it was given."""
    scores: Mapping[str, Numbers]
    """Metric → its score, the mean over trials; NaN where it is undefined."""
    failed: Mapping[str, Flags]
    """Metric → where the judge failed, and no trial has a score."""
    tags: Mapping[str, Sequence[str | None]]
    """Tag → each case's value as a text, None where it has none."""
    found: FoundColumns | None = None
    hashed_ids: bool = False
    """Whether the ids are their digests (`hashed_id`)."""
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

    Args:
        query: the user's words.
        history: role and text of each message before it.
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
