"""`ragtriage send`: a stored run's scores, back to where its traces came from."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from ragtriage.cli.console import exit_if, print_found, progress, tell
from ragtriage.cli.flags import command
from ragtriage.cli.input_files import writing
from ragtriage.cli.opened_stores import folder_run, open_named_store
from ragtriage.core.display import listed, plural
from ragtriage.core.errors import ConfigError
from ragtriage.monitor.outputs.destinations import DESTINATIONS
from ragtriage.monitor.outputs.scores import has_traces
from ragtriage.monitor.outputs.send_run import PATIENCE, SendOptions, WrittenScores, send_run, write_scores
from ragtriage.monitor.outputs.sending import Delivered
from ragtriage.report.delivery_document import delivery_document, delivery_json
from ragtriage.runs.evaluation_config import config_of
from ragtriage.store import Store
from ragtriage.store.outbox import waiting_entries


@dataclass(frozen=True)
class Addresses:
    """Where scores go: names of tools, as `DESTINATIONS` has them."""

    otlp: str | None = None
    phoenix: str | None = None
    langfuse: str | None = None
    mlflow: str | None = None
    opik: str | None = None
    langsmith: str | None = None

    def given(self) -> dict[str, str]:
        """Those that were named: tool → address."""
        return {name: url for name in DESTINATIONS if (url := getattr(self, name))}


@command("send")
def send(  # noqa: PLR0913  # one parameter a flag
    run: str,
    *,
    scores: Path | None = None,
    addresses: Addresses,
    quote: bool = False,
    retry_refused: bool = False,
    patience: float = PATIENCE,
    as_json: bool = False,
    store: str | None = None,
    project: str | None = None,
) -> None:
    """Send a run's scores back to where its traces came from.

    Exit codes: 0; 2 usage, or no case has a trace; 3 something wasn't sent.
    """
    to = addresses.given()
    if not (to or scores):
        known = listed(["--scores FILE", *(f"--{name} URL" for name in DESTINATIONS)], "or")
        raise ConfigError(f"nothing is sent that isn't named: give {known}")
    if folder_run(run):
        raise ConfigError(f"{run}: what was sent is kept in a store: `ragtriage store copy` brings the run into one")
    with open_named_store(store, project) as there:
        stored = there.run(run)
        config = config_of(stored.info)
        if not has_traces(stored):
            raise ConfigError(f"no case of {stored.info.called} has a trace id: it wasn't read from traces")
        files: dict[str, WrittenScores] = {}
        if scores:
            with writing(scores):
                files[str(scores)] = write_scores(scores, stored, config, quote=quote)
        options = SendOptions(quote, retry_refused, patience)
        found: list[Delivered] = []
        if to:
            with progress(stored.info.rows * len(to), 0, word="sending") as advance:
                found = send_run(there.database, stored, config, to, os.environ, options, advance=advance)
        _tell_waiting(there, {(stored.number, f"{one.name} {one.address}") for one in found})
    untraced = max(*(one.without_trace for one in found), *(one.without_trace for one in files.values()), 0)
    print_found(
        lambda: delivery_json(stored.number, found, files, untraced),
        lambda: delivery_document(stored.info.typed, found, files, untraced),
        as_json=as_json,
    )
    exit_if(incomplete=any(not one.complete for one in found))


def _tell_waiting(there: Store, told: Collection[tuple[int, str]]) -> None:
    """Say what other runs of the last day still have to be sent."""
    for one in waiting_entries(there.database):
        if (one.run, one.destination) not in told:
            name, _, address = one.destination.partition(" ")
            left = plural(one.entries, "score")
            tell(f"note: run {one.run} has {left} left: ragtriage send {one.run} --{name} {address}")
