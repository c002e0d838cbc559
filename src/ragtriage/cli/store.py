"""`ragtriage store`: make a store for a team, bring it up to date, copy runs, look it through, delete runs."""

import re
import sys

import typer

from ragtriage.cli.console import ExitCode, agreed, refuse_unasked, tell
from ragtriage.cli.flags import command
from ragtriage.cli.opened_stores import open_named_store, require_one_project, store_address
from ragtriage.core.display import one_line, plural
from ragtriage.core.errors import ConfigError, NotStoredError, StoreError
from ragtriage.report.words import shown_time
from ragtriage.runs.repeats import trials_of
from ragtriage.runs.run import FINISHED, RunInfo
from ragtriage.store import RunBusyError, initialise_store, open_store, schema_in_use
from ragtriage.store.checking import check_folder, check_store
from ragtriage.store.copying import UnfinishedRunError, copy_stored, register
from ragtriage.store.database import store_address as read_address
from ragtriage.store.folder import is_run_folder, open_folder
from ragtriage.store.migrations import require_owner, roles_sql
from ragtriage.store.postgresql import shown
from ragtriage.store.schema import SCHEMA_VERSION


@command("store init")
def init(url: str | None = None, *, roles: bool = False) -> None:
    """Make the tables of a store, and the schema that its URL names; what is there already stays.

    Exit codes: 0; 2 the database can't hold every text; 3 it can't be reached, or you may not.
    """
    address = read_address(store_address(url))
    if roles and "://" not in address:
        raise ConfigError("--roles is for a server: a file has the rights that its folder gives it")
    found = initialise_store(address, tell)
    done = "has its tables already" if found == SCHEMA_VERSION else "is up to date now" if found else "is ready"
    tell(f"the store {shown(address) if '://' in address else address} {done} (version {SCHEMA_VERSION})")
    if roles:
        sys.stdout.write(roles_sql(schema_in_use(address)))


@command("store migrate")
def migrate(url: str | None = None) -> None:
    """Bring the tables of a store up to date; on a server their owner has to.

    Exit codes: 0; 2 there is no store; 3 you may not, or another version wrote it.
    """
    with open_store(store_address(url), create=False, told=tell) as there:
        tell(f"the store {there.where} is up to date (version {SCHEMA_VERSION})")


@command("store copy")
def copy(source: str, target: str, *, runs: str | None = None, project: str | None = None) -> None:
    """Copy runs, or a run in a folder, from one store to another, in either direction: each as a whole or not at all.

    Their records, texts and readings go along, the memory of answers doesn't. Further trials of a repeated run go with
    it. A run that is there already isn't copied again, so the same command goes on after an interruption; one that
    isn't finished isn't copied.

    Exit codes: 0; 2 usage; 3 incomplete (a run isn't finished, a store can't be used, interrupted).
    """
    require_one_project(project)
    if is_run_folder(source):
        _copy_folder(source, target, runs, project)
        return
    with open_store(source, create=False, told=tell) as old, open_store(target, told=tell) as new:
        infos = {info.number: info for info in old.runs(everywhere=True)}
        chosen = _chosen(infos, runs)
        left = False
        for number in chosen:
            try:
                copied = copy_stored(old, number, new, project=project)
            except (RunBusyError, UnfinishedRunError) as error:
                tell(str(error))
                left = True
            else:
                there = f"there already as run {copied.there}"
                cases = f"run {copied.there} there, {plural(copied.cases, 'case')}"
                tell(f"run {number} is {there if copied.before else cases}")
    if left:
        raise typer.Exit(ExitCode.INCOMPLETE)


def _copy_folder(source: str, target: str, runs: str | None, project: str | None) -> None:
    if runs is not None:
        raise ConfigError("--runs names runs of a store, and a run in a folder is one run: leave it out")
    found = open_folder(source)
    if found.info.state != FINISHED:
        raise StoreError(f"{source} isn't complete: give the command again that it was begun with")
    with open_store(target, project=project, told=tell) as new:
        stored = register(found, new, records=True)
    cases = plural(found.info.done + found.info.failed, "case")
    told = f"there already as run {stored.there}" if stored.before else f"run {stored.there}, {cases}"
    tell(f"{source} is {told}", *stored.notes())


def _chosen(infos: dict[int, RunInfo], runs: str | None) -> list[int]:
    """The runs that a text like `3-7,9` names, with their trials, the oldest first."""
    wanted = set(infos)
    if runs is not None:
        wanted = set()
        for part in runs.split(","):
            found = re.fullmatch(r"\s*(\d{1,9})(?:\s*-\s*(\d{1,9}))?\s*", part)
            if not found:
                raise ConfigError(f"--runs {runs}: write numbers and ranges, for example 3-7,9")
            first, last = int(found[1]), int(found[2] or found[1])
            within = {number for number in infos if first <= number <= last}
            if not within:
                there = ", ".join(map(str, sorted(infos, reverse=True)[:10])) or "none"
                raise NotStoredError(f"--runs {runs}: there is no run {part.strip()}; the newest are {there}")
            wanted |= within
    firsts = {infos[number].repeats or number for number in wanted}
    return sorted(number for number, info in infos.items() if (info.repeats or number) in firsts)


@command("store check")
def check(url: str | None = None) -> None:
    """Look whether a store holds together: every text that a case points to, and every row of a case, is there.

    Of a run in a folder, whether every part is what was committed; parts that nobody committed are deleted. Exit codes:
    0; 2 there is no store; 3 something is missing.
    """
    if url is not None and is_run_folder(url):
        lines, sound = check_folder(url)
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        if not sound:
            raise typer.Exit(ExitCode.INCOMPLETE)
        return
    with open_store(store_address(url), create=False, told=tell) as there:
        found = check_store(there.database)
    sys.stdout.write("".join(f"{line}\n" for line in found.lines()))
    if not found.sound:
        raise typer.Exit(ExitCode.INCOMPLETE)


@command("store delete")
def delete(
    run: str, *, dry_run: bool = False, yes: bool = False, store: str | None = None, project: str | None = None
) -> None:
    """Delete a run with its records, texts and remembered answers, and its further trials; on a server the owner may.

    Exit codes: 0; 2 usage or input; 3 incomplete (the store is in use, or you may not).
    """
    refuse_unasked("store delete", yes=yes, dry_run=dry_run)
    with open_named_store(store, project) as there:
        infos = [one.info for one in trials_of(there, there.run(run))]
        for info in infos:
            told = f"{shown_time(info.created)}, {one_line(info.input, 120)}, {plural(info.done + info.failed, 'case')}"
            sys.stdout.write(f"run {info.number} ({told})\n")
        if dry_run:
            sys.stdout.write("nothing was deleted (--dry-run)\n")
            require_owner(there.database)
        elif yes or agreed("Delete with all that belongs to it? Nothing can bring it back."):
            there.delete([info.number for info in infos])
            sys.stdout.write(f"deleted {plural(len(infos), 'run')}\n")
        else:
            sys.stdout.write("nothing was deleted\n")
