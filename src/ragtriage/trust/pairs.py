"""Pairs of versions of one case of which it is known which is better, and files of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ragtriage.core.case import Case, Source, Turn
from ragtriage.core.errors import InputError
from ragtriage.metrics import metric_named
from ragtriage.readers.json_objects import first_line, values_in
from ragtriage.readers.problems import Rejected, RowProblem

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
SHORT_OF: Mapping[str, str] = MappingProxyType({name: short for short, name in SHORT.items()})


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
    by: str = "rule"
    """Who wrote `after`: `rule`, or the judge's name."""


@dataclass(frozen=True, slots=True)
class Pair:
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
class PairsRead:
    """A file of pairs."""

    pairs: tuple[Pair, ...]
    rejected: tuple[Rejected, ...]
    """Rows that can't be used, with the reason."""


def read_pairs(path: str) -> PairsRead:
    """The pairs of a JSONL file, which may be gzipped; `-` is standard input.

    A row holds `query`, `metric` (a metric's name, or its short name in THELMA's table 1), `better` and `worse`, each
    with `sources` (texts, or objects with `text` and `id`) and `response`. `id`, `group` (pairs of the same query;
    else the query), `history` and `change` may be left out.

    Raises:
        InputError: the file can't be read, or no row of it can be used.
    """
    pairs, rejected = values_in(path, pair_of)
    return PairsRead(tuple(pairs), tuple(rejected))


def holds_pairs(path: str) -> bool:
    """Whether a file's first row is a pair rather than a case; False where it can't be told."""
    return {"better", "worse"} <= (first_line(path) or {}).keys()


def pair_of(values: Mapping[str, Any], name: str) -> Pair:
    """One pair from the columns of a row.

    Args:
        values: column → value.
        name: the row's id if it has none.

    Raises:
        RowProblem: a field is missing or of the wrong kind.
    """
    query = _text(values, "query")
    given = _text(values, "metric")
    found = metric_named(SHORT.get(given, given))
    if found is None:
        raise RowProblem("metric", f"{given!r} is no metric: use one of {', '.join([*SHORT, *SHORT.values()])}")
    own = str(values.get("id") or name)
    history = _history(values.get("history"))
    better, worse = (_side(values, side, f"{own}/{side}", query, history) for side in ("better", "worse"))
    if (better.sources, better.response) == (worse.sources, worse.response):
        raise RowProblem("worse", "is the same as `better`: give two versions that differ")
    return Pair(own, str(values.get("group") or query), found.name, better, worse, _change(values.get("change")))


def write_pairs(pairs: Iterable[Pair], path: Path) -> None:
    """Write pairs as `read_pairs` reads them; the file is there as a whole or not at all.

    Raises:
        InputError: it can't be written.
    """
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w", encoding="utf-8", errors="backslashreplace") as target:
            target.writelines(json.dumps(as_row(pair), ensure_ascii=False) + "\n" for pair in pairs)
        part.replace(path)
    except OSError as error:
        raise InputError(f"{path} can't be written: {error.strerror or error}") from error


def as_row(pair: Pair) -> dict[str, Any]:
    """The columns of a pair."""
    row: dict[str, Any] = {"id": pair.id, "group": pair.group, "metric": pair.metric, "query": pair.better.query}
    if pair.better.history:
        row["history"] = [{"role": turn.role, "content": turn.text} for turn in pair.better.history]
    row |= {"better": _written(pair.better), "worse": _written(pair.worse)}
    return row | ({"change": asdict(pair.change)} if pair.change else {})


def _written(case: Case) -> dict[str, Any]:
    sources = [s.text if s.id is None else {"id": s.id, "text": s.text} for s in case.sources]
    return {"sources": sources, "response": case.response}


def _text(values: Mapping[str, Any], field: str) -> str:
    value = values.get(field)
    if not isinstance(value, str) or not value.strip():
        raise RowProblem(field, "is missing or no text: write it as a text in quotes")
    return value


def _side(values: Mapping[str, Any], side: str, name: str, query: str, history: tuple[Turn, ...]) -> Case:
    version = values.get(side)
    if not isinstance(version, Mapping):
        raise RowProblem(side, "is missing: give an object with `sources` and `response`")
    sources, response = version.get("sources", []), version.get("response")
    if response is not None and not isinstance(response, str):
        raise RowProblem(f"{side}.response", "is no text: write it as a text in quotes, or null")
    if not isinstance(sources, list):
        raise RowProblem(f"{side}.sources", "is no list: write the sources as a list of texts")
    return Case(name, query, tuple(_source(one, side) for one in sources), response, history=history)


def _source(value: Any, side: str) -> Source:
    match value:
        case str():
            return Source(value)
        case {"text": str() as text}:
            name = value.get("id")
            return Source(text, None if name is None else str(name))
        case _:
            raise RowProblem(f"{side}.sources", "holds what is no source: write texts, or objects with `text`")


def _history(value: Any) -> tuple[Turn, ...]:
    match value:
        case None:
            return ()
        case list() if all(isinstance(turn, Mapping) and isinstance(turn.get("content"), str) for turn in value):
            return tuple(Turn(str(turn.get("role", "user")), turn["content"]) for turn in value)
        case _:
            raise RowProblem("history", "is no list of messages: write objects with `role` and `content`")


def _change(value: Any) -> Change | None:
    if value is None:
        return None
    fields = ("what", "place", "before", "after", "by")
    if not isinstance(value, Mapping) or not {"what", "place"} <= value.keys():
        raise RowProblem("change", "is no object with `what` and `place`: leave it out, or name both")
    return Change(**{name: str(value[name]) for name in fields if name in value})
