"""The ids of a partition as sorted digests, by which doubles are found over all partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import Any

import numpy as np

ENTRY = np.dtype([("high", ">u8"), ("low", ">u8"), ("position", "<u4"), ("row", "<u4"), ("made_up", "u1")])
"""Both halves of the id's digest, its place among the partition's cases and rows, whether it stands for the content."""
_PLACE = Struct("<IIB")
Entries = np.ndarray[Any, np.dtype[np.void]]


def entries_of(ids: Sequence[tuple[bytes, int, int, bool]]) -> bytes:
    """The file of a partition: (digest of 16 bytes, position, row, made up) of each of its cases, sorted."""
    halves = [
        (int.from_bytes(own[:8], "big"), int.from_bytes(own[8:], "big"), position, row, made_up)
        for own, position, row, made_up in sorted(ids)
    ]
    return np.array(halves, ENTRY).tobytes()


def entry_of(digest: bytes, position: int, row: int, *, made_up: bool) -> bytes:
    """One case as it stands in the file of its partition: 25 bytes."""
    return digest + _PLACE.pack(position, row, made_up)


def kept_entries(entries: bytearray, kept: Sequence[int]) -> bytearray:
    """The entries at these positions, which are numbered anew.

    Args:
        entries: those of all cases, in the order of their positions.
        kept: which positions, in order.
    """
    found = np.frombuffer(entries, ENTRY)[np.array(kept, np.int64)]
    found["position"] = np.arange(len(kept))
    return bytearray(found.tobytes())


def sorted_entries(entries: bytes | bytearray) -> bytes:
    """The file of a partition, from its cases' entries in any order."""
    found = np.frombuffer(entries, ENTRY)
    high, low = found["high"].astype(np.uint64), found["low"].astype(np.uint64)
    return found[np.lexsort((found["position"], low, high))].tobytes()


def read_entries(content: bytes) -> Entries:
    """Undo `entries_of`."""
    return np.frombuffer(content, ENTRY)


def place_of(entries: Entries, digest: bytes) -> int | None:
    """The position of the case with this digest; None if there is none."""
    high, low = (np.uint64(int.from_bytes(half, "big")) for half in (digest[:8], digest[8:]))
    at = int(np.searchsorted(entries["high"].astype(np.uint64), high))
    while at < len(entries) and entries["high"][at] == high:
        if entries["low"][at] == low:
            return int(entries["position"][at])
        at += 1
    return None


def doubles_in(parts: Sequence[Entries]) -> Iterator[tuple[int, int, int, int, int, bool]]:
    """Cases whose id an earlier one has.

    Args:
        parts: the entries of every partition, or the same slice of each by digest, in the order of the input.

    Yields:
        (partition, position, row, the first one's partition, its row, whether the id stands for the content), in the
        order of the input. Partitions are told by their places.
    """
    whole = np.concatenate(parts) if parts else np.empty(0, ENTRY)
    owner = np.repeat(np.arange(len(parts)), [len(one) for one in parts])
    high, low = whole["high"].astype(np.uint64), whole["low"].astype(np.uint64)
    order = np.lexsort((whole["position"], owner, low, high))
    high, low = high[order], low[order]
    same = np.zeros(len(order), bool)
    same[1:] = (high[1:] == high[:-1]) & (low[1:] == low[:-1])
    starts = np.maximum.accumulate(np.where(same, 0, np.arange(len(order)))) if len(order) else np.empty(0, np.int64)
    found = []
    for at in np.flatnonzero(same):
        later, first = order[at], order[starts[at]]
        entry = whole[later]
        own = int(owner[later]), int(entry["position"]), int(entry["row"])
        found.append((*own, int(owner[first]), int(whole[first]["row"]), bool(entry["made_up"])))
    yield from sorted(found)
