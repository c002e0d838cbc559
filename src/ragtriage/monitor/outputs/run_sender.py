"""The runs of a watch to everything that was named, while later ones are judged."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Self

from ragtriage.core.errors import InputError
from ragtriage.monitor.outputs.entries import Environment
from ragtriage.monitor.outputs.send_run import SendOptions, SentScores, WrittenScores, send_run, write_scores
from ragtriage.monitor.outputs.sending import Delivered
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.run import Run
from ragtriage.store.database import Database


class RunSender:
    """Sends runs one after the other in a thread of its own, so that no tool holds up judging; enter it to start it.

    What a tool that can't be reached is to get waits in the outbox: it isn't waited for again before the last run was
    added. At the end the scores of all runs are written to the file, if one is named.
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
        self._runs: dict[int, Run] = {}
        self._found: dict[tuple[str, int], Delivered] = {}
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
        self._runs[run.number] = run
        self._due.put(run)

    def finish(self) -> None:
        """Wait until all runs are sent, or can't be."""
        self._due.put(None)
        self._thread.join()
        if self._error:
            raise self._error
        if self._file:
            try:
                written = write_scores(self._file, self._runs.values(), self._config, quote=self._options.quote)
            except OSError as error:
                raise InputError(f"{self._file} can't be written: {error.strerror or error}") from error
            self._written[str(self._file)] = written

    @property
    def sent(self) -> SentScores:
        """What became of all runs together."""
        tools: dict[str, Delivered] = {}
        for (name, _), one in self._found.items():
            if name in tools:
                tools[name].add_run(one)
            else:
                tools[name] = deepcopy(one)
        return SentScores([*tools.values()], self._written)

    def _work(self) -> None:
        try:
            while (run := self._due.get()) is not None and not self._stopped:
                self._send(run, self._addresses)
            if not self._stopped:
                self._try_again()
        except Exception as error:  # noqa: BLE001  # raised again in the thread that waits
            self._error = error

    def _try_again(self) -> None:
        """Send what couldn't be sent while runs came, until a tool can't be reached again."""
        left = [(name, number) for (name, number), one in self._found.items() if one.left]
        self._unreached.clear()
        for name, number in left:
            alone = sum(other == name for other, _ in left) == 1  # it was waited for just now
            if not alone and name not in self._unreached:
                self._send(self._runs[number], {name: self._addresses[name]})

    def _send(self, run: Run, to: Mapping[str, str]) -> None:
        found = send_run(self._database, run, self._config, to, self._env, self._options, unreached=self._unreached)
        for one in found:
            known = self._found.get((one.name, run.number))
            if known:
                known.add_retry(one)
            else:
                self._found[one.name, run.number] = one
            if one.left:
                self._unreached[one.name] = one.why
