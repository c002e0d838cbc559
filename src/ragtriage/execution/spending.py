"""What is spent on a run, kept with the answers that it was spent on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ragtriage.judges.llm.ledger import Ledger
from ragtriage.store import RunWriter

if TYPE_CHECKING:
    from sqlalchemy import Connection


class RunSpending:
    """Adds what a command spends on a run, from now on, to what earlier starts of the same run did.

    Args:
        run: the run.
        ledger: what the command spends.
    """

    FIELDS = ("cost", "requests", "tokens_in", "tokens_out")

    def __init__(self, run: RunWriter, ledger: Ledger) -> None:
        self._run, self._ledger = run, ledger
        self._before = {name: getattr(run, name) - getattr(ledger, name) for name in self.FIELDS}

    def count(self) -> None:
        """Set what was spent on the run."""
        for name, before in self._before.items():
            setattr(self._run, name, before + getattr(self._ledger, name))

    def keep(self, connection: Connection) -> None:
        """See `ragtriage.store.answers.Spending`."""
        self.count()
        self._run.keep_spending(connection)

    def by_run(self) -> Mapping[int, Mapping[str, float]]:
        """See `ragtriage.store.answers.Spending`."""
        self.count()
        return {self._run.number: self._run.spent()}
