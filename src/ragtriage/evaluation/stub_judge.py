"""What answers in a judge's stead while the cost of an evaluation is estimated: it knows nothing and costs nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import lru_cache

from ragtriage.core.case import Case
from ragtriage.core.questions import DECOMPOSITIONS, Kind, Question
from ragtriage.core.verdicts import Answer, Answered, Component, Components, Verdict
from ragtriage.judges.protocol import Estimate, Judge
from ragtriage.judges.wrappers import AnswerKeys, AnswerMemory
from ragtriage.text import split_claims, split_facts, split_questions, split_sentences
from ragtriage.text.language import language_of

SPLIT_TEXTS = 2_000
"""Texts whose components are kept, so that a text that several cases hold is split once."""
RECENT = 100_000
"""Questions that are known to have been asked, at least; twice as many at most."""


def _whole(question: Question) -> Components:
    return (Component(question.subject, (0, len(question.subject))),)


def _distinct(question: Question) -> Components:
    """As many components as are wanted, no two alike: equal ones would be asked about once."""
    return tuple(Component(f"{question.subject} {i}") for i in range(1, (question.at or 0) + 1))


_RULES: Mapping[Kind, Callable[[Question], Components]] = {
    "claims": lambda q: split_claims(q.subject, q.query),
    "facts": lambda q: split_facts(q.subject),
    "questions": lambda q: split_questions(q.subject),
    "sentences": lambda q: split_sentences(q.subject),
    "standalone": _whole,
    "reworded": _whole,
    "altered": _whole,
    "needed_sentences": lambda q: split_sentences(q.subject),
    "questions_answered_by": _distinct,
}


@lru_cache(SPLIT_TEXTS)
def _components(question: Question) -> Components:
    """What rules break the text into."""
    try:
        return _RULES[question.kind](question)
    except Exception:  # noqa: BLE001  # a text that the rules stumble over isn't one that a model stumbles over
        return _whole(question)


class EstimateCache:
    """What all stubs of one judge find out once: its estimates, the languages of cases, and what is in memory.

    Args:
        judge: the true one, which is never asked.
        memory: what an evaluation would remember answers by; None if it wouldn't.
        trial: which repetition the answers in memory belong to.
    """

    def __init__(self, judge: Judge, memory: AnswerMemory | None, trial: int) -> None:
        self.judge = judge
        self.memory = memory
        self._trial = trial
        self._estimates: dict[tuple[Question, ...], Estimate] = {}
        self._recalled: dict[Question, Answer | None] = {}
        self._languages: dict[int, str] = {}

    def language(self, case: Case) -> str:
        """The case's."""
        if id(case) not in self._languages:
            self._languages[id(case)] = language_of(case)
        return self._languages[id(case)]

    def known(self, questions: Sequence[Question]) -> Mapping[Question, Answer]:
        """Those that are in memory, with their answers."""
        if self.memory is None:
            return {}
        keys = AnswerKeys(self.judge.fingerprint, self._trial)
        places = {keys.key(question): question for question in questions if question not in self._recalled}
        found = self.memory.recall(list(places))
        self._recalled |= {question: found.get(key) for key, question in places.items()}
        return {question: answer for question in questions if (answer := self._recalled[question]) is not None}

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """What the judge says that these questions would take together."""
        batch = tuple(questions)
        if batch not in self._estimates:
            self._estimates[batch] = self.judge.estimate(batch)
        return self._estimates[batch]

    def forget(self) -> None:
        """Keep memory bounded, when some cases are done and let go."""
        self._estimates.clear()
        self._recalled.clear()
        self._languages.clear()


class StubJudge:
    """Answers in a judge's stead: from memory, by rules, and with one and the same value for every verdict.

    Args:
        cache: what it shares with other stubs.
        value: of every verdict that isn't in memory.

    Attributes:
        remembered: how many questions were in memory.
    """

    def __init__(self, cache: EstimateCache, value: Answered) -> None:
        self.remembered = 0
        self.name = cache.judge.name
        self.fingerprint = cache.judge.fingerprint
        self.unsupported_reason = cache.judge.unsupported_reason
        self.estimate = cache.estimate
        self.cache = cache
        self._verdict = Verdict(value, float(value == "yes"), 1.0)
        self._batches: list[list[Question]] = []
        self._asked: set[int] = set()
        self._asked_before: set[int] = set()

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """See `ragtriage.judges.protocol.Judge`.

        Raises:
            StoreError: the memory can't be read.
        """
        known = self.cache.known(questions)
        self.remembered += len(known)
        self._batches.append([q for q in questions if q not in known and self._is_new(q)])
        for position, question in enumerate(questions):
            answer = known.get(question)
            if answer is None:
                answer = _components(question) if question.kind in DECOMPOSITIONS else self._verdict
            yield position, answer

    def batches(self) -> list[list[Question]]:
        """What was asked since the last call, as it was asked, without what an evaluation would know."""
        found, self._batches = self._batches, []
        return [batch for batch in found if batch]

    def _is_new(self, question: Question) -> bool:
        """Whether no case before had this question, as far back as is kept; always true without a memory."""
        if self.cache.memory is None:
            return True
        mark = hash(question)
        if mark in self._asked or mark in self._asked_before:
            return False
        if len(self._asked) >= RECENT:
            self._asked_before, self._asked = self._asked, set()
        self._asked.add(mark)
        return True
