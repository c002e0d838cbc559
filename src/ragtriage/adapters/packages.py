"""The packages of frameworks that are installed."""

from __future__ import annotations

from contextlib import suppress

from ragtriage.core.errors import ConfigError


def require(package: str, least: str, *others: str) -> None:
    """Refuse a package that is missing or older than what this is tested with.

    Args:
        package: as a package index calls it.
        least: the version.
        others: packages that bring the same modules.

    Raises:
        ConfigError: with what is needed.
    """
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
