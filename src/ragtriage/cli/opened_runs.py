"""A run as it is typed: a run of a store by its number, or one in a folder by its address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ragtriage.cli.stores import open_named_store
from ragtriage.core.files import REMOTE
from ragtriage.runs.compare.choose import is_run
from ragtriage.runs.run import Run
from ragtriage.store import Store
from ragtriage.store.folder import open_folder


@contextmanager
def opened_run(store: str | None, run: str, project: str | None = None) -> Iterator[tuple[Store | None, Run]]:
    """A run to read, and the store that it is in; one in a folder is in none.

    Args:
        store: the value of `--store`.
        run: a number, `last`, or the address of a folder.
        project: the value of `--project`.

    Raises:
        NotStoredError: there is no such store or run.
        StoreError: it can't be read.
    """
    found = folder_run(run)
    if found is not None:
        yield None, found
        return
    with open_named_store(store, project) as there:
        yield there, there.run(run)


def folder_run(text: str) -> Run | None:
    """The run in a folder with an address; None for what can't be one: a run's number, or a file.

    Raises:
        NotStoredError: there is no run in this folder.
    """
    if is_run(text) or not (REMOTE in text or text.endswith("/") or Path(text).is_dir()):
        return None
    return open_folder(text)
