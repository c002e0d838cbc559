"""The tables, described so that SQLite and PostgreSQL both can hold them.

A case is one row of `cases` with its steps as a compressed blob (`codec`); its scores are rows of `scores`, so that
plain SQL can aggregate them; its texts are rows of `case_texts` that point into `texts`, where every text stands once.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect

SCHEMA_VERSION = "1"
"""A store of another version is refused: raise it whenever a table or what stands in one changes."""

VERSION_KEY = "version"
"""Where `meta` holds it; stores from before the first version have another key."""


State = Literal["running", "finished", "interrupted"]

RUNNING: State = "running"
FINISHED: State = "finished"
INTERRUPTED: State = "interrupted"


class Exact(TypeDecorator[str]):
    """A text that comes back as it was, though it holds NUL (PostgreSQL refuses it) or a lone surrogate (both do).

    Such a text, and one that starts with a backslash, is written as a backslash and its JSON form; all others stand as
    they are.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002  # SQLAlchemy's
        """Python → database."""
        return value if value is None or _plain(value) else "\\" + json.dumps(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002  # SQLAlchemy's
        """Database → Python."""
        if value is None or not value.startswith("\\"):
            return value  # type: ignore[no-any-return]  # the driver's value, a text
        return json.loads(value[1:])  # type: ignore[no-any-return]  # written above, a text


class Json(TypeDecorator[Any]):
    """A value as JSON in a plain text, so that both databases hold the same; None is NULL."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002  # SQLAlchemy's
        """Python → database."""
        return None if value is None else json.dumps(value, default=str)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:  # noqa: ARG002  # SQLAlchemy's
        """Database → Python."""
        return None if value is None else json.loads(value)


class Bytes(LargeBinary):
    """Bytes as the drivers (sqlite3, psycopg 3) take and give them, without a copy for each value."""

    def bind_processor(self, dialect: Dialect) -> None:
        """Nothing to do."""

    def result_processor(self, dialect: Dialect, coltype: object) -> None:
        """Nothing to do."""


def _plain(value: str) -> bool:
    return not (value.startswith("\\") or "\0" in value) and (value.isascii() or _SURROGATE.search(value) is None)


_SURROGATE = re.compile("[\ud800-\udfff]")


metadata = MetaData()

meta = Table("meta", metadata, Column("key", Text, primary_key=True), Column("value", Text, nullable=False))

runs = Table(
    "runs",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("identity", Text, nullable=False, index=True),
    Column("state", Text, nullable=False),
    Column("created", Text, nullable=False),
    Column("finished", Text),
    Column("input", Exact, nullable=False),
    Column("rows_hash", Text, nullable=False),
    Column("rows", Integer, nullable=False),
    Column("metrics", Json, nullable=False),
    Column("judge", Exact, nullable=False),
    Column("fingerprints", Json, nullable=False),
    Column("configuration", Json, nullable=False),
    Column("versions", Json, nullable=False),
    Column("seconds", Float, nullable=False, default=0.0),
    Column("cost", Float, nullable=False, default=0.0),
    Column("owner", Text),
    Column("owner_host", Text),
    Column("owner_pid", BigInteger),
    Column("heartbeat", Float),
    Column("requests", Integer, nullable=False, default=0),
    Column("tokens_in", Integer, nullable=False, default=0),
    Column("tokens_out", Integer, nullable=False, default=0),
    Column("trial", Integer, nullable=False, default=0),
    Column("repeats", Integer),  # the number of the first run, in a further one of a repeated evaluation
    sqlite_autoincrement=True,  # a number is never given twice, also after a run was deleted
)

cases = Table(
    "cases",
    metadata,
    Column("run", ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("id", Exact, nullable=False),
    Column("id_digest", Bytes(16), nullable=False),
    Column("content", Bytes(16), nullable=False),
    Column("failed", Boolean, nullable=False),
    Column("language", Text, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("weight", Float, nullable=False),
    Column("time", Exact),
    Column("trace_id", Exact),
    Column("relevant_ids", Json),
    Column("tags", Json, nullable=False),
    Column("steps", Bytes, nullable=False),
    UniqueConstraint("run", "id_digest"),
    Index("cases_failed", "run", "failed"),  # counts are read from it alone
)

texts = Table("texts", metadata, Column("hash", Bytes(16), primary_key=True), Column("text", Exact, nullable=False))

case_texts = Table(
    "case_texts",
    metadata,
    Column("run", ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("role", Text, primary_key=True),  # query, response, reference, source, history, sample, citation mark
    Column("ordinal", Integer, primary_key=True),
    Column("label", Exact),  # a source's id, a turn's role
    Column("hash", Bytes(16)),  # NULL: the text was deleted
    sqlite_with_rowid=False,
)

scores = Table(
    "scores",
    metadata,
    Column("run", ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True),
    Column("metric", Text, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("value", Float),  # NULL: undefined
    Column("reason", Exact),
    Column("failed", Boolean, nullable=False),
    Column("judged", Integer),
    Column("unknown", Integer),
    sqlite_with_rowid=False,
)

rejected = Table(
    "rejected",
    metadata,
    Column("run", ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True),
    Column("row", Integer, primary_key=True),
    Column("field", Exact, primary_key=True),
    Column("reason", Exact, nullable=False),
)

answers = Table(
    "answers",
    metadata,
    Column("key", Bytes(16), primary_key=True),
    Column("kind", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("trial", Integer, nullable=False, default=0),
    Column("body", Text, nullable=False),
    Column("created", Float, nullable=False),
    Column("batch", Text),  # the request that it travelled in; NULL if it isn't known
)
"""With row ids on purpose: bodies are appended, and only the small index of the keys is written all over the place."""

tickets = Table(
    "tickets",
    metadata,
    Column("key", Bytes(16), primary_key=True),
    Column("fingerprint", Text, nullable=False),
    Column("batch", Text, nullable=False),
    Column("submitted", Float, nullable=False),
)
"""Requests that a provider answers later: the digest of the request → where its reply will be."""
