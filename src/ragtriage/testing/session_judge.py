"""The judge of a test session, built once a process: what it answers is counted, and its budget is the session's."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ragtriage.core.amount import NOTHING, Amount
from ragtriage.core.verdicts import Answer
from ragtriage.judges.budget import Ledger
from ragtriage.judges.build import BuiltJudge, build_judge
from ragtriage.judges.protocol import Judge
from ragtriage.judges.session import JudgeSession
from ragtriage.judges.wrappers import AnswerMemory, Cached, CachedAnswer
from ragtriage.runs.run import RunInfo
from ragtriage.store import Answers, Store, open_answers


class CountingMemory:
    """Counts answers that were known (`remembered`), and those that the judge gave (`judged`); see `AnswerMemory`."""

    def __init__(self, memory: AnswerMemory) -> None:
        self._memory = memory
        self.remembered = 0
        self.judged = 0

    def recall(self, keys: Sequence[bytes]) -> Mapping[bytes, Answer]:
        """The answers that are known, which are counted."""
        found = self._memory.recall(keys)
        self.remembered += len(found)
        return found

    def remember(self, entries: Iterable[CachedAnswer], spent: Amount = NOTHING) -> None:
        """Count answers, and keep them."""
        kept = list(entries)
        self.judged += len(kept)
        self._memory.remember(kept, spent)

    def flush(self) -> None:
        """See `AnswerMemory`."""
        self._memory.flush()

    def claim(self, keys: Sequence[bytes]) -> Collection[bytes]:
        """See `AnswerMemory`."""
        return self._memory.claim(keys)

    def release(self, keys: Collection[bytes]) -> None:
        """See `AnswerMemory`."""
        self._memory.release(keys)


SESSION = "session"
"""The key in a run's configuration that says which session wrote it last."""
SPENT_BEFORE = "spent_before"
"""The key that says what earlier sessions had spent on the run."""


def written_in(info: RunInfo, session: str) -> bool:
    """Whether this session wrote a run last."""
    return info.configuration.get(SESSION) == session


def spending_marks(info: RunInfo | None, session: str) -> dict[str, Any]:
    """What a run's configuration says of the session that writes it now."""
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


class Judges:
    """Who judges, and where what was answered before stands. The judge is built once a process.

    A judge itself in place of a session is for tests of the plugin.
    """

    def __init__(self, session: JudgeSession | Judge) -> None:
        self.budget = SessionBudget()
        self._session = session
        self._built: tuple[Store, BuiltJudge, CountingMemory, Answers] | None = None

    def built(self, store: Store) -> tuple[BuiltJudge, CountingMemory, Answers]:
        """The judge, the memory that counts its answers, and where they are kept: with the runs of a store."""
        if self._built is None or self._built[0] is not store:
            answers = open_answers(store.database)
            memory = CountingMemory(answers)
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
