"""The decorator that makes a test of every case."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from ragtriage.config import Settings, find_settings
from ragtriage.core.errors import ConfigError
from ragtriage.testing.case_list import CaseList, list_of, read_list
from ragtriage.testing.judged_case import JudgedCase
from ragtriage.testing.options import CONFIGS

Test = TypeVar("Test", bound=Callable[..., Any])


def cases(
    given: str | Path | Sequence[Any], *, tags: Mapping[str, Any] | None = None, app: str | None = None
) -> Callable[[Test], Test]:
    """Run a test once for every case, which it gets as its argument `case`, a `JudgedCase`.

    Args:
        given: a file, beside the test's own or in pytest's rootdir; or cases: `Case`, dict or `LLMTestCase` each.
        tags: only the cases with these values of their tags; several values as a list.
        app: the file holds questions, which this application answers: `my_app.py:answer`, `module:function` or a URL.

    Raises:
        InputError: the file isn't there, or a row can't be used, when the module is collected.
        ConfigError: `app` with cases that are no file.
    """

    def decorate(test: Test) -> Test:
        code = getattr(test, "__code__", None)
        home = Path(code.co_filename if code else ".").resolve()
        found = declared(given, home, getattr(test, "__qualname__", "test"), app=app)
        chosen = [JudgedCase(found, position) for position in found.positions(tags)]
        params = [pytest.param(case, id=found.labels[case.position]) for case in chosen]
        marked: Test = pytest.mark.parametrize("case", params)(test)
        return marked

    return decorate


def declared(given: str | Path | Sequence[Any], home: Path, test: str, *, app: str | None = None) -> CaseList:
    """The cases that are meant by a test.

    Args:
        given: see `cases`.
        home: the test's file.
        test: its name.
        app: see `cases`.
    """
    settings = settings_for(home.parent)
    if isinstance(given, str | Path):
        path = beside(Path(given), home.parent)
        return read_list(path, _name(path), settings, _application(app, home.parent))
    if app is not None:
        raise ConfigError(f"app={app!r} is for a file of questions: name the file")
    name = f"{_name(home)}::{test}"
    return list_of(given, ("given", name), name, settings)


def settings_for(folder: Path) -> Settings:
    """The user's settings: those of the rootdir, or of the folder upwards where no session runs."""
    return find_settings(CONFIGS[-1].rootpath if CONFIGS else folder)


def beside(path: Path, folder: Path) -> Path:
    """A path as a test means it: beside the test's file, in the rootdir, or in the present folder."""
    roots = [config.rootpath for config in CONFIGS[-1:]]
    places = [place / path.expanduser() for place in (folder, *roots, Path.cwd())]
    return next((place for place in places if place.exists()), places[0])


def _application(app: str | None, folder: Path) -> str | None:
    """An application whose file is named by its path from the test's folder, or from the rootdir."""
    if app is None or "://" in app:
        return app
    where, colon, name = app.rpartition(":")
    return f"{beside(Path(where), folder)}{colon}{name}" if where.endswith(".py") else app


def _name(path: Path) -> str:
    """A file from the rootdir, as tests are named."""
    root = CONFIGS[-1].rootpath if CONFIGS else Path.cwd()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
