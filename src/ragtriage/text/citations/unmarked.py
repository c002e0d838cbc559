"""A text without its citation marks, and where each place of it comes from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from ragtriage.text.citations.removal import Removal


class Bare:
    """A text without some of its stretches and the blanks before them.

    Args:
        text: the original.
        cuts: what is left out, in any order; a cut that begins inside an earlier one begins behind it.
        breaks: places of the original where a paragraph ends.
    """

    def __init__(self, text: str, cuts: Iterable[Removal], breaks: Iterable[int] = ()) -> None:
        self.original = text
        self._starts: list[int] = []
        """Where each piece begins in the bare text."""
        self._origins: list[tuple[int, int]] = []
        """Where it lies in the original."""
        self._cuts: list[tuple[int, int]] = []
        """(Where a stretch begins in the original, where it would be in the bare text)."""
        self._pieces: list[str] = []
        self._length = 0
        at = 0
        for cut in sorted(
            [*cuts, *(Removal(place, place, "\n\n") for place in breaks)], key=lambda c: (c.start, c.end)
        ):
            kept = text[at : cut.start]
            self._add(kept if cut.instead else kept.rstrip(" \t"), at, max(at, cut.start))
            self._cuts.append((cut.start, self._length))
            self._add(cut.instead, cut.start, cut.end)
            at = max(at, cut.end)
        self._add(text[at:], at, len(text))
        self.text = "".join(self._pieces)

    def _add(self, piece: str, start: int, end: int) -> None:
        if piece:
            self._starts.append(self._length)
            self._origins.append((start, end))
            self._pieces.append(piece)
            self._length += len(piece)

    def place(self, at: int) -> int:
        """Where a stretch that was left out, and begins at or before `at`, would stand in the bare text."""
        return self._cuts[bisect_right(self._cuts, (at + 1,)) - 1][1]

    def origin(self, at: int) -> int:
        """Where a character of the bare text stands in the original."""
        piece = bisect_right(self._starts, at) - 1
        start, end = self._origins[piece]
        return min(start + at - self._starts[piece], max(start, end - 1))
