"""From which cosine on two sentences may say the same, by an encoder on which nothing was measured.

Cosines of different encoders can't be compared: of one all sentences lie above .8, of another hardly any. So a few
pairs that say the same, and a few that don't, are encoded when the encoder is loaded.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from ragtriage.judges.hub_readers.model_card import ANY

Pairs = Sequence[tuple[str, str]]


def repeat_threshold(vectors: Callable[[Iterable[str]], Mapping[str, Any]], languages: Sequence[str]) -> float:
    """The cosine half way from the nearest pair that doesn't say the same to the median of those that do, in (-1, 1].

    Where most pairs that say the same lie below the nearest of the others, the encoder can't tell repeats: then 1.

    Args:
        vectors: texts → vectors of length 1.
        languages: of the encoder; English is looked at too.
    """
    same, near = _pairs(tuple(languages))
    known = vectors([text for pair in (*same, *near) for text in pair])
    nearest = max(float(known[a] @ known[b]) for a, b in near)
    middle = median(float(known[a] @ known[b]) for a, b in same)
    return round((nearest + middle) / 2, 4) if middle > nearest else 1.0


@cache
def _pairs(languages: tuple[str, ...]) -> tuple[Pairs, Pairs]:
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    some = [rows for code, rows in table.items() if code == "en" or code in languages or ANY in languages]
    same, near = ([(a, b) for rows in some for a, b in rows[which]] for which in ("same", "near"))
    return same, near
