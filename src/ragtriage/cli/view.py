"""`ragtriage view`: look through runs in a browser."""

import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ragtriage.cli.console import tell
from ragtriage.cli.flags import command
from ragtriage.cli.opened_stores import folder_run, open_named_store
from ragtriage.config import named_numbers
from ragtriage.core.errors import ConfigError, MissingExtraError
from ragtriage.readers.json_objects import require_lines_name
from ragtriage.runs.run import Run
from ragtriage.store import Store


@command("view")
def view(  # noqa: PLR0913  # one parameter a flag
    run: str | None = None,
    *,
    port: int | None = None,
    no_browser: bool = False,
    host: str = "127.0.0.1",
    allow_host: list[str] | None = None,
    write: bool = False,
    labels: Path = Path("labels.jsonl"),
    by: str | None = None,
    threshold: list[str] | None = None,
    store: str | None = None,
    project: str | None = None,
) -> None:
    """Look through runs in a browser: lists, cases, versions, comparisons.

    Prints the address and answers there until Ctrl-C. The address opens the viewer in one browser; nobody else on the
    machine can read the runs.
    """
    if host not in ("127.0.0.1", "::1", "localhost") and not allow_host:
        raise ConfigError(
            f"--host {host} lets other machines in: give --allow-host NAME, under which they reach this one, and put "
            "TLS in front"
        )
    require_lines_name(labels, "labels")
    try:
        from ragtriage.view.opened_runs import OpenedRuns  # noqa: PLC0415  # of an extra
        from ragtriage.view.pages import Pages  # noqa: PLC0415
        from ragtriage.view.security import Guard  # noqa: PLC0415
        from ragtriage.view.server import FOLDER, FolderRun, StoreRuns, application, listening, serve  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise MissingExtraError("the viewer's pages", "view") from error
    with _named(run, store, project) as (there, found):
        source = StoreRuns(there) if there else FolderRun(found) if found else None
        assert source  # noqa: S101  # one of both is there
        limits = named_numbers(threshold or (), "--threshold", found.info.metrics if found else ())
        at = listening(port, host)
        number = at.getsockname()[1]
        runs = OpenedRuns(source, limits)
        pages = Pages(runs, there.where if there else found.info.address if found else "", by, writing=write)
        path = "" if found is None else f"runs/{FOLDER if there is None else found.number}"

        def told(address: str) -> None:
            sys.stdout.write(f"in another browser: {address}\n")
            sys.stdout.flush()

        served = application(runs, pages, labels)
        guard = Guard(served, number, allow_host or (), host=host, writing=write, told=told)
        address = guard.new_address(path)
        sys.stdout.write(f"{address}\nCtrl-C ends it\n")
        sys.stdout.flush()
        if allow_host:
            tell(f"note: whoever reaches {', '.join(allow_host)} and has the address reads all texts of these runs")
        if not no_browser and not webbrowser.open(address):
            tell("no browser could be opened: open the address yourself")
        try:
            serve(guard, at)
        except KeyboardInterrupt:
            pass
        finally:
            runs.close()


@contextmanager
def _named(run: str | None, store: str | None, project: str | None) -> Iterator[tuple[Store | None, Run | None]]:
    """The store that is looked at, and the run that is shown first; a folder is in no store."""
    if run is not None and (found := folder_run(run)):
        yield None, found
        return
    with open_named_store(store, project) as there:
        yield there, None if run is None else there.run(run)
