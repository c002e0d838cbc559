"""The tables, described so that SQLite and PostgreSQL both can hold them.

A case is one row of `cases` with its steps as a compressed blob (`codec`); its scores are rows of `scores`, so that
plain SQL can aggregate them; its texts are rows of `case_texts` that point into `texts`, where every text stands once.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from ragtriage.runs.run import ASIDE, COPYING, MADE_BY

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect

SCHEMA_VERSION = "3"
"""Raise it whenever a table or what stands in one changes, with a function in `migrations` that makes the change."""

VERSION_KEY = "version"
"""Where `meta` holds it; stores from before the first version have another key."""


def escaped(text: str) -> str:
    """A text as every database and file can hold it: see `LosslessText`."""
    return text if _plain(text) else "\\" + json.dumps(text)


def unescaped(text: str) -> str:
    """Undo `escaped`."""
    return json.loads(text[1:]) if text.startswith("\\") else text


class LosslessText(sa.TypeDecorator[str]):
    """A text that comes back as it was, though it holds NUL (PostgreSQL refuses it) or a lone surrogate (both do).

    Such a text, and one that starts with a backslash, is written as a backslash and its JSON form; all others stand as
    they are.
    """

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002  # SQLAlchemy's
        """Python → database."""
        return value if value is None else escaped(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002  # SQLAlchemy's
        """Database → Python."""
        return None if value is None else unescaped(value)


class JsonText(sa.TypeDecorator[Any]):
    """A value as JSON in a plain text, so that both databases hold the same; None is NULL."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002  # SQLAlchemy's
        """Python → database."""
        return None if value is None else json.dumps(value, default=str)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:  # noqa: ARG002  # SQLAlchemy's
        """Database → Python."""
        return None if value is None else json.loads(value)


def _plain(value: str) -> bool:
    return not (value.startswith("\\") or "\0" in value) and (value.isascii() or _SURROGATE.search(value) is None)


_SURROGATE = re.compile("[\ud800-\udfff]")


metadata = sa.MetaData()

meta = sa.Table(
    "meta", metadata, sa.Column("key", sa.Text, primary_key=True), sa.Column("value", sa.Text, nullable=False)
)

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("identity", sa.Text, nullable=False, index=True),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("created", sa.Text, nullable=False),
    sa.Column("finished", sa.Text),
    sa.Column("input", LosslessText, nullable=False),
    sa.Column("rows_hash", sa.Text, nullable=False),
    sa.Column("rows", sa.Integer, nullable=False),
    sa.Column("metrics", JsonText, nullable=False),
    sa.Column("judge", LosslessText, nullable=False),
    sa.Column("fingerprints", JsonText, nullable=False),
    sa.Column("configuration", JsonText, nullable=False),
    sa.Column("versions", JsonText, nullable=False),
    sa.Column("seconds", sa.Float, nullable=False, default=0.0),
    sa.Column("cost", sa.Float, nullable=False, default=0.0),
    sa.Column("owner", sa.Text),
    sa.Column("owner_host", sa.Text),
    sa.Column("owner_pid", sa.BigInteger),
    sa.Column("heartbeat", sa.Float),
    sa.Column("requests", sa.Integer, nullable=False, default=0),
    sa.Column("tokens_in", sa.BigInteger, nullable=False, default=0),
    sa.Column("tokens_out", sa.BigInteger, nullable=False, default=0),
    sa.Column("trial", sa.Integer, nullable=False, default=0),
    sa.Column("repeats", sa.Integer),  # the number of the first run, in a further one of a repeated evaluation
    sa.Column("project", LosslessText, nullable=False, default="", server_default=""),  # empty: of every project
    sa.Column("author", sa.Text),  # the user of the database; NULL in a file
    sa.Index("runs_project", "project", "number"),
    sqlite_autoincrement=True,  # a number is never given twice, also after a run was deleted
)

RECORDS_AT = "records_at"
"""The key in a run's configuration that says where its records lie if not in the store: the address of the folder,
with its counts and means."""
OF_FOLDER = "record_set"
"""The key under which it says which run in a folder a run holds or names, and of which parts that consisted."""
COUNTS = ("done", "failed", "rejected")
"""Those of the counts that a run is listed with."""


def not_aside() -> sa.ColumnElement[bool]:
    """Whether `last` can mean a run; the mark of one that it can't never stands in a text, where quotes are escaped."""
    written = sa.type_coerce(runs.c.configuration, sa.Text)
    return sa.and_(*(written.not_like(f"%{json.dumps({MADE_BY: made})[1:-1]}%") for made in ASIDE))


def listed_for(project: str | None) -> sa.ColumnElement[bool]:
    """Whether a run is whole and of a project, as those from before there were any are of every one; None: of any."""
    whole = runs.c.state != COPYING
    return whole if project is None else whole & runs.c.project.in_([project, ""])


cases = sa.Table(
    "cases",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True),
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("id", LosslessText, nullable=False),
    sa.Column("id_digest", sa.LargeBinary(16), nullable=False),
    sa.Column("content", sa.LargeBinary(16), nullable=False),
    sa.Column("failed", sa.Boolean, nullable=False),
    sa.Column("language", sa.Text, nullable=False),
    sa.Column("seconds", sa.Float, nullable=False),
    sa.Column("weight", sa.Float, nullable=False),
    sa.Column("time", LosslessText),
    sa.Column("trace_id", LosslessText),
    sa.Column("relevant_ids", JsonText),
    sa.Column("tags", JsonText, nullable=False),
    sa.Column("steps", sa.LargeBinary, nullable=False),
    sa.UniqueConstraint("run", "id_digest"),
    sa.Index("cases_failed", "run", "failed"),  # counts are read from it alone
)

texts = sa.Table(
    "texts",
    metadata,
    sa.Column("hash", sa.LargeBinary(16), primary_key=True),
    sa.Column("text", LosslessText, nullable=False),
)

case_texts = sa.Table(
    "case_texts",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True),
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("role", sa.Text, primary_key=True),  # query, response, reference, source, history, sample, citation mark
    sa.Column("ordinal", sa.Integer, primary_key=True),
    sa.Column("label", LosslessText),  # a source's id, a turn's role
    sa.Column("hash", sa.LargeBinary(16)),  # NULL: the text was deleted
    sqlite_with_rowid=False,
)

scores = sa.Table(
    "scores",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True),
    sa.Column("metric", sa.Text, primary_key=True),
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("value", sa.Float),  # NULL: undefined
    sa.Column("reason", LosslessText),
    sa.Column("failed", sa.Boolean, nullable=False),
    sa.Column("judged", sa.Integer),
    sa.Column("unknown", sa.Integer),
    sa.Index("scores_values", "run", "metric", "value", "position"),  # lists of cases by a score
    sqlite_with_rowid=False,
)

readings = sa.Table(
    "readings",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True),
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("component", LosslessText, nullable=False),
    sa.Column("rules", JsonText, nullable=False),
    sa.Column("sure", sa.Boolean, nullable=False),
    sa.Column("head", LosslessText),  # how the query begins; NULL: the text was deleted
    sqlite_with_rowid=False,
)
"""How a case is headed under the run's own criteria, so that lists of cases needn't read records."""

rejected = sa.Table(
    "rejected",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True),
    sa.Column("row", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("field", LosslessText, primary_key=True),
    sa.Column("reason", LosslessText, nullable=False),
)

answers = sa.Table(
    "answers",
    metadata,
    sa.Column("key", sa.LargeBinary(16), primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("trial", sa.Integer, nullable=False, default=0),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("batch", sa.Text),  # the request that it travelled in; NULL if it isn't known
)
"""With row ids on purpose: bodies are appended, and only the small index of the keys is written all over the place."""

tickets = sa.Table(
    "tickets",
    metadata,
    sa.Column("key", sa.LargeBinary(16), primary_key=True),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("batch", sa.Text, nullable=False),
    sa.Column("submitted", sa.Float, nullable=False),
)
"""Requests that a provider answers later: the digest of the request → where its reply will be."""

claims = sa.Table(
    "claims",
    metadata,
    sa.Column("key", sa.LargeBinary(16), primary_key=True),
    sa.Column("owner", sa.Text, nullable=False, index=True),
    sa.Column("owner_host", sa.Text, nullable=False),
    sa.Column("owner_pid", sa.BigInteger, nullable=False),
    sa.Column("since", sa.Float, nullable=False),
    sa.Column("heartbeat", sa.Float, nullable=False),
)
"""Questions that are being asked now: the key of the answer → who asks, and when it last gave a sign of life."""

watches = sa.Table(
    "watches",
    metadata,
    sa.Column("project", LosslessText, primary_key=True),  # empty in a file that is one folder's
    sa.Column("watch", LosslessText, primary_key=True),
    sa.Column("state", JsonText, nullable=False),
    sqlite_with_rowid=False,
)
"""A watch: what its detectors have in common, and the cases of its baseline while that is gathered."""

windows = sa.Table(
    "windows",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True),
    sa.Column("project", LosslessText, nullable=False),
    sa.Column("watch", LosslessText, nullable=False),
    sa.Column("starts", sa.Text),  # ISO 8601, UTC; NULL where no case has a time, as is `ends`
    sa.Column("ends", sa.Text),
    sa.Column("arrivals", sa.BigInteger, nullable=False),
    sa.Column("drawn", sa.BigInteger, nullable=False),  # of its cases those whose lot was drawn
    sa.Column("counted", sa.BigInteger, nullable=False),  # cases, from the first on, that have moved the detectors
    sa.Column("versions", JsonText, nullable=False),  # of the application, in the order in which they came
    sa.Index("windows_watch", "project", "watch", "run"),
    sqlite_with_rowid=False,
)
"""The runs that are windows of a watch."""

judged = sa.Table(
    "judged",
    metadata,
    sa.Column("run", sa.BigInteger, primary_key=True, autoincrement=False),  # it is deleted
    sa.Column("project", LosslessText, nullable=False),
    sa.Column("watch", LosslessText, nullable=False),
    sa.Column("starts", sa.Text),  # as of a window
    sa.Column("ends", sa.Text),
    sa.Column("ids", sa.LargeBinary, nullable=False),  # digests of the ids of its cases, 16 bytes each
    sa.Index("judged_watch", "project", "watch", "run"),
)
"""What is left of a window that was deleted: which cases it held, so that none of them is judged again."""

detectors = sa.Table(
    "detectors",
    metadata,
    sa.Column("project", LosslessText, primary_key=True),
    sa.Column("watch", LosslessText, primary_key=True),
    sa.Column("metric", sa.Text, primary_key=True),
    sa.Column("stratum", LosslessText, primary_key=True),
    sa.Column("state", JsonText, nullable=False),
    sqlite_with_rowid=False,
)

alarms = sa.Table(
    "alarms",
    metadata,
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("project", LosslessText, nullable=False),
    sa.Column("watch", LosslessText, nullable=False),
    sa.Column("metric", sa.Text, nullable=False),
    sa.Column("stratum", LosslessText, nullable=False),
    sa.Column("run", sa.BigInteger, nullable=False),  # the window in which it opened; may be deleted since
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("closed", sa.Text),  # when it was acknowledged; NULL: it is open
    sa.Column("told", JsonText, nullable=False),
    sa.UniqueConstraint("run", "position", "metric", "stratum"),
    sqlite_with_rowid=False,
)

outbox = sa.Table(
    "outbox",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.number", ondelete="CASCADE"), primary_key=True),
    sa.Column("destination", LosslessText, primary_key=True),  # a tool and its address, without what is secret in it
    sa.Column("entry", sa.LargeBinary(16), primary_key=True),  # the digest of what the score is of
    sa.Column("body", sa.LargeBinary(16), nullable=False),  # the digest of what is sent
    sa.Column("state", sa.Text, nullable=False),  # see `store.outbox`
    sa.Column("remote", LosslessText),  # what the tool calls it
    sa.Column("reason", LosslessText),  # why it waits or was refused
    sa.Column("since", sa.Float, nullable=False),  # seconds since 1970
    sqlite_with_rowid=False,
)
"""What became of the scores of runs that were sent to other tools. What is sent is made anew from the run each time,
so that no text stands here, and none outlives the run."""
