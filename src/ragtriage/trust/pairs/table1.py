"""THELMA's table 1: agreement in pairwise comparison, for our metrics and for RAGAs' by the same judge."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragtriage.core.errors import InputError
from ragtriage.core.validation import as_builtins
from ragtriage.readers.problems import Rejected
from ragtriage.trust.pairs.pair_files import SHORT, Pair, read_pairs
from ragtriage.trust.pairs.pair_scoring import (
    PairAgreement,
    ScoredPair,
    agreement_by_length,
    agreement_by_overlap,
    pair_agreement,
)

OWN_PAIRS = Path(__file__).parent / "table1_pairs.jsonl"
"""The pairs that come with the package, written for it."""
_TABLE = tomllib.loads((Path(__file__).parent / "table1.toml").read_text(encoding="utf-8"))
MODELS: tuple[str, ...] = tuple(_TABLE["models"])
"""The language models of the paper's table, in its order."""
PUBLISHED: Mapping[str, Mapping[str, Sequence[float]]] = _TABLE["published"]
"""Short name of a metric → `thelma` and `ragas` → the paper's figures, one a model."""
RAGAS_FOR: Mapping[str, str] = _TABLE["ragas_for"]
"""A metric → the one of RAGAs that the paper holds against it."""
FURTHER: Mapping[str, tuple[str, ...]] = {name: (ragas,) for name, ragas in RAGAS_FOR.items()}
"""A metric → by which others its pairs are scored, too: see `score_pairs`."""


@dataclass(frozen=True, slots=True)
class Table1Row:
    """One column of the paper's table, as one row."""

    short: str
    """The paper's short name."""
    ours: PairAgreement
    ragas: PairAgreement
    length: float | None
    """What length alone would have got, in [0, 1]."""
    overlap: float | None
    """What word overlap alone would have got, in [0, 1]."""

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines."""
        metric, published = SHORT[self.short], PUBLISHED[self.short]
        return {
            "metric": metric,
            "ours": as_builtins(self.ours),
            "ragas": {"metric": RAGAS_FOR[metric], **as_builtins(self.ragas)},
            "length": self.length,
            "overlap": self.overlap,
            "paper": {name: dict(zip(MODELS, figures, strict=True)) for name, figures in published.items()},
        }


def read_table1(data: str | Path = OWN_PAIRS) -> tuple[list[Pair], list[Rejected]]:
    """The pairs of a file, or of every `.jsonl` and `.jsonl.gz` of a folder, and the rows that can't be used.

    Raises:
        InputError: nothing can be read, no row can be used, or a pair is of none of the table's metrics.
    """
    path = Path(data)
    files = sorted(file for file in path.glob("*.jsonl*") if file.is_file()) if path.is_dir() else [path]
    if not files:
        raise InputError(
            f"{path}: there is no .jsonl or .jsonl.gz in this folder: name the folder that holds the pairs"
        )
    read = [read_pairs(str(file)) for file in files]
    pairs = [pair for some, _ in read for pair in some]
    for pair in pairs:
        if pair.metric not in RAGAS_FOR:
            raise InputError(
                f"{path}: pair {pair.id!r} is about {pair.metric}, which table 1 doesn't have: take it out"
            )
    return pairs, [row for _, rejected in read for row in rejected]


def table1_rows(scored: Sequence[ScoredPair]) -> list[Table1Row]:
    """The table's rows, in the paper's order; a metric without pairs has none."""
    found = []
    for short, name in SHORT.items():
        ours, ragas = (
            [one for one in scored if one.pair.metric == name and one.metric == metric]
            for metric in (name, RAGAS_FOR[name])
        )
        if ours:
            pairs = [one.pair for one in ours]
            lexical = agreement_by_length(pairs), agreement_by_overlap(pairs)
            found.append(Table1Row(short, pair_agreement(ours), pair_agreement(ragas), *lexical))
    return found
