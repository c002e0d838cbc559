"""The trials of a repeated evaluation, found again in a store."""

from __future__ import annotations

from collections.abc import Iterable

from ragtriage.runs.repeats.counting import Repeats
from ragtriage.runs.repeats.summary import RepeatSummary
from ragtriage.runs.tally import Criteria
from ragtriage.store import Store, StoredRun


def trials_of(store: Store, run: StoredRun) -> list[StoredRun]:
    """The trials of a repeated evaluation by its first run, in their order; that run alone for all others.

    Raises:
        StoreError: the store can't be read.
    """
    later = {info.trial: info.number for info in reversed(store.runs()) if info.repeats == run.number}
    return [run, *(store.run(later[trial]) for trial in sorted(later))]


def repeats_of(trials: Iterable[StoredRun], criteria: Criteria) -> RepeatSummary | None:
    """How far several runs of the same cases agree; None for a single one.

    Raises:
        StoreError: a run can't be read.
    """
    trials = list(trials)
    if len(trials) < 2:
        return None
    repeats = Repeats(criteria.metrics, criteria.thresholds)
    for number, trial in enumerate(trials):
        for record in trial.records():
            repeats.add(number, record)
    return repeats.summary()
