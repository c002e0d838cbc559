"""`ragtriage watch` and `windows`: traffic, judged window by window, and alarms where answers get worse."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import typer  # read when the command is made

from ragtriage.cli.console import exit_if, print_json, say, show, tell
from ragtriage.cli.evaluation_flags import requested_metrics
from ragtriage.cli.flags import command
from ragtriage.cli.input_files import CaseFlags, joined, print_columns, print_counts, rereadable
from ragtriage.cli.judge import JudgeFlags
from ragtriage.cli.opened_stores import open_named_store
from ragtriage.cli.send import SendFlags
from ragtriage.cli.watch_output import (
    alarm_line,
    alarm_lines,
    print_watch,
    printer,
    watch_json,
    window_json,
    window_line,
)
from ragtriage.core.display import plural
from ragtriage.core.errors import ConfigError
from ragtriage.core.files import state_folder
from ragtriage.monitor.alarms import APART, TOLERANCE, close_alarm, open_alarms
from ragtriage.monitor.lots import AtLeast, KeepRule, Lots
from ragtriage.monitor.outputs.send_run import SentScores
from ragtriage.monitor.replay import DAY, NAME, WatchOptions, replay
from ragtriage.monitor.windows import Keeping, WindowSize
from ragtriage.readers.private_cases import Privacy, UserDigests, redaction_named
from ragtriage.report.plan_document import delivery_document
from ragtriage.runs.run import Run
from ragtriage.store import Store
from ragtriage.store.watch_tables import WindowRow, read_windows


@dataclass(frozen=True)
class SamplingFlags:
    """Which cases are judged."""

    sample: float = 1.0
    seed: int = 0
    keep: list[str] | None = None
    at_least: str | None = None

    def lots(self, stratify: str | None) -> Lots:
        """The lots, checked."""
        at_least = None if self.at_least is None else AtLeast.parse(self.at_least, stratify)
        return Lots(self.sample, self.seed, [KeepRule.parse(one) for one in self.keep or ()], at_least)


@dataclass(frozen=True)
class PrivacyFlags:
    """What of customers' texts is stored, and for how long."""

    redact: str | None = None
    plain_users: bool = False
    keep_texts: str | None = None
    keep_runs: str | None = None

    def privacy(self, store: Store) -> Privacy:
        """What is done to a case first. The digests' key stands beside the store, a server's in this user's folder."""
        file = store.database.file
        folder = state_folder() if file is None else file.path.parent
        redact = redaction_named(self.redact) if self.redact else None
        return Privacy(UserDigests(folder), redact, self.plain_users)


@command("watch")
def watch(  # noqa: PLR0913  # one parameter a flag
    files: list[str] | None = None,
    *,
    replay_files: bool = False,
    case_flags: CaseFlags,
    metrics: str | None = None,
    threshold: list[str] | None = None,
    window: str = DAY,
    sampling: SamplingFlags,
    stratify: str | None = None,
    baseline: str | None = None,
    tolerance: float = TOLERANCE,
    alarm_every: int = APART,
    name: str = NAME,
    privacy_flags: PrivacyFlags,
    project: str | None = None,
    as_json: bool = False,
    judge_flags: JudgeFlags,
    send_flags: SendFlags,
    quote: bool = False,
) -> None:
    """Judge traffic window by window, and raise an alarm where answers get worse.

    With --replay, FILES are judged in the order of their cases' times; the same command goes on where it was cut off,
    and judges nothing twice. Exit codes: 0; 1 an alarm is open; 2 usage or input; 3 incomplete (failures, too many
    unusable rows, interrupted, scores that couldn't be sent).
    """
    if not replay_files:
        raise ConfigError("there is no live receiver yet: give files of traffic, ragtriage watch --replay FILE")
    if not files:
        raise ConfigError("name the files to replay: ragtriage watch --replay FILE")
    keeping = Keeping.parse(privacy_flags.keep_texts, privacy_flags.keep_runs)
    if quote and keeping.texts == 0:
        raise ConfigError("--quote needs the texts that --keep-texts 0 deletes at once: leave out one of them")
    options = WatchOptions(
        name,
        sampling.lots(stratify),
        WindowSize.parse(window),
        stratify,
        tolerance,
        alarm_every,
        tuple(one.strip() for one in (baseline or "").split(",") if one.strip()),
        keeping=keeping,
    )
    send_flags.check(files)
    settings = judge_flags.settings(threshold, metrics)
    session = judge_flags.session(settings)
    with ExitStack() as stack:
        store = stack.enter_context(open_named_store(judge_flags.store, project, settings, create=True))
        privacy = privacy_flags.privacy(store)
        there = joined([stack.enter_context(rereadable(file)) for file in files])
        opened = [case_flags.open(file, settings, privacy) for file in there]
        requested = requested_metrics(settings, metrics, opened[0].mapping, paid=bool(session.config.models))
        for one in opened:
            print_columns(one)
        tell(*(f"note: {note}" for note in requested.notes))
        send_flags.require_traces(opened)
        told = printer(stack, session, print_counts)
        sent = SentScores()

        def send(runs: Sequence[Run]) -> None:
            nonlocal sent
            sent = send_flags.send(store, runs, requested.config, quote=quote)

        result = replay(opened, session, store, requested.config, options, told, send)
        means = store.means([one.row.run for one in result.windows])
        if as_json:
            sys.stdout.write(watch_json(result, means, sent))
        else:
            print_watch(result, means)
            show(delivery_document(sent))
    if result.stopped:
        tell(result.stopped)
    exit_if(incomplete=result.incomplete or not sent.complete, gate_failed=result.alarms)


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
        say(*f"{watch}{window_line(one, infos[one.run], means[one.run], previous.get(one.run))}".splitlines())
    if older := len(found) - len(shown):
        say(f"{plural(older, 'older window')} left out: --most {len(found)}")
    say(*alarm_lines(alarms))


@command("windows ack")
def ack(number: int, *, store: str | None = None, project: str | None = None) -> None:
    """Close an alarm that somebody has looked at; its detector starts anew."""
    with open_named_store(store, project) as there:
        alarm = close_alarm(there, number)
    say(f"closed: alarm {alarm_line(alarm)}")
