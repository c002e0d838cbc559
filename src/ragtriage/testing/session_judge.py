"""The judge of a test session, built once a process."""

from __future__ import annotations

from ragtriage.judges.build import BuiltJudge, build_judge
from ragtriage.judges.protocol import Judge
from ragtriage.judges.session import JudgeSession
from ragtriage.judges.wrappers import Cached
from ragtriage.store import Store
from ragtriage.testing.counting import CountingMemory
from ragtriage.testing.session_budget import SessionBudget


class Judges:
    """Who judges, and where what was answered before stands. The judge is built once a process.

    Args:
        session: what the judges share; a judge itself is for tests of the plugin.
        older: a store that can be read and not written.

    Attributes:
        budget: what keeps the session's budget where several processes spend.
    """

    def __init__(self, session: JudgeSession | Judge, older: Store | None = None) -> None:
        self.budget = SessionBudget()
        self._session = session
        self._older = older
        self._built: tuple[Store, BuiltJudge, CountingMemory] | None = None

    def built(self, store: Store) -> tuple[BuiltJudge, CountingMemory]:
        """The judge whose answers are kept in a store, and the memory that counts them."""
        if self._built is None or self._built[0] is not store:
            memory = CountingMemory(store.answers(), self._older.answers() if self._older else None)
            if isinstance(self._session, JudgeSession):
                free = store.free_answers() if store.on_server else None
                judge = build_judge(self._session, memory, free=free, tickets=store.tickets())
            else:
                judge = BuiltJudge(Cached(self._session, memory), memory)
            self._built = store, judge, memory
        return self._built[1:]

    def close(self) -> None:
        """Let go of the model, and make safe what it answered."""
        if self._built is not None:
            self._built[1].close()
            self._built = None
