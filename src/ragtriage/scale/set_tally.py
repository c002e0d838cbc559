"""A record set in numbers, put together from what was counted with each partition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ragtriage.runs.evaluation_config import EvaluationConfig, config_of
from ragtriage.runs.run import Run
from ragtriage.runs.summary import Tally
from ragtriage.runs.tally import SlicedTally, tally_of
from ragtriage.scale.part_file import columns_of
from ragtriage.scale.record_set import RecordSet

MOST_DRAWN_FROM = 10_000_000
"""Cases from which bootstrap samples are drawn; of more, the interval is the normal approximation."""


def tally_of_run(stored: Run, config: EvaluationConfig, by: str | None = None) -> SlicedTally:
    """Count the records of a run; of a record set that is read by its own criteria, no record is read.

    Raises:
        StoreError: the run can't be read.
    """
    if isinstance(stored, RecordSet) and by is None and _own_criteria(stored, config):
        return tally_of_set(stored, config)
    return tally_of(stored, config, by)


def tally_of_set(found: RecordSet, config: EvaluationConfig, most_drawn_from: int = MOST_DRAWN_FROM) -> SlicedTally:
    """Count a record set by the criteria that it was written with; see `tally_of_run`.

    Args:
        found: the record set.
        config: its own metrics and criteria.
        most_drawn_from: with more cases than these, scores count by their sums.
    """
    tally = SlicedTally(config)
    moments = found.starts[-1] > most_drawn_from
    for place, one in enumerate(found.placed):
        counts: Mapping[str, Any] = one.marker.counts
        if place in found.left_out:  # what was counted with it counts the doubles too
            again = Tally(config.metrics, config.thresholds, config.rules, config.costs)
            for record in found.records_of(place):
                again.add(record)
            counts = again.counts()
        tally.whole.take(counts, moments=moments)
        if not moments:
            _add_scores(tally.whole, found, place, config)
    return tally


def _add_scores(tally: Tally, found: RecordSet, place: int, config: EvaluationConfig) -> None:
    names = {m.name: columns_of(m.name)[0] for m in config.metrics}
    rows = found.table_of(place, ["weight", *names.values()])
    weights = rows["weight"]
    for name, column in names.items():
        there = ~np.isnan(rows[column])
        tally.add_scores(name, rows[column][there], weights[there])


def _own_criteria(found: RecordSet, config: EvaluationConfig) -> bool:
    own = config_of(found.info)
    return (
        dict(own.thresholds) == dict(config.thresholds)
        and tuple(own.rules) == tuple(config.rules)
        and own.costs == config.costs
        and [m.name for m in own.metrics] == [m.name for m in config.metrics]
    )
