"""The store that a command's flags name, and whose runs in it are meant."""

from __future__ import annotations

from pathlib import Path

from ragtriage.cli.console import tell
from ragtriage.cli.flags import store_address
from ragtriage.config import Settings, find_settings
from ragtriage.core.errors import ConfigError
from ragtriage.store import EVERY_PROJECT, Store, open_store, project_meant


def open_named_store(
    store: str | None, project: str | None = None, settings: Settings | None = None, *, create: bool = False
) -> Store:
    """Open the store that is meant: by the flag, else the environment, else the settings; so with the project.

    Args:
        store: the value of `--store`.
        project: the value of `--project`.
        settings: if they are known already.
        create: new runs are written, so that it is made where there is none, and one project must be meant.
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
