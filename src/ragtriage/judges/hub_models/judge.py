"""A hub model as the judge of whether sources support a claim, beside the embedded judge, which does the rest."""

import hashlib
import json
import re
import tomllib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import ClassVar

from ragtriage.core.display import quoted
from ragtriage.core.errors import ConfigError, JudgeError
from ragtriage.core.questions import KINDS, Kind, Question
from ragtriage.core.validation import STRICT, validated
from ragtriage.core.verdicts import NOT_SUPPORTED, Answer, Component, Components, Failure, Verdict, with_chance
from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.judges.embedded.claimed_text import asserted_text, without_attribution
from ragtriage.judges.embedded.question_batches import QuestionBatcher
from ragtriage.judges.embedded.verdict import questions_by_claim, weakest_answer
from ragtriage.judges.hub_models.folder import HubFolder
from ragtriage.judges.hub_models.model import HubModel, PairChances, chunks
from ragtriage.judges.protocol import Estimate, Judge
from ragtriage.text.claims import split_claims
from ragtriage.text.differences import differences, likely_place
from ragtriage.text.language import language_name, language_of_text
from ragtriage.text.markup import plain_text
from ragtriage.text.questions import split_questions
from ragtriage.text.sentences import TOGETHER, split_facts, split_sentences

VERSION = 2
"""Of these rules; part of the fingerprint of what they answer."""
RULES: Mapping[Kind, Callable[[Question], Components]] = {
    "claims": lambda q: split_claims(q.subject, q.query),
    "facts": lambda q: split_facts(q.subject),
    "questions": lambda q: split_questions(q.subject),
    "sentences": lambda q: split_sentences(q.subject),
}
"""The kinds that are answered by where sentences end."""
_LETTER = re.compile(r"(?:^|[\s(])[^\W\d_]\.$")
_NUMBER = re.compile(r"(?:^|[\s(])\d{1,2}\.$")
_WORD = re.compile(r"([^\W_]+°?)\.$")
_BEGINS = ("¿", "¡")
_SPACED = re.compile(r"\s[!?]+(?P<gap>\s+)(?=[\"'«“(]?\s?(?P<next>\w))")
_INVERTED = re.compile(r"(?<=[.!?…])(?P<gap>\s*)(?=[¿¡])")
_STOP = re.compile(r"[.!?…]+[\"'”’»)\]]*\s+[\"'«“(¿¡]?\s?(?P<next>\w)")
_CLAUSE = re.compile(r"\s?;\s|(?P<short>\s?:\s|\s[–—]\s|\s¿)")
_STATEMENT = 3
"""Words from which on what stands before a colon, a dash or "¿" may state something."""


@dataclass(frozen=True, slots=True)
class LanguageRules:
    """Where a full stop ends no sentence, and where a question mark asks nothing."""

    abbreviations: tuple[str, ...] = ()
    """In small letters, without the full stop."""
    ordinals: bool = False
    """Whether a number of one or two digits with a full stop is an ordinal."""
    conditions: tuple[str, ...] = ()
    """With what a clause before "¿" begins that states nothing, in small letters."""
    tags: tuple[str, ...] = ()
    """What makes a statement ask for consent at its end, in small letters, without marks: `n'est-ce pas`."""

    __pydantic_config__: ClassVar[dict[str, str]] = STRICT


@cache
def languages() -> Mapping[str, LanguageRules]:
    """ISO 639-1 code → rules, of the languages that end sentences as English does."""
    table = tomllib.loads(Path(__file__).with_name("languages.toml").read_text(encoding="utf-8"))
    return {code: validated(LanguageRules, row, "rule") for code, row in table.items()}


def undivided_reason(language: str) -> str | None:
    """None where texts of this language are broken into sentences, else the reason why not."""
    if language in languages():
        return None
    return (
        f"claims, facts and sentences are told apart by full stops with a space behind them, which "
        f"{language_name(language)} isn't known to be written with"
    )


def components_in(kind: Kind, question: Question, language: str) -> Components:
    """The components of a text in another language than English.

    Sentences stay whole: claims are told apart within a sentence, and remarks recognised, in English only. A sentence
    that only asks is a remark all the same.
    """
    found, rules = RULES[kind](question), languages().get(language, LanguageRules())
    # of a query only what asks is kept, by rules that read it as a whole
    parts = found if kind == "questions" else [part for one in found for part in _cut(question.subject, one)]
    return _joined(question.subject, parts, rules)


def _cut(text: str, one: Component) -> Iterator[Component]:
    """A component in pieces: unlike in English, a mark with a space before it ends a sentence, and "¿" begins one."""
    begin, end = one.span or (0, 0)
    raw = text[begin:end]
    together = [m.span() for m in TOGETHER.finditer(raw)]
    ends = [m for m in _SPACED.finditer(raw) if not m["next"].islower()] + [*_INVERTED.finditer(raw)]
    cuts = sorted(m.span("gap") for m in ends if not any(a < m.start("gap") < b for a, b in together))
    said = plain_text(raw)
    if not cuts or not one.text.endswith(said):
        yield one
        return
    before = one.text.removesuffix(said)
    for a, b in zip([0, *(b for _, b in cuts)], [*(a for a, _ in cuts), len(raw)], strict=True):
        piece = plain_text(raw[a:b])
        yield replace(one, text=piece if a else before + piece, span=(begin + a, begin + b))


def _joined(text: str, found: Iterable[Component], rules: LanguageRules) -> Components:
    """Components with those put together between which no sentence ends."""
    joined: list[Component] = []
    for one in found:
        last = joined[-1] if joined else None
        said = text[slice(*(one.span or (0, 0)))]
        # what looks like an English remark may be a claim here
        remark = one.remark and only_asks(said, rules)
        if (
            last
            and last.span
            and one.span
            and not said.startswith(_BEGINS)
            and _goes_on(text[slice(*last.span)], rules)
        ):
            between = text[last.span[1] : one.span[0]]
            if not between.strip() and "\n" not in between:
                span = (last.span[0], one.span[1])
                whole = text[slice(*span)]
                joined[-1] = replace(last, text=whole, span=span, remark=remark and only_asks(whole, rules))
                continue
        joined.append(replace(one, remark=remark))
    return tuple(joined)


def only_asks(said: str, rules: LanguageRules) -> bool:
    """Whether a sentence asks and surely states nothing: where it might, it isn't lost as a remark.

    A statement may stand before a full stop that wasn't taken for an end ("99 Mio. Haben Sie …?"), before a semicolon,
    before a "¿" within the sentence, or before one of the `tags` that ask for consent ("Es kostet 99 Euro, oder?").
    """
    said = said.strip()
    if not said.endswith("?"):
        return False
    asked = said.rstrip("?! \u00a0\u202f")
    head, _, tail = asked.rpartition(",")
    if head and tail.strip().lstrip("¿").replace("’", "'").lower() in rules.tags:
        return False
    if said.startswith("¿") and said.count("¿") == 1 and "?" not in asked:
        return True
    for stop in _STOP.finditer(asked):
        numbered = stop["next"].isdigit() and _goes_on(asked[: stop.start() + 1], rules)
        if not numbered and not stop["next"].islower():
            return False
    for clause in _CLAUSE.finditer(asked):
        words = asked[: clause.start()].lower().split()
        conditional = clause[0].endswith("¿") and words and words[0] in rules.conditions
        if clause["short"] is None or (len(words) >= _STATEMENT and not conditional):
            return False
    return True


def _goes_on(said: str, rules: LanguageRules) -> bool:
    """Whether a sentence goes on behind this part of it."""
    word = _WORD.search(said)
    if not word:
        return False
    return (
        _LETTER.search(said) is not None
        or (rules.ordinals and _NUMBER.search(said) is not None)
        or word[1].lower() in rules.abbreviations
    )


ANSWERS = 6
"""The version of how answers are made of what a model says; raise it when they change."""
SMALLEST = 32
"""Word pieces that a chunk may have at least; what leaves less room for it isn't judged."""
STEP = 32
"""Chunks differ in size by so many word pieces, so that claims of similar length share them."""
UNDECIDED = 0.02
"""The chance of a claim of which nothing is left to be held against anything."""
_WORKING = 400_000_000
"""Bytes beside the weights: the packages, a batch."""
_ENGLISH = "en"
_SHOWN = 8
"""Languages that are listed in a reason."""


class HubModelJudge:
    """Says whether sources support a claim; a `Judge` of this kind."""

    def __init__(self, folder: HubFolder, embedded: EmbeddedJudge, *, any_language: bool = False) -> None:
        self.folder = folder
        self._model = HubModel(folder)
        self._embedded = embedded
        self._any_language = any_language
        self._claims = lru_cache(maxsize=256)(self._split)
        self._chunks = lru_cache(maxsize=64)(lambda text, room: chunks(text, room, self._model.count))
        self._batcher = QuestionBatcher(self._answers)

    def name(self) -> str:
        """What a user typed for the model."""
        return self.folder.typed

    def fingerprint(self, kind: Kind) -> str:
        """A hash of the kind, the folder's files, what runs them, and how an answer is made of what they say."""
        parts = {"kind": kind, "version": ANSWERS, "folder": self.folder.digest(), "runtime": self._model.runtime}
        return "reader-uncalibrated-" + hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]

    def unsupported_reason(self, kind: Kind, language: str) -> str | None:  # noqa: ARG002 - there is one kind
        """None for the languages of the model."""
        if self._any_language or self.folder.reads(language):
            return None
        named = [language_name(code) for code in self.folder.languages]
        shown = ", ".join(named[:_SHOWN]) + (f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else "")
        return f"the hub model {self.name()} reads {shown}, and this case seems to be in {language_name(language)}"

    def estimate(self, questions: Sequence[Question]) -> Estimate:  # noqa: ARG002 - it costs nothing
        """Nothing that is paid for."""
        return Estimate()

    def memory(self) -> int:
        """Bytes that it takes at work, roughly."""
        return _WORKING + self.folder.size()

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """Yield (position, answer); questions of concurrent callers are worked on together."""
        async for place, answer in self._batcher.ask(questions):
            yield place, answer

    def open(self) -> None:
        """Load the model before anything is asked."""
        try:
            self._model.load()
        except JudgeError as error:
            raise ConfigError(f"the hub model {self.name()!r}: {error}") from error

    def close(self) -> None:
        """Let the model go; a later question loads it again."""
        self._model.close()

    def _answers(self, questions: Sequence[Question]) -> list[Answer]:
        """One answer a question. Runs in a thread; what fails together is asked again one by one."""
        self._model.load()
        try:
            return self._supported(questions)
        except Exception:  # noqa: BLE001 - a failure is an answer too
            return [self._answer(question) for question in questions]

    def _answer(self, question: Question) -> Answer:
        try:
            return self._supported([question])[0]
        except Exception as error:  # noqa: BLE001 - a failure is an answer too
            why = str(error) or type(error).__name__
            return Failure(f"the hub model {self.name()} could not answer {question.kind!r}: {why}")

    def _supported(self, questions: Sequence[Question]) -> list[Answer]:
        """One answer a question, in order; a pair that several need is read once."""
        parts = [questions_by_claim(question, self._claims) for question in questions]
        asked = [one for part in parts for one in part]
        reads = [self._pairs(one) for one in asked]
        said = self._model.read(pair for some in reads if some for pair in some)
        judged = iter([self._verdict(one, some, said) for one, some in zip(asked, reads, strict=True)])
        return [weakest_answer(part, [next(judged) for _ in part]) for part in parts]

    def _split(self, text: str, query: str) -> Components:
        language = language_of_text(f"{query}\n{text}")
        if language != _ENGLISH:
            return components_in("claims", Question("claims", text, query=query), language)
        return split_claims(text, query, marker=self._embedded.marks)

    def _pairs(self, question: Question) -> tuple[tuple[str, str], ...] | None:
        """(chunk, claim) for each chunk of the sources as one document, in an order of their own and not the search's.

        Each pair is short enough that nothing of it is cut off. None where the claim leaves a chunk fewer than
        `SMALLEST` word pieces; empty where there is no claim, or no source.
        """
        if not (claim := _claim_of(question)):
            return ()
        room = (self.folder.length - self._model.pieces("", claim)) // STEP * STEP
        if room < SMALLEST:
            return None
        return tuple((chunk, claim) for chunk in self._chunks("\n".join(sorted(set(question.evidence))), room))

    def _verdict(
        self, question: Question, pairs: tuple[tuple[str, str], ...] | None, said: Mapping[tuple[str, str], PairChances]
    ) -> Answer:
        """By the chunk that supports the claim most surely, or by the one that contradicts it."""
        if not _claim_of(question):
            reason = "a “no” alone doesn't say what it denies"
            return Verdict("unknown", UNDECIDED, 1.0 - UNDECIDED, reason)
        if pairs is None:
            reason = f"the claim is too long to be read whole: the model takes {self.folder.length} word pieces"
            return Verdict("unknown", explanation=reason)
        if not pairs:
            return Failure("there is no word in the sources to hold the claim against")
        best = max(pairs, key=lambda pair: said[pair].yes)
        against = max(pairs, key=lambda pair: said[pair].against)
        yes, no = said[best].yes, said[against].against
        # the score is no calibrated chance, so the verdict counts as 1 or 0 until labels say what it is worth
        verdict = with_chance(Verdict("no", contradicted=no >= 0.5 and no > yes), yes)
        sure = verdict.value == "yes" or yes <= NOT_SUPPORTED
        text, claim = against if verdict.contradicted else best
        how = "a passage says otherwise" if verdict.contradicted else "closest passage"
        shown = f"{how}: {quoted(text, likely_place(claim, text))}"
        if verdict.value == "no" and (found := differences(claim, text, contradicts=verdict.contradicted)):
            shown += f", {found[0]}"
        shown += f" (the best of {len(pairs)} chunks)" if len(pairs) > 1 else ""
        return replace(verdict, score=yes, sure=sure, chance=None, explanation=shown)


def _claim_of(question: Question) -> str:
    """A claim without what it says about its sources; empty for a "no" alone, of which nobody can tell."""
    return asserted_text(question.query, without_attribution(question.subject))


class MultilingualSplitter:
    """Breaks texts into components, English ones by the embedded judge; a `Judge` of these kinds.

    What the hub model beside it doesn't read isn't split: nobody could judge it.
    """

    def __init__(self, embedded: EmbeddedJudge, folder: HubFolder, *, any_language: bool = False) -> None:
        self._embedded = embedded
        self._folder = folder
        self._any_language = any_language

    def name(self) -> str:
        """That of the embedded judge."""
        return self._embedded.name()

    def fingerprint(self, kind: Kind) -> str:
        """The embedded judge's, with the version of the rules for other languages."""
        return f"{self._embedded.fingerprint(kind)}+languages{VERSION}"

    def unsupported_reason(self, kind: Kind, language: str) -> str | None:
        """None for English, and for languages that the model reads and that end sentences as English does."""
        if language == _ENGLISH or self._any_language or not self._folder.reads(language):
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


def beside(model: HubModelJudge, embedded: EmbeddedJudge, *, any_language: bool = False) -> Mapping[Kind, Judge]:
    """Who answers each kind where a user named a hub model."""
    by_kind: dict[Kind, Judge] = dict.fromkeys(KINDS, embedded)
    by_kind["supported"] = model
    if set(model.folder.languages) - {_ENGLISH}:
        splitter = MultilingualSplitter(embedded, model.folder, any_language=any_language)
        by_kind |= dict.fromkeys(RULES, splitter)
    return by_kind
