"""A judge whose answers are written by hand: for tests of metrics, rules and applications, without a model."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Self, TypedDict, Unpack

from ragtriage.core.errors import JudgeError
from ragtriage.core.questions import DECOMPOSITIONS, KINDS, Kind, Question
from ragtriage.core.verdicts import Answer, Answered, Component, Components, Failure, Verdict
from ragtriage.judges.protocol import Estimate


class _Options(TypedDict, total=False):
    name: str
    version: str
    shuffled: int | None
    delay: float | None
    cannot: Mapping[str, str] | None


class FakeJudge:
    """Answers from a function or a table, and remembers what it was asked.

        judge = FakeJudge(lambda question: Verdict("yes", 0.9))
        judge = FakeJudge({claims("Cats purr."): (Component("Cats purr.", (0, 10)),)})
        judge = FakeJudge.from_table({"Cats purr.": ["Cats purr."]}, {("supported", "Cats purr."): "yes"})

    A question without an answer, and one for which the function raises, is a `Failure`; a `JudgeError` that the
    function raises ends the evaluation, as a real judge's does.

    Args:
        answers: question → answer.
        name: what it is called.
        version: becomes the fingerprint, together with the kind; change it to void remembered answers.
        shuffled: a seed: answers come in another order than the questions.
        delay: seconds before each answer.
        cannot: kind, or language, → why it isn't answered.

    Attributes:
        asked: every question, in the order in which it was asked.
        batches: the same, by call of `ask`.
    """

    def __init__(
        self,
        answers: Mapping[Question, Answer] | Callable[[Question], Answer],
        *,
        name: str = "fake",
        version: str = "1",
        shuffled: int | None = None,
        delay: float | None = None,
        cannot: Mapping[str, str] | None = None,
    ) -> None:
        self.asked: list[Question] = []
        self.batches: list[tuple[Question, ...]] = []
        self._answers = answers
        self._name = name
        self._version = version
        self._random = None if shuffled is None else random.Random(shuffled)  # noqa: S311  # an order, not a secret
        self._delay = delay
        self._cannot = dict(cannot or {})

    @classmethod
    def from_table(
        cls,
        components: Mapping[str, Sequence[str | Component]] | None = None,
        verdicts: Mapping[tuple[str, ...], Answered | Verdict | Failure] | None = None,
        *,
        default: Answered | Verdict | None = None,
        **given: Unpack[_Options],
    ) -> Self:
        """A judge from simple tables.

        Args:
            components: text → what it is split into, whatever the unit; `kind: text` (for example
                `facts: The text.`) where one text has different components by kind. A component that stands in the
                text gets its span. A text that isn't there stays whole.
            verdicts: (kind, subject) → verdict; (kind, subject, evidence, …) where it depends on what the subject is
                held against, which goes first. A value alone stands for a verdict without score and confidence.
            default: the verdict on all others; None makes them failures.
            **given: `name`, `version`, `shuffled`, `delay` and `cannot` of the class.
        """
        split = components or {}
        table = verdicts or {}

        def answer(question: Question) -> Answer:
            if question.kind in DECOMPOSITIONS:
                own = split.get(f"{question.kind}: {question.subject}")
                return _components(question.subject, split.get(question.subject) if own is None else own)
            found = table.get((question.kind, question.subject, *question.evidence))
            if found is None:
                found = table.get((question.kind, question.subject), default)
            if found is None:
                return Failure(f"the table has no verdict for {question.kind}({question.subject!r})")
            return Verdict(found) if isinstance(found, str) else found

        return cls(answer, **given)

    def name(self) -> str:
        """The name that it was given."""
        return self._name

    def fingerprint(self, kind: Kind) -> str:
        """Its name, the kind and the version that it was given."""
        return f"{self._name}:{kind}:{self._version}"

    def unsupported_reason(self, kind: Kind, language: str) -> str | None:
        """The reason that was given for this kind or language, if any."""
        if kind not in KINDS:
            return f"{kind!r} is no kind of question"
        return self._cannot.get(kind) or self._cannot.get(language)

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """One request a question, free, a token for every four characters."""
        sizes = [len(q.subject) + len(q.query) + len(q.context) + sum(map(len, q.evidence)) for q in questions]
        tokens = sum(size // 4 for size in sizes)
        return Estimate(requests=len(questions), tokens_in=tokens, tokens_out=10 * len(questions))

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """See `ragtriage.judges.protocol.Judge`."""
        self.asked += questions
        self.batches.append(tuple(questions))
        order = list(range(len(questions)))
        if self._random:
            self._random.shuffle(order)
        for position in order:
            if self._delay is not None:
                await asyncio.sleep(self._delay)
            yield position, self._answer(questions[position])

    def _answer(self, question: Question) -> Answer:
        if isinstance(self._answers, Mapping):
            if question in self._answers:
                return self._answers[question]
            return Failure(f"there is no answer to {question.kind}({question.subject!r})")
        try:
            return self._answers(question)
        except JudgeError:
            raise
        except Exception as error:  # noqa: BLE001  # whatever a script raises fails its question alone
            return Failure(f"{type(error).__name__}: {error}")


def _components(text: str, given: Sequence[str | Component] | None) -> Components:
    if given is None:
        return (Component(text, (0, len(text))),)
    found: list[Component] = []
    after = 0
    for item in given:
        if isinstance(item, Component):
            found.append(item)
            continue
        start = text.find(item, after)
        start = text.find(item) if start < 0 else start
        span = None if start < 0 else (start, start + len(item))
        after = span[1] if span else after
        found.append(Component(item, span))
    return tuple(found)
