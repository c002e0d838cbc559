"""A function of the user's own that a flag names: `path/to/file.py:function`."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ragtriage.core.errors import ConfigError
from ragtriage.core.validation import near_names


def names_function(given: str) -> bool:
    """Whether it is written as `path/to/file.py:function`."""
    where, _, name = given.rpartition(":")
    return where.endswith(".py") and bool(name)


def function_named(given: str, flag: str) -> Callable[..., Any]:
    """The function that `path/to/file.py:function` names behind a flag; importing it runs the file.

    Raises:
        ConfigError: there is no such file or function.
    """
    where, _, name = given.rpartition(":")
    if not Path(where).is_file():
        raise ConfigError(f"{flag} {given}: there is no file {where}")
    own = f"_ragtriage{flag.replace('-', '_')}_{Path(where).stem}"
    found = importlib.util.spec_from_file_location(own, where)
    if found is None or found.loader is None:
        raise ConfigError(f"{flag} {given}: {where} can't be loaded")
    module = importlib.util.module_from_spec(found)
    sys.modules[own] = module
    try:
        found.loader.exec_module(module)
    except Exception as error:
        raise ConfigError(f"{flag} {given}: {where} can't be loaded: {type(error).__name__}: {error}") from error
    function = getattr(module, name, None)
    if not callable(function):
        near = near_names(name, vars(module))
        raise ConfigError(f"{flag} {given}: {where} has no function {name!r}{f': {near[0]}?' if near else ''}")
    return function  # type: ignore[no-any-return]  # the user's
