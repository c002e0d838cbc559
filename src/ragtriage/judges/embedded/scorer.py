"""Question by question: the probability of yes, and what it rests on.

Comparisons of words and vectors are weighed by a fitted model; where a matcher is given, it reads the claim or question
beside the nearest part of the evidence, and both are weighed against each other.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ragtriage import text as decompose
from ragtriage.core.questions import Question
from ragtriage.judges.embedded import features
from ragtriage.judges.embedded.attribution import bare
from ragtriage.judges.embedded.comparison import Comparison, along, between, compare
from ragtriage.judges.embedded.contradictions import contradicting
from ragtriage.judges.embedded.encoder import Encoded, Vector
from ragtriage.judges.embedded.evidence import Evidence, Library
from ragtriage.judges.embedded.fitted_models import PIECEWISE, Fusion, Model
from ragtriage.judges.embedded.matcher import Matcher, Pair, parts, passage
from ragtriage.judges.embedded.readings import Sentence
from ragtriage.judges.embedded.requested_items import is_item, is_open, is_step
from ragtriage.judges.embedded.short_replies import asserted, replies
from ragtriage.judges.embedded.unsupported_names import foreign_names
from ragtriage.judges.embedded.unsupported_numbers import derived, foreign_numbers
from ragtriage.judges.embedded.verdict import Cuts, Scored
from ragtriage.text.lexicon import lexicon
from ragtriage.text.numbers import numbers_as_figures

_RULES = lexicon("rules", Path(__file__).parent)

_WIDEST = 2048
"""Sentences of a context that are looked at."""
_CHUNK = 1024
"""Sentences of one response that are encoded at a time, to compare them with each other."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One question as numbers, before a model has looked at it."""

    task: str
    """The name of the model."""
    rows: tuple[tuple[float, ...], ...]
    """One or more alternatives; the best one counts."""
    scored: tuple[Scored, ...]
    """Everything but the probability, for each alternative."""
    pairs: tuple[Pair, ...] = ()
    """What the matcher reads, for each alternative; empty where it isn't asked."""


DECLINED = 0.05
"""The probability that a response which declines answers a sub-question all the same."""
REPLIED = 0.9
"""The probability that a short reply answers what it replies to; right or wrong, it is an answer."""
STEP = 0.8
"""The probability that a step or an item of what was asked for is needed; set by hand."""
UNTOLD = 0.45
"""The probability that a bare "no" is supported: what it denies isn't said, so there is no verdict."""


class Measurer:
    """Turns questions into rows of numbers, and into pairs of texts.

    Args:
        library: reads and encodes.
        pairing: whether pairs are wanted.
    """

    def __init__(self, library: Library, *, pairing: bool = True) -> None:
        self._library = library
        self._pairing = pairing
        self._evidence = lru_cache(8)(self._make_evidence)
        self._stacked = lru_cache(8)(self._stack)
        self._said = lru_cache(256)(claimed)
        self._tasks: Mapping[str, Callable[[Question], Measured]] = {
            "supported": self._supported,
            "answered": self._answered,
            "essential": self._essential,
            "relevant": self._relevant,
            "same_answer": self._same_answer,
            "similarity": self._similarity,
        }

    def prepare(self, questions: Sequence[Question]) -> None:
        """Encode everything that the questions need at once, so that both threads are busy."""
        self._library.encoder.encode(text for question in questions for text in self._texts(question))

    def measure(self, question: Question) -> Measured:
        """One question as numbers."""
        return self._tasks[question.kind](question)

    def _texts(self, question: Question) -> Iterator[str]:
        """The texts whose vectors a question needs."""
        library = self._library
        if question.kind in {"supported", "answered", "similarity"}:
            if not _subject(question):
                return
            yield _subject(question)
        else:
            yield question.query
        match question.kind:
            case "supported" | "answered":
                response = question.kind == "answered" and question.query
                texts = (self._said(question.query, question.evidence),) if response else question.evidence
                readings = library.readings(texts)
                for i, j in library.choose(library.sentence(_subject(question)), readings):
                    yield readings[i].sentences[j].text
            case "similarity":
                yield from question.evidence if len(question.evidence) <= _CHUNK else ()
            case "same_answer":
                for truth in question.evidence:
                    yield from (numbers_as_figures(truth), f"{question.query} {truth}")
                yield from (s.text for s in library.read(numbers_as_figures(question.subject)).sentences)
            case "essential" | "relevant":
                for text in (question.subject, question.context):
                    yield from (s.text for s in library.read(text).sentences)

    def _stack(self, texts: tuple[str, ...]) -> Vector:
        """(n, 384), the vectors of many texts, encoded a part at a time so that memory stays bounded."""
        parts = [texts[start : start + _CHUNK] for start in range(0, len(texts), _CHUNK)]
        out = np.empty((len(texts), 384), np.float32)
        for number, some in enumerate(parts):
            encoded = self._library.encoder.encode(some)
            out[number * _CHUNK :][: len(some)] = [encoded[text].vector for text in some]
        return out

    def _make_evidence(self, texts: tuple[str, ...], chosen: tuple[tuple[int, int], ...] | None) -> Evidence:
        readings = self._library.readings(texts)
        places = chosen or [(i, j) for i, r in enumerate(readings) for j in range(len(r.sentences))]
        return self._library.evidence(readings, places[:_WIDEST])

    def _search(self, subject: str, texts: Sequence[str]) -> tuple[Sentence, Encoded, Evidence, Comparison]:
        """Hold a subject against texts."""
        library = self._library
        sentence = library.sentence(subject)
        encoded = library.encoder.encode([subject])[subject]
        readings = library.readings(texts)
        if not readings:
            raise ValueError("there is no word to compare with")
        total = sum(len(r.sentences) for r in readings)
        places = library.choose(sentence, readings)
        evidence = self._evidence(tuple(r.text for r in readings), tuple(places) if len(places) < total else None)
        return sentence, encoded, evidence, compare(sentence, encoded, evidence, library.encoder.rarity)

    def _pairs(self, subject: str, c: Comparison, evidence: Evidence) -> tuple[Pair, ...]:
        """What the matcher reads, if there is one."""
        return ((subject, passage(c, evidence)),) if self._pairing else ()

    def _supported(self, question: Question) -> Measured:
        if not _subject(question):
            return Measured("supported", (), (Scored(UNTOLD, next(iter(question.evidence), "")),))
        claim, encoded, evidence, c = self._search(_subject(question), question.evidence)
        row = features.supported(c, claim, encoded.vector, evidence, self._library.sentence(question.query))
        pairs = self._pairs(claim.text, c, evidence)
        texts = (*question.evidence, question.query)
        foreign = foreign_numbers(claim.text, evidence.numbers | evidence.stems, texts, question.context)
        foreign += foreign_names(claim, evidence.sentences, evidence.stems, texts, question.context)
        denied = contradicting(claim, evidence.sentences)
        right = not foreign and not denied and derived(claim.text, texts, question.context)
        found = replace(_found(c, claim, evidence), foreign=foreign, derived=right, denied=denied)
        return Measured("supported", (tuple(row),), (found,), pairs)

    def _answered(self, question: Question) -> Measured:
        if question.query:
            return self._answered_by_response(question)
        if is_open(question.subject):
            return self._about(question.subject, question.evidence)
        asked, encoded, evidence, c = self._search(_subject(question), question.evidence)
        row = features.answered(c, asked, encoded.vector, evidence)
        pairs = self._pairs(asked.text, c, evidence)
        return Measured("answered", (tuple(row),), (_found(c, asked, evidence),), pairs)

    def _answered_by_response(self, question: Question) -> Measured:
        """A response mostly answers, where a source mostly doesn't; but what it says isn't known is no answer."""
        said = self._said(question.query, question.evidence)
        if not said:
            quote = next(iter(question.evidence), "")
            return Measured("answered_response", (), (Scored(DECLINED, quote),))
        if replies(question.query, question.subject, said):
            return Measured("answered_response", (), (Scored(REPLIED, said),))
        if is_open(question.subject):
            return self._about(question.subject, [said])
        asked, encoded, evidence, c = self._search(_subject(question), [said])
        row = features.answered(c, asked, encoded.vector, evidence)
        pairs = self._pairs(asked.text, c, evidence)
        return Measured("answered_response", (tuple(row),), (_found(c, asked, evidence),), pairs)

    def _relevant(self, question: Question) -> Measured:
        return self._about(question.query, [question.subject])

    def _about(self, asked: str, texts: Sequence[str]) -> Measured:
        """Whether texts are about a question; who asks for all there is to say needs whatever is."""
        query, encoded, evidence, c = self._search(asked, texts)
        row = features.relevant(c, query, encoded.vector, evidence)
        return Measured("relevant", (tuple(row),), (_found(c, query, evidence),))

    def _essential(self, question: Question) -> Measured:
        about = question.query, question.subject, question.context
        if question.context and (is_step(*about) or is_item(*about)):
            return Measured("essential_part", (), (Scored(STEP, question.query),))
        if question.context and is_open(question.query):
            return self._about(question.query, [question.subject])
        query, encoded, evidence, c = self._search(question.query, [question.subject])
        row = features.answered(c, query, encoded.vector, evidence)
        task = "essential"
        if len(evidence.sentences) > 1:
            task = "essential_long"
        elif self._library.readings([question.context]):
            task = "essential_part"
            row += features.around(evidence, query, encoded.vector, self._evidence((question.context,), None))
        pairs = self._pairs(query.text, c, evidence)
        return Measured(task, (tuple(row),), (_found(c, query, evidence),), pairs)

    def _same_answer(self, question: Question) -> Measured:
        library = self._library
        query = library.sentence(question.query)
        said = numbers_as_figures(question.subject)
        rows, found = [], []
        pairs: list[Pair] = []
        for text in sorted(set(question.evidence)):
            if not text.strip():
                continue
            truth, _, response, c = self._search(numbers_as_figures(text), [said])
            both = library.encoder.encode([f"{question.query} {text}"])[f"{question.query} {text}"].vector
            cosines = (float(c.cosines.max()), float(along(response.vectors, both).max()))
            rows.append(tuple(features.same_answer(c, query, truth, response, cosines)))
            found.append(Scored(0.0, text))
            pairs += self._pairs(f"{question.query} {text}", c, response)
        if not rows:
            raise ValueError("there is no true answer to compare with")
        return Measured("same_answer", tuple(rows), tuple(found), tuple(pairs))

    def _similarity(self, question: Question) -> Measured:
        if len(question.evidence) <= (question.at is not None):
            return Measured("similar", (), (Scored(0.0, cosine=-1.0),))
        library = self._library
        own = library.encoder.encode([question.subject])[question.subject]
        cosines = along(self._stacked(question.evidence), own.vector)
        if question.at is not None:
            cosines[question.at] = -2.0
        best = int(np.argmax(cosines))
        highest = float(cosines[best])
        other = question.evidence[best]
        there, back = _both_ways(own, library.encoder.encode([other])[other])
        row = features.similar(highest, library.sentence(question.subject), library.sentence(other), there, back)
        found = (Scored(0.0, other, cosine=min(1.0, highest)),)
        return Measured("similar", (tuple(row),), found, ((question.subject, other),))


def claimed(query: str, response: tuple[str, ...]) -> str:
    """What a response claims, without its remarks about the sources; empty if it declines to answer."""
    text = "\n".join(response)
    if decompose.declines(query, text).value == "yes":
        return ""
    return "\n".join(component.text for component in decompose.split_claims(text, query) if not component.remark)


_CODE = re.compile(r"\S\s*\n\s*\S|^\s*[{\[]\s*\"")
"""Claims of several lines are blocks of code, others are brought into one."""
_OPEN = _RULES.pattern("unresolved_pronoun")


def _subject(question: Question) -> str:
    """What is looked for: a claim without what it says about its sources; a sub-question that can be understood.

    Of a bare "yes" it is what was asked, of a bare "no" nothing.

    A sub-question with a pronoun that nobody could resolve is read within the whole query.
    """
    if question.kind == "supported":
        return asserted(question.query, bare(question.subject))
    if question.kind == "answered" and question.context and _OPEN.search(question.subject):
        return question.context
    return question.subject


def _both_ways(a: Encoded, b: Encoded) -> tuple[Vector, Vector]:
    """How closely each content piece of one is found in the other, and the reverse."""
    close = between(a.tokens.astype(np.float32), b.tokens.astype(np.float32))
    there, back = close.max(axis=1), close.max(axis=0)
    return (
        there[a.weights > 0] if a.weights.any() else there,
        back[b.weights > 0] if b.weights.any() else back,
    )


def _found(c: Comparison, subject: Sentence, evidence: Evidence) -> Scored:
    """The closest passage, and what isn't in it anywhere."""
    closest = int(np.argmax(c.cosines[0] + c.word))
    lost = set(c.missing)
    exact = [n for n in subject.stems if n in lost and (n in subject.numbers or n in subject.names)]
    table = evidence.table or _CODE.search(subject.text) is not None
    return Scored(0.0, evidence.sentences[closest].text, tuple(exact), table=table)


def _read_pairs(measured: Measured) -> Iterator[Pair]:
    """All that the matcher reads for a question."""
    for pair in measured.pairs:
        yield pair
        if measured.task in PIECEWISE:
            yield from parts(pair)


def _logits(task: str, pair: Pair, said: Mapping[Pair, Vector | Exception]) -> Vector | Exception:
    """What the matcher says of a pair, and of its sentences where that counts; or what went wrong."""
    read = [said[one] for one in (pair, *(parts(pair) if task in PIECEWISE else ()))]
    for one in read:
        if isinstance(one, Exception):
            return one
    logits = [one for one in read if not isinstance(one, Exception)]
    return np.concatenate([logits[0], np.max(logits[1:], axis=0)]) if task in PIECEWISE else logits[0]


class Scorer:
    """Gives each question the probability of yes.

    Args:
        library: reads and encodes.
        fitted: the coefficients, task by task.
        matcher: reads the pairs of the tasks that have a fusion; None to do without.
    """

    def __init__(self, library: Library, fitted: Mapping[str, Any], matcher: Matcher | None = None) -> None:
        self.measurer = Measurer(library, pairing=matcher is not None)
        self.models = {task: Model(one) for task, one in fitted["tasks"].items()}
        self.cuts = Cuts.of(fitted["cuts"])
        self._matcher = matcher
        self._fusions = {task: Fusion(one) for task, one in fitted.get("fusion", {}).items()} if matcher else {}

    def score(self, questions: Sequence[Question]) -> Iterator[Scored | Exception]:
        """One result a question, in order; what went wrong with one doesn't touch the others."""
        # What goes wrong here meets each question again below, where only those that it concerns fail.
        with contextlib.suppress(Exception):
            self.measurer.prepare(questions)
        measured = [self._measured(question) for question in questions]
        read = [one for one in measured if isinstance(one, Measured) and one.task in self._fusions]
        said = self._matcher.match(pair for one in read for pair in _read_pairs(one)) if self._matcher else {}
        for one in measured:
            yield one if isinstance(one, Exception) else self._scored(one, said)

    def _measured(self, question: Question) -> Measured | Exception:
        try:
            return self.measurer.measure(question)
        except Exception as error:  # noqa: BLE001 - a failure is an answer too
            return error

    def _scored(self, measured: Measured, said: Mapping[Pair, Vector | Exception]) -> Scored | Exception:
        if not measured.rows:
            return measured.scored[0]
        model, fusion = self.models[measured.task], self._fusions.get(measured.task)
        chances = [model.probability(row) for row in measured.rows]
        if fusion:
            for at, pair in enumerate(measured.pairs):
                logits = _logits(measured.task, pair, said)
                if isinstance(logits, Exception):
                    return logits
                chances[at] = fusion.probability(chances[at], logits)
        at = int(np.argmax(chances))
        found = measured.scored[at]
        lean = (fusion or model).lean
        return replace(found, probability=chances[at], lean=lean)
