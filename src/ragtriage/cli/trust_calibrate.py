"""`ragtriage trust calibrate`: what labels say of a run's means, and where its judge should be cut."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ragtriage.cli.corrections import KEPT, joined_with
from ragtriage.cli.exits import INCOMPLETE
from ragtriage.cli.options import Thresholds, Where, place_of
from ragtriage.cli.results import opened
from ragtriage.cli.trust_app import say_unusable, too_many, trust
from ragtriage.core.errors import InputError
from ragtriage.report.calibration_document import calibration_document
from ragtriage.report.terminal import print_document
from ragtriage.store import open_store
from ragtriage.trust.calibration import calibrate as calibrated
from ragtriage.trust.label_files import read_labels
from ragtriage.trust.labels import Label
from ragtriage.trust.settings_text import write_settings


@trust.command("calibrate")
def calibrate(
    labels: Annotated[Path, typer.Argument(help="Labels, as `ragtriage trust label` writes them; JSONL.")],
    *,
    run: Annotated[
        str | None, typer.Option(help="The run that they are about [default: the one that most of them name].")
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(help="Put what does better into this settings file, for example ragtriage.toml."),
    ] = None,
    threshold: Thresholds = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
    store: Where = None,
) -> None:
    """Correct a run's means by labels, and fit cuts, thresholds and a cascade's bands to them.

    Exit codes: 0; 2 usage or input; 3 incomplete (too many unusable rows).
    """
    read = read_labels(labels)
    say_unusable(read.rejected, len(read.labels))
    if not read.labels:
        raise InputError(f"{labels}: holds no label: make some with `ragtriage trust label`")
    with open_store(place_of(store), create=False) as there:
        stored, criteria = opened(there, run or _named(read.labels), threshold)
        joined = joined_with(stored, criteria, read.labels)
        if not joined.metrics:
            reasons = "; ".join(f"{count} {reason}" for reason, count in joined.unused.items())
            raise InputError(
                f"{labels}: none of its {len(read.labels)} labels can be used for run {stored.number}: {reasons}"
            )
        found = calibrated(joined, criteria.metrics, stored.info.judge, stored.info.fingerprints, criteria.thresholds)
        if write is not None and found.changes:
            write_settings(write, found.changes)
        corrections = {name: one.as_json() for name, one in found.corrections().items()}
        before = stored.info.configuration.get(KEPT, {})
        there.keep_beside(stored.number, KEPT, {**before, **corrections})
    earlier = [name for name in before if name not in corrections]
    if earlier:
        sys.stderr.write(f"note: kept with the run by other labels, and left as it was: {', '.join(earlier)}\n")
    if as_json:
        more = {**found.as_json(), "earlier": earlier}
        sys.stdout.write(json.dumps({"run": stored.number, **more}, ensure_ascii=False) + "\n")
    else:
        written = None if write is None else str(write)
        print_document(Console(), calibration_document(found, f"run {stored.number}", str(labels), written))
    if too_many(read.rejected, len(read.labels)):
        raise typer.Exit(INCOMPLETE)


def _named(labels: Sequence[Label]) -> str:
    """The run that most labels name; among equals the one named first."""
    return Counter(label.run for label in labels).most_common(1)[0][0]
