"""`ragtriage forget`: delete the texts of runs, while scores and verdicts stay."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ragtriage.cli.console import agreed, refuse_unasked
from ragtriage.cli.flags import command
from ragtriage.cli.opened_stores import folder_run, open_named_store
from ragtriage.cli.results import default_report
from ragtriage.core.display import one_line, plural
from ragtriage.core.errors import ConfigError, NotStoredError
from ragtriage.core.files import REMOTE
from ragtriage.report.words import shown_time
from ragtriage.runs.repeats import trials_of
from ragtriage.runs.run import Run
from ragtriage.store import Store
from ragtriage.store.folder import FolderPlace, folder_of
from ragtriage.store.forgetting import cases_with_texts, folder_cases_with_texts, held_elsewhere, require_cases
from ragtriage.store.forgetting import forget as delete_texts

_SHOWN_FILES = 100


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
    The trials of a repeated run are forgotten with it. A run in a folder is named by its folder or URL.

    Exit codes: 0; 2 usage or input; 3 incomplete (the store is in use, or can't be written).
    """
    if (run is None) == (older_than is None):
        raise ConfigError("name a run (its number, or last) or give --older-than 30d, one of the two")
    named = folder_run(run) if run else None
    before = None if older_than is None else _time_before(older_than)
    refuse_unasked("forget", yes=yes, dry_run=dry_run)
    with _store_beside(named, store, project) as there:
        database = there.database if there else None
        all_runs = [named] if named else _chosen(there, before, run or "last")
        require_cases(all_runs, cases or ())
        chosen = _with_texts(there, [one for one in all_runs if not folder_of(one)], cases)
        held = {number: len(ids) for number, ids in chosen.items()}
        held |= {one.number: folder_cases_with_texts(place, cases or None) for one, place in _placed(all_runs)}
        count = sum(held.values())
        if not count:
            if not dry_run:
                delete_texts(database, all_runs, cases or None, ending=True)
            which = (
                f"in runs older than {older_than}" if before else " and ".join(f"of {_called(one)}" for one in all_runs)
            )
            _say(f"nothing to delete: no text {which} is left", *_files(there, all_runs))
            return
        _say(*_planned(all_runs, held), *(_kept(there, chosen) if there else ()), *_files(there, all_runs))
        if dry_run:
            _say("nothing was deleted (--dry-run)")
        elif yes or agreed("Delete these texts? Nothing can bring them back."):
            delete_texts(database, all_runs, cases or None)
            _say(f"deleted the texts of {plural(count, 'case')}; scores and verdicts stay")
        else:
            _say("nothing was deleted")


@contextmanager
def _store_beside(named: Run | None, store: str | None, project: str | None) -> Iterator[Store | None]:
    """The store that is meant; beside a run in a folder there needn't be one, as it only remembers answers about it."""
    with ExitStack() as stack:
        try:
            there: Store | None = stack.enter_context(open_named_store(store, project))
        except NotStoredError:
            if named is None or store is not None:
                raise
            there = None
        yield there


def _called(run: Run) -> str:
    place = folder_of(run)
    if place is None:
        return f"run {run.number}"
    return run.info.address or f"run {run.number} (in {place.folder.address})"


def _placed(runs: Sequence[Run]) -> Iterator[tuple[Run, FolderPlace]]:
    """The runs that lie in folders, with these."""
    return ((run, place) for run in runs if (place := folder_of(run)))


def _planned(runs: Sequence[Run], held: Mapping[int, int]) -> Iterator[str]:
    for one in runs:
        if count := held[one.number]:
            place = folder_of(one)
            without = place is not None and not place.manifest.texts
            what = "what the judge wrote, such as claims, and explained about" if without else "the texts of"
            which = f"{_called(one)} ({shown_time(one.info.created)}, {one_line(one.info.input, 120)})"
            yield f"{which}: {what} {plural(count, 'case')}"
            deleted, forgotten = one.place.texts_deleted()
            if unread := deleted - forgotten:
                yield (
                    f"  the input of {plural(unread, 'case')} is gone or has changed: what the store remembers of a "
                    "language model's answers about them can't be found by it any more, and stays"
                )


def _time_before(days: str) -> datetime:
    """`30d` → the time 30 days ago."""
    found = re.fullmatch(r"(\d{1,6})d", days.strip())
    if not found:
        raise ConfigError(f"--older-than {days}: write a number of days, for example 30d")
    return datetime.now(UTC) - timedelta(days=int(found[1]))


def _chosen(store: Store | None, before: datetime | None, run: str) -> list[Run]:
    """The runs of a store that are meant: those that ended before a time, else one with its trials."""
    if store is None:
        return []
    return _old_runs(store, before) if before else trials_of(store, store.run(run))


def _old_runs(store: Store, before: datetime) -> list[Run]:
    """The runs that ended before a time, the oldest first; of those whose folder is gone nothing is left."""
    found = []
    for info in reversed(store.runs()):
        if datetime.fromisoformat(info.finished or info.created) < before:
            try:
                found.append(store.run(info.number))
            except NotStoredError as error:
                _say(f"run {info.number}: nothing of it is left to delete: {error}")
    return found


def _with_texts(store: Store | None, runs: Sequence[Run], cases: Sequence[str] | None) -> dict[int, list[str]]:
    """The cases whose texts are still there, by run; only those named, if any are."""
    named = set(cases or ())
    found = {run.number: cases_with_texts(store.database, run.number) for run in runs} if store else {}
    return {run: [case for case in ids if not named or case in named] for run, ids in found.items()}


def _kept(store: Store, chosen: Mapping[int, Sequence[str]]) -> Iterator[str]:
    """Where the same questions and answers stay."""
    elsewhere = held_elsewhere(store.database, chosen)
    if elsewhere:
        yield "the same questions or answers stay in cases that aren't forgotten:"
        yield from (f"  run {run}: {plural(count, 'case')}" for run, count in elsewhere.items())


def _files(store: Store | None, runs: Sequence[Run]) -> Iterator[str]:
    """The reports where they lie by default, and what was evaluated: files that this command leaves alone."""
    places = [place for _, place in _placed(runs)]
    reports = [path for run in runs if store and (path := default_report(store, run))]
    reports += [Path(one.folder.at("report.html")) for one in places if REMOTE not in one.folder.address]
    written = sorted({path.resolve() for path in reports if path.is_file()})
    read = {Path(run.info.input).resolve() for run in runs if Path(run.info.input).is_file()}
    for one in places:
        read |= {Path(file.address) for file in one.manifest.files if Path(file.address).is_file()}
    for what, paths in (("reports", written), ("what was evaluated", sorted(read))):
        if paths:
            yield f"files that hold such texts too ({what}) stay: delete them yourself"
            yield from (f"  {path}" for path in paths[:_SHOWN_FILES])
            if len(paths) > _SHOWN_FILES:
                yield f"  and {len(paths) - _SHOWN_FILES:,} more"
    if remote := sorted({name for one in places for name in one.manifest.inputs if REMOTE in name}):
        yield f"what was evaluated stays: {', '.join(remote)}"


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()
