"""What is spent on a run, kept with the answers that it was spent on."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from ragtriage.core.amount import Amount
from ragtriage.store import RunWriter

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from ragtriage.store.answers import Spendings


class RunSpending:
    """Adds what a command spends on a run, from now on, to what earlier starts of the same run did.

    Args:
        run: the run.
        spent: what the command has spent so far, on other runs.
    """

    def __init__(self, run: RunWriter, spent: Amount) -> None:
        self._run = run
        self._before = Amount(run.cost, run.requests, run.tokens_in, run.tokens_out) - spent

    def count(self, spent: Amount) -> None:
        """Set what was spent on the run; the command has spent so much by now."""
        for name, value in asdict(self._before + spent).items():
            setattr(self._run, name, value)

    def keep(self, connection: Connection, spent: Amount) -> None:
        """See `ragtriage.store.answers.Payer`."""
        self.count(spent)
        self._run.keep_spending(connection)

    def by_run(self, spent: Amount) -> Spendings:
        """See `ragtriage.store.answers.Payer`."""
        self.count(spent)
        return {self._run.number: self._run.spent()}
