"""`ragtriage evaluate --on`: an input of any size, by many processes or machines, into a record set."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import typer

from ragtriage.cli.console import EVERY, ExitCode, tell
from ragtriage.cli.evaluation_flags import RequestedMetrics, ScaleFlags
from ragtriage.cli.input_files import CaseFlags
from ragtriage.cli.judge import JudgeFlags
from ragtriage.cli.results import print_next_steps, print_run, program_name, write_html
from ragtriage.cli.stores import open_named_store
from ragtriage.config import Settings
from ragtriage.core.display import plural
from ragtriage.core.errors import ConfigError
from ragtriage.judges.build import build_judge
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.judges.session import JudgeSession
from ragtriage.report.run_report import stored_run_report
from ragtriage.runs.evaluation_config import judging_stored, to_stored
from ragtriage.runs.prepare import fingerprints_of
from ragtriage.runs.selection import ALL_ROWS, QUOTED, require_tag, too_many_rejected
from ragtriage.runs.tally import diagnosed_records
from ragtriage.scale.desk import Desk
from ragtriage.scale.driver import Stop
from ragtriage.scale.evaluate_on import Begun, PartitionedResult, Share, Wanted, evaluate_partitioned
from ragtriage.scale.finish import register
from ragtriage.scale.local_pool import LocalPool
from ragtriage.scale.orders import Orders, checked_versions, loadable_name
from ragtriage.scale.places import REMOTE, Folder, folder_at
from ragtriage.scale.plan import planned
from ragtriage.scale.pool import Pool
from ragtriage.scale.ray_pool import RayPool
from ragtriage.scale.set_tally import tally_of_run
from ragtriage.scale.spending import Limits
from ragtriage.scale.survey import PlannedFile, Survey, survey
from ragtriage.store.database import store_address as read_address

_SHOWN_FILES = 3
Requested = Callable[[Sequence[str]], RequestedMetrics]


@dataclass(frozen=True, slots=True)
class Shown:
    """What is done with the result."""

    project: str | None
    """That it belongs to in the store."""
    by: str | None
    as_json: bool
    report: Path | None


def evaluate_on(
    file: str,
    flags: ScaleFlags,
    *,
    case_flags: CaseFlags,
    judge_flags: JudgeFlags,
    settings: Settings,
    session: JudgeSession,
    requested_of: Requested,
    shown: Shown,
) -> None:
    """Evaluate an input into a record set; see `ragtriage evaluate`."""
    (kind, count), out, share = flags.where(), flags.needs_out(), flags.part()
    folder = folder_at(out).address
    options = session.config.options
    limits = Limits(options.budget, options.max_requests, options.rpm, options.tpm)
    limits.check(share)
    reading = case_flags.reading(settings)
    if folder.startswith(f"{folder_at(file).address}/"):
        raise ConfigError(f"--out {out} lies inside {file}, whose files are all read as cases: put it elsewhere")
    found = survey([file], reading)
    _print_files(found)
    requested = requested_of(sorted({field for one in found.files for field in one.mapping}))
    tell(*(f"note: {note}" for note in (*found.notes, *requested.notes)))
    config, built = requested.config, build_judge(session)
    configuration = to_stored(config, ALL_ROWS, {}) | judging_stored(config, built)
    orders = Orders(
        folder=folder,
        reading=reading,
        metrics=tuple(map(loadable_name, config.metrics)),
        thresholds=config.thresholds,
        judge=_found_everywhere(session.config),
        rules=config.rules,
        costs=config.costs,
        texts=flags.texts,
        versions=checked_versions(session.config),
    )
    plan = planned(
        found,
        inputs=(file,),
        reading=reading,
        metrics=tuple(m.name for m in config.metrics),
        judge=built.judge.name(),
        fingerprints=fingerprints_of(config, built.judge),
        configuration=configuration,
        versions=orders.versions,
        texts=flags.texts,
    )
    store_address = everywhere(judge_flags.store_address(settings))
    stop = Stop()
    with open_named_store(judge_flags.store, shown.project, settings, create=True) as store:

        def new_pool(folder: Folder, most: int) -> Pool:
            if kind == "ray":
                return RayPool(orders, count, most, store_address, limits, share)
            return LocalPool(orders, min(count or 1, most), Desk(store.answers(), folder, limits, share))

        with _ctrl_c(stop), _line() as show:
            result = evaluate_partitioned(
                Wanted(out, plan, orders, new_pool, share, flags.strict, show, partial(_begun, out, share), stop)
            )
        records = result.records
        if result.complete:
            stored = register(store, records, records=flags.into_store)
            tell(f"run {stored.number} of the store {'holds' if stored.holds else 'names'} it")
            tell(*stored.notes())
    failing = _show(result, requested, shown)
    if _remarks(result):
        raise typer.Exit(ExitCode.INCOMPLETE)
    tell(*failing)
    if failing:
        raise typer.Exit(ExitCode.GATE_FAILED)


def everywhere(store: str | None) -> str:
    """The address of a store, whatever folder a process works in."""
    address = read_address(store)
    return address if REMOTE in address else str(Path(address).absolute())


def _found_everywhere(judge: JudgeConfig) -> JudgeConfig:
    """The same judge, whose files are found whatever folder a process works in."""
    options = judge.options
    prompts, guidance = (path and path.absolute() for path in (options.prompts, options.guidance))
    return replace(judge, options=replace(options, prompts=prompts, guidance=guidance))


def _begun(out: str, share: Share | None, begun: Begun) -> None:
    which = f"share {share[0]}/{share[1]} of " if share else ""
    partitions = plural(begun.partitions, "partition")
    if not begun.own:
        tell(f"{which}{out} has no partition, as there are only {begun.partitions:,}: there is nothing to do for it")
    elif not begun.todo:
        tell(f"{which}{out}: nothing is left to be done")
    elif begun.new:
        tell(f"new record set {out}: {partitions}{f', {begun.own:,} of this share' if share else ''}")
    elif share and begun.todo == begun.own and not begun.cases:
        tell(f"{which}{out}: {begun.own:,} of {partitions}")
    else:
        of = plural(begun.own, "partition")
        tell(f"going on with {which}{out}: {begun.todo:,} of {of} left, {plural(begun.cases, 'case')} done")


def _show(result: PartitionedResult, requested: RequestedMetrics, shown: Shown) -> list[str]:
    """Print what was found; the gates that fail."""
    records, config = result.records, requested.config
    if not any(marker.cases for marker in records.markers.values()):
        return []
    tally = tally_of_run(records, config, shown.by)
    require_tag(shown.by, tally.tags)
    run = stored_run_report(records, config, tally)
    print_run(run, as_json=shown.as_json, notes=requested.notes)
    if shown.report:
        write_html(shown.report, run, partial(diagnosed_records, records, config))
        tell(f"report: {shown.report}")
    if not shown.as_json:
        command = f"{program_name()} show {records.info.typed}"
        print_next_steps(f"list its cases: {command}", f"as a page: {program_name()} report {records.info.typed}")
    return requested.gates.failing(tally.summary())


def _remarks(result: PartitionedResult) -> bool:
    """Say what is missing; whether anything is."""
    driven, info = result.driven, result.records.info
    rejected = info.rejected
    if rejected:
        tell(f"{rejected:,} of {info.rows + rejected:,} rows can't be used:")
        tell(*(f"  row {row.row}: {row.reason}" for row in result.records.rejected()[:QUOTED]))
        if rejected > QUOTED:
            tell(f"  and {rejected - QUOTED:,} more")
    if driven.repeated:
        tell(f"note: {plural(driven.repeated, 'partition')} had to be worked on again")
    tell(*(f"note: put aside: {why}" for why in driven.aside.values()))
    tell(*(f"changed while it was read, so not kept: {name}; give another --out" for name in driven.changed))
    tell(*driven.failures)
    if driven.stopped:
        tell(driven.stopped)
    if result.left and not driven.stopped:
        tell("not complete: give the same command again to try what is left")
    elif result.left_to_others and not result.left:
        others = f"{result.left_to_others:,} of {plural(len(result.records.plan.partitions), 'partition')}"
        tell(f"this share is done; the record set isn't complete, as {others} of other shares aren't done")
    if info.failed:
        tell(f"scores failed on {plural(info.failed, 'case')}: give the same command again to ask once more")
    incomplete = not result.complete or bool(driven.failures or driven.changed or driven.stopped or info.failed)
    return incomplete or result.cut_off or too_many_rejected(rejected, info.rows + rejected)


def _print_files(found: Survey) -> None:
    """How the files are read: those with the same columns together, and those of which nothing can be used."""
    alike: dict[object, list[PlannedFile]] = {}
    for file in found.files:
        if not file.problem:
            alike.setdefault((file.format, tuple(file.mapping.items()), file.tags), []).append(file)
    for files in alike.values():
        names = ", ".join(file.name for file in files[:_SHOWN_FILES])
        more = f" and {len(files) - _SHOWN_FILES:,} more files" if len(files) > _SHOWN_FILES else ""
        first = files[0]
        tell(f"{names}{more} ({first.format})", *(f"  {ours} ← {theirs}" for ours, theirs in first.mapping.items()))
        tell(f"  tags: {', '.join(first.tags) or 'none'}")
    problems = Counter(file.problem for file in found.files if file.problem)
    tell(*(f"can't be used: {problem}" for problem in [*problems][:QUOTED]))
    if len(problems) > QUOTED:
        tell(f"  and {len(problems) - QUOTED:,} more files")


@contextmanager
def _ctrl_c(stop: Stop) -> Iterator[None]:
    """Let the first Ctrl-C wait for the partitions that are being worked on; a second one doesn't."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        stop.interrupt()
        if not stop.now:
            tell("\nstopping when the partitions in work are done (Ctrl-C again: don't wait for them)")

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _line() -> Iterator[Callable[[str], None]]:
    """Shows how far it is: one line that is written over in a terminal, else a line every ten seconds."""
    terminal = sys.stderr.isatty()
    last = time.monotonic()
    shown = ""

    def show(line: str) -> None:
        nonlocal last, shown
        if terminal and line != shown:
            sys.stderr.write(f"\r\x1b[K{line}")
            sys.stderr.flush()
            shown = line
        elif not terminal and time.monotonic() - last >= EVERY:
            last = time.monotonic()
            tell(line)

    yield show
    if shown:
        sys.stderr.write("\r\x1b[K")
