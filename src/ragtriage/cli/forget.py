"""`ragtriage forget`: delete the texts of runs, while scores and verdicts stay."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ragtriage.cli.flags import command
from ragtriage.cli.results import default_report
from ragtriage.cli.stores import open_named_store
from ragtriage.core.display import plural
from ragtriage.core.errors import ConfigError, NotStoredError
from ragtriage.report.words import shown_time
from ragtriage.runs.evaluation_config import config_of
from ragtriage.runs.repeats import trials_of
from ragtriage.scale.record_set import RecordSet
from ragtriage.store import RunInfo, Store, StoredRun
from ragtriage.text.sanitize import one_line


@command("forget")
def forget(
    run: str | None = None,
    cases: list[str] | None = None,
    *,
    older_than: str | None = None,
    dry_run: bool = False,
    yes: bool = False,
    store: str | None = None,
    project: str | None = None,
) -> None:
    """Delete the texts of a run, of some of its cases, or of old runs; scores and verdicts stay.

    With the texts go components, explanations and remembered answers; ids and tags stay. Nothing can bring them back.
    The trials of a repeated run are forgotten with it.

    Exit codes: 0; 2 usage or input; 3 incomplete (the store is in use, or can't be written).
    """
    if (run is None) == (older_than is None):
        raise ConfigError("name a run (its number, or last) or give --older-than 30d, one of the two")
    before = None if older_than is None else _time_before(older_than)
    if not (yes or dry_run or sys.stdin.isatty()):
        raise ConfigError(
            "forget asks before it deletes, and nobody can answer here: give --yes, or look first with --dry-run"
        )
    with open_named_store(store, project) as there:
        runs = _old_runs(there, before) if before else _trials(there, run or "last")
        _say(*_elsewhere(runs))
        chosen = _with_texts(there, runs, cases)
        numbers = [one.number for one in runs]
        if not any(chosen.values()):
            if not dry_run:
                there.forget_texts(numbers, ())  # ends what an interrupted call began
            which = f"in runs older than {older_than}" if before else " and ".join(f"of run {n}" for n in numbers)
            _say(f"nothing to delete: no text {which} is left", *_files(there, runs))
            return
        _say(*_planned(runs, chosen), *_kept(there, chosen), *_files(there, runs))
        if dry_run:
            _say("nothing was deleted (--dry-run)")
        elif yes or _agreed():
            also = tuple(dict.fromkeys(step for one in runs for step in config_of(one.info).diagnosis_steps))
            there.forget_texts(numbers, cases or None, also=also)
            _say(f"deleted the texts of {plural(sum(map(len, chosen.values())), 'case')}; scores and verdicts stay")
        else:
            _say("nothing was deleted")


def _elsewhere(runs: Sequence[StoredRun]) -> Iterator[str]:
    """Which of these runs have their records, and maybe texts, in a record set."""
    for run in runs:
        if isinstance(run, RecordSet):
            what = "with the texts" if run.plan.texts else "without texts"
            yield f"run {run.number}: its records lie in {run.folder.address}, {what}: delete that folder yourself"


def _time_before(days: str) -> datetime:
    """`30d` → the time 30 days ago."""
    found = re.fullmatch(r"(\d{1,6})d", days.strip())
    if not found:
        raise ConfigError(f"--older-than {days}: write a number of days, for example 30d")
    return datetime.now(UTC) - timedelta(days=int(found[1]))


def _trials(store: Store, run: str) -> list[StoredRun]:
    """A run, and the further trials if it is the first of a repeated evaluation."""
    return trials_of(store, store.run(run))


def _old_runs(store: Store, before: datetime) -> list[StoredRun]:
    """The runs that ended before a time, the oldest first."""
    old = [info.number for info in reversed(store.runs()) if _ended(info) < before]
    return [store.run(number) for number in old]


def _ended(info: RunInfo) -> datetime:
    return datetime.fromisoformat(info.finished or info.created)


def _with_texts(store: Store, runs: Sequence[StoredRun], cases: Sequence[str] | None) -> dict[int, list[str]]:
    """The cases whose texts are still there, by run; only those named, if any are."""
    for case in cases or ():
        if not any(_has(run, case) for run in runs):
            which = " and ".join(f"run {run.number}" for run in runs)
            raise NotStoredError(f"{which} holds no case {case!r}")
    named = set(cases or ())
    found = {run.number: store.cases_with_texts(run.number) for run in runs}
    return {run: [case for case in ids if not named or case in named] for run, ids in found.items()}


def _has(run: StoredRun, case: str) -> bool:
    try:
        return bool(run.record(case))
    except NotStoredError:
        return False


def _planned(runs: Sequence[StoredRun], chosen: Mapping[int, Sequence[str]]) -> Iterator[str]:
    for run in runs:
        if count := len(chosen[run.number]):
            told = f"{shown_time(run.info.created)}, {one_line(run.info.input, 120)}"
            yield f"run {run.number} ({told}): the texts of {plural(count, 'case')}"


def _kept(store: Store, chosen: Mapping[int, Sequence[str]]) -> Iterator[str]:
    """Where the same questions and answers stay."""
    elsewhere = store.held_elsewhere(chosen)
    if elsewhere:
        yield "the same questions or answers stay in cases that aren't forgotten:"
        yield from (f"  run {run}: {plural(count, 'case')}" for run, count in elsewhere.items())


def _files(store: Store, runs: Sequence[StoredRun]) -> Iterator[str]:
    """Files that hold the texts, which this command leaves alone."""
    unnoted = [path for run in runs if (path := default_report(store, run))]
    written = store.files_with_texts([run.number for run in runs], unnoted)
    read = {Path(run.info.input).resolve() for run in runs if Path(run.info.input).is_file()}
    for what, paths in (("reports and exports", written), ("what was evaluated", sorted(read))):
        if paths:
            yield f"files that hold such texts too ({what}) stay: delete them yourself"
            yield from (f"  {path}" for path in paths)


def _agreed() -> bool:
    sys.stderr.write("Delete these texts? Nothing can bring them back. [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()
