"""A budget is that of a whole session: what its other processes spent is left out of what this one may spend."""

from __future__ import annotations

from typing import Any

from ragtriage.judges.llm.ledger import Ledger
from ragtriage.runs.run import RunInfo
from ragtriage.store import Store

SESSION = "session"
"""The key in a run's configuration that says which session wrote it last."""
SPENT_BEFORE = "spent_before"
"""The key that says what earlier sessions had spent on the run."""


def written_in(info: RunInfo, session: str) -> bool:
    """Whether this session wrote a run last."""
    return info.configuration.get(SESSION) == session


def spending_marks(info: RunInfo | None, session: str) -> dict[str, Any]:
    """What a run's configuration says of the session that writes it now.

    Args:
        info: the run as it is; None for a new one.
        session: which session.
    """
    if info is not None and written_in(info, session):
        before = info.configuration[SPENT_BEFORE]
    else:
        before = {"cost": info.cost if info else 0.0, "requests": info.requests if info else 0}
    return {SESSION: session, SPENT_BEFORE: before}


class SessionBudget:
    """Keeps the limits of a session in one of its processes."""

    def __init__(self) -> None:
        self._own_cost, self._own_requests = 0.0, 0
        self._most: int | None = None

    def leave_room(self, ledger: Ledger, store: Store, session: str) -> None:
        """Count what the other processes have spent on runs so far; no other one may spend meanwhile.

        Cases that tests make aren't in any run: each process counts its own.
        """
        runs = [info for info in store.runs() if written_in(info, session)]
        ledger.spent_before = sum(info.cost - _before(info, "cost") for info in runs) - self._own_cost
        if self._most is None:
            self._most = ledger.max_requests
        if self._most is not None:
            others = sum(info.requests - _before(info, "requests") for info in runs) - self._own_requests
            ledger.max_requests = self._most - round(others)

    def count_own(self, cost: float, requests: int) -> None:
        """This process has spent something on runs."""
        self._own_cost += cost
        self._own_requests += requests


def _before(info: RunInfo, name: str) -> float:
    return float(info.configuration[SPENT_BEFORE][name])
