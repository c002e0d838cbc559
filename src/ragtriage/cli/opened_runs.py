"""A run as it is typed: a run of a store by its number, or a record set by its address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ragtriage.cli.stores import open_named_store
from ragtriage.core.filesystems import REMOTE
from ragtriage.runs.compare.choose import is_run
from ragtriage.runs.run import Run
from ragtriage.store import Store
from ragtriage.store.folder import FolderPlace, open_folder


@contextmanager
def opened_run(store: str | None, run: str, project: str | None = None) -> Iterator[tuple[Store | None, Run]]:
    """A run to read, and the store that it is in; a record set is in none.

    Args:
        store: the value of `--store`.
        run: a number, `last`, or the address of a record set.
        project: the value of `--project`.

    Raises:
        NotStoredError: there is no such store, run or record set.
        StoreError: it can't be read.
    """
    found = record_set_named(run)
    if found is not None:
        yield None, found
        return
    with open_named_store(store, project) as there:
        yield there, there.run(run)


def record_set_named(text: str) -> FolderPlace | None:
    """The record set with an address; None for what can't be one: a run's number, or a file.

    Raises:
        NotStoredError: there is no record set in this folder.
    """
    if is_run(text) or not (REMOTE in text or text.endswith("/") or Path(text).is_dir()):
        return None
    return open_folder(text)
