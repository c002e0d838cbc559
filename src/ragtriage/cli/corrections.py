"""The corrected means of a run: stored with it, or from a file of labels."""

from __future__ import annotations

from pathlib import Path

from ragtriage.cli.console import tell
from ragtriage.core.errors import InputError
from ragtriage.core.validation import validated
from ragtriage.runs.evaluation_config import CORRECTIONS, EvaluationConfig
from ragtriage.runs.run import Run
from ragtriage.trust.corrected_mean import CorrectedMean, RunLabels, join_labels
from ragtriage.trust.label_files import Label, read_labels


def corrections_of(stored: Run, config: EvaluationConfig, labels: Path | None) -> dict[str, CorrectedMean]:
    """Metric → its corrected mean; by a file of labels, else as it was kept with the run."""
    if labels is None:
        kept = stored.info.configuration.get(CORRECTIONS, {})
        return {name: validated(CorrectedMean, found) for name, found in kept.items()}
    usable, rejected = read_labels(labels)
    if not usable:
        first = f": the first line is wrong: {rejected[0]}" if rejected else ": make some with `ragtriage trust label`"
        raise InputError(f"{labels} holds no label{first}")
    joined = joined_with(stored, config, usable)
    if not joined.metrics:
        reasons = "; ".join(f"{count} {reason}" for reason, count in joined.unused.items())
        raise InputError(f"{labels}: none of its {len(usable)} labels can be used for run {stored.number}: {reasons}")
    if rejected:
        tell(f"{len(rejected)} lines of {labels} can't be used; the first: {rejected[0]}")
    for reason, count in joined.unused.items():
        tell(f"note: {count} {'label isn’t' if count == 1 else 'labels aren’t'} used: {reason}")
    found = {}
    for one in joined.metrics:
        if correction := one.correction():
            found[one.metric.name] = correction
        else:
            tell(f"note: {one.metric.name} isn't corrected by its {one.labels} labels; trust calibrate says why")
    return found


def joined_with(stored: Run, config: EvaluationConfig, labels: tuple[Label, ...]) -> RunLabels:
    """The components of a stored run with their labels."""
    return join_labels((str(stored.number), stored.info.identity), config.metrics, stored.records(), labels)
