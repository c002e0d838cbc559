"""`ragtriage trust calibrate`: corrected means, base rates, and decision thresholds fitted to labels."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import typer
from rich.console import Console

from ragtriage.cli.console import ExitCode, print_json, tell
from ragtriage.cli.corrections import joined_with
from ragtriage.cli.flags import command
from ragtriage.cli.input_files import print_rejected, too_many
from ragtriage.cli.results import open_run
from ragtriage.cli.stores import open_named_store
from ragtriage.core.errors import InputError
from ragtriage.core.validation import as_builtins
from ragtriage.report.terminal import print_document
from ragtriage.report.trust_document import calibration_document
from ragtriage.runs.evaluation_config import CORRECTIONS
from ragtriage.trust.calibration import calibrate as calibrated
from ragtriage.trust.calibration import write_settings
from ragtriage.trust.label_files import read_labels


@command("trust calibrate")
def calibrate(
    labels: Path,
    *,
    run: str | None = None,
    write: Path | None = None,
    threshold: list[str] | None = None,
    as_json: bool = False,
    store: str | None = None,
    project: str | None = None,
) -> None:
    """Correct a run's means by labels, learn base rates, fit decision and metric thresholds and a cascade's bands.

    Exit codes: 0; 2 usage or input; 3 incomplete (too many unusable rows).
    """
    usable, rejected = read_labels(labels)
    print_rejected(rejected, len(rejected) + len(usable))
    if not usable:
        raise InputError(f"{labels}: holds no label: make some with `ragtriage trust label`")
    with open_named_store(store, project) as there:
        named = Counter(label.run for label in usable).most_common(1)[0][0]  # among equals the one named first
        stored, config = open_run(there, run or named, threshold)
        joined = joined_with(stored, config, usable)
        if not joined.metrics:
            reasons = "; ".join(f"{count} {reason}" for reason, count in joined.unused.items())
            which = "its only label can't" if len(usable) == 1 else f"none of its {len(usable)} labels can"
            raise InputError(f"{labels}: {which} be used for run {stored.number}: {reasons}")
        found = calibrated(joined, config.metrics, stored.info.judge, stored.info.fingerprints, config.thresholds)
        if write is not None and found.settings:
            write_settings(write, found.settings)
        corrections = {name: as_builtins(one) for name, one in found.corrections().items()}
        before = stored.info.configuration.get(CORRECTIONS, {})
        there.add_to_configuration(stored.number, CORRECTIONS, {**before, **corrections})
    earlier = [name for name in before if name not in corrections]
    if earlier:
        tell(f"note: kept with the run by other labels, and left as it was: {', '.join(earlier)}")
    if as_json:
        print_json({"run": stored.number, **found.as_json(), "earlier": earlier})
    else:
        written = None if write is None else str(write)
        print_document(Console(), calibration_document(found, f"run {stored.number}", str(labels), written))
    if too_many(rejected, len(usable)):
        raise typer.Exit(ExitCode.INCOMPLETE)
