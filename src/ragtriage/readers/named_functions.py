"""A function of the user's own that a flag names: `path/to/file.py:function`."""

import importlib.util
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from ragtriage.core.display import one_line
from ragtriage.core.errors import ConfigError
from ragtriage.core.validation import near_names

_LONGEST = 300
"""Characters of an exception's text that are kept."""


def names_function(given: str) -> bool:
    """Whether it is written as `path/to/file.py:function`."""
    where, _, name = given.rpartition(":")
    return where.endswith(".py") and bool(name)


def module_of_file(path: Path, given: str, flag: str) -> ModuleType:
    """The module in a user's own file, which is run; it finds what lies beside it, as by `python file.py`."""
    if not path.is_file():
        raise ConfigError(f"{flag} {given}: there is no file {str(path)!r}")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    own = f"{flag.removeprefix('--').replace('-', '_')}_{path.stem}"
    found = importlib.util.spec_from_file_location(own, path)
    if found is None or found.loader is None:
        raise ConfigError(f"{flag} {given}: {str(path)!r} can't be loaded as Python")
    module = importlib.util.module_from_spec(found)
    sys.modules[own] = module  # dataclasses look their module up there
    try:
        found.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # the user's code may raise anything
        raise ConfigError(f"{flag} {given}: can't be imported: {told(error)}") from None
    return module


def told(error: BaseException) -> str:
    """What a user's code raised, in a line: its kind, its text and the line of code that raised it."""
    text = one_line(str(error), _LONGEST)
    frames = traceback.extract_tb(error.__traceback__)
    last = next((f for f in reversed(frames) if "importlib" not in f.filename and f.filename != __file__), None)
    at = f" ({Path(last.filename).name}, line {last.lineno})" if last is not None else ""
    return f"{type(error).__name__}{': ' + text if text else ''}{at}"


def function_named(given: str, flag: str) -> Callable[..., Any]:
    """The function that `path/to/file.py:function` names behind a flag; importing it runs the file."""
    where, _, name = given.rpartition(":")
    module = module_of_file(Path(where), given, flag)
    function = getattr(module, name, None)
    if not callable(function):
        near = near_names(name, vars(module))
        raise ConfigError(f"{flag} {given}: {where} has no function {name!r}{f': {near[0]}?' if near else ''}")
    return function  # type: ignore[no-any-return]  # the user's
