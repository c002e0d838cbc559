"""The store that a command's flags name, and a run as it is typed: a number in it, or the address of a folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ragtriage.cli.console import tell
from ragtriage.config import Settings, find_settings
from ragtriage.core.errors import ConfigError
from ragtriage.core.files import REMOTE
from ragtriage.judges.wrappers.cached import AnswerMemory, InMemory
from ragtriage.runs.compare.compare import is_run
from ragtriage.runs.run import Run
from ragtriage.store import EVERY_PROJECT, Store, open_answers, open_store, project_meant
from ragtriage.store.database import store_address as read_address
from ragtriage.store.folder import open_folder
from ragtriage.store.store_file import VARIABLE


def store_address(store: str | None, settings: Settings | None = None) -> str | None:
    """Where the store is: by the flag, else the environment (None), else the settings (the nearest if None)."""
    if store or os.environ.get(VARIABLE):
        return store
    return (settings or find_settings(Path.cwd())).store


def open_named_store(
    store: str | None, project: str | None = None, settings: Settings | None = None, *, create: bool = False
) -> Store:
    """Open the store that is meant: by the flag, else the environment, else the settings; so with the project.

    Where new runs are written it is made if there is none, and one project must be meant.
    """
    settings = settings or find_settings(Path.cwd())
    address = store_address(store, settings)
    if create:
        require_one_project(project)
    meant = project_meant(project or settings.project, address)
    return open_store(address, create=create, project=meant, told=tell)


def require_one_project(project: str | None) -> None:
    """Refuse all projects where runs are written."""
    if project == EVERY_PROJECT:
        raise ConfigError("--project '*' means all projects: name the one that the run is to belong to")


@contextmanager
def answers_in(store: str | None) -> Iterator[AnswerMemory]:
    """The answers of a store; none where there is no store yet, and none is made."""
    address = read_address(store)
    if "://" not in address and not Path(address).exists():
        yield InMemory()
        return
    with open_answers(store, create=False) as opened:
        yield opened


@contextmanager
def opened_run(store: str | None, run: str, project: str | None = None) -> Iterator[tuple[Store | None, Run]]:
    """A run to read, and the store that it is in; one in a folder is in none."""
    found = folder_run(run)
    if found is not None:
        yield None, found
        return
    with open_named_store(store, project) as there:
        yield there, there.run(run)


def folder_run(text: str) -> Run | None:
    """The run in a folder with an address; None for what can't be one: a run's number, or a file."""
    if is_run(text) or not (REMOTE in text or text.endswith("/") or Path(text).is_dir()):
        return None
    return open_folder(text)
