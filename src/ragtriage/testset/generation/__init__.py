"""From a relational database to questions with true answers, in six steps with a file each.

That takes the packages of the extra `testset`; where they are missing, a command says so before it begins.
"""

from typing import Any

from ragtriage.core.errors import MissingExtraError

_WHAT, _EXTRA = "Test sets from a database", "testset"


class _Missing:
    """Stands for a package, so that what needs it can be imported, and commands that don't use it run."""

    def __getattr__(self, name: str) -> Any:
        raise MissingExtraError(_WHAT, _EXTRA)


try:
    import sqlglot
    import yaml
    from sqlglot import exp
    from sqlglot.errors import SqlglotError
    from sqlglot.optimizer import scope as scopes
except ImportError:
    sqlglot = yaml = exp = scopes = _Missing()  # type: ignore[assignment]  # see its docstring
    SqlglotError = ValueError  # type: ignore[misc,assignment]  # never raised without it

__all__ = ["SqlglotError", "exp", "require_packages", "scopes", "sqlglot", "yaml"]


def require_packages() -> None:
    """Check that the packages are there, before a database is read."""
    if isinstance(sqlglot, _Missing):
        raise MissingExtraError(_WHAT, _EXTRA)
