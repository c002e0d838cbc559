"""`ragtriage compare` and `ragtriage baseline`: did the last change help, and what the next one is held against."""

import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Literal

from rich.console import Console

from ragtriage.cli.comparison_flags import ComparisonFiles, GateFlags, check_files, chosen_metrics, share_of
from ragtriage.cli.console import exit_if, print_json, tell
from ragtriage.cli.flags import command, parse_names
from ragtriage.cli.input_files import check_output
from ragtriage.cli.opened_stores import folder_run, open_named_store
from ragtriage.cli.results import tell_deleted
from ragtriage.config import Settings, find_settings, named_numbers, read_settings
from ragtriage.core.display import plural
from ragtriage.core.errors import ConfigError
from ragtriage.report.comparison_document import comparison_document
from ragtriage.report.comparison_files import comparison_json
from ragtriage.report.terminal import print_document
from ragtriage.runs.compare.baseline import BaselineOptions, read_baseline, write_baseline
from ragtriage.runs.compare.compare import (
    LAST,
    Chosen,
    CompareOptions,
    choose_base,
    choose_side,
    compare_chosen,
    is_run,
)
from ragtriage.runs.compare.sides import side_of
from ragtriage.runs.evaluation_config import EvaluationConfig, config_of
from ragtriage.store import Store

BASELINE_FILE = Path("ragtriage-baseline.json")


@command("compare")
def compare(  # noqa: PLR0913  # one parameter a flag
    runs: list[str] | None = None,
    *,
    cluster: str | None = None,
    by: str | None = None,
    metrics: str | None = None,
    threshold: list[str] | None = None,
    pair: Literal["id", "query"] | None = None,
    min_paired: str = "0.9",
    gate_flags: GateFlags,
    fail_below: list[str] | None = None,
    fail_above: list[str] | None = None,
    across_judges: bool = False,
    no_findings: bool = False,
    as_json: bool = False,
    files: ComparisonFiles,
    report: Path | None = None,
    most: int = 10,
    store: str | None = None,
    project: str | None = None,
    config: Path | None = None,
) -> None:
    """Compare two runs case by case: did the last change help, where, and is that more than chance?

    A side is a run's number, last, several runs by comma (seeds of one version), a folder, or a baseline. Exit codes:
    0; 1 a gate failed; 2 usage or input, unlike judges, nothing paired; 3 incomplete (failures, too few pairs).
    """
    began = time.monotonic()
    settings = read_settings(config) if config else find_settings(Path.cwd())
    sides = [*(runs or ())]
    check_files(files.beside(report), (*sides, settings.baseline))
    if len(sides) > 2:
        raise ConfigError(f"{len(sides)} sides are named: give two, and several runs of one version by comma, as 4,5,6")
    needed = share_of(min_paired, "--min-paired")
    with ExitStack() as stack:
        no_runs = len(sides) > 1 and not any(map(is_run, sides))  # then no store is needed
        opened = None if no_runs else open_named_store(store, project, settings)
        there = stack.enter_context(opened) if opened else None
        chosen = choose_side(there, sides[1] if len(sides) > 1 else LAST, folder_run)
        before = _base(there, settings, sides[0] if sides else None, chosen)
        for run in (*before.runs[:1], *chosen.runs[:1]):
            tell_deleted(run)
        reading = _reading(chosen, threshold)
        names = [m.name for m in reading.metrics]
        gates = gate_flags.gates(settings, names, fail_below=fail_below, fail_above=fail_above)
        options = CompareOptions(
            cluster=cluster,
            by=by,
            metrics=None if metrics is None else chosen_metrics(metrics, [*names, *_metrics(before)]),
            pair=pair,
            min_paired=needed,
            across_judges=across_judges,
            most=most,
            gates=gates,
        )
        if gates.at_most and no_findings:
            raise ConfigError("--at-most counts findings: leave out --no-findings")
        found = compare_chosen(before, chosen, reading, options, findings=not no_findings)
        files.write(found, before, chosen, time.monotonic() - began, report)
    if as_json:
        print_json(comparison_json(found))
        tell(*(f"gate failed: {gate.says}" for gate in found.failing))
        tell(*(f"not complete: {why}" for why in found.incomplete))
    else:
        console = Console()
        print_document(console, comparison_document(found, console.width))
    exit_if(incomplete=found.incomplete, gate_failed=found.failing)


@command("baseline")
def baseline(
    run: str = LAST,
    *,
    out: Path = BASELINE_FILE,
    tags: str | None = None,
    hash_ids: bool = False,
    no_digests: bool = False,
    threshold: list[str] | None = None,
    store: str | None = None,
    project: str | None = None,
) -> None:
    """Write what a run amounts to as a file, without its texts, for later runs to be compared with.

    It holds ids, scores, findings and digests, a case a line, so that a repository can hold it.
    """
    check_output(out, "-", "-o")
    options = BaselineOptions(parse_names(tags), hash_ids, not no_digests)
    with open_named_store(store, project) as there:
        if not is_run(run):
            raise ConfigError(f"{run!r} is no run: give its number, or last")
        chosen = choose_side(there, run)
        tell(*(f"note: {note}" for note in chosen.notes))
        reading = _reading(chosen, threshold)
        side = side_of(chosen.runs, chosen.name, options.tags, reading=reading)
        side = replace(side, thresholds=dict(reading.thresholds))
        count = write_baseline(out, side, options)
    sys.stdout.write(f"{out}\n")
    tell(f"{plural(count, 'case')} of {chosen.name}; compare with it: ragtriage compare {out}")


def _base(store: Store | None, settings: Settings, given: str | None, new: Chosen) -> Chosen:
    """The old side: as it was given, else that of the settings, else the nearest run that shares the cases."""
    named = given or settings.baseline
    return choose_base(store, new) if store and not named else choose_side(store, named or LAST, folder_run)


def _metrics(chosen: Chosen) -> list[str]:
    """The names of a side's metrics."""
    if chosen.file is None:
        return [name for run in chosen.runs for name in run.info.metrics]
    return [m.name for m in read_baseline(chosen.file).metrics]


def _reading(new: Chosen, threshold: list[str] | None) -> EvaluationConfig:
    """The thresholds and rules that both sides are read with: the new side's, but for the flags."""
    if new.runs:
        info = new.runs[0].info
        return config_of(info, named_numbers(threshold or (), "--threshold", info.metrics))
    side = read_baseline(new.file or Path())
    own = named_numbers(threshold or (), "--threshold", [m.name for m in side.metrics])
    return EvaluationConfig(side.metrics, {**side.thresholds, **own})
