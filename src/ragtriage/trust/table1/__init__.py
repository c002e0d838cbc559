"""THELMA's table 1: agreement in pairwise comparison, for our metrics and for RAGAs' by the same judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ragtriage.core.errors import InputError
from ragtriage.trust.baselines import agreement_by_length, agreement_by_overlap
from ragtriage.trust.pairs import SHORT, PairsRead, read_pairs
from ragtriage.trust.pairwise import Agreement, ScoredPair, agreement_of

OWN = Path(__file__).parent / "pairs.jsonl"
"""The pairs that come with the package, written for it."""
MODELS = ("Sonnet 3.5", "Haiku 3.5", "Llama 3.3 70b")
"""The language models of the paper's table, in its order."""


@dataclass(frozen=True, slots=True)
class Published:
    """One column of the paper's table."""

    thelma: tuple[float, float, float]
    """One a model, as MODELS."""
    ragas: tuple[float, float, float]


PUBLISHED: Mapping[str, Published] = MappingProxyType(
    {
        "SP1": Published((1.0, 1.0, 1.0), (0.90, 0.94, 0.92)),
        "SP2": Published((0.35, 0.42, 0.64), (0.35, 0.42, 0.28)),
        "SQC": Published((0.76, 0.82, 0.70), (0.70, 0.17, 0.29)),
        "RP": Published((0.84, 0.95, 0.89), (0.64, 0.26, 0.63)),
        "RQC": Published((0.75, 0.87, 0.88), (0.50, 0.43, 0.68)),
        "SD": Published((1.0, 1.0, 1.0), (0.26, 0.42, 0.52)),
        "GR": Published((0.96, 0.96, 1.0), (0.96, 0.50, 0.94)),
    }
)
"""THELMA, table 1."""
RAGAS_FOR: Mapping[str, str] = MappingProxyType(
    {
        "source_precision": "ragas_context_relevance",
        "fact_precision": "ragas_context_relevance",
        "source_query_coverage": "ragas_context_relevance",
        "response_precision": "ragas_answer_relevance",
        "response_query_coverage": "ragas_answer_relevance",
        "self_distinctness": "ragas_answer_relevance",
        "groundedness": "ragas_faithfulness",
    }
)
"""A metric → the one of RAGAs that the paper holds against it."""
FURTHER: Mapping[str, tuple[str, ...]] = MappingProxyType({name: (ragas,) for name, ragas in RAGAS_FOR.items()})


@dataclass(frozen=True, slots=True)
class Row:
    """One column of the paper's table, as one row."""

    short: str
    """The paper's short name."""
    ours: Agreement
    ragas: Agreement
    length: float | None
    """What length alone would have got, in [0, 1]."""
    overlap: float | None
    """What word overlap alone would have got, in [0, 1]."""

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines."""
        paper = PUBLISHED[self.short]
        return {
            "metric": SHORT[self.short],
            "ours": self.ours.as_json(),
            "ragas": {"metric": RAGAS_FOR[SHORT[self.short]], **self.ragas.as_json()},
            "length": self.length,
            "overlap": self.overlap,
            "paper": {
                "thelma": dict(zip(MODELS, paper.thelma, strict=True)),
                "ragas": dict(zip(MODELS, paper.ragas, strict=True)),
            },
        }


def read_table1(data: str | Path = OWN) -> PairsRead:
    """The pairs of a file, or of every `.jsonl` and `.jsonl.gz` of a folder.

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
    pairs = tuple(pair for one in read for pair in one.pairs)
    for pair in pairs:
        if pair.metric not in RAGAS_FOR:
            raise InputError(
                f"{path}: pair {pair.id!r} is about {pair.metric}, which table 1 doesn't have: take it out"
            )
    return PairsRead(pairs, tuple(row for one in read for row in one.rejected))


def rows_of(scored: Sequence[ScoredPair]) -> list[Row]:
    """The table's rows, in the paper's order; a metric without pairs has none."""
    found = []
    for short, name in SHORT.items():
        ours = [one for one in scored if one.metric == one.pair.metric == name]
        ragas = [one for one in scored if one.pair.metric == name and one.metric == RAGAS_FOR[name]]
        if ours:
            pairs = [one.pair for one in ours]
            lexical = agreement_by_length(pairs), agreement_by_overlap(pairs)
            found.append(Row(short, agreement_of(ours), agreement_of(ragas), *lexical))
    return found
