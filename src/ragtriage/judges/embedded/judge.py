"""The judge that comes with the package: offline, free, deterministic.

Rules break texts into components, a small encoder and calibrated models answer everything else. Nothing heavy is
imported and no model is loaded before the first question is asked.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragtriage.judges.embedded import decompose
from ragtriage.judges.embedded.gather import Gatherer
from ragtriage.judges.embedded.verdict import verdict_of
from ragtriage.judges.protocol import Estimate
from ragtriage.judges.questions import DECOMPOSITIONS, Kind, Question
from ragtriage.verdicts import Answer, Failure

if TYPE_CHECKING:
    from ragtriage.judges.embedded.encoder import Encoder
    from ragtriage.judges.embedded.scorer import Scorer

_HERE = Path(__file__).parent
_RULES: Mapping[str, Callable[[Question], Answer]] = {
    "claims": lambda q: decompose.split_claims(q.subject, q.query),
    "facts": lambda q: decompose.split_facts(q.subject),
    "questions": lambda q: decompose.split_questions(q.subject),
    "sentences": lambda q: decompose.split_sentences(q.subject),
    "declines": lambda q: decompose.declines(q.query, q.subject),
}
"""The kinds that rules answer, without the model."""
_CANNOT: Mapping[str, str] = {
    "standalone": "the embedded judge can't write a query so that it is understood without its conversation",
    "questions_answered_by": "the embedded judge can't write questions",
    "holds": "the embedded judge can't judge by criteria of your own",
}
"""The kinds that need a model that writes, or understands any question."""
_MEASURED = "en"


class EmbeddedJudge:
    """Judges with rules, a small encoder and calibrated models; a `Judge`.

    Args:
        any_language: judge other languages than English too, on which nothing was measured.
        threads: how many texts are encoded at a time.
        kept: how many word pieces of encoded texts are remembered, some 770 bytes each; None for what suits it as the
            only judge.
        coefficients: fitted models of one's own, as `bench/calibrate.py` writes them; None for those of the package.
    """

    def __init__(
        self,
        *,
        any_language: bool = False,
        threads: int = 2,
        kept: int | None = None,
        coefficients: Path | None = None,
    ) -> None:
        self._any_language = any_language
        self._kept = kept
        self._threads = threads
        self._coefficients = coefficients or _HERE / "model" / "coefficients.json"
        self._gatherer = Gatherer(self._answers)
        self._lock = threading.Lock()
        self._loaded: tuple[Encoder, Scorer] | None = None

    def name(self) -> str:
        """What a person would type to choose it."""
        return "embedded"

    def fingerprint(self, kind: Kind) -> str:
        """A hash over everything that this kind's answers depend on: rules, and for matches the model and its code."""
        return f"embedded-{_fingerprint(kind, self._coefficients)}"

    def can(self, kind: Kind, language: str) -> str | None:
        """None for English; for other languages the reason why not, unless any language was asked for.

        It writes nothing and knows no criteria but those that it was fitted for, in any language.
        """
        if kind in _CANNOT:
            return _CANNOT[kind]
        if self._any_language or language == _MEASURED:
            return None
        spoken = _LANGUAGES.get(language, language)
        return f"the embedded judge was measured on English only, and this case seems to be in {spoken}"

    def estimate(self, questions: Sequence[Question]) -> Estimate:  # noqa: ARG002 - the same for all
        """Nothing: it runs on this machine."""
        return Estimate()

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """Yield (position, answer); questions of concurrent callers are worked on together.

        Raises:
            JudgeError: the model can't be loaded.
        """
        async for place, answer in self._gatherer.ask(questions):
            yield place, answer

    def close(self) -> None:
        """Let the model and its threads go; a later question loads it again."""
        with self._lock:
            loaded, self._loaded = self._loaded, None
        if loaded is not None:
            loaded[0].close()

    def _scorer(self) -> Scorer:
        """The scorer, loaded on first use: importing it costs a tenth of a second, the model as much."""
        with self._lock:
            if self._loaded is None:
                from ragtriage.judges.embedded.encoder import KEPT, Encoder  # noqa: PLC0415 - see the docstring
                from ragtriage.judges.embedded.library import Library  # noqa: PLC0415 - see the docstring
                from ragtriage.judges.embedded.scorer import Scorer, load  # noqa: PLC0415 - see the docstring

                encoder = Encoder(threads=self._threads, kept=KEPT if self._kept is None else self._kept)
                self._loaded = encoder, Scorer(Library(encoder), load(self._coefficients))
            return self._loaded[1]

    def _answers(self, questions: Sequence[Question]) -> list[Answer]:
        """One answer a question, in order. Runs in a thread."""
        answers: dict[int, Answer] = {}
        matches = []
        for place, question in enumerate(questions):
            if question.kind in _RULES:
                answers[place] = _guarded(_RULES[question.kind], question)
            elif question.kind in _CANNOT:
                answers[place] = Failure(_CANNOT[question.kind])
            else:
                matches.append(place)
        if matches:
            scorer = self._scorer()
            # Questions with the same evidence are neighbours, so it is made ready once.
            seen: dict[tuple[str, ...], int] = {}
            matches.sort(key=lambda i: seen.setdefault((*questions[i].evidence, questions[i].context), len(seen)))
            scored = scorer.score([questions[i] for i in matches])
            for place, found in zip(matches, scored, strict=True):
                question = questions[place]
                answers[place] = (
                    _failure(question, found)
                    if isinstance(found, Exception)
                    else verdict_of(question, found, scorer.cuts)
                )
        return [answers[place] for place in range(len(questions))]


def _guarded(rule: Callable[[Question], Answer], question: Question) -> Answer:
    """The rule's answer, or a failure."""
    try:
        return rule(question)
    except Exception as error:  # noqa: BLE001 - a failure is an answer too
        return _failure(question, error)


def _failure(question: Question, error: Exception) -> Failure:
    return Failure(f"the embedded judge could not answer {question.kind!r}: {str(error) or type(error).__name__}")


@cache
def _fingerprint(kind: str, coefficients: Path) -> str:
    """Hash of the files that an answer depends on: decomposition rules for all (matches read sentences by them too)."""
    folders = (
        [_HERE / "decompose"]
        if kind in (*DECOMPOSITIONS, "declines")
        else [_HERE, _HERE / "decompose", _HERE / "model"]
    )
    found = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.iterdir()):
            if path.suffix in {".py", ".onnx", ".txt"} and path.stem not in {"judge", "gather", "__init__"}:
                found.update(path.name.encode() + path.read_bytes())
    if kind not in (*DECOMPOSITIONS, "declines"):
        found.update(_fitted(kind, coefficients))
        found.update(version("onnxruntime").encode())  # another version may round another way
    return found.hexdigest()[:12]


def _fitted(kind: str, coefficients: Path) -> bytes:
    """The fitted numbers of this kind alone, so that fitting one task again voids no other verdicts; and all cuts."""
    fitted: dict[str, Any] = json.loads(coefficients.read_text(encoding="utf-8"))
    task = {"similarity": "similar"}.get(kind, kind)
    own = {name: one for name, one in fitted["tasks"].items() if name.startswith(task)}
    return json.dumps([own, fitted["cuts"]], sort_keys=True).encode()


_LANGUAGES = {
    "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan", "cs": "Czech", "da":
    "Danish", "de": "German", "el": "Greek", "es": "Spanish", "et": "Estonian", "fa": "Persian",
    "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu":
    "Hungarian", "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean", "lt":
    "Lithuanian", "lv": "Latvian", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt":
    "Portuguese", "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian", "sr":
    "Serbian", "sv": "Swedish", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu",
    "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
