"""Which metrics are meant, and which a file allows.

Names may hold a value (`retrieval_recall(k=5)`) or be those of other tools. Of these it says which of ours is nearest,
and what differs, for users who come from them. The table is `other_tools.toml`. Names and definitions are those of the
public documentation of RAGAs 0.4 (with names of 0.1 to 0.3 that are still met), DeepEval 4.3, TruLens 2.10, RAGChecker
0.1 and the model-graded assertions of promptfoo (2026). The same word mostly means something else; only `faithfulness`
means the same here.
"""

import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import NamedTuple

from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError
from ragtriage.core.metric import Metric
from ragtriage.metrics.generator import query_similarity, query_similarity_of
from ragtriage.metrics.reference import (
    retrieval_at,
    retrieval_mrr,
    retrieval_ndcg,
    retrieval_precision,
    retrieval_recall,
)
from ragtriage.metrics.thelma import self_distinctness, self_distinctness_at
from ragtriage.text.prepared import prepared

MOST = 1000
"""The largest number that makes sense for a k, or for questions to be written."""
_FORM = re.compile(r"(\w+)\s*\(\s*(\w+)\s*=\s*([^()=]*?)\s*\)")


def variant_named(name: str) -> Metric | None:
    """The metric of this name, if the name carries a value; None if it doesn't, or no such metric takes one."""
    form = _FORM.fullmatch(name)
    if form is None or form[1] not in VARIANTS:
        return None
    word, example, make = VARIANTS[form[1]]
    if form[2] == word:
        try:
            return make(form[3])
        except ValueError:
            pass
    raise ConfigError(f"{name!r}: write it as {form[1]}({word}={example})")


def _threshold(value: str) -> float | None:
    if value.lower() == "none":
        return None
    if not re.fullmatch(r"\d*\.?\d+", value):
        raise ValueError(value)
    return float(value)


def _count(value: str) -> int:
    if not value.isascii() or not value.isdigit() or not 1 <= int(value) <= MOST:
        raise ValueError(value)
    return int(value)


def _at(base: Metric, value: str) -> Metric:
    return retrieval_at(base, _count(value))


VARIANTS: Mapping[str, tuple[str, str, Callable[[str], Metric]]] = {
    self_distinctness.name: ("threshold", "0.9", lambda value: self_distinctness_at(_threshold(value))),
    query_similarity.name: ("n", "5", lambda value: query_similarity_of(_count(value))),
    **{
        base.name: ("k", "5", partial(_at, base))
        for base in (retrieval_precision, retrieval_recall, retrieval_mrr, retrieval_ndcg)
    },
}
"""Metric → the word before the `=`, an example of a value, and what makes the metric of a value."""


YOURS = (
    "a model judges by a criterion; here that is a metric of your own, a few lines around "
    'Match(…, "holds", "criterion", criterion="…")'
)
MOST_ANSWERS = 3
"""Answers that are given to one name."""


@dataclass(frozen=True, slots=True)
class OtherMetric:
    """One metric of another tool."""

    tool: str
    names: tuple[str, ...]
    """As the tool writes it, or has written it."""
    nearest: tuple[str, ...]
    """Our metrics, the nearest first; empty if none is near."""
    differs: str
    """What it is there, and what differs here."""


@cache
def other_metrics() -> tuple[OtherMetric, ...]:
    """The table."""
    read = tomllib.loads(files(__package__).joinpath("other_tools.toml").read_text("utf-8"))
    return tuple(
        OtherMetric(
            row["tool"], tuple(row["names"]), tuple(row["nearest"]), YOURS if row.get("own") else row["differs"]
        )
        for row in read["metric"]
    )


_TOOL = re.compile(r"(ragas|deepeval|trulens|ragchecker|promptfoo)[\s._:/-]+(?:metrics[\s._:/-]+)?", re.IGNORECASE)
_AT = re.compile(r"(?:@|_at_)(k|\d+)$", re.IGNORECASE)


def normalized_name(name: str) -> str:
    """A name without what differs between spellings: `ContextRecallMetric`, `context-recall` → `contextrecall`."""
    return re.sub(r"[^a-z0-9]", "", name.lower()).removesuffix("metric")


def named_elsewhere(name: str, known: Collection[str]) -> str:
    """What other tools mean by a name, and which `known` metrics are nearest here; empty if none of them has it."""
    bare, k = name.strip(), ""
    found = _rows(bare)
    if not found and (at := _AT.search(bare)):
        bare, k = bare[: at.start()], at[1].lower()
        found = _rows(f"{bare}_at_k") or _rows(bare)
    said: dict[str, list[str]] = {}
    for other in found:
        said.setdefault(_answer(other, known, k), []).append(other.tool)
    return " ".join(f"In {' and '.join(tools)} {answer}." for answer, tools in list(said.items())[:MOST_ANSWERS])


def _rows(name: str) -> list[OtherMetric]:
    """The rows with this name; where a tool's own name stands in front, that tool's."""
    found = [other for other in other_metrics() if normalized_name(name) in map(normalized_name, other.names)]
    if found or not (tool := _TOOL.match(name)):
        return found
    found = _rows(name[tool.end() :])
    return [other for other in found if other.tool.lower() == tool[1].lower()] or found


def _answer(other: OtherMetric, known: Collection[str], k: str) -> str:
    cut = "" if not k else "(k=…)" if k == "k" else f"(k={k})"
    near = [name + cut * name.startswith("retrieval_") for name in other.nearest if name in known]
    return f"{other.differs}; the nearest here: {', '.join(near)}" if near else other.differs


def _cites(case: Case) -> bool:
    return bool(case.sources) and any(mark.names for mark in prepared(case).marks)


class OptionalData(NamedTuple):
    """Something that rows may hold beside query, sources and response."""

    words: str
    groups: tuple[str, ...]
    present: Callable[[Case], bool]
    field: str = ""
    """The field of a file that shows it before a row is read; empty if none does."""
    default_group: str = ""
    """The group that is computed by default, as long as it costs nothing; empty for none."""
    asks_judge: bool = True
    """Whether that group asks a judge."""


OPTIONAL_DATA: tuple[OptionalData, ...] = (
    OptionalData(
        "a reference", ("generator", "reference"), lambda case: bool(case.reference), "reference", "reference"
    ),
    OptionalData("samples of the response", ("samples",), lambda case: bool(case.samples), "samples", "samples"),
    OptionalData(
        "ids of relevant sources",
        ("retrieval",),
        lambda case: case.relevant_ids is not None,
        "relevant_ids",
        "retrieval",
        asks_judge=False,
    ),
    OptionalData("responses with citation marks", ("citations",), _cites),
)
"""What only further metrics than THELMA's need."""


def optional_data_of(case: Case) -> Iterator[str]:
    """The words for all optional data that a case holds."""
    return (data.words for data in OPTIONAL_DATA if data.present(case))


def default_groups(fields: Collection[str], *, paid: bool) -> tuple[str, ...]:
    """The groups that are computed by default besides THELMA's, as the file has the fields for them.

    Where the judge is `paid`, only groups that ask no judge.
    """
    return tuple(
        data.default_group
        for data in OPTIONAL_DATA
        if data.default_group and data.field in fields and not (paid and data.asks_judge)
    )


def metrics_note(rows: Mapping[str, int], computed: Sequence[str], names: Sequence[str]) -> str:
    """Which metrics are computed beside THELMA's, which further ones could be, and what to type; empty if none.

    `rows`: words of `OPTIONAL_DATA` → how many rows have it; `computed`: the groups that are, `thelma` first;
    `names`: the metrics of the others among them.
    """
    found = [data for data in OPTIONAL_DATA if rows.get(data.words) and not set(data.groups) <= set(computed)]
    counts = ", ".join(f"{data.words} ({rows[data.words]:,})" for data in found)
    groups = ",".join(dict.fromkeys((*computed, *(group for data in found for group in data.groups))))
    said = []
    if names:
        said.append(f"computed too, where a row has what they need: {', '.join(names)} (not with --metrics thelma)")
    if found:
        said.append(f"{'further' if names else 'more'} metrics can be computed of {counts}: --metrics {groups}")
    return "; ".join(said)
