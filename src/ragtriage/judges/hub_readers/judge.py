"""A hub reader as a judge of its kinds, and the embedded judge with hub readers in place of its own reader."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache

from ragtriage.core.errors import ConfigError, JudgeError
from ragtriage.core.questions import KINDS, Kind, Question
from ragtriage.core.verdicts import Answer, Components, Failure
from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.judges.embedded.question_batches import QuestionBatcher
from ragtriage.judges.hub_readers.answering import Setting, answers
from ragtriage.judges.hub_readers.cost import memory_of, pieces_of, seconds_for
from ragtriage.judges.hub_readers.folder import ReaderFolder, open_folder, reads
from ragtriage.judges.hub_readers.hub_reader import HubReader
from ragtriage.judges.hub_readers.known import place_of
from ragtriage.judges.hub_readers.languages import RULES, VERSION, components_in, undivided_reason
from ragtriage.judges.hub_readers.onnx_models import onnx_runtime
from ragtriage.judges.hub_readers.torch_models import torch_runtime
from ragtriage.judges.judge_names import UNCALIBRATED, readers_of
from ragtriage.judges.protocol import Estimate
from ragtriage.text import split_claims
from ragtriage.text.claims import Marker
from ragtriage.text.language import language_name, language_of_text

ANSWERS = 2
"""The version of how answers are made of what a model says; raise it when they change."""
_ENGLISH = "en"
_SHOWN = 8
"""Languages that are listed in a reason."""


class HubReaderJudge:
    """Answers the kinds of questions that a hub reader is for; a `Judge`.

    Args:
        folder: the hub reader.
        embedded: tells where claims begin in English texts.
        any_language: whether to read other languages than those of the reader too.

    Raises:
        MissingExtraError: what runs the model isn't installed.
    """

    def __init__(self, folder: ReaderFolder, embedded: EmbeddedJudge, *, any_language: bool = False) -> None:
        self.folder = folder
        self.reader = HubReader(folder)
        self._any_language = any_language
        self._embedded = embedded
        self._runtime = onnx_runtime() if folder.onnx else torch_runtime()
        self._setting = Setting(self.reader, lru_cache(maxsize=256)(self._claims), self._marker)
        self._batcher = QuestionBatcher(self._answers)

    def name(self) -> str:
        """What a user typed for the reader."""
        return self.folder.typed

    def fingerprint(self, kind: Kind) -> str:
        """A hash of the kind, the folder's files, what runs them, and how an answer is made of what they say."""
        folder = self.folder
        parts = {
            "kind": kind,
            "version": ANSWERS,
            "family": folder.family.name,
            "folder": folder.digest(),
            "length": folder.length,
            "labels": asdict(folder.labels),
            "temperature": folder.temperature,
            "runtime": self._runtime,
        }
        known = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]
        uncalibrated = folder.temperature is None and kind not in {"similarity", "needed_sentences"}
        return (UNCALIBRATED if uncalibrated else "reader-") + known

    def unsupported_reason(self, kind: Kind, language: str) -> str | None:  # noqa: ARG002 - the same for all its kinds
        """None for the languages of the reader."""
        if self._any_language or reads(self.folder.languages, language):
            return None
        named = [language_name(code) for code in self.folder.languages]
        shown = ", ".join(named[:_SHOWN]) + (f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else "")
        return f"the reader {self.name()} reads {shown}, and this case seems to be in {language_name(language)}"

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """The time that it takes on this machine, roughly."""
        pieces = sum(pieces_of(question, self.folder) for question in questions)
        return Estimate(seconds=seconds_for(pieces, self.folder)) if pieces else Estimate()

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """Yield (position, answer); questions of concurrent callers are worked on together.

        Raises:
            JudgeError: the model can't be loaded.
        """
        async for place, answer in self._batcher.ask(questions):
            yield place, answer

    def memory(self) -> int:
        """Bytes that it takes at work, roughly."""
        return memory_of(self.folder)

    def open(self) -> None:
        """Load the model before anything is asked.

        Raises:
            ConfigError: it can't be loaded.
        """
        try:
            self.reader.load()
        except JudgeError as error:
            raise ConfigError(f"the reader {self.name()!r}: {error}") from error

    def close(self) -> None:
        """Let the model go; a later question loads it again."""
        self.reader.close()

    def _answers(self, questions: Sequence[Question]) -> list[Answer]:
        """One answer a question. Runs in a thread; what fails together is asked again one by one."""
        self.reader.load()
        try:
            return answers(questions, self._setting)
        except Exception:  # noqa: BLE001 - a failure is an answer too
            return [self._answer(question) for question in questions]

    def _answer(self, question: Question) -> Answer:
        try:
            return answers([question], self._setting)[0]
        except Exception as error:  # noqa: BLE001 - a failure is an answer too
            why = str(error) or type(error).__name__
            return Failure(f"the reader {self.name()} could not answer {question.kind!r}: {why}")

    def _claims(self, text: str, query: str) -> Components:
        language = language_of_text(f"{query}\n{text}")
        if language != _ENGLISH:
            return components_in("claims", Question("claims", text, query=query), language)
        return split_claims(text, query, marker=self._embedded.marks)

    def _marker(self, text: str) -> Marker | None:
        return self._embedded.marks if language_of_text(text) == _ENGLISH else None


class MultilingualSplitter:
    """Breaks texts into components, English ones by the embedded judge; a `Judge` of these kinds.

    Args:
        embedded: splits English texts.
        languages: of the hub readers beside it: there is nothing to be split that nobody can judge.
        any_language: whether to split texts of every language.
    """

    def __init__(self, embedded: EmbeddedJudge, languages: Collection[str], *, any_language: bool = False) -> None:
        self._embedded = embedded
        self._languages = languages
        self._any_language = any_language

    def name(self) -> str:
        """That of the embedded judge."""
        return self._embedded.name()

    def fingerprint(self, kind: Kind) -> str:
        """The embedded judge's, with the version of the rules for other languages."""
        return f"{self._embedded.fingerprint(kind)}+languages{VERSION}"

    def unsupported_reason(self, kind: Kind, language: str) -> str | None:
        """None for English, and for languages that a reader reads and that end sentences as English does."""
        if language == _ENGLISH or self._any_language or not (reads(self._languages, language)):
            return self._embedded.unsupported_reason(kind, language)
        return undivided_reason(language)

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """Nothing: rules do it."""
        return self._embedded.estimate(questions)

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """See `Judge.ask`."""
        english: list[int] = []
        for place, question in enumerate(questions):
            language = language_of_text(f"{question.query}\n{question.subject}")
            if language == _ENGLISH:
                english.append(place)
            else:
                yield place, components_in(question.kind, question, language)
        async for nth, answer in self._embedded.ask([questions[place] for place in english]):
            yield english[nth], answer


def judges_of(
    name: str, embedded: EmbeddedJudge, *, any_language: bool = False
) -> tuple[Mapping[Kind, HubReaderJudge | MultilingualSplitter | EmbeddedJudge], tuple[HubReaderJudge, ...]]:
    """Who answers each kind where a user named hub readers, and the readers themselves.

    Raises:
        ConfigError: a reader isn't there, can't be used, or two of them answer the same kind.
        MissingExtraError: a package that runs one isn't installed.
    """
    folders = [open_folder(typed, place_of(typed)) for typed in readers_of(name)]
    found = tuple(HubReaderJudge(one, embedded, any_language=any_language) for one in folders)
    by_kind: dict[Kind, HubReaderJudge | MultilingualSplitter | EmbeddedJudge] = dict.fromkeys(KINDS, embedded)
    for one in found:
        for kind in one.folder.family.kinds:
            other = by_kind[kind]
            if isinstance(other, HubReaderJudge):
                raise ConfigError(
                    f"the readers {other.name()!r} and {one.name()!r} are both for {kind!r}: name one of them"
                )
            by_kind[kind] = one
    spoken = {language for one in folders for language in one.languages}
    if spoken - {_ENGLISH}:
        splitter = MultilingualSplitter(embedded, spoken, any_language=any_language)
        by_kind |= dict.fromkeys(RULES, splitter)
    return by_kind, found
