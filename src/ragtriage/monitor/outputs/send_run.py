"""The scores of stored runs, to everything that was named."""

import asyncio
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from ragtriage.core.errors import InputError
from ragtriage.core.files import atomic_write
from ragtriage.monitor.outputs.channel import ToolChannel
from ragtriage.monitor.outputs.destinations import DESTINATIONS
from ragtriage.monitor.outputs.entries import Entry, Environment
from ragtriage.monitor.outputs.listed import otlp_entries, write_batches
from ragtriage.monitor.outputs.scores import RunScores
from ragtriage.monitor.outputs.sending import Delivered, Delivery
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.run import Run
from ragtriage.store.database import Database
from ragtriage.store.lease import exclusive
from ragtriage.store.watch_tables import Outbox

PATIENCE = 60.0
"""Seconds for which a request that isn't answered is repeated."""


@dataclass(frozen=True, slots=True)
class SendOptions:
    """How scores are sent."""

    quote: bool = False
    """Whether explanations go along, which quote the cases."""
    retry_refused: bool = False
    """Whether what a tool refused before is sent to it again."""
    patience: float = PATIENCE


@dataclass
class WrittenScores:
    """What was written to a file."""

    path: str
    records: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    """What it has no place for: reason → count."""
    without_trace: int = 0
    """Cases that have no trace, so that nothing of them can be written."""


@dataclass(frozen=True, slots=True)
class SentScores:
    """What became of scores at all that was named."""

    tools: Sequence[Delivered] = ()
    file: WrittenScores | None = None

    @property
    def named(self) -> bool:
        """Whether anything was named."""
        return bool(self.tools or self.file)

    @property
    def complete(self) -> bool:
        """Whether all of it was sent."""
        return all(one.complete for one in self.tools) and not (self.file and self.file.left_out)

    @property
    def without_trace(self) -> int:
        """Cases that have no trace, so that nothing of them can be sent."""
        return max((one.without_trace for one in (*self.tools, self.file) if one), default=0)


def send_run(  # noqa: PLR0913  # what is sent, where to, and how
    database: Database,
    run: Run,
    config: EvaluationConfig,
    addresses: Mapping[str, str],
    env: Environment,
    options: SendOptions = SendOptions(),  # frozen
    *,
    earlier: Mapping[str, Delivered] = MappingProxyType({}),
    advance: Callable[[], object] = lambda: None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> list[Delivered]:
    """Send a run's scores to tools, to all at the same time: one that is dead holds no other up.

    What became of them comes in the order of the addresses, and goes on from `earlier`, that of other runs by the
    tools' names: a tool for which something was left then isn't tried, and what it is to get waits in the outbox.
    """
    with ExitStack() as stack:
        deliveries: list[Delivery] = []
        for name, url in addresses.items():
            channel = ToolChannel(DESTINATIONS[name], url, env, options.patience, sleep)
            stack.callback(channel.close)
            tool, to = channel.destination, f"{name} {channel.shown}"
            what = f"sending run {run.number} to {to}"
            # what two processes send at the same time would stand twice where a tool adds
            stack.enter_context(exclusive(database, what, party=secrets.token_hex(8), patience=0.0))
            scores = RunScores(run, config, quote=options.quote, sources=tool.sources)
            outbox, again, known = Outbox(database, run.number, to), options.retry_refused, earlier.get(name)
            deliveries.append(
                Delivery(scores, channel, outbox, env, retry_refused=again, earlier=known, advance=advance)
            )

        async def deliver() -> list[Delivered]:
            return await asyncio.gather(*(one.deliver() for one in deliveries))

        return asyncio.run(deliver())


def check_addresses(addresses: Mapping[str, str], env: Environment) -> None:
    """Refuse addresses to which nothing can be sent, before anything is judged."""
    for name, url in addresses.items():
        ToolChannel(DESTINATIONS[name], url, env, 0.0).close()


def write_scores(path: Path, runs: Iterable[Run], config: EvaluationConfig, *, quote: bool = False) -> WrittenScores:
    """Write the scores of runs to a file as OTLP JSON log records, a batch a line, in the place of what it held."""
    written = WrittenScores(str(path))

    def records() -> Iterator[Entry]:
        for run in runs:
            scores = RunScores(run, config, quote=quote)
            for trace in scores:
                for one in otlp_entries(trace, scores.by):
                    if isinstance(one, Entry):
                        yield one
                    else:
                        written.left_out[one.reason] += 1
            written.without_trace += scores.without_trace

    with atomic_write(path, "replace") as file:
        written.records = write_batches(file, records())
    return written


def send_runs(
    database: Database,
    runs: Sequence[Run],
    config: EvaluationConfig,
    addresses: Mapping[str, str],
    file: Path | None,
    env: Environment,
    options: SendOptions,
    *,
    advance: Callable[[], object] = lambda: None,
) -> SentScores:
    """Write the scores of runs to the file, if one is named, and send them to tools, run by run.

    What a tool that can't be reached is to get of later runs waits in the outbox: it isn't tried again.
    """
    try:
        written = write_scores(file, runs, config, quote=options.quote) if file else None
    except OSError as error:
        raise InputError(f"{file} can't be written: {error.strerror or error}") from error
    found: dict[str, Delivered] = {}
    for run in runs if addresses else ():
        sent = send_run(database, run, config, addresses, env, options, earlier=found, advance=advance)
        found = {one.name: one for one in sent}
    return SentScores([*found.values()], written)
