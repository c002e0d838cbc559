"""What was counted of a run while it was evaluated, kept with it so that a report needn't read every record."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ragtriage.core.errors import StoreError
from ragtriage.planning.relations import REASONS
from ragtriage.runs.evaluation_config import EvaluationConfig, config_of
from ragtriage.runs.run import Place, Run
from ragtriage.runs.tally import SlicedTally

NOTE = "counts"
FORM = 1
"""In which form counts are kept: another one isn't read."""


def keep_counts(run: Run, config: EvaluationConfig, tally: SlicedTally, *, shared: bool = False) -> None:
    """Keep what was counted of a run until it is written again, if that is all of a complete run by its own criteria.

    Where the store can't be written nothing is kept: the records are counted whenever the run is shown. In a `shared`
    store, where some may read notes and no texts, nothing is kept either if a reason may quote a case.
    """
    if not run.info.complete or not config.counts_like(config_of(run.info)):
        return
    counts = tally.whole.counts()
    reasons = {reason for one in counts["metrics"].values() for reason in (*one["undefined"], *one["failed"])}
    if counts["numbers"][0] == run.info.done and (not shared or reasons <= REASONS):
        with suppress(StoreError):
            run.place.note(NOTE, _digest(run.place), json.dumps(counts))


def kept_counts(place: Place) -> Mapping[str, Any] | None:
    """What is kept of a complete run: see `ragtriage.runs.summary.Tally.counts`.

    None if nothing is, if the run was written since, and if this program may count otherwise than the one that kept it.
    """
    if not place.info.complete:
        return None
    with suppress(StoreError):  # it is being written
        known = place.note(NOTE, _digest(place))
        return None if known is None else json.loads(known)
    return None


def _digest(place: Place) -> str:
    """Of all that the counts rest on: what was written last, and how it is read."""
    return config_of(place.info).digest(FORM, place.version())
