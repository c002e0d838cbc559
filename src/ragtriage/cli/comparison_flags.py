"""Flags of comparisons, what an evaluation is compared with, and the files that a comparison is written to."""

import os
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from ragtriage.cli.console import tell
from ragtriage.cli.evaluation_flags import RequestedMetrics
from ragtriage.cli.input_files import check_output
from ragtriage.cli.results import program_name
from ragtriage.config import Settings, named_numbers
from ragtriage.core.errors import ConfigError, InputError, RagtriageError
from ragtriage.core.validation import near_names
from ragtriage.execution.evaluate_file import FileResult
from ragtriage.metrics import GROUPS, metric_named
from ragtriage.report.comparison_document import comparison_lines
from ragtriage.report.comparison_files import comparison_json, write_comparison_junit, write_comparison_markdown
from ragtriage.report.comparison_page import quotes_of, write_comparison_page
from ragtriage.report.comparison_words import gate_heading
from ragtriage.report.terminal import print_document
from ragtriage.runs.compare.baseline import read_baseline
from ragtriage.runs.compare.compare import Chosen, CompareOptions, compare_chosen, earlier_run, is_run
from ragtriage.runs.compare.comparison import Comparison, GateResult
from ragtriage.runs.compare.gates import (
    FAIL_IF_WORSE,
    CompareGates,
    share_in,
    share_limits,
    share_results,
    worse_limits,
)
from ragtriage.runs.compare.sides import side_of
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.repeats import trials_of
from ragtriage.runs.summary import Gates
from ragtriage.store import Store
from ragtriage.store.postgresql import without_password


@dataclass(frozen=True)
class GateFlags:
    """Gates that compare two sides, and that count findings."""

    fail_if_worse: list[str] | None = None
    at_most: list[str] | None = None
    cant_tell: Literal["warn", "fail"] = "warn"

    def gates(
        self,
        settings: Settings,
        metrics: Collection[str],
        *,
        fail_below: list[str] | None = None,
        fail_above: list[str] | None = None,
    ) -> CompareGates:
        """All gates of a command, with those of the settings; flags go first. Built-in metrics need not be named."""
        return CompareGates(
            {**settings.fail_below, **named_numbers(fail_below or (), "--fail-below", metrics)},
            {**settings.fail_above, **named_numbers(fail_above or (), "--fail-above", metrics)},
            worse_limits(self.fail_if_worse or (), settings.fail_if_worse),
            share_limits(self.at_most or (), settings.at_most),
            self.cant_tell == "fail",
        )


def chosen_metrics(given: str, known: Iterable[str]) -> frozenset[str]:
    """The metrics that `--metrics` names, of those that a side has."""
    there = dict.fromkeys(known)
    chosen: dict[str, None] = {}
    names = [name.strip() for name in given.split(",") if name.strip()]
    for name in names:
        bare = name.removeprefix("-")
        built_in = metric_named(bare)
        some = [m.name for m in GROUPS[bare]] if bare in GROUPS else [built_in.name if built_in else bare]
        if bare not in GROUPS and some[0] not in there:
            near = near_names(bare, [*there, *GROUPS])
            hint = f"did you mean {near[0]}?" if near else f"there is {', '.join(there)}"
            raise ConfigError(f"--metrics {bare}: no side has it: {hint}")
        if name.startswith("-"):
            chosen = {one: None for one in (chosen or there) if one not in some}
        else:
            chosen |= {one: None for one in some if one in there}
    if not chosen:
        raise ConfigError(f"--metrics {given!r} leaves no metric: separate names by commas, or leave it out")
    return frozenset(chosen)


def share_of(text: str, flag: str) -> float:
    """`0.9` or `90%` → a share."""
    value = share_in(text)
    if not 0 <= value <= 1:
        raise ConfigError(f"{flag} {text}: give a share from 0 to 1, for example 0.9")
    return value


@dataclass(frozen=True)
class ComparisonFiles:
    """Where a comparison is written to beside the terminal."""

    markdown: Path | None = None
    junit: Path | None = None
    quote: bool = False

    @property
    def named(self) -> Mapping[str, Path]:
        """Flag → the file that it names."""
        flags = {"--markdown": self.markdown, "--junit": self.junit}
        return {flag: path for flag, path in flags.items() if path is not None}

    def beside(self, report: Path | None) -> Mapping[str, Path]:
        """The same, with a report in HTML if there is one."""
        return {"--report": report, **self.named} if report else self.named

    def write(self, found: Comparison, base: Chosen, new: Chosen, seconds: float, page: Path | None = None) -> None:
        """Write the files, and say so on standard error; `page` is one in HTML too, which always holds texts."""
        texts = quotes_of(found, base, new) if page or (self.quote and self.named) else {}
        quotes = texts if self.quote else {}
        try:
            if page:
                write_comparison_page(page, found, texts)
            if self.markdown:
                write_comparison_markdown(self.markdown, found, quotes)
            if self.junit:
                write_comparison_junit(self.junit, found, quotes, seconds)
        except OSError as error:
            raise InputError(f"{error.filename or 'a file'} can't be written: {error.strerror or error}") from error
        for flag, path in self.named.items():
            tell(f"{flag.removeprefix('--')}: {path}")
        if page:
            tell(f"report: {page}")


def check_files(named: Mapping[str, Path], read: Iterable[str | Path | None]) -> None:
    """Refuse files (by their flags) that can't be written, that are the same, or that hold what is read."""
    inputs = [one for one in read if one is not None]
    seen: dict[Path, str] = {}
    for flag, path in named.items():
        if str(path) == "-":
            raise InputError(f"{flag} -: standard output holds the results: name a file")
        for one in inputs:
            check_output(path, one, flag)
        whole = path.resolve()
        if whole in seen:
            raise InputError(f"{flag} {path}: {seen[whole]} names the same file: give each its own")
        seen[whole] = flag
        there = next(folder for folder in path.parents if folder.exists())
        if not there.is_dir():
            raise InputError(f"{flag} {path}: can't be written, as {there} is a file")
        if not os.access(there, os.W_OK):
            raise InputError(f"{flag} {path}: can't be written: no right to write in {there}")


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
