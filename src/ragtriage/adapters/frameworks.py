"""Whether a framework is installed in a version that is known to work."""

from __future__ import annotations

from itertools import takewhile

from ragtriage.core.errors import ConfigError


def require(package: str, lowest: str, *others: str) -> None:
    """Raise a ConfigError where a framework isn't there, or is older than any version that was tried.

    Args:
        package: as a package index calls it.
        lowest: the version.
        others: packages that bring the same modules.
    """
    from importlib.metadata import PackageNotFoundError, version

    needed = f"ragtriage works with {package} {lowest} and newer"
    for name in (package, *others):
        try:
            found = version(name)
        except PackageNotFoundError:
            continue
        if _parts(found) < _parts(lowest):
            raise ConfigError(f"{needed}, and {name} {found} is installed: pip install --upgrade {name}")
        return
    raise ConfigError(f"{needed}, which isn't installed: pip install '{package}>={lowest}'")


def _parts(text: str) -> tuple[int, ...]:
    digits = ("".join(takewhile(str.isdigit, part)) for part in text.split(".")[:3])
    return tuple(int(part or 0) for part in digits)
