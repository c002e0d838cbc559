"""Custom metrics: loaded from a file or a module, when they are named.

    my_metrics.py:usefulness        a file, and the metric's name in it
    my_package.metrics:usefulness   a module that can be imported, from the present folder too

Naming one runs its file's code. Nothing is loaded that wasn't named.
"""

import hashlib
import importlib
import json
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any, TypeVar

from ragtriage.core import steps
from ragtriage.core.errors import ConfigError, RagtriageError
from ragtriage.core.metric import Metric
from ragtriage.core.steps import Step
from ragtriage.core.verdicts import Outcome, Undefined, Verdicts
from ragtriage.metrics.aggregate import share

_CLASS = "is"
"""Under which a stored step has the name of its class; no field is called so."""


def definition_of(metric: Metric) -> dict[str, Any]:
    """Everything about a metric but how it is computed; of JSON's types."""
    found = {field.name: getattr(metric, field.name) for field in fields(Metric) if field.name != "compute"}
    needs = {name: _written_step(step) for name, step in metric.needs.items()}
    return {**found, "range": list(metric.range), "kinds": dict(metric.kinds), "needs": needs}


def metric_from(definition: Mapping[str, Any]) -> Metric:
    """Undo `definition_of`. The metric shows what was stored; called, it is undefined, as its function isn't stored."""

    def compute(**_: Verdicts) -> Outcome:
        origin = definition["origin"] or definition["name"]
        return Undefined(f"{origin} isn't loaded here: evaluate with --metrics to compute it")

    bottom, top = definition["range"]
    return Metric(**{**definition, "needs": needs_in(definition), "range": (bottom, top)}, compute=compute)


def metric_by_name_alone(name: str) -> Metric:
    """A metric of which nothing but its name was stored."""
    return metric_from(definition_of(Metric(name, name, {}, share)))


def needs_in(definition: Mapping[str, Any]) -> dict[str, Step]:
    """The steps of a stored definition, by parameter."""
    return {name: _read_step(step) for name, step in definition["needs"].items()}


def version_of(metric: Metric) -> str:
    """A digest that changes when a custom metric does: its definition, and the file that its function stands in.

    What that file imports isn't looked into. Of a function without a file (a notebook's) it is the compiled code.
    """
    code = getattr(metric.compute, "__code__", None)
    try:
        text = Path(code.co_filename).read_bytes() if code else b""
    except OSError:
        text = repr((code.co_code, code.co_consts, code.co_names)).encode() if code else b""
    definition = json.dumps({**definition_of(metric), "origin": ""}, sort_keys=True)
    return hashlib.blake2b(definition.encode() + text, digest_size=8).hexdigest()


def _written_step(step: Any) -> Any:
    """A step as a table of its fields with the name of its class; steps may hold steps."""
    if not is_dataclass(step) or isinstance(step, type):
        return list(step) if isinstance(step, tuple) else step
    return {_CLASS: type(step).__name__, **{f.name: _written_step(getattr(step, f.name)) for f in fields(step)}}


def _read_step(found: Any) -> Any:
    if isinstance(found, list):
        return tuple(found)
    if not isinstance(found, dict):
        return found
    return getattr(steps, found[_CLASS])(**{key: _read_step(value) for key, value in found.items() if key != _CLASS})


FILE = ".py"
_HERE = str(Path(__file__).parents[1])
_T = TypeVar("_T")


def is_location(given: str) -> bool:
    """Whether this is the location of a metric (`my_metrics.py:usefulness`) and not a name alone."""
    return ":" in given


def name_in(place: str) -> str:
    """`my_metrics.py:usefulness` → `usefulness`; known without loading anything."""
    return place.rpartition(":")[2].strip()


def names_in(given: Iterable[str]) -> set[str]:
    """The names in those that are locations; a leading `-` doesn't matter."""
    return {name_in(one) for one in given if is_location(one)}


def resolved_in(given: str, folder: Path) -> str:
    """A location with its file's path resolved against a folder; everything else stays as it is."""
    home, colon, name = given.rpartition(":")
    minus = "-" if home.startswith("-") else ""
    home = home.removeprefix("-").strip()
    return f"{minus}{folder / home}{colon}{name}" if home.endswith(FILE) else given


def metric_at(place: str, taken: Collection[str]) -> Metric:
    """The metric at `file.py:name` or `module:name`; its name may not be `taken` by a built-in one or a group."""
    home, _, name = place.rpartition(":")
    home, name = home.strip(), name.strip()
    if not home or not name:
        raise ConfigError(f"{place!r} names no metric: write my_metrics.py:name or my_package.module:name")
    if home.endswith(FILE):
        module, shown = _file(Path(home).expanduser(), place), Path(home).name
    else:
        module, shown = _module(home, place), home
    offered = {m.name: m for m in vars(module).values() if isinstance(m, Metric)}
    found = offered.get(name)
    if found is None:
        raise ConfigError(_absent(name, shown, vars(module).get(name), [n for n in offered if n not in taken]))
    return _accepted(found, f"{shown}:{name}", taken)


def _file(path: Path, place: str) -> ModuleType:
    """The file, run as a module of its own; the same content isn't run twice."""
    try:
        source = path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"{place}: {path} can't be read: {error.strerror or error}; give the path from the present folder, or "
            "in the settings from their folder"
        ) from None
    whole = str(path.resolve())
    name = f"ragtriage_own_{hashlib.blake2b(whole.encode() + source, digest_size=8).hexdigest()}"
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    module.__file__ = whole

    sys.modules[name] = module  # dataclasses and the like look their module up
    try:
        with _found_in(path.resolve().parent):
            _loaded(lambda: exec(compile(source, whole, "exec", dont_inherit=True), vars(module)), place, whole)  # noqa: S102  # the user named this file to be run
    except ConfigError:
        del sys.modules[name]
        raise
    return module


def _module(home: str, place: str) -> ModuleType:
    try:
        with _found_in(Path.cwd()):
            return _loaded(lambda: importlib.import_module(home), place)
    except ConfigError as error:
        cause = error.__cause__
        if isinstance(cause, ModuleNotFoundError) and f"{home}.".startswith(f"{cause.name}."):
            raise ConfigError(
                f"{place}: there is no module {cause.name!r}, installed or in the present folder; for a file write "
                f"its path: my_metrics{FILE}:{name_in(place)}"
            ) from None
        raise


def _loaded(load: Callable[[], _T], said: str, path: str = "") -> _T:
    """What foreign code gives; an error in it is reported with its file and line."""
    try:
        return load()
    except (Exception, SystemExit) as error:
        what = str(error) if isinstance(error, RagtriageError) else f"{type(error).__name__}: {error}"
        raise ConfigError(f"{said} can't be loaded: {_place(error, path)}{what}") from error


def _place(error: BaseException, path: str) -> str:
    """The file and line of foreign code at which loading failed; empty if there is none."""
    if isinstance(error, SyntaxError) and error.filename and error.filename == path:
        return f"{Path(path).name}, line {error.lineno}: "
    frames = (f for f in extract_tb(error.__traceback__) if not f.filename.startswith((_HERE, "<frozen")))
    theirs = next((f for f in frames if not f.filename.startswith(str(Path(importlib.__file__).parent))), None)
    return f"{Path(theirs.filename).name}, line {theirs.lineno}: " if theirs else ""


@contextmanager
def _found_in(folder: Path) -> Iterator[None]:
    """Modules of this folder can be imported too, after all others, so that none of them hides an installed one."""
    sys.path.append(str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _accepted(found: Metric, origin: str, taken: Collection[str]) -> Metric:
    if found.name in taken:
        raise ConfigError(
            f"{origin}: {found.name!r} is the name of a built-in metric or group: rename yours, or its name with "
            f'@metric(name="my_{found.name}", …)'
        )
    if not found.name.isidentifier():
        raise ConfigError(f"{origin}: {found.name!r} can't be a metric's name: use letters, digits and _ only")
    return replace(found, origin=origin)


def _absent(name: str, shown: str, instead: object, offered: Collection[str]) -> str:
    if isinstance(instead, Metric):
        return f"{shown}: the metric {name!r} calls itself {instead.name!r}: write {shown}:{instead.name}"
    if instead is not None:
        return f"{shown}: {name!r} is {instead!r:.60}, not a metric: put @metric(title=…) above the function"
    has = f"its metrics are: {', '.join(offered)}" if offered else "it has none: put @metric(title=…) above a function"
    return f"{shown} has no metric {name!r}; {has}"
