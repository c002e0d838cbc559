"""The judge that comes with the package: offline, free, deterministic.

A small encoder, a small reader of pairs, a larger one of what is in doubt and fitted models answer; rules read blocks,
tables and lists. Nothing heavy is imported and no model is loaded before the first question is asked.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ragtriage.core.questions import Kind, Question, essential
from ragtriage.core.verdicts import Answer, Failure, Verdict
from ragtriage.judges.embedded.question_batches import QuestionBatcher
from ragtriage.judges.embedded.verdict import parts_of_question, verdict_of, verdict_on_refusals
from ragtriage.judges.embedded.versions import MODEL, fingerprint_of, larger_reader
from ragtriage.judges.judge_config import EMBEDDED, FAST
from ragtriage.judges.protocol import Estimate
from ragtriage.text.claim_parts import Marker, Marks
from ragtriage.text.claims import split_claims
from ragtriage.text.declines import declines
from ragtriage.text.language import language_name
from ragtriage.text.questions import split_questions
from ragtriage.text.sentences import split_facts, split_sentences

if TYPE_CHECKING:
    from ragtriage.judges.embedded.scorer import Scorer

T = TypeVar("T")

_RULES: Mapping[str, Callable[[Question], Answer]] = {
    "facts": lambda q: split_facts(q.subject),
    "questions": lambda q: split_questions(q.subject),
    "sentences": lambda q: split_sentences(q.subject),
}
"""The kinds that rules answer, without a model."""
_MARKED: Mapping[str, Callable[[Question, Marker], Answer]] = {
    "claims": lambda q, marker: split_claims(q.subject, q.query, marker=marker),
    "declines": lambda q, marker: declines(q.query, q.subject, marker),
}
"""The kinds that are answered by where claims begin and what is a remark."""
_UNSUPPORTED: Mapping[str, str] = {
    "standalone": "the embedded judge can't write a query so that it is understood without its conversation",
    "questions_answered_by": "the embedded judge can't write questions",
    "holds": "the embedded judge can't judge by criteria of your own",
}
"""The kinds that need a model that writes, or understands any question."""
_MEASURED = "en"


class EmbeddedJudge:
    """Judges with rules, a small encoder, two readers and calibrated models; a `Judge`.

    Args:
        fast: do without the larger reader: twice as quick, and more often blind to one wrong detail.
        any_language: judge other languages than English too, on which nothing was measured.
        threads: how many texts or pairs are read at a time.
        model: a folder with another `reader.onnx` and its `coefficients.json`, as `training/` writes them.
        kept: how many word pieces of encoded texts are remembered, some 770 bytes each; None for what suits it as the
            only judge.

    Raises:
        ConfigError: the larger reader isn't installed, and `fast` isn't set.
    """

    def __init__(
        self,
        *,
        fast: bool = False,
        any_language: bool = False,
        threads: int = 2,
        model: Path = MODEL,
        kept: int | None = None,
    ) -> None:
        self._larger = None if fast else larger_reader()
        self._any_language = any_language
        self._kept = kept
        self._threads = threads
        self._model = model
        self._batcher = QuestionBatcher(self._answers)
        self._lock = threading.Lock()
        self._loaded: Scorer | None = None

    def name(self) -> str:
        """What a person would type to choose it."""
        return EMBEDDED if self._larger else FAST

    def fingerprint(self, kind: Kind) -> str:
        """A hash of the version of this kind's rules, and of the models and coefficients that it is answered with."""
        return f"embedded-{fingerprint_of(kind, self._model, larger=self._larger is not None)}"

    def unsupported_reason(self, kind: Kind, language: str) -> str | None:
        """None for English; for other languages the reason why not, unless any language was asked for.

        It writes nothing and knows no criteria but those that it was fitted for, in any language.
        """
        if kind in _UNSUPPORTED:
            return _UNSUPPORTED[kind]
        if self._any_language or language == _MEASURED:
            return None
        return (
            f"the embedded judge was measured on English only, and this case seems to be in {language_name(language)}"
        )

    def estimate(self, questions: Sequence[Question]) -> Estimate:  # noqa: ARG002 - the same for all
        """Nothing: it runs on this machine."""
        return Estimate()

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """Yield (position, answer); questions of concurrent callers are worked on together."""
        async for place, answer in self._batcher.ask(questions):
            yield place, answer

    def marks(self, query: str, text: str) -> Marks:
        """Where the claims of a response begin, and which parts of it are remarks, for `split_claims`."""
        return self._scorer().marks(query, text)

    def close(self) -> None:
        """Let the model and its threads go; a later question loads it again."""
        with self._lock:
            loaded, self._loaded = self._loaded, None
        if loaded is not None:
            loaded.close()

    def _scorer(self) -> Scorer:
        """The scorer, loaded on first use: importing it costs a tenth of a second, the model as much."""
        with self._lock:
            if self._loaded is None:
                from ragtriage.judges.embedded.scorer import Scorer  # noqa: PLC0415 - see the docstring

                self._loaded = Scorer(threads=self._threads, kept=self._kept, model=self._model, larger=self._larger)
            return self._loaded

    def _answers(self, questions: Sequence[Question]) -> list[Answer]:
        """One answer a question, in order. Runs in a thread."""
        answers: dict[int, Answer] = {}
        matches: list[int] = []
        picked: list[int] = []
        for place, question in enumerate(questions):
            if question.kind in _RULES:
                answers[place] = _guarded(_RULES[question.kind], question)
            elif question.kind in _MARKED:
                answers[place] = _guarded(lambda q: _MARKED[q.kind](q, self._scorer().marks), question)
            elif question.kind in _UNSUPPORTED:
                answers[place] = Failure(_UNSUPPORTED[question.kind])
            elif question.kind == "needed_sentences":
                picked.append(place)
            elif told := _guarded(lambda q: verdict_on_refusals(q, self._scorer().marks), question):
                answers[place] = told
            else:
                matches.append(place)
        if matches:
            scorer = self._scorer()
            # Questions with the same evidence are neighbours, so it is made ready once.
            seen: dict[tuple[str, ...], int] = {}
            matches.sort(key=lambda i: seen.setdefault((*questions[i].evidence, questions[i].context), len(seen)))
            split = partial(split_claims, marker=scorer.marks)
            asking = [parts_of_question(questions[i], split) for i in matches]
            parts = [part for part, _ in asking]
            asked = [question for part in parts for question in part]
            judged = (
                _failure(question, found) if isinstance(found, Exception) else verdict_of(question, found)
                for question, found in zip(asked, scorer.score(asked), strict=True)
            )
            for place, (part, decide) in zip(matches, asking, strict=True):
                answers[place] = decide(part, list(islice(judged, len(part))))
        for place in picked:
            answers[place] = self._needed_sentences(questions[place])
        return [answers[place] for place in range(len(questions))]

    def _needed_sentences(self, question: Question) -> Answer:
        """The sentences of a source that are essential for the query, each judged by itself."""
        sentences = _guarded(_RULES["sentences"], question)
        if not isinstance(sentences, tuple):
            return sentences
        found = self._answers([essential(question.query, s.text, source=question.subject) for s in sentences])
        failed = next((answer for answer in found if isinstance(answer, Failure)), None)
        pairs = zip(sentences, found, strict=True)
        return failed or tuple(s for s, answer in pairs if isinstance(answer, Verdict) and answer.value == "yes")


def _guarded(rule: Callable[[Question], T], question: Question) -> T | Failure:
    try:
        return rule(question)
    except Exception as error:  # noqa: BLE001 - a failure is an answer too
        return _failure(question, error)


def _failure(question: Question, error: Exception) -> Failure:
    return Failure(f"the embedded judge could not answer {question.kind!r}: {str(error) or type(error).__name__}")
