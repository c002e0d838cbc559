"""`evaluate` against an earlier run or a baseline: its gates are checked beforehand, and told at the end."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from ragtriage.cli.comparison_flags import ComparisonFiles, GateFlags, check_files
from ragtriage.cli.console import tell
from ragtriage.cli.evaluation_flags import RequestedMetrics
from ragtriage.cli.input_files import check_output
from ragtriage.cli.results import program_name
from ragtriage.config import Settings
from ragtriage.core.errors import ConfigError, InputError, RagtriageError
from ragtriage.execution.evaluate_file import FileResult
from ragtriage.report.comparison_document import comparison_lines
from ragtriage.report.comparison_files import comparison_json
from ragtriage.report.comparison_words import gate_heading
from ragtriage.report.terminal import print_document
from ragtriage.runs.compare.baseline import read_baseline
from ragtriage.runs.compare.compare import Chosen, CompareOptions, choose_side, compare_chosen, earlier_run, is_run
from ragtriage.runs.compare.comparison import Comparison, GateResult
from ragtriage.runs.compare.gates import FAIL_IF_WORSE, CompareGates, share_results
from ragtriage.runs.compare.sides import side_of
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.repeats import trials_of
from ragtriage.runs.summary import Gates
from ragtriage.store import Store
from ragtriage.store.postgresql import without_password


@dataclass(frozen=True, slots=True)
class HeldAgainst:
    """What an evaluation is held against."""

    named: str | None
    """A run or a baseline file that a flag or the settings name; None for the nearest earlier run, without gates."""
    gates: CompareGates
    """Those that `evaluate` doesn't read by itself."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What came of it."""

    comparison: Comparison | None = None
    gates: tuple[GateResult, ...] = ()
    incomplete: tuple[str, ...] = ()
    told: dict[str, Any] = field(default_factory=dict)
    """What `--json` says of it."""
    means_gated: bool = False
    """Whether the gates hold those on means too, so that what is written and the exit code come from one list."""
    error: RagtriageError | None = None
    """Why it couldn't be compared with what was named; to be raised when the run itself was shown."""

    def failing(self, means: Gates, result: FileResult) -> list[str]:
        """One sentence for every gate that fails, those on means among them."""
        on_means = [] if self.means_gated else means.failing(result.first.tally.summary())
        return [*on_means, *(f"gate failed: {gate.says}" for gate in self.gates if gate.failed)]


def against(flags: GateFlags, given: str | None, settings: Settings, config: EvaluationConfig) -> HeldAgainst:
    """What to compare with, and the gates, checked before anything is judged."""
    named = given or settings.baseline
    gates = flags.gates(settings, [m.name for m in config.metrics])
    gates = CompareGates({}, {}, gates.fail_if_worse, gates.at_most, gates.cant_tell_fails)
    if flags.fail_if_worse and named is None:
        raise ConfigError(f"{FAIL_IF_WORSE} needs what is to be no worse than: name a run or a file with --baseline")
    if gates.fail_if_worse and named is None:
        tell("note: [fail_if_worse] of the settings is read by `ragtriage compare`; here it needs a baseline")
        gates = CompareGates({}, {}, (), gates.at_most, gates.cant_tell_fails)
    gates.check(config.metrics, config.rules)
    if named is not None and not is_run(named):
        if not Path(named).is_file():
            raise InputError(f"--baseline {named}: is neither a run nor a file: give a run's number or a baseline file")
        read_baseline(Path(named))
    return HeldAgainst(named, gates)


def refuse_files(files: ComparisonFiles, report: Path | None, read: Sequence[str], base: str | None) -> None:
    """Refuse files that can't be written, or that would hold nothing, before anything is judged."""
    for one in read:
        check_output(report, one, "--report")
    check_files(files.beside(report) if files.named else {}, (*read, base))
    if files.named and base is None:
        flags = ", ".join(files.named)
        raise ConfigError(f"{flags}: nothing to compare with: name a run or a file with --baseline")


def write_files(
    files: ComparisonFiles, compared: Compared, base: Chosen | None, result: FileResult, seconds: float
) -> None:
    """Write the files of the comparison with what was named, or say that there is none."""
    if compared.comparison and base:
        files.write(compared.comparison, base, chosen_of(result), seconds)
    elif files.named:
        tell(f"not compared, so not written: {', '.join(map(str, files.named.values()))}")


def chosen_of(result: FileResult) -> Chosen:
    """The side that was evaluated."""
    return Chosen(tuple(trial.stored for trial in result.trials))


def base_of(wanted: HeldAgainst, store: Store) -> Chosen | None:
    """The side that was named, while the run that is to be compared with it isn't there yet; None if none was."""
    return choose_side(store, wanted.named) if wanted.named else None


def compare_result(
    wanted: HeldAgainst,
    base: Chosen | None,
    result: FileResult,
    requested: RequestedMetrics,
    store: Store,
    *,
    most: int | None = None,
) -> Compared:
    """Hold a run that was evaluated against its base: the one that was named, else the nearest earlier run.

    A run that isn't finished is compared with nothing. Without a named base nothing that goes wrong in comparing is an
    error, and nothing is said where no text changed. In files `most` cases are listed, every gate and all findings.
    """
    config = requested.config
    new = chosen_of(result)
    if result.unfinished:
        return Compared(incomplete=("the run isn't complete, so it isn't compared",) if base or wanted.gates else ())
    if base is None:
        return _by_itself(wanted, new, config, store)
    if {run.number for run in base.runs} & {run.number for run in new.runs}:
        return Compared(incomplete=(f"{base.name} is the run that was continued: name another baseline",))
    gates = wanted.gates
    if most is not None:
        gates = replace(gates, fail_below=requested.gates.fail_below, fail_above=requested.gates.fail_above)
    options = CompareOptions(gates=gates, most=10 if most is None else most)
    try:
        found = compare_chosen(base, new, config, options)
    except (InputError, ConfigError) as error:
        return Compared(error=error)
    return Compared(found, found.gates, found.incomplete, comparison_json(found), means_gated=most is not None)


def _by_itself(wanted: HeldAgainst, new: Chosen, config: EvaluationConfig, store: Store) -> Compared:
    """Against the nearest earlier run, and the gates that need no other run."""
    gates: Sequence[GateResult] = ()
    if wanted.gates.at_most:
        side = side_of(new.runs, new.name, reading=config)
        gates = [*share_results(side, wanted.gates.at_most, cant_tell_fails=wanted.gates.cant_tell_fails)]
    earlier = earlier_run(store, new)
    if earlier is None:
        return Compared(gates=tuple(gates))
    base = Chosen(tuple(trials_of(store, earlier)))
    try:
        found = compare_chosen(base, new, config, CompareOptions())
    except (InputError, ConfigError):
        return Compared(gates=tuple(gates))  # nobody asked for it: `compare` says what is wrong
    changes = found.changes
    changed = changes.response or changes.sources or changes.source_order or changes.query
    return Compared(found if changed else None, tuple(gates))


def print_comparison(compared: Compared, result: FileResult, store_flag: str | None) -> None:
    """What changed, in a few lines, the gates that can't tell, and the command for more."""
    console = Console()
    for gate in compared.gates:
        if not gate.failed:
            tell(f"{gate_heading(gate)}: {gate.says}")
    found = compared.comparison
    if found is None:
        return
    console.print()
    print_document(console, comparison_lines(found))
    base = found.base.baseline or str(found.base.runs[0])
    there = ("--store", without_password(store_flag)) if store_flag else ()
    number = str(result.first.stored.number)
    console.print(
        f"more: {program_name()} {shlex.join(('compare', base, number, *there))}",
        markup=False, highlight=False, soft_wrap=True,
    )  # fmt: skip
