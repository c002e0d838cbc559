"""THELMA's table 1: agreement in pairwise comparison, for our metrics and for RAGAs' by the same judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ragtriage.core.errors import InputError
from ragtriage.core.validation import as_builtins
from ragtriage.trust.pairs.pair_files import SHORT, PairsRead, read_pairs
from ragtriage.trust.pairs.pair_scoring import PairAgreement, ScoredPair, lexical_agreement, pair_agreement

OWN_PAIRS = Path(__file__).parent / "table1_pairs.jsonl"
"""The pairs that come with the package, written for it."""
MODELS = ("Sonnet 3.5", "Haiku 3.5", "Llama 3.3 70b")
"""The language models of the paper's table, in its order."""


class PublishedColumn(NamedTuple):
    """One column of the paper's table."""

    thelma: tuple[float, float, float]
    """One a model, as MODELS."""
    ragas: tuple[float, float, float]


PUBLISHED: Mapping[str, PublishedColumn] = MappingProxyType(
    {
        "SP1": PublishedColumn((1.0, 1.0, 1.0), (0.90, 0.94, 0.92)),
        "SP2": PublishedColumn((0.35, 0.42, 0.64), (0.35, 0.42, 0.28)),
        "SQC": PublishedColumn((0.76, 0.82, 0.70), (0.70, 0.17, 0.29)),
        "RP": PublishedColumn((0.84, 0.95, 0.89), (0.64, 0.26, 0.63)),
        "RQC": PublishedColumn((0.75, 0.87, 0.88), (0.50, 0.43, 0.68)),
        "SD": PublishedColumn((1.0, 1.0, 1.0), (0.26, 0.42, 0.52)),
        "GR": PublishedColumn((0.96, 0.96, 1.0), (0.96, 0.50, 0.94)),
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
        metric = SHORT[self.short]
        found: dict[str, Any] = as_builtins(self) | {"metric": metric}
        del found["short"]
        found["ragas"]["metric"] = RAGAS_FOR[metric]
        columns = PUBLISHED[self.short]._asdict()
        return found | {"paper": {name: dict(zip(MODELS, one, strict=True)) for name, one in columns.items()}}


def read_table1(data: str | Path = OWN_PAIRS) -> PairsRead:
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


def table1_rows(scored: Sequence[ScoredPair]) -> list[Table1Row]:
    """The table's rows, in the paper's order; a metric without pairs has none."""
    found = []
    for short, name in SHORT.items():
        ours, ragas = (
            [one for one in scored if one.pair.metric == name and one.metric == metric]
            for metric in (name, RAGAS_FOR[name])
        )
        if ours:
            lexical = lexical_agreement([one.pair for one in ours])
            found.append(Table1Row(short, pair_agreement(ours), pair_agreement(ragas), *lexical))
    return found
