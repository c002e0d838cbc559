"""Questions as what the fitted models weigh: rows of numbers, and pairs of texts for the reader."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ragtriage.core.questions import Question
from ragtriage.judges.embedded import features
from ragtriage.judges.embedded.claimed_text import (
    asserted_text,
    is_item,
    is_open_ended,
    is_short_reply,
    is_step,
    share_named,
    without_attribution,
)
from ragtriage.judges.embedded.contradictions import contradicting_sentence
from ragtriage.judges.embedded.cross_encoder import TextPair, response_pair
from ragtriage.judges.embedded.encoder import Encoded, Vector
from ragtriage.judges.embedded.features import (
    EvidenceComparison,
    compare,
    nearest_sentences,
    pairwise_products,
    products_with,
)
from ragtriage.judges.embedded.passages import CachedTexts, Passages
from ragtriage.judges.embedded.readings import RULES, Sentence, as_written
from ragtriage.judges.embedded.silent_texts import (
    asks_to_count,
    hold_words,
    is_prose,
    lacks_what_is_asked,
    state_nothing,
    telling_texts,
)
from ragtriage.judges.embedded.table_rows import (
    OTHER,
    in_told_notation,
    named_result,
    other_value,
    row_with_other_value,
)
from ragtriage.judges.embedded.unsupported_numbers import is_calculated, unsupported_numbers
from ragtriage.judges.embedded.verdict import Scored
from ragtriage.text.claim_parts import Marker
from ragtriage.text.claims import split_claims
from ragtriage.text.declines import declines
from ragtriage.text.markup import visible_text
from ragtriage.text.words import numbers_as_figures

_WIDEST = 2048
"""Sentences of a context that are looked at."""
BESIDE_CLAIM = 120
"""Word pieces of evidence that are read beside a claim."""
BESIDE_BY_LARGER = 80
"""Word pieces of evidence that the larger reader reads, which takes much longer."""
BESIDE_QUESTION = 60
"""Word pieces of evidence that are read beside a question that several sources answer together."""
_CHUNK = 1024
"""Sentences of one response that are encoded at a time, to compare them with each other."""
_ALIKE, _COPIED = 0.5, 0.98
"""The cosines from which on two sentences may say the same in other words, and are copies, which need no reader."""


@dataclass(frozen=True, slots=True)
class Reads:
    """One pair for the reader."""

    pair: TextPair
    sentence: int | None = None
    """Which sentence of the pair is asked about; None for all of it."""


@dataclass(frozen=True, slots=True)
class Featurized:
    """One question as numbers, before a model has looked at it."""

    task: str
    """The name of the model."""
    rows: tuple[tuple[float, ...], ...]
    """What words and vectors tell, for one or more alternatives; the best one counts."""
    scored: tuple[Scored, ...]
    """Everything but the probability, for each alternative."""
    reads: tuple[Reads, ...] = ()
    """What the reader reads; of several the highest counts."""
    larger: tuple[TextPair, ...] = ()
    """What the larger reader reads, where there is one: a pair, or of two sentences each beside the other."""
    checks: tuple[float, ...] = ()
    """What rules found, weighed beside the reader."""
    in_prose: bool = False
    """Whether sources that may answer a question are prose, which the reader reads best."""
    together: bool = False
    """Whether several sources are asked together whether they answer; what is read last then is where they meet."""


DECLINED = 0.05
"""The probability that a response which declines answers a sub-question all the same."""
SILENT = 0.03
"""The probability that sources answer a question which state nothing, or nothing of the kind that is asked for."""
REPLIED = 0.9
"""The probability that a short reply answers what it replies to; right or wrong, it is an answer."""
STEP = 0.8
"""The probability that a step or an item of what was asked for is needed; set by hand."""
UNTOLD = 0.45
"""The probability that a "no" alone is supported: what it denies isn't said, so there is no verdict."""


class Featurizer:
    """Turns questions into rows of numbers, and into pairs of texts."""

    def __init__(self, reader: CachedTexts, marker: Marker) -> None:
        self._reader = reader
        self._evidence = lru_cache(8)(self._make_evidence)
        self._stacked = lru_cache(8)(self._stack)
        self._said = lru_cache(256)(lambda query, response: claimed_text(query, response, marker))
        self._tasks: Mapping[str, Callable[[Question], Featurized]] = {
            "supported": self._supported,
            "answered": self._answered,
            "essential": self._essential,
            "relevant": lambda question: self._about(question.query, [question.subject]),
            "same_answer": self._same_answer,
            "similarity": self._similarity,
        }

    def prepare(self, questions: Sequence[Question]) -> None:
        """Encode everything that the questions need at once, so that both threads are busy."""
        named = map(_with_named_results, questions)
        self._reader.encoder.encode(text for question in named for text in self._texts(question))

    def measure(self, question: Question) -> Featurized:
        """One question as numbers."""
        return self._tasks[question.kind](_with_named_results(question))

    def _texts(self, question: Question) -> Iterator[str]:
        """The texts whose vectors a question needs."""
        reader = self._reader
        match question.kind:
            case "similarity":
                yield question.subject
                yield from question.evidence if len(question.evidence) <= _CHUNK else ()
            case "supported" | "answered":
                if subject := self._asked(question):
                    yield subject
                    readings = reader.readings(question.evidence)
                    for i, j in reader.choose(reader.sentence(subject), readings):
                        yield readings[i].sentences[j].text
            case "same_answer":
                yield question.query
                for truth in question.evidence:
                    yield from (numbers_as_figures(truth), f"{question.query} {truth}")
                yield from (s.text for s in reader.read(numbers_as_figures(question.subject)).sentences)
            case "essential" | "relevant":
                yield question.query
                for text in (question.subject, question.context):
                    yield from (s.text for s in reader.read(text).sentences)

    def _stack(self, texts: tuple[str, ...]) -> Vector:
        """(n, 384), the vectors of many texts, encoded a part at a time so that memory stays bounded."""
        parts = [texts[start : start + _CHUNK] for start in range(0, len(texts), _CHUNK)]
        out = np.empty((len(texts), 384), np.float32)
        for number, some in enumerate(parts):
            encoded = self._reader.encoder.encode(some)
            out[number * _CHUNK :][: len(some)] = [encoded[text].vector for text in some]
        return out

    def _make_evidence(self, texts: tuple[str, ...], places: tuple[tuple[int, int], ...]) -> Passages:
        readings = self._reader.readings(texts)
        return Passages(readings, self._reader.encoder.encode(readings[i].sentences[j].text for i, j in places), places)

    def _search(self, subject: str, texts: Sequence[str]) -> tuple[Sentence, Encoded, Passages, EvidenceComparison]:
        reader = self._reader
        sentence = reader.sentence(subject)
        encoded = reader.encoder.encode([subject])[subject]
        readings = reader.readings(texts)
        if not readings:
            raise ValueError("there is no word to compare with")
        evidence = self._evidence(tuple(r.text for r in readings), tuple(reader.choose(sentence, readings)))
        return sentence, encoded, evidence, compare(sentence, encoded, evidence, reader.encoder.rarity)

    def _asked(self, question: Question) -> str:
        """What is looked for; a claim with its values in the notation of the evidence."""
        subject = _subject(question)
        if question.kind != "supported" or not subject:
            return subject
        readings = self._reader.readings(question.evidence)
        return in_told_notation(subject, [s.text for reading in readings for s in reading.sentences])

    def _supported(self, question: Question) -> Featurized:
        asked = self._asked(question)
        if not asked:
            return Featurized("supported", (), (Scored(UNTOLD, next(iter(question.evidence), ""), untold=True),))
        if state_nothing(question.query, question.subject, question.evidence):
            return Featurized("supported", (), (Scored(SILENT, next(iter(question.evidence), "")),))
        claim, encoded, evidence, c = self._search(asked, question.evidence)
        row = features.supported(c, claim, encoded.vector, evidence, self._reader.sentence(question.query))
        texts = (*question.evidence, question.query)
        otherwise, highest = _otherwise(claim.text, evidence, texts, question.context)
        contradicted_by = otherwise or contradicting_sentence(claim, evidence.sentences)
        numbers = unsupported_numbers(claim.text, evidence.numbers | evidence.stems, texts, question.context)
        right = not contradicted_by and not numbers and is_calculated(claim.text, texts, question.context)
        found = replace(
            _found(c, claim, evidence),
            unsupported=numbers,
            calculated=right,
            contradicted_by=contradicted_by,
            nearness=float(c.word.max()),
            highest=highest,
        )
        checks = (float(contradicted_by != ""),)
        reads = (Reads(TextPair(claim.text, nearest_sentences(c, evidence, BESIDE_CLAIM))),)
        larger = TextPair(claim.text, nearest_sentences(c, evidence, BESIDE_BY_LARGER))
        return Featurized("supported", (tuple(row),), (found,), reads, (larger,), checks)

    def _answered(self, question: Question) -> Featurized:
        if not question.query:
            return self._answered_by_sources(question)
        # a response mostly answers, where a source mostly doesn't; but not by what isn't known
        task, said = "answered_response", self._said(question.query, question.evidence)
        if not said:
            return Featurized(task, (), (Scored(DECLINED, next(iter(question.evidence), "")),))
        if (share := share_named(question.subject, visible_text("\n".join(question.evidence)))) < 1.0:
            return Featurized(task, (), (Scored(REPLIED * share**2, said),))  # half of it is no answer to all
        if is_short_reply(question.query, question.subject, said):
            return Featurized(task, (), (Scored(REPLIED, said),))
        if is_open_ended(question.subject):
            return self._about(question.subject, (said,))
        measured = self._beside(task, _subject(question), (said,))
        pair = response_pair(_subject(question), visible_text("\n".join(question.evidence)))
        return replace(measured, reads=(Reads(pair),), larger=(pair,))

    def _answered_by_sources(self, question: Question) -> Featurized:
        texts = telling_texts(question.subject, question.evidence)
        if hold_words(question.evidence) and (not texts or lacks_what_is_asked(question.subject, texts)):
            return Featurized("answered", (), (Scored(SILENT, next(iter(question.evidence), "")),))
        if is_open_ended(question.subject):
            return self._about(question.subject, texts)
        measured = self._beside("answered", _subject(question), texts)
        # what is worked out or counted stands in no sentence, and a part of a query is read without the rest of it
        whole = question.context.strip() in {"", question.subject.strip()} and not asks_to_count(question.subject)
        in_prose = whole and all(is_prose(read.pair.sentences) for read in measured.reads)
        return replace(measured, in_prose=in_prose, together=len(measured.reads) > 1)

    def _beside(self, task: str, asked: str, texts: Sequence[str]) -> Featurized:
        """A question beside each text, and beside the nearest sentences of several."""
        question, encoded, evidence, c = self._search(asked, texts)
        row = features.answered(c, question, encoded.vector, evidence)
        readings = self._reader.readings(texts)
        reads = [Reads(TextPair(asked, tuple(s.text for s in reading.sentences))) for reading in readings]
        if len(readings) > 1:
            reads.append(Reads(TextPair(asked, nearest_sentences(c, evidence, BESIDE_QUESTION))))
        larger = (TextPair(asked, nearest_sentences(c, evidence, BESIDE_BY_LARGER)),) if task == "essential" else ()
        return Featurized(task, (tuple(row),), (_found(c, question, evidence),), tuple(reads), larger)

    def _about(self, asked: str, texts: Sequence[str]) -> Featurized:
        """Whether texts are about a question; who asks for all there is to say needs whatever is."""
        query, encoded, evidence, c = self._search(asked, texts)
        row = features.relevant(c, query, encoded.vector, evidence)
        return Featurized("relevant", (tuple(row),), (_found(c, query, evidence),))

    def _essential(self, question: Question) -> Featurized:
        about = question.query, question.subject, question.context
        if question.context and (is_step(*about) or is_item(*about)):
            return Featurized("essential_part", (), (Scored(STEP, question.query),))
        if question.context and is_open_ended(question.query):
            return self._about(question.query, [question.subject])
        query, encoded, evidence, c = self._search(question.query, [question.subject])
        row = features.answered(c, query, encoded.vector, evidence)
        found = _found(c, query, evidence)
        if question.evidence and (reads := self._in_source(question)):
            return Featurized("essential_fact", (tuple(row),), (found,), (reads,))
        if around := self._reader.read(question.context).sentences[:_WIDEST]:
            context = self._evidence((question.context,), tuple((0, j) for j in range(len(around))))
            row += features.around(evidence, query, encoded.vector, context)
            return Featurized("essential_claim", (tuple(row),), (found,), (self._in_response(question),))
        return self._beside("essential", question.query, [question.subject])

    def _in_response(self, question: Question) -> Reads:
        """The sentence of a response that makes a claim."""
        pair = response_pair(question.query, visible_text(question.context))
        stems = self._reader.sentence(question.subject).stemset
        shared = [len(stems & self._reader.sentence(text).stemset) for text in pair.sentences]
        return Reads(pair, int(np.argmax(shared)))

    def _in_source(self, question: Question) -> Reads | None:
        """A fact where it stands in the source that it was taken from."""
        for reading in self._reader.readings(question.evidence):
            texts = tuple(s.text for s in reading.sentences)
            if question.subject in texts:
                return Reads(TextPair(question.query, texts), texts.index(question.subject))
        return None

    def _same_answer(self, question: Question) -> Featurized:
        reader = self._reader
        query = reader.sentence(question.query)
        said = numbers_as_figures(question.subject)
        rows, found = [], []
        for text in sorted(set(question.evidence)):
            if not text.strip():
                continue
            truth, _, response, c = self._search(numbers_as_figures(text), [said])
            both = reader.encoder.encode([f"{question.query} {text}"])[f"{question.query} {text}"].vector
            cosines = (float(c.cosines.max()), float(products_with(response.vectors, both).max()))
            rows.append(tuple(features.same_answer(c, query, truth, response, cosines)))
            found.append(Scored(0.0, text))
        if not rows:
            raise ValueError("there is no true answer to compare with")
        return Featurized("same_answer", tuple(rows), tuple(found))

    def _similarity(self, question: Question) -> Featurized:
        if len(question.evidence) <= (question.at is not None):
            return Featurized("similar", (), (Scored(0.0, cosine=-1.0),))
        reader = self._reader
        own = reader.encoder.encode([question.subject])[question.subject]
        cosines = products_with(self._stacked(question.evidence), own.vector)
        if question.at is not None:
            cosines[question.at] = -2.0
        best = int(np.argmax(cosines))
        highest = float(cosines[best])
        other = question.evidence[best]
        there, back = _both_ways(own, reader.encoder.encode([other])[other])
        row = features.similar(highest, reader.sentence(question.subject), reader.sentence(other), there, back)
        found = (Scored(0.0, other, cosine=min(1.0, highest)),)
        later, earlier = question.subject, other
        if question.at is not None and question.at < best:
            later, earlier = earlier, later
        alike = _ALIKE <= highest < _COPIED and not any(row[at] for at in features.DIFFER)
        larger = (TextPair(later, (earlier,)), TextPair(earlier, (later,))) if alike else ()
        return Featurized("similar", (tuple(row),), found, larger=larger)


def claimed_text(query: str, response: tuple[str, ...], marker: Marker | None = None) -> str:
    """What a response claims, a line a stretch, without its remarks about the sources; empty if it declines."""
    text = visible_text("\n".join(response))
    if declines(query, text, marker).value == "yes":
        return ""
    claims = [c for c in split_claims(text, query, marker=marker) if not c.remark]
    lines: list[tuple[int, int]] = []
    for start, end in sorted(c.span for c in claims if c.span):
        if lines and "\n" not in text[lines[-1][1] : start] and start - lines[-1][1] <= _BESIDE:
            lines[-1] = (lines[-1][0], max(lines[-1][1], end))
        else:
            lines.append((start, end))
    return "\n".join(text[start:end].strip(" ,;") for start, end in lines)


_BESIDE = 1
"""Characters between two parts of one sentence."""
_CODE = re.compile(r"\S\s*\n\s*\S|^\s*[{\[]\s*\"")
"""Claims of several lines are blocks of code, others are brought into one."""


def _subject(question: Question) -> str:
    """What is looked for: a claim without what it says about its sources; a sub-question that can be understood.

    Of a "yes" alone it is what was asked, of a "no" alone nothing. A pronoun that nobody could resolve takes the query.
    """
    if question.kind == "supported":
        return asserted_text(question.query, without_attribution(question.subject))
    if question.kind == "answered" and question.context and RULES["unresolved_pronoun"].search(question.subject):
        return question.context
    return question.subject


def _otherwise(claim: str, evidence: Passages, texts: tuple[str, ...], response: str) -> tuple[str, float]:
    """A row or sentence of the evidence with another value than the claim's, and what chance that leaves it at most.

    Not where the response works the value out rightly.
    """
    said = [sentence.text for sentence in evidence.sentences]
    row = row_with_other_value(claim, said)
    other = None if row else other_value(claim, evidence.sentences)
    if not (row or other) or is_calculated(claim, texts, response):
        return "", 1.0
    return (other.sentence, other.chance) if other else (row, OTHER)


def _with_named_results(question: Question) -> Question:
    """The question with results of queries among its evidence as what was asked for."""
    asked = question.query if question.kind == "supported" else question.subject
    if question.kind not in ("supported", "answered") or not asked or (question.kind == "answered" and question.query):
        return question
    return replace(question, evidence=tuple(named_result(text, asked) for text in question.evidence))


def _both_ways(a: Encoded, b: Encoded) -> tuple[Vector, Vector]:
    """How closely each content piece of one is found in the other, and the reverse."""
    close = pairwise_products(a.tokens.astype(np.float32), b.tokens.astype(np.float32))
    there, back = close.max(axis=1), close.max(axis=0)
    return (there[a.weights > 0] if a.weights.any() else there, back[b.weights > 0] if b.weights.any() else back)


def _found(c: EvidenceComparison, subject: Sentence, evidence: Passages) -> Scored:
    """The closest passage, and what isn't in it anywhere."""
    closest = int(np.argmax(c.cosines[0] + c.word))
    lost = set(c.missing)
    exact = as_written(subject.text, lost & (subject.numbers | subject.names))
    table = evidence.table or _CODE.search(subject.text) is not None
    return Scored(0.0, evidence.sentences[closest].text, exact, table=table)
