"""Pairs of two versions of a case, one known to be better, and files of them."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ragtriage.core.case import Case, Source, Turn
from ragtriage.metrics import metric_named
from ragtriage.readers.files import InputPath
from ragtriage.readers.json_objects import first_line, row_as, values_in, write_lines
from ragtriage.readers.problems import Rejected, RowProblem
from ragtriage.readers.text_values import described

SHORT: Mapping[str, str] = MappingProxyType(
    {
        "SP1": "source_precision",
        "SP2": "fact_precision",
        "SQC": "source_query_coverage",
        "RP": "response_precision",
        "RQC": "response_query_coverage",
        "SD": "self_distinctness",
        "GR": "groundedness",
    }
)
"""The short names of THELMA's table 1, in its order → the metrics."""


@dataclass(frozen=True, slots=True)
class Change:
    """What makes the worse version worse."""

    what: str
    """In a few words: `an irrelevant source added`."""
    place: str
    """Where: `response`, or `source 2` (from 1)."""
    before: str = ""
    """What stands there in the better version; empty where something was added."""
    after: str = ""
    """What stands there in the worse version; empty where something was removed."""


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """Two versions of one case, and the metric by which one of them is better."""

    id: str
    group: str
    """Pairs of one group are about the same query: resamples take or leave them together."""
    metric: str
    """The metric's name."""
    better: Case
    worse: Case
    change: Change | None = None
    """None where a file doesn't say."""


@dataclass(frozen=True, slots=True)
class _Version:
    sources: list[Any] = field(default_factory=list)
    response: str | None = None


@dataclass(frozen=True, slots=True)
class _Message:
    content: str
    role: Any = "user"


@dataclass(frozen=True, slots=True)
class _PairRow:
    query: str
    metric: str
    better: _Version
    worse: _Version
    id: Any = None
    group: Any = None
    history: list[_Message] | None = None
    change: Change | None = None

    def __post_init__(self) -> None:
        if not self.query.strip():
            raise ValueError("query is empty: write it as a text in quotes")


def read_pairs(path: InputPath) -> tuple[list[LabelledPair], list[Rejected]]:
    """The pairs of a JSONL file, which may be gzipped (`-` is standard input), and the rows that can't be used.

    A row holds `query`, `metric` (a metric's name, or its short name in THELMA's table 1), `better` and `worse`, each
    with `sources` (texts, or objects with `text` and `id`) and `response`. `id`, `group` (pairs of the same query;
    else the query), `history` and `change` may be left out.
    """
    return values_in(path, pair_of)


def holds_pairs(path: InputPath) -> bool:
    """Whether a file's first row is a pair rather than a case; False if it can't be read."""
    return {"better", "worse"} <= (first_line(path) or {}).keys()


def pair_of(values: Mapping[str, Any], name: str) -> LabelledPair:
    """One pair from the columns of a row."""
    row = row_as(_PairRow, values)
    metric = metric_named(SHORT.get(row.metric, row.metric))
    if metric is None:
        raise RowProblem("metric", f"{row.metric!r} is no metric: use one of {', '.join([*SHORT, *SHORT.values()])}")
    own = str(row.id or name)
    history = tuple(Turn(str(one.role), one.content) for one in row.history or ())
    better, worse = (
        Case(f"{own}/{side}", row.query, sources_of(version.sources, f"{side}.sources"), version.response,
             history=history)
        for side, version in (("better", row.better), ("worse", row.worse))
    )  # fmt: skip
    if (better.known_sources, better.response) == (worse.known_sources, worse.response):
        raise RowProblem("worse", "is the same as `better`: give two versions that differ")
    return LabelledPair(own, str(row.group or row.query), metric.name, better, worse, row.change)


def sources_of(values: Iterable[Any], column: str) -> tuple[Source, ...]:
    """The sources of a column: texts, or objects with `text` and `id`."""
    found = []
    for value in values:
        match value:
            case str():
                found.append(Source(value))
            case {"text": str() as text}:
                name = value.get("id")
                found.append(Source(text, None if name is None else str(name)))
            case _:
                raise RowProblem(column, f"holds {described(value)}: write texts, or objects with `text`")
    return tuple(found)


def write_pairs(pairs: Iterable[LabelledPair], path: Path) -> None:
    """Write pairs as `read_pairs` reads them; the file is there as a whole or not at all."""
    write_lines(map(pair_row, pairs), path)


def pair_row(pair: LabelledPair) -> dict[str, Any]:
    """The columns of a pair."""
    row: dict[str, Any] = {"id": pair.id, "group": pair.group, "metric": pair.metric, "query": pair.better.query}
    if pair.better.history:
        row["history"] = [{"role": turn.role, "content": turn.text} for turn in pair.better.history]
    for side, case in (("better", pair.better), ("worse", pair.worse)):
        sources = [s.text if s.id is None else {"id": s.id, "text": s.text} for s in case.known_sources]
        row[side] = {"sources": sources, "response": case.response}
    return row | ({"change": asdict(pair.change)} if pair.change else {})
