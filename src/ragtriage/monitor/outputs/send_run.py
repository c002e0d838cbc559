"""Scores to everything that was named: of a stored run, and of the runs of a watch while later ones are judged."""

import asyncio
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from types import MappingProxyType
from typing import Self

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

    records: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    """What it has no place for: reason → count."""
    without_trace: int = 0
    """Cases that have no trace, so that nothing of them can be written."""


@dataclass(frozen=True, slots=True)
class SentScores:
    """What became of scores at all that was named."""

    tools: Sequence[Delivered] = ()
    files: Mapping[str, WrittenScores] = field(default_factory=dict)
    """By path."""

    @property
    def named(self) -> bool:
        """Whether anything was named."""
        return bool(self.tools or self.files)

    @property
    def complete(self) -> bool:
        """Whether all of it was sent."""
        return all(one.complete for one in self.tools) and not any(one.left_out for one in self.files.values())

    @property
    def without_trace(self) -> int:
        """Cases that have no trace, so that nothing of them can be sent."""
        counts = [one.without_trace for one in self.tools] + [one.without_trace for one in self.files.values()]
        return max(counts, default=0)


def send_run(  # noqa: PLR0913  # what is sent, where to, and how
    database: Database,
    run: Run,
    config: EvaluationConfig,
    addresses: Mapping[str, str],
    env: Environment,
    options: SendOptions = SendOptions(),  # frozen
    *,
    unreached: Mapping[str, str] = MappingProxyType({}),
    advance: Callable[[], object] = lambda: None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> list[Delivered]:
    """Send a run's scores to tools, to all at the same time: one that is dead holds no other up.

    What became of them comes in the order of the addresses. All that a destination in `unreached` (→ why) is to get
    waits in the outbox.
    """

    async def send(stack: ExitStack) -> list[Delivered]:
        channels: list[ToolChannel] = []
        try:
            for name, url in addresses.items():
                channels.append(ToolChannel(DESTINATIONS[name], url, env, options.patience, sleep))
            deliveries = []
            for channel in channels:
                tool, to = channel.destination, f"{channel.destination.name} {channel.shown}"
                what = f"sending run {run.number} to {to}"
                # what two processes send at the same time would stand twice where a tool adds
                stack.enter_context(exclusive(database, what, party=secrets.token_hex(8), patience=0.0))
                scores = RunScores(run, config, quote=options.quote, sources=tool.sources, claims=tool.claims)
                outbox, again = Outbox(database, run.number, to), options.retry_refused
                why = unreached.get(tool.name, "")
                deliveries.append(
                    Delivery(scores, channel, outbox, env, retry_refused=again, unreached=why, advance=advance)
                )
            return list(await asyncio.gather(*(one.deliver() for one in deliveries)))
        finally:
            await asyncio.gather(*(channel.close() for channel in channels))

    with ExitStack() as stack:
        return asyncio.run(send(stack))


def check_addresses(addresses: Mapping[str, str], env: Environment) -> None:
    """Refuse addresses to which nothing can be sent, before anything is judged."""

    async def check() -> None:
        for name, url in addresses.items():
            await ToolChannel(DESTINATIONS[name], url, env, 0.0).close()

    asyncio.run(check())


def write_scores(path: Path, runs: Iterable[Run], config: EvaluationConfig, *, quote: bool = False) -> WrittenScores:
    """Write the scores of runs to a file as OTLP JSON log records, a batch a line, in the place of what it held."""
    written = WrittenScores()

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


class RunSender:
    """Sends runs one after the other in a thread of its own, so that no tool holds up judging; enter it to start it.

    What a tool that can't be reached is to get waits in the outbox, for the next command: it isn't tried again. At the
    end the scores of all runs are written to the file, if one is named.
    """

    def __init__(
        self,
        database: Database,
        config: EvaluationConfig,
        addresses: Mapping[str, str],
        file: Path | None,
        env: Environment,
        options: SendOptions,
    ) -> None:
        self._database, self._config, self._env, self._options = database, config, env, options
        self._addresses, self._file = addresses, file
        self._runs: list[Run] = []
        self._found: dict[str, Delivered] = {}
        self._unreached: dict[str, str] = {}
        self._written: dict[str, WrittenScores] = {}
        self._error: Exception | None = None
        self._stopped = False
        self._due: SimpleQueue[Run | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name="scores", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Let the run that is being sent come to its end; the others are left."""
        self._stopped = True
        self._due.put(None)
        self._thread.join()

    def add(self, run: Run) -> None:
        """Send a run that is judged."""
        self._runs.append(run)
        self._due.put(run)

    def finish(self) -> None:
        """Wait until all runs are sent, or can't be."""
        self._due.put(None)
        self._thread.join()
        if self._error:
            raise self._error
        if self._file:
            try:
                written = write_scores(self._file, self._runs, self._config, quote=self._options.quote)
            except OSError as error:
                raise InputError(f"{self._file} can't be written: {error.strerror or error}") from error
            self._written[str(self._file)] = written

    @property
    def sent(self) -> SentScores:
        """What became of all runs together."""
        return SentScores([*self._found.values()], self._written)

    def _work(self) -> None:
        try:
            while (run := self._due.get()) is not None and not self._stopped:
                self._send(run)
        except Exception as error:  # noqa: BLE001  # raised again in the thread that waits
            self._error = error

    def _send(self, run: Run) -> None:
        tools = self._addresses
        found = send_run(self._database, run, self._config, tools, self._env, self._options, unreached=self._unreached)
        for one in found:
            if known := self._found.get(one.name):
                known.add_run(one)
            else:
                self._found[one.name] = one
            if one.left:
                self._unreached[one.name] = one.why
