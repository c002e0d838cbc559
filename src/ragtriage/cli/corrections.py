"""A run's corrected means: those that were kept with it, or from a file of labels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ragtriage.core.validation import validated
from ragtriage.runs.tally import Criteria
from ragtriage.store import StoredRun
from ragtriage.trust.calibration.corrected_mean import CorrectedMean
from ragtriage.trust.calibration.run_labels import RunLabels, join_labels
from ragtriage.trust.labels.label_files import Label, read_labels

Labels = Annotated[
    Path | None,
    typer.Option(help="Labels of this run, by which means are corrected [default: as trust calibrate left them]."),
]
KEPT = "corrections"
"""What corrected means are found by in a run's configuration."""


def corrections_of(stored: StoredRun, criteria: Criteria, labels: Path | None) -> dict[str, CorrectedMean]:
    """Metric → its corrected mean; by a file of labels, else as it was kept with the run.

    Raises:
        InputError: the file can't be read.
    """
    if labels is None:
        kept = stored.info.configuration.get(KEPT, {})
        return {name: validated(CorrectedMean, found) for name, found in kept.items()}
    usable, rejected = read_labels(labels)
    joined = joined_with(stored, criteria, usable)
    if rejected:
        sys.stderr.write(f"{len(rejected)} lines of {labels} can't be used; the first: {rejected[0]}\n")
    say_unused(joined)
    found = {one.metric.name: (one, one.correction()) for one in joined.metrics}
    for name, (one, correction) in found.items():
        if correction is None:
            sys.stderr.write(f"note: {name} isn't corrected by its {one.labels} labels; trust calibrate says why\n")
    return {name: correction for name, (_, correction) in found.items() if correction}


def joined_with(stored: StoredRun, criteria: Criteria, labels: tuple[Label, ...]) -> RunLabels:
    """The components of a stored run with their labels."""
    return join_labels((str(stored.number), stored.info.identity), criteria.metrics, stored.records(), labels)


def say_unused(joined: RunLabels) -> None:
    """Which labels weren't used, and why, on standard error."""
    for reason, count in joined.unused.items():
        sys.stderr.write(f"note: {count} {'label isn’t' if count == 1 else 'labels aren’t'} used: {reason}\n")
