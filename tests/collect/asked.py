"""Asking an application in this process."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragtriage.adapters.opening import open_application
from ragtriage.collect.answers_file import CollectedLines
from ragtriage.collect.application import Application, RequestPolicy, ask_all
from ragtriage.collect.application_names import ApplicationSpec
from ragtriage.core.case import Case

QUICK = RequestPolicy(concurrency=2, timeout=10, pause=0.01)
OUT = "out.jsonl"
Rows = dict[str, dict[str, Any]]


def cases(*queries: str) -> list[Case]:
    """A case a query, whose id is the query."""
    return [Case(query, query) for query in queries]


def ask(
    folder: Path,
    application: Application,
    of: Sequence[Case],
    policy: RequestPolicy = QUICK,
    *,
    retry_failed: bool = False,
) -> Rows:
    """Ask, and give the collected rows by id; asking twice goes on in the same file."""
    with CollectedLines(folder / OUT, retry_failed=retry_failed) as lines:
        ask_all(of, application, lines, policy, lambda: None)
    return rows_in(folder / OUT)


def rows_in(path: Path) -> Rows:
    """The rows of a collected file by id, each there once."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    found = {row["id"]: row for row in rows}
    assert len(found) == len(rows)
    return found


def at(url: str, **named: Any) -> Application:
    """The application at an address."""
    return open_application(ApplicationSpec(url, **named), ("query", "id", "history", "topic"), 8)
