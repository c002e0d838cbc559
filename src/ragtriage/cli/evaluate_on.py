"""`ragtriage evaluate --on`: an input of any size, by many processes or machines, into a folder."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import typer

from ragtriage.cli.console import ExitCode, at_ctrl_c, status_line, tell
from ragtriage.cli.evaluation_flags import RequestedMetrics, ScaleFlags
from ragtriage.cli.input_files import CaseFlags, print_rejected
from ragtriage.cli.judge import JudgeFlags
from ragtriage.cli.opened_stores import open_named_store
from ragtriage.cli.results import print_next_steps, print_run, program_name, write_html
from ragtriage.config import Settings
from ragtriage.core.display import plural
from ragtriage.core.errors import ConfigError
from ragtriage.core.files import REMOTE, Folder, folder_at
from ragtriage.execution.coordinator import Coordinator
from ragtriage.execution.evaluate_file import configuration_of, fingerprints_of
from ragtriage.execution.execute import JobOutcome, Resumed, Share, Stop, execute
from ragtriage.execution.pools import LocalProcesses, Pool
from ragtriage.execution.ray_actors import RayActors
from ragtriage.execution.worker import Job, checked_versions, loadable_name
from ragtriage.judges.budget import SpendingLimits
from ragtriage.judges.build import build_judge
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.judges.session import JudgeSession
from ragtriage.report.run_report import stored_run_report
from ragtriage.runs.cutting import Survey, survey
from ragtriage.runs.manifest import InputFile, Manifest, parts_digest
from ragtriage.runs.run import About
from ragtriage.runs.selection import QUOTED, require_tag, too_many_rejected
from ragtriage.runs.tally import diagnosed_records, tally_of
from ragtriage.store import open_answers
from ragtriage.store.copying import register
from ragtriage.store.database import store_address as read_address

_SHOWN_FILES = 3
Requested = Callable[[Sequence[str]], RequestedMetrics]


@dataclass(frozen=True, slots=True)
class Shown:
    """What is done with the result."""

    project: str | None
    """That it belongs to in the store."""
    by: str | None
    about: About
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
    """Evaluate an input into a folder; see `ragtriage evaluate`."""
    (kind, count), out, share = flags.where(), flags.needs_out(), flags.part()
    folder = folder_at(out).address
    options = session.config.options
    limits = SpendingLimits(options.budget, options.max_requests, options.rpm, options.tpm)
    limits.check(share)
    reading = case_flags.reading(settings)
    if folder.startswith(f"{folder_at(file).address}/"):
        raise ConfigError(f"--out {out} lies inside {file}, whose files are all read as cases: put it elsewhere")
    found = survey([file], reading)
    _print_files(found)
    requested = requested_of(sorted({field for one in found.files for field in one.mapping}))
    tell(*(f"note: {note}" for note in (*found.notes, *requested.notes)))
    config, built = requested.config, build_judge(session)
    manifest = Manifest(
        inputs=(file,),
        input_digest=parts_digest(found.plan),
        metrics=tuple(m.name for m in config.metrics),
        judge=built.judge.name(),
        fingerprints=fingerprints_of(config, built.judge),
        configuration=configuration_of(config, built) | shown.about.stored(),
        versions=checked_versions(session.config),
        files=found.files,
        plan=found.plan,
        read_options=reading,
        rows=found.rows,
        texts=flags.texts,
    )
    metrics, judge = tuple(map(loadable_name, config.metrics)), _found_everywhere(session.config)
    job = Job(folder, manifest, judge, metrics, config.thresholds, config.rules, config.costs)
    store_address = everywhere(judge_flags.store_address(settings))
    stop = Stop()

    def interrupt() -> None:
        stop.interrupt()
        if not stop.now:
            tell("\nstopping when the parts in work are done (Ctrl-C again: don't wait for them)")

    with (
        open_named_store(judge_flags.store, shown.project, settings, create=True) as store,
        open_answers(store.database) as answers,
    ):

        def new_pool(folder: Folder, most: int) -> Pool:
            if kind == "ray":
                return RayActors(job, count, most, store_address, limits, share)
            return LocalProcesses(job, min(count or 1, most), Coordinator(answers, folder, limits, share))

        with at_ctrl_c(interrupt), status_line() as show:
            outcome = execute(
                job,
                out,
                new_pool,
                stop=stop,
                share=share,
                strict=flags.strict,
                show=show,
                resumed=partial(_resumed, out, share),
            )
        if outcome.complete:
            stored = register(outcome.run, store, records=flags.into_store)
            tell(f"run {stored.there} of the store {'holds' if stored.holds else 'names'} it")
            tell(*stored.notes())
    failing = _show(outcome, requested, shown)
    if _remarks(outcome, len(manifest.plan)):
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


def _resumed(out: str, share: Share | None, found: Resumed) -> None:
    which = f"share {share[0]}/{share[1]} of " if share else ""
    parts = plural(found.parts, "part")
    if not found.own:
        tell(f"{which}{out} has no part, as there are only {found.parts:,}: there is nothing to do for it")
    elif not found.todo:
        tell(f"{which}{out}: nothing is left to be done")
    elif found.new:
        tell(f"new run in {out}: {parts}{f', {found.own:,} of this share' if share else ''}")
    elif share and found.todo == found.own and not found.cases:
        tell(f"{which}{out}: {found.own:,} of {parts}")
    else:
        of = plural(found.own, "part")
        tell(f"going on with {which}{out}: {found.todo:,} of {of} left, {plural(found.cases, 'case')} done")


def _show(outcome: JobOutcome, requested: RequestedMetrics, shown: Shown) -> list[str]:
    """Print what was found; the gates that fail."""
    stored, config = outcome.run, requested.config
    if not any(part.cases for part in outcome.parts.values()):
        return []
    tally = tally_of(stored, config, shown.by)
    require_tag(shown.by, tally.tags)
    run = stored_run_report(stored, config, tally)
    print_run(run, as_json=shown.as_json, beside={"notes": list(requested.notes)})
    if shown.report:
        write_html(shown.report, run, partial(diagnosed_records, stored, config))
        tell(f"report: {shown.report}")
    if not shown.as_json:
        command = f"{program_name()} show {stored.info.typed}"
        print_next_steps(f"list its cases: {command}", f"as a page: {program_name()} report {stored.info.typed}")
    return requested.gates.failing(tally.summary())


def _remarks(outcome: JobOutcome, parts: int) -> bool:
    """Say what is missing; whether anything is."""
    info = outcome.run.info
    rejected = info.rejected
    if rejected:
        rows = [f"row {row.row}: {row.reason}" for row in outcome.run.rejected()]
        print_rejected(rows, info.rows + rejected, count=rejected)
    tell(*(f"! {warning}" for warning in outcome.warnings))
    if outcome.repeated:
        tell(f"note: {plural(outcome.repeated, 'part')} had to be worked on again")
    tell(*(f"note: put aside: {why}" for why in outcome.aside.values()))
    tell(*(f"changed while it was read, so not kept: {name}; give another --out" for name in outcome.changed))
    tell(*outcome.failures)
    if outcome.stopped:
        tell(outcome.stopped)
    if outcome.left and not outcome.stopped:
        tell("not complete: give the same command again to try what is left")
    elif outcome.left_to_others and not outcome.left:
        others = f"{outcome.left_to_others:,} of {plural(parts, 'part')}"
        tell(f"this share is done; the folder isn't complete, as {others} of other shares aren't done")
    if info.failed:
        tell(f"scores failed on {plural(info.failed, 'case')}: give the same command again to ask once more")
    incomplete = not outcome.complete or bool(outcome.failures or outcome.changed or outcome.stopped or info.failed)
    return incomplete or outcome.cut_off or too_many_rejected(rejected, info.rows + rejected)


def _print_files(found: Survey) -> None:
    """How the files are read: those with the same columns together, and those of which nothing can be used."""
    alike: dict[object, list[InputFile]] = {}
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
