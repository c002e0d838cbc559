"""`ragtriage send`: a stored run's scores, back to where its traces came from."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragtriage.cli.comparison_flags import check_files
from ragtriage.cli.console import exit_if, print_found, progress
from ragtriage.cli.flags import command
from ragtriage.cli.opened_stores import folder_run, open_named_store
from ragtriage.core.display import listed
from ragtriage.core.errors import ConfigError
from ragtriage.monitor.outputs.destinations import DESTINATIONS
from ragtriage.monitor.outputs.scores import has_traces
from ragtriage.monitor.outputs.send_run import PATIENCE, SendOptions, SentScores, check_addresses, send_runs
from ragtriage.readers import CaseFile
from ragtriage.report.plan_document import delivery_document, delivery_json
from ragtriage.runs.evaluation_config import EvaluationConfig, config_of
from ragtriage.runs.run import Run
from ragtriage.runs.selection import ALL_ROWS, RowSelection, require_traces
from ragtriage.store import Store


@dataclass(frozen=True)
class SendFlags:
    """Where scores go, and how; the names of tools are those of `DESTINATIONS`."""

    scores_file: Path | None = None
    otlp: str | None = None
    phoenix: str | None = None
    langfuse: str | None = None
    mlflow: str | None = None
    opik: str | None = None
    langsmith: str | None = None
    retry_refused: bool = False
    patience: float = PATIENCE

    @property
    def addresses(self) -> dict[str, str]:
        """Those that were named: tool → address."""
        return {name: url for name in DESTINATIONS if (url := getattr(self, name))}

    @property
    def named(self) -> dict[str, str | Path]:
        """Flag → what it names; empty where nothing is to be sent."""
        file: dict[str, str | Path] = {} if self.scores_file is None else {"--scores": self.scores_file}
        return file | {f"--{name}": url for name, url in self.addresses.items()}

    def check(self, read: Iterable[str]) -> None:
        """Refuse what can't be sent to, before anything is judged; `read` are the files that are read."""
        check_files({"--scores": self.scores_file} if self.scores_file else {}, read)
        check_addresses(self.addresses, os.environ)

    def require_traces(self, files: Sequence[CaseFile], selection: RowSelection = ALL_ROWS) -> None:
        """Refuse cases that come from no trace, where scores are to go anywhere; see `require_traces`."""
        if self.named:
            require_traces(files, selection)

    def send(self, there: Store, runs: Sequence[Run], config: EvaluationConfig, *, quote: bool) -> SentScores:
        """Send the scores of stored runs."""
        options = SendOptions(quote, self.retry_refused, self.patience)
        to, file = self.addresses, self.scores_file
        with progress(sum(run.info.rows for run in runs) * len(to), 0, word="sending") as advance:
            return send_runs(there.database, runs, config, to, file, os.environ, options, advance=advance)


@command("send")
def send(
    run: str,
    *,
    send_flags: SendFlags,
    quote: bool = False,
    as_json: bool = False,
    store: str | None = None,
    project: str | None = None,
) -> None:
    """Send a run's scores back to where its traces came from.

    Exit codes: 0; 2 usage, or no case has a trace; 3 something wasn't sent.
    """
    if not send_flags.named:
        known = listed(["--scores FILE", *(f"--{name} URL" for name in DESTINATIONS)], "or")
        raise ConfigError(f"nothing is sent that isn't named: give {known}")
    if folder_run(run):
        raise ConfigError(f"{run}: what was sent is kept in a store: `ragtriage store copy` brings the run into one")
    with open_named_store(store, project) as there:
        stored = there.run(run)
        config = config_of(stored.info)
        if not has_traces(stored):
            raise ConfigError(f"no case of {stored.info.called} has a trace id: it wasn't read from traces")
        sent = send_flags.send(there, [stored], config, quote=quote)
    print_found(
        lambda: {"run": stored.number, **delivery_json(sent)},
        lambda: delivery_document(sent, stored.info.typed),
        as_json=as_json,
    )
    exit_if(incomplete=not sent.complete)
