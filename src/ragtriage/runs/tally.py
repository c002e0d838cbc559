"""The records of a run, diagnosed and counted: as a whole, and by the values of a tag.

What was counted while it was evaluated is kept with it, so that a report needn't read every record.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from ragtriage.core.case import Record
from ragtriage.core.errors import StoreError
from ragtriage.diagnosis.findings import Assessment, Finding
from ragtriage.planning.relations import REASONS
from ragtriage.runs.evaluation_config import EvaluationConfig, config_of
from ragtriage.runs.run import Place, Run
from ragtriage.runs.summary import Summary, Tally

MAX_SLICES = 50
"""Tag values that are counted apart; all later ones are counted together."""
OTHERS = "others"
NO_VALUE = "(none)"
"""What the slice of the cases without the tag is called."""

MOST_DRAWN_FROM = 10_000_000
"""Cases from which bootstrap samples are drawn; of more, the interval is the normal approximation."""

Diagnosed = tuple[Record, tuple[Finding, ...]]


class SlicedTally:
    """Counts records as they come, as a whole and by the values of a tag.

    `tags` are the names of all that a record has, in their order, where one is sliced by.
    """

    def __init__(self, config: EvaluationConfig, by: str | None = None) -> None:
        self._config = config
        self._by = by
        self.whole = self._tally()
        """What counts all records."""
        self._slices: dict[str, Tally] = {}
        self.tags: dict[str, None] = {}

    def add(self, record: Record, assessed: Assessment | None = None) -> tuple[Finding, ...]:
        """Count one record, assessed already or now, and return its findings."""
        assessed = assessed or self._config.assess(record)
        if self._by is not None:
            self.tags.update(dict.fromkeys(record.case.tags))
            value = record.case.tags.get(self._by)
            label = NO_VALUE if value is None or value == "" else str(value)
            if label not in self._slices and len(self._slices) >= MAX_SLICES:
                label = OTHERS
            self._slices.setdefault(label, self._tally()).add(record, assessed)
        return self.whole.add(record, assessed)

    def sum_up(self) -> None:
        """From now on scores count by their sums, and none is held alone."""
        for tally in (self.whole, *self._slices.values()):
            tally.sum_up()

    def summary(self) -> Summary:
        """All records."""
        return self.whole.summary()

    def slices(self) -> dict[str, Summary] | None:
        """A summary for each value of the tag, the largest first, equal ones by name; None without a tag.

        What is merely suspected is listed too: in a part of the cases that is often all there is.
        """
        if self._by is None:
            return None
        found = {label: tally.summary(suspected=True) for label, tally in self._slices.items()}
        return dict(sorted(found.items(), key=lambda item: (-item[1].cases, item[0])))

    def _tally(self) -> Tally:
        return Tally(self._config.metrics, self._config.thresholds, self._config.rules, self._config.costs)


def tally_of(
    run: Run, config: EvaluationConfig, by: str | None = None, *, most_drawn_from: int = MOST_DRAWN_FROM
) -> SlicedTally:
    """Count a run; what was counted as it was written isn't counted again where the criteria are the same.

    With more cases than `most_drawn_from`, scores count by their sums.
    """
    tally = SlicedTally(config, by)
    parts = run.place.counted() if by is None and config.counts_like(config_of(run.info)) else None
    moments = run.info.done + run.info.failed > most_drawn_from
    if parts is None:
        for record in run.records():
            tally.add(record)
        if moments:
            tally.sum_up()
        return tally
    for part in parts:
        counts = part.counts
        if counts is None:
            again = SlicedTally(config)
            for record in run.records(part.positions):
                again.add(record)
            counts = again.whole.counts()
        tally.whole.take(counts, moments=moments)
        if not moments:
            for name, found in part.scores([m.name for m in config.metrics]).items():
                tally.whole.add_scores(name, *found)
    return tally


def diagnosed_records(stored: Run, config: EvaluationConfig) -> Iterator[Diagnosed]:
    """Every case of a stored run with its findings, streamed in the order of the input."""
    return ((record, config.diagnose(record)) for record in stored.records())


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
