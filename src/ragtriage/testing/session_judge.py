"""The judge of a test session, built once a process."""

from __future__ import annotations

from ragtriage.judges.build import BuiltJudge, build_judge
from ragtriage.judges.protocol import Judge
from ragtriage.judges.session import JudgeSession
from ragtriage.judges.wrappers import Cached
from ragtriage.store import Answers, Store, open_answers
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
        self._built: tuple[Store, BuiltJudge, CountingMemory, Answers] | None = None

    def built(self, store: Store) -> tuple[BuiltJudge, CountingMemory, Answers]:
        """The judge, the memory that counts its answers, and where they are kept: with the runs of a store."""
        if self._built is None or self._built[0] is not store:
            answers = open_answers(store.database)
            memory = CountingMemory(answers, open_answers(self._older.database) if self._older else None)
            if isinstance(self._session, JudgeSession):
                free = None if answers.free is answers else answers.free
                judge = build_judge(self._session, memory, free=free, tickets=answers.tickets())
            else:
                judge = BuiltJudge(Cached(self._session, memory), memory)
            self._built = store, judge, memory, answers
        return self._built[1:]

    def close(self) -> None:
        """Let go of the model, and make safe what it answered."""
        if self._built is not None:
            _, judge, _, answers = self._built
            self._built = None
            with answers:
                judge.close()
