"""What answers in a judge's stead while an evaluation is rehearsed: it knows nothing and costs nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence

from ragtriage.core.case import Case
from ragtriage.core.questions import DECOMPOSITIONS, Kind, Question
from ragtriage.core.verdicts import Answer, Answered, Component, Components, Verdict
from ragtriage.judges.protocol import Estimate, Judge
from ragtriage.judges.wrappers import AnswerMemory, Keys
from ragtriage.text import split_claims, split_facts, split_questions, split_sentences
from ragtriage.text.language import language_of

SPLIT = 4_000_000
"""Characters of texts whose components are kept, so that a text is split once for all rehearsals."""
RECENT = 100_000
"""Questions that are known to have been asked, at least; twice as many at most."""

_RULES: Mapping[Kind, Callable[[Question], Components]] = {
    "claims": lambda q: split_claims(q.subject, q.query),
    "facts": lambda q: split_facts(q.subject),
    "questions": lambda q: split_questions(q.subject),
    "sentences": lambda q: split_sentences(q.subject),
    "standalone": lambda q: _whole(q.subject),
    "reworded": lambda q: _whole(q.subject),
    "altered": lambda q: _whole(q.subject),
    "needed_sentences": lambda q: split_sentences(q.subject),
    "questions_answered_by": lambda q: _distinct(q.subject, q.at or 0),
}


class Stage:
    """What all stand-ins for a judge share: components, estimates, languages of cases, and what is in memory.

    Args:
        judge: the true one, which is never asked.
        memory: what an evaluation would remember answers by; None if it wouldn't.
        trial: which repetition the answers in memory belong to.
    """

    def __init__(self, judge: Judge, memory: AnswerMemory | None, trial: int) -> None:
        self.judge = judge
        self.memory = memory
        self._trial = trial
        self._components: dict[Question, Components] = {}
        self._characters = 0
        self._estimates: dict[tuple[Question, ...], Estimate] = {}
        self._recalled: dict[Question, Answer | None] = {}
        self._languages: dict[int, str] = {}

    def language(self, case: Case) -> str:
        """The case's, told once."""
        found = self._languages.get(id(case))
        if found is None:
            found = self._languages[id(case)] = language_of(case)
        return found

    def known(self, questions: Sequence[Question]) -> Mapping[Question, Answer]:
        """Those that are in memory, with their answers."""
        if self.memory is None:
            return {}
        new = [question for question in questions if question not in self._recalled]
        keys = Keys(self.judge.fingerprint, self._trial)
        places = {keys.key(question): question for question in new}
        found = self.memory.recall(list(places))
        self._recalled |= {question: found.get(key) for key, question in places.items()}
        return {question: answer for question in questions if (answer := self._recalled[question]) is not None}

    def components(self, question: Question) -> Components:
        """What rules break the text into."""
        found = self._components.get(question)
        if found is None:
            try:
                found = _RULES[question.kind](question)
            except Exception:  # noqa: BLE001  # a text that the rules stumble over isn't one that a model stumbles over
                found = _whole(question.subject)
            self._components[question] = found
            self._characters += len(question.subject)
        return found

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """What the judge says that these questions would take together."""
        batch = tuple(questions)
        found = self._estimates.get(batch)
        if found is None:
            found = self._estimates[batch] = self.judge.estimate(batch)
        return found

    def forget(self) -> None:
        """Keep memory bounded, when some cases are done and let go."""
        self._estimates.clear()
        self._recalled.clear()
        self._languages.clear()
        if self._characters > SPLIT:
            self._components.clear()
            self._characters = 0


class StandIn:
    """Answers in a judge's stead: from memory, by rules, and with one and the same value for every verdict.

    Args:
        stage: what it shares with others.
        value: of every verdict that isn't in memory.

    Attributes:
        remembered: how many questions were in memory.
    """

    def __init__(self, stage: Stage, value: Answered) -> None:
        self.remembered = 0
        self._stage = stage
        self._verdict = Verdict(value, float(value == "yes"), 1.0)
        self._batches: list[list[Question]] = []
        self._asked: set[int] = set()
        self._asked_before: set[int] = set()

    def name(self) -> str:
        """The true judge's."""
        return self._stage.judge.name()

    def fingerprint(self, kind: Kind) -> str:
        """The true judge's."""
        return self._stage.judge.fingerprint(kind)

    def unsupported_reason(self, kind: Kind, language: str) -> str | None:
        """The true judge's."""
        return self._stage.judge.unsupported_reason(kind, language)

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """The true judge's."""
        return self._stage.estimate(questions)

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """See `ragtriage.judges.protocol.Judge`.

        Raises:
            StoreError: the memory can't be read.
        """
        known = self._stage.known(questions)
        self.remembered += len(known)
        self._batches.append([q for q in questions if q not in known and self._is_new(q)])
        for position, question in enumerate(questions):
            answer = known.get(question)
            if answer is None:
                split = question.kind in DECOMPOSITIONS
                answer = self._stage.components(question) if split else self._verdict
            yield position, answer

    def batches(self) -> list[list[Question]]:
        """What was asked since the last call, as it was asked, without what an evaluation would know."""
        found, self._batches = self._batches, []
        return [batch for batch in found if batch]

    def _is_new(self, question: Question) -> bool:
        """Whether no case before had this question, as far back as is kept; always true without a memory."""
        if self._stage.memory is None:
            return True
        mark = hash(question)
        if mark in self._asked or mark in self._asked_before:
            return False
        if len(self._asked) >= RECENT:
            self._asked_before, self._asked = self._asked, set()
        self._asked.add(mark)
        return True


def _whole(text: str) -> Components:
    return (Component(text, (0, len(text))),)


def _distinct(text: str, n: int) -> Components:
    """As many components, no two alike: equal ones would be asked about once."""
    return tuple(Component(f"{text} {i}") for i in range(1, n + 1))
