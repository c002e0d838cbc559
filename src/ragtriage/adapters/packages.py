"""The packages of frameworks that are installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from ragtriage.core.errors import ConfigError


def require(package: str, least: str) -> None:
    """Refuse a package that is missing or older than what this is tested with.

    Raises:
        ConfigError: with what is needed.
    """
    needed = f"{package}>={least}"
    try:
        there = version(package)
    except PackageNotFoundError:
        raise ConfigError(f"{needed} is needed, and {package} isn't installed: pip install '{needed}'") from None
    if _numbers(there) < _numbers(least):
        raise ConfigError(f"{needed} is needed, and {package} {there} is installed: pip install -U '{needed}'")


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".")[:3] if part.isdigit())
