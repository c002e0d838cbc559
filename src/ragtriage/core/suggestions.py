"""What a name that nobody knows may have meant: the names that are like it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import PurePath

CUTOFF = 0.65
"""How alike two names are at least, by `difflib.SequenceMatcher`: one wrong letter in three of a short name."""


def near_names(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """The known names that are like this one, each once, the nearest first; upper and lower case are the same."""
    by_folded: dict[str, str] = {}
    for one in known:
        by_folded.setdefault(one.casefold(), one)
    return [by_folded[one] for one in get_close_matches(name.casefold(), by_folded, most, CUTOFF)]


def near_files(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """The same for names of files, whose endings say nothing about what was meant."""
    stems: dict[str, list[str]] = {}
    for one in known:
        stems.setdefault(PurePath(one).stem.casefold(), []).append(one)
    near = near_names(PurePath(name).stem, stems, most)
    return [one for stem in near for one in stems[stem]][:most]
