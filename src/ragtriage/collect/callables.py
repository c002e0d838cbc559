"""A Python function as the application under test."""

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from ragtriage.collect.application import ApplicationReply, Unanswered, asked_row, read_reply, source_rows
from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError
from ragtriage.core.event_loops import in_a_thread
from ragtriage.core.validation import near_names
from ragtriage.readers.named_functions import module_of_file, told


class CallableApplication:
    """Asks a function, sync or async.

    A sync one is called in a thread of its own for every query, so that one that hangs holds up no other; Python can't
    end such a thread, so it goes on in the background until it returns or the command ends.

    It gets the query; or the query and the row, if it needs a second argument or names one `row`; where `give_sources`,
    also the case's as its argument `sources`; and `temperature`, unless that is None.
    """

    most_at_once: int | None = None
    notes: tuple[str, ...] = ()

    def __init__(
        self, name: str, function: Callable[..., Any], *, give_sources: bool = False, temperature: float | None = None
    ) -> None:
        self.name = name
        self._function = function
        self._gives_sources = give_sources
        self._temperature = temperature
        self.takes_temperature = _takes_temperature(function, name)
        self._takes_row = _takes_row_beside_sources(function, name) if give_sources else _takes_row(function, name)
        call = getattr(function, "__call__", None)  # noqa: B004  # an object's own method may be the async one
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)

    async def ask(self, case: Case) -> ApplicationReply:
        """Call it; what it raises is the reason why there is no answer."""
        given = (case.query, asked_row(case)) if self._takes_row else (case.query,)
        further: dict[str, Any] = {"sources": source_rows(case)} if self._gives_sources else {}
        if self._temperature is not None:
            further["temperature"] = self._temperature
        function = partial(self._function, **further)
        try:
            value = function(*given) if self._is_async else await in_a_thread(partial(function, *given))
            if inspect.isawaitable(value):
                value = await value
        except (Exception, SystemExit) as error:  # noqa: BLE001  # the user's code may raise anything
            raise Unanswered(f"exception {type(error).__name__}", told(error), broken=False) from None
        return read_reply(value)

    async def close(self) -> None:
        """Nothing to let go of."""

    def again(self, temperature: float | None) -> "CallableApplication":
        """The same function, called at this temperature."""
        return CallableApplication(self.name, self._function, give_sources=self._gives_sources, temperature=temperature)


def object_named(spec: str) -> Any:
    """What `module:name` or `path/to/file.py:name` names; importing it runs the module."""
    where, sign, name = spec.rpartition(":")
    if not sign or not where or not name:
        raise ConfigError(f"--app {spec}: write module:name, path/to/file.py:name or a URL")
    found: Any = module_of_file(Path(where), spec, "--app") if where.endswith(".py") else _module(spec, where)
    for part in name.split("."):
        if not hasattr(found, part):
            near = near_names(part, dir(found))
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ConfigError(f"--app {spec}: {where} has no {part!r}.{hint}")
        found = getattr(found, part)
    return found


def called(spec: str, found: Any, *, give_sources: bool = False) -> CallableApplication:
    """A function, or another object that can be called with a query, as an application."""
    if not callable(found) or isinstance(found, type):
        name = spec.rpartition(":")[2]
        raise ConfigError(f"--app {spec}: {name!r} is {found!r:.60}, not a function: name what is to be called")
    return CallableApplication(spec, found, give_sources=give_sources)


def _module(spec: str, name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # as `python -m` does: the user's own modules lie in the present folder
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            hint = "it must lie in the present folder or be installed; a file is named by its path, with .py"
            raise ConfigError(f"--app {spec}: there is no module {error.name!r}: {hint}") from None
        raise ConfigError(f"--app {spec}: can't be imported: {told(error)}") from None
    except (Exception, SystemExit) as error:  # noqa: BLE001  # the user's code may raise anything
        raise ConfigError(f"--app {spec}: can't be imported: {told(error)}") from None


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter] | None:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # some functions written in C don't tell
        return None


def _takes_row(function: Callable[..., Any], name: str) -> bool:
    """Whether it is to get the row; a second parameter with a default and another name is the user's own."""
    parameters = _parameters(function)
    if parameters is None:
        return False
    places = [p for p in parameters.values() if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}]
    needed = [p for p in places if p.default is p.empty]
    only_named = [p.name for p in parameters.values() if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    rest = any(p.kind is p.VAR_POSITIONAL for p in parameters.values())
    if len(needed) > 2 or only_named or not (places or rest):
        shape = "give it one parameter, the query, or two, the query and the row"
        raise ConfigError(f"--app {name}: its parameters are {inspect.signature(function)}: {shape}")
    return len(needed) == 2 or (len(places) > 1 and places[1].name == "row")


def _takes_temperature(function: Callable[..., Any], name: str) -> bool:
    """Whether it has a parameter `temperature`; that needs a default, since a response is asked without one."""
    found = (_parameters(function) or {}).get("temperature")
    if found is None or found.kind not in {found.POSITIONAL_OR_KEYWORD, found.KEYWORD_ONLY}:
        return False
    if found.default is found.empty:
        raise ConfigError(f"--app {name}: its parameter `temperature` has no default: give it that of your application")
    return True


def _takes_row_beside_sources(function: Callable[..., Any], name: str) -> bool:
    parameters = _parameters(function) or {}
    if "sources" not in parameters and not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        hint = "give the function a parameter `sources`, a list of {text, id}, from which it answers if it is there"
        raise ConfigError(f"--app {name}: can't answer from sources that it is given: {hint}")
    return "row" in parameters
