"""The packages that come with the extra `testset`, or one sentence that names it."""

from __future__ import annotations

from ragtriage.errors import MissingExtraError

try:
    import sqlglot
    import yaml
    from sqlglot import exp
    from sqlglot.errors import SqlglotError
    from sqlglot.optimizer.scope import traverse_scope
except ImportError as error:
    raise MissingExtraError("Test sets from a database", "testset") from error

__all__ = ["SqlglotError", "exp", "sqlglot", "traverse_scope", "yaml"]
