"""Questions as one state and typed questions about it; probabilities as verdicts.

All texts are data in the state, claims and sub-questions too; the instructions are constant words with names of fields.
Texts that are too large for one request become questions about overlapping windows of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import itemgetter
from typing import Any, TypeGuard

from ragtriage.core.display import quoted
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import CHECK, NOT_SUPPORTED, Answer, Answered, Failure, Verdict
from ragtriage.judges.decisions.models import DecisionWords
from ragtriage.judges.llm.fencing import clean
from ragtriage.judges.llm.requests import Request
from ragtriage.text.sentences import split_sentences
from ragtriage.text.words import PlacedWord, content_words, shared_words

ESCAPED = 0.9
"""Share of the room that texts may take: in JSON some characters take two bytes."""
OVERLAP = 1
"""Sentences that a window has in common with the one before it."""


def in_windows(question: Question, room: int) -> tuple[Question, ...]:
    """The question about each window of its texts; none if what is too large are no sources.

    Two windows together take `room` bytes at most.
    """
    largest = int(room * ESCAPED / 2)
    if largest <= 0:
        return ()
    if question.kind == "supported" or (question.kind == "answered" and not question.query):
        return tuple(replace(question, evidence=(text,)) for text in _windows(question.evidence, largest))
    if question.kind in {"essential", "relevant"} and not question.context:
        return tuple(replace(question, subject=text, evidence=()) for text in _windows([question.subject], largest))
    return ()


def together(question: Question, windows: Sequence[Question], answers: Sequence[Answer]) -> Question | None:
    """The question about the two best windows at once; None where it is about one text, or there is one window."""
    if not question.evidence or question.kind not in {"supported", "answered"} or len(windows) < 2:
        return None
    best = sorted(range(len(windows)), key=lambda at: _chance(answers[at]), reverse=True)[:2]
    return replace(question, evidence=tuple(text for at in sorted(best) for text in windows[at].evidence))


def likeliest(answers: Sequence[Answer]) -> Answer:
    """The answer with the highest probability of yes; a failure only if there is nothing else."""
    return max(answers, key=_chance)


def _chance(answer: Answer) -> float:
    return (answer.score or 0.0) if isinstance(answer, Verdict) else -1.0


def _windows(texts: Sequence[str], largest: int) -> list[str]:
    """Stretches of whole sentences, each of so many bytes at most; a longer sentence is cut."""
    found: list[str] = []
    for text in texts:
        pieces = [piece for one in split_sentences(text) for piece in _cut(one.text, largest)]
        start = 0
        while start < len(pieces):
            end, size = start, 0
            while end < len(pieces) and (end == start or size + bytes_of(pieces[end]) + 1 <= largest):
                size += bytes_of(pieces[end]) + 1
                end += 1
            found.append(" ".join(pieces[start:end]))
            start = end if end == len(pieces) else max(start + 1, end - OVERLAP)
    return found


def _cut(sentence: str, largest: int) -> list[str]:
    """A sentence in overlapping parts that fit, counted in characters of up to four bytes where it isn't plain."""
    most = largest if sentence.isascii() else max(1, largest // 4)
    if len(sentence) <= most:
        return [sentence]
    return [sentence[at : at + most] for at in range(0, len(sentence), max(1, most - most // 10))]


def bytes_of(text: str) -> int:
    """How many bytes a text is sent in."""
    return len(text.encode("utf-8", "surrogatepass"))


MOST_OPTIONS = 25
"""Texts among which it is asked which one states most of a claim; of more it isn't asked."""
OFF = 0.05
"""How far the probabilities of a choice may add up to something else than 1."""
REFUSED = "refused"
"""Stands for the answer to a question that the model declines to answer."""

Probabilities = float | Mapping[str, float] | str
"""An answer: the probability of yes, those of options, or `REFUSED`."""


@dataclass(frozen=True, slots=True)
class TypedQuestion:
    """One question as a server takes it."""

    instructions: str
    criteria: Mapping[str, str]
    """What `true` and `false` mean; or the options, for a choice."""

    @property
    def is_choice(self) -> bool:
        """Whether one of several options is asked for, and not yes or no."""
        return set(self.criteria) != {"true", "false"}


@dataclass(frozen=True, slots=True)
class StateRequest:
    """One state and what is asked about it."""

    state: Mapping[str, Any]
    typed: tuple[TypedQuestion, ...]
    """In the order in which they are sent."""
    questions: tuple[tuple[Question, tuple[int, ...]], ...]
    """Each question with the places of its typed ones: its own; of a claim also what rules it out, and which text."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Name → text, of those among which a choice may be."""


def typed_count(question: Question, request: Request) -> int:
    """How many typed questions a question takes."""
    if question.kind != "supported":
        return 1
    return 3 if 1 < len(request.evidence.texts) <= MOST_OPTIONS else 2


def state_request(request: Request, words: DecisionWords) -> StateRequest:
    """Write questions about the same evidence as a state and typed questions."""
    state = _State(request, words)
    typed: list[TypedQuestion] = []
    questions = []
    for question in request.questions:
        own = tuple(state.typed(question))
        questions.append((question, tuple(range(len(typed), len(typed) + len(own)))))
        typed += own
    return StateRequest(state.fields, tuple(typed), tuple(questions), state.sources)


class _State:
    """The texts that are asked about, named as they are added."""

    def __init__(self, request: Request, words: DecisionWords) -> None:
        evidence = request.evidence
        self._words = words.tables
        self._several = len(evidence.texts) > 1 or any(one.kind == "supported" for one in request.questions)
        self._label = evidence.label
        self._names: dict[tuple[str, str], str] = {}
        self.fields: dict[str, Any] = {}
        self.sources: dict[str, str] = {}
        if evidence.query:
            self.fields["query"] = clean(evidence.query)
        if evidence.label == "source" and self._several:
            self.sources = {f"s{number}": text for number, text in enumerate(evidence.texts, start=1)}
            self.fields["sources"] = {name: clean(text) for name, text in self.sources.items()}
        else:
            self.fields[evidence.label] = clean("\n".join(evidence.texts))
        if words.guidance:
            self.fields["guidance"] = clean(words.guidance)

    @property
    def _whole(self) -> str:
        """The name of the evidence where it is one text."""
        if self._label == "source" and self._several:
            return "sources.s1" if len(self.sources) == 1 else "sources"
        return self._label

    def typed(self, question: Question) -> Iterator[TypedQuestion]:
        """What is asked in place of a question."""
        match question.kind:
            case "supported":
                item = self._item("claims", question.subject)
                yield self._noul("supported", item, "sources")
                yield self._noul("contradicted", item, "sources")
                if 1 < len(self.sources) <= MOST_OPTIONS:
                    which = self._words["which"]
                    options = {name: f"sources.{name}" for name in self.sources} | {"none": which["none"]}
                    yield TypedQuestion(which["instructions"].format(item=item, evidence="sources", text=""), options)
            case "answered":
                yield self._noul("answered", self._item("questions", question.subject))
            case "same_answer":
                kind = "same_answer" if question.at is None else "same_drawn"
                yield self._noul(kind, self._item("truths", question.evidence))
            case "holds":
                yield self._noul("holds", "", text=clean(question.subject))
            case "declines":
                yield self._noul("declines", "response")
            case _:
                whole = self._label == "source" and not question.context and question.subject in self._texts
                place = "claims" if question.context else "facts"
                yield self._noul(question.kind, self._whole if whole else self._item(place, question.subject))

    @property
    def _texts(self) -> Sequence[str]:
        return tuple(self.sources.values()) if self.sources else (str(self.fields[self._label]),)

    def _item(self, place: str, said: str | Sequence[str]) -> str:
        """The name of a text, or of several, that something is asked about; equal ones have one name."""
        texts = [said] if isinstance(said, str) else list(said)
        key = place, "\0".join(texts)
        if key not in self._names:
            if isinstance(said, str):
                held = self.fields.setdefault(place, {})
                name = f"{place}.{place[0]}{len(held) + 1}"
                held[name.partition(".")[2]] = clean(said)
            else:
                name = place if place not in self.fields else f"{place}{len(self._names) + 1}"
                self.fields[name] = {f"{place[0]}{number}": clean(text) for number, text in enumerate(texts, start=1)}
            self._names[key] = name
        return self._names[key]

    def _noul(self, table: str, item: str, evidence: str = "", text: str = "") -> TypedQuestion:
        words = self._words[table]
        named = words["instructions"].format(item=item, evidence=evidence or self._whole, text=text)
        return TypedQuestion(named, {"true": words["true"], "false": words["false"]})


def verdicts(request: StateRequest, answers: Sequence[Probabilities | None]) -> dict[Question, Answer]:
    """The answers to those questions that can be told; what lacks, or is no probability, leaves its question out.

    Only the probabilities of yes decide; which text states most of a claim is shown and no more.
    """
    found: dict[Question, Answer] = {}
    for question, places in request.questions:
        own = [answers[place] for place in places]
        if own[0] == REFUSED:
            found[question] = Failure("the model refused the question")
            continue
        chance = _probability(own[0])
        if chance is None:
            continue
        if question.kind != "supported":
            found[question] = _verdict(chance)
        else:
            against = 0.0 if own[1] == REFUSED else _probability(own[1])
            if against is not None:
                which = own[2] if len(own) > 2 else None
                found[question] = _claim_verdict(question, request, chance, against, which)
    return found


def readable(answer: object) -> TypeGuard[float]:
    """Whether it is a probability."""
    return isinstance(answer, (int, float)) and not isinstance(answer, bool) and 0 <= answer <= 1


def _probability(answer: object) -> float | None:
    """A probability as it stands; None for anything else."""
    return float(answer) if readable(answer) else None


def _verdict(chance: float) -> Verdict:
    value: Answered = "yes" if chance >= CHECK else "no"
    return Verdict(value, chance, max(chance, 1.0 - chance), sure=value == "yes" or chance <= NOT_SUPPORTED)


def _claim_verdict(
    question: Question, request: StateRequest, chance: float, against: float, which: Probabilities | None
) -> Verdict:
    """Whether a claim is supported, with the passage closest to it."""
    found = replace(_verdict(chance), contradicted=chance < CHECK <= against)
    if min(chance, against) >= CHECK:
        found = replace(found, flag=f"something seems to rule it out, too ({against:.2f})")
    named = _likeliest(which, request.sources)
    texts = [request.sources[named]] if named in request.sources else [] if named else list(request.sources.values())
    passage = closest_sentence(question.subject, texts)
    return replace(found, explanation=f"closest passage: {quoted(passage)}" if passage else "no passage is about it")


def _likeliest(which: Probabilities | None, sources: Mapping[str, str]) -> str:
    """The likeliest option, the first of equal ones; empty where the probabilities can't be trusted."""
    if not isinstance(which, Mapping):
        return ""
    options = [*sources, "none"]
    chances = [_probability(which.get(name)) for name in options]
    known = [chance for chance in chances if chance is not None]
    if len(known) < len(options) or set(which) != set(options) or abs(sum(known) - 1.0) > OFF:
        return ""
    return options[max(range(len(options)), key=lambda at: known[at])]


def closest_sentence(claim: str, texts: Sequence[str]) -> str:
    """The sentence that shares most of a claim's content words; empty if none shares any."""
    words = content_words(claim)
    shares = [(shared_words(words, there), said) for text in texts for said, there in _sentences(text)]
    share, said = max(shares, key=itemgetter(0), default=(0, ""))
    return said if share else ""


@lru_cache(512)
def _sentences(text: str) -> tuple[tuple[str, Sequence[PlacedWord]], ...]:
    return tuple((one.text, tuple(content_words(one.text))) for one in split_sentences(text))
