"""Packages of frameworks, and names of ours that are loaded when they are first used."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

from ragtriage.core.errors import ConfigError


def require(package: str, least: str, *others: str) -> None:
    """Refuse a package that is missing or older than what this is tested with; `others` bring the same modules."""
    from importlib.metadata import PackageNotFoundError, version

    needed = f"{package}>={least}"
    for name in (package, *others):
        with suppress(PackageNotFoundError):
            if _numbers(there := version(name)) < _numbers(least):
                raise ConfigError(
                    f"{needed} is needed, and {name} {there} is installed: pip install -U '{name}>={least}'"
                )
            return
    raise ConfigError(f"{needed} is needed, and {package} isn't installed: pip install '{needed}'")


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".")[:3] if part.isdigit())


def lazy_names(module: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's `__getattr__`: each name of `homes` is that of the module it is said to stand in."""

    def attribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return attribute
