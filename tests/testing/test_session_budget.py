"""A budget is that of a whole session, however many processes spend."""

from pathlib import Path

from ragtriage import open_store
from ragtriage.judges.budget import Ledger
from ragtriage.runs.manifest import RunIdentity
from ragtriage.store import Store
from ragtriage.testing.judging import SessionBudget, spending_marks


def spend(store: Store, rows: str, session: str, cost: float, requests: int) -> None:
    """A process of a session spends something on the run of some rows."""
    number = store.newest(RunIdentity(rows, ()))
    marks = spending_marks(None if number is None else store.run(number).info, session)
    if number is None:
        run = store.begin(RunIdentity(rows, ()), input=rows, rows=0, judge="m", configuration=marks)
    else:
        run = store.resume(number, configuration=marks)
    with run:
        run.cost, run.requests = run.cost + cost, run.requests + requests


def test_what_others_spent_is_left_out_and_earlier_sessions_are_not(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        spend(store, "a", "yesterday", 5.0, 50)
        spend(store, "a", "today", 0.5, 5)
        spend(store, "a", "today", 0.25, 1)
        spend(store, "b", "today", 0.25, 4)
        budget, ledger = SessionBudget(), Ledger(budget=2.0, max_requests=20)

        budget.leave_room(ledger, store, "today")
        assert (ledger.spent_before, ledger.max_requests) == (1.0, 10)

        ledger.cost, ledger.requests = 0.5, 3  # of which a case that a test made cost nothing
        spend(store, "b", "today", 0.5, 3)
        budget.count_own(0.5, 3)
        budget.leave_room(ledger, store, "today")
        assert (ledger.spent_before, ledger.max_requests) == (1.0, 10)
        assert not ledger.admits(0.6)
