"""`ragtriage windows`: the windows of watched traffic, and its alarms."""

from __future__ import annotations

import sys

import typer  # noqa: TC002  # read when the command is made

from ragtriage.cli.console import print_json, tell
from ragtriage.cli.flags import command, new_typer
from ragtriage.cli.opened_stores import open_named_store
from ragtriage.cli.watch_output import alarm_line, alarm_lines, window_json, window_line
from ragtriage.core.display import plural
from ragtriage.core.errors import ConfigError
from ragtriage.monitor.alarms import close_alarm, open_alarms
from ragtriage.store.watch_tables import WindowRow, read_windows

windows = new_typer(
    help="List the windows of watched traffic, the newest first, and the open alarms.",
    no_args_is_help=False,
    invoke_without_command=True,
)


@command("windows")
def list_windows(
    ctx: typer.Context,
    *,
    name: str | None = None,
    most: int = 20,
    as_json: bool = False,
    store: str | None = None,
    project: str | None = None,
) -> None:
    """List the windows of watched traffic, the newest first, and the open alarms."""
    if ctx.invoked_subcommand is not None:
        if store or project or as_json or name:
            raise ConfigError(f"give the flags of {ctx.invoked_subcommand} behind it")
        return
    with open_named_store(store, project) as there:
        found = read_windows(there.database, there.project, name)
        infos = {info.number: info for info in there.runs()}
        shown = [one for one in found if one.run in infos][::-1][:most]
        means = there.means([one.run for one in shown])
        alarms = [one for one in open_alarms(there) if name is None or one.row.watch == name]
    if as_json:
        listed = [window_json(one, infos[one.run], means[one.run]) for one in shown]
        print_json({"windows": listed, "alarms": [alarm.as_json() for alarm in alarms]})
        return
    if not found:
        tell("no window is stored: ragtriage watch --replay FILE")
    previous: dict[int, WindowRow] = {}
    last: dict[str, WindowRow] = {}
    for one in found:
        if one.watch in last:
            previous[one.run] = last[one.watch]
        last[one.watch] = one
    several = len(last) > 1
    for one in shown:
        watch = f"{one.watch}  " if several else ""
        sys.stdout.write(f"{watch}{window_line(one, infos[one.run], means[one.run], previous.get(one.run))}\n")
    if older := len(found) - len(shown):
        sys.stdout.write(f"{plural(older, 'older window')} left out: --most {len(found)}\n")
    sys.stdout.write("".join(f"{line}\n" for line in alarm_lines(alarms)))


@command("windows ack")
def ack(number: int, *, store: str | None = None, project: str | None = None) -> None:
    """Close an alarm that somebody has looked at; its detector starts anew."""
    with open_named_store(store, project) as there:
        alarm = close_alarm(there, number)
    sys.stdout.write(f"closed: alarm {alarm_line(alarm)}\n")


windows.callback()(list_windows)
windows.command("ack")(ack)
