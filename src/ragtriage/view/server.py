"""The viewer's server: its addresses, where it listens, and what it prints."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import uvicorn
from starlette.applications import Starlette
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ragtriage.core.display import one_line
from ragtriage.core.errors import ConfigError, NotStoredError
from ragtriage.runs.run import FINISHED, Run, RunInfo
from ragtriage.store import Store
from ragtriage.store.folder import open_folder
from ragtriage.view.comparisons import Comparisons
from ragtriage.view.export import Exports
from ragtriage.view.label_results import LabelResults
from ragtriage.view.labelling import Labelling
from ragtriage.view.opened_runs import OpenedRuns
from ragtriage.view.pages import Pages, answering
from ragtriage.view.security import Guard

if TYPE_CHECKING:
    from starlette.requests import Request

PORT = 7421
MOST_TRIED = 10
"""Ports that are tried where the first is taken."""
FOLDER = "folder"
"""What stands in an address for the run of a folder that was named."""


@dataclass(frozen=True, slots=True)
class StoreRuns:
    """The runs of a store."""

    store: Store

    def runs(self) -> Sequence[RunInfo]:
        """See `RunSource`."""
        return self.store.runs()

    def run(self, key: str) -> Run:
        """See `RunSource`."""
        return self.store.run(key)

    def key(self, info: RunInfo) -> str:
        """See `RunSource`."""
        return str(info.number)


class FolderRun:
    """The run in a folder, alone; opened anew where the folder has changed."""

    store = None

    def __init__(self, found: Run) -> None:
        self._found = found
        self._version = found.place.version()

    def runs(self) -> Sequence[RunInfo]:
        """See `RunSource`."""
        return [self.run(FOLDER).info]

    def run(self, key: str) -> Run:
        """See `RunSource`."""
        if key != FOLDER:
            raise NotStoredError(f"there is no run {one_line(key, 40)}: only {self._found.info.called} is looked at")
        version = self._found.place.version()
        if version != self._version or self._found.info.state != FINISHED:
            self._found, self._version = open_folder(self._found.info.address), version
        return self._found

    def key(self, info: RunInfo) -> str:  # noqa: ARG002  # there is one
        """See `RunSource`."""
        return FOLDER


def application(runs: OpenedRuns, pages: Pages, labels: Path) -> Starlette:
    """The pages at their addresses, without a guard."""
    exports, comparisons = Exports(runs), Comparisons(runs, pages)
    labelling = Labelling(runs, pages, labels)
    results = LabelResults(runs, pages, labels)

    def page(path: str, shown: Callable[[Request], Response]) -> Route:
        return Route(path, answering(pages, shown))

    routes = [
        page("/", pages.runs),
        page("/help", pages.help),
        page("/static/{name}", pages.asset),
        page("/runs/{key}", pages.run),
        page("/runs/{key}/state", pages.state),
        page("/runs/{key}/cases", pages.cases),
        page("/runs/{key}/cases/{position}.html", exports.case),
        page("/runs/{key}/cases/{position}", pages.case),
        page("/runs/{key}/export.{form}", exports.cases),
        page("/runs/{key}/label", labelling.label),
        Route("/runs/{key}/label", labelling.give, methods=["POST"]),
        page("/runs/{key}/label/result", results.result),
        page("/compare", compare),
        page("/compare/{base}/{new}", comparisons.comparison),
        page("/compare/{base}/{new}/cases", comparisons.cases),
        page("/compare/{base}/{new}/cases/{position:int}", comparisons.case),
        Route("/{path:path}", lambda request: pages.refused(request, NotStoredError("There is no such page."))),
    ]
    return Starlette(routes=routes)


def compare(request: Request) -> Response:
    """To the comparison of the two runs that were ticked, the older one first."""
    given = request.query_params.getlist("run")
    if len(given) != 2:
        raise ConfigError(f"tick two runs to compare them: {len(given)} are")
    older, newer = (quote(key, safe="") for key in sorted(given, key=lambda key: (len(key), key)))
    return RedirectResponse(f"/compare/{older}/{newer}", 303)


def listening(port: int | None, host: str = "127.0.0.1") -> socket.socket:
    """A socket on the port, or on one of the next ten where none was named and it is taken."""
    for tried in range(port or PORT, (port or PORT) + (1 if port else MOST_TRIED)):
        found = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((host, tried))
            found.listen()  # so that a browser that is opened at once is answered, and nobody else gets the port
        except OSError as error:
            found.close()
            failure = error
            continue
        return found
    said = f"--port {port}" if port else f"ports {PORT} to {PORT + MOST_TRIED - 1}"
    raise ConfigError(f"{said}: can't be listened on ({failure.strerror}): name a free one with --port")


def serve(guard: Guard, at: socket.socket) -> None:
    """Answer until Ctrl-C."""
    config = uvicorn.Config(
        guard, log_level="warning", access_log=False, lifespan="off", server_header=False, timeout_graceful_shutdown=1
    )
    asyncio.run(uvicorn.Server(config).serve([at]))
