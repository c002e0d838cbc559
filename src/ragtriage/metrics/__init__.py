"""The metrics: one file a family, and the tuple of them all."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from ragtriage.errors import ConfigError
from ragtriage.metric import Metric
from ragtriage.metrics.groundedness import groundedness
from ragtriage.metrics.response import (
    response_precision,
    response_query_coverage,
    self_distinctness,
    self_distinctness_at,
)
from ragtriage.metrics.source import fact_precision, source_precision, source_query_coverage

METRICS: tuple[Metric, ...] = (
    source_precision,
    fact_precision,
    source_query_coverage,
    response_precision,
    response_query_coverage,
    self_distinctness,
    groundedness,
)
"""All metrics, in the order of every table."""

THELMA = METRICS
"""The six THELMA metrics (seven scores): the default."""

GROUPS: dict[str, tuple[Metric, ...]] = {"thelma": THELMA, "all": METRICS}
"""Names that stand for several metrics."""

_AT = re.compile(r"self_distinctness\(threshold=(none|\d*\.?\d+)\)", re.IGNORECASE)


def metrics_named(names: Iterable[str]) -> tuple[Metric, ...]:
    """The metrics that these names stand for, each once, in the order of METRICS.

    Args:
        names: names of metrics or groups; one that starts with `-` takes a metric or group out. `self_distinctness` may
            carry a threshold: `self_distinctness(threshold=0.9)`, or `none` for the continuous form.

    Raises:
        ConfigError: a name isn't known; says which names are near, or none is left.
    """
    by_name = {m.name: (m,) for m in METRICS} | GROUPS
    chosen: dict[str, Metric] = {}
    left_out: set[str] = set()
    given = [name.strip() for name in names if name.strip()]
    if given and all(name.startswith("-") for name in given):
        given = ["thelma", *given]
    for name in given or ["thelma"]:
        bare = name.removeprefix("-")
        special = _AT.fullmatch(bare)
        if special:
            level = special[1].lower()
            found: tuple[Metric, ...] = (self_distinctness_at(None if level == "none" else float(level)),)
        elif bare in by_name:
            found = by_name[bare]
        else:
            near = difflib.get_close_matches(bare, by_name, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(by_name)}"
            raise ConfigError(f"no metric is called {bare!r}: {hint}")
        if name.startswith("-"):
            left_out |= {m.name for m in found}
        else:
            chosen |= {m.name: m for m in found}
    kept = {name: m for name, m in chosen.items() if name not in left_out}
    if not kept:
        raise ConfigError("no metric is left: every one that was named was taken out again")
    order = {m.name: i for i, m in enumerate(METRICS)}
    return tuple(sorted(kept.values(), key=lambda m: order.get(m.name, len(order))))
