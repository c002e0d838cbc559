"""Worse sources and worse responses: something unrelated or repeated put in, the answer taken out.

Everything here errs on the safe side: a change that might not make the case worse isn't made.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ragtriage.core.case import Case, Source
from ragtriage.core.verdicts import Component
from ragtriage.text.declines import declines
from ragtriage.text.language import language_of
from ragtriage.text.questions import QuestionType, holds_type, question_type, split_questions
from ragtriage.text.sentences import split_sentences
from ragtriage.trust.pair_files import Change
from ragtriage.trust.wording import content_words, name_words, names, numbers, paraphrased, reworded

SUPPORTS_ANSWER = 0.6
"""The share of an answering sentence's content words from which on a source visibly supports it."""
ADDRESSES = 0.7
"""The share of a query's content words from which on a response visibly takes it up."""
SAME_SENTENCE = 0.4
"""The share of a sentence's content words from which on another sentence may say the same."""
RELATED = 0.05
"""The share of distinctive words in common, of all, up to which two texts are about something else."""
MOST_DONORS = 300
"""Texts of other cases that are looked through for one case."""
_BOUND = re.compile(
    r"(?:it|its|this|that|these|those|they|their|them|he|his|she|her|such|one|both|also|however|but|and|so|then|thus|"
    r"therefore|moreover|furthermore|here|there|another|other|otherwise|instead|yes|no|if|all|each|the (?:same|other|"
    r"former|latter|following|above))\b",
    re.IGNORECASE,
)
NO_UNRELATED_SOURCE = "no other case's source is surely about something else"
UNSURE = "it can't be told by rules that the response answers the query from its sources"
_EMPTY_ROW = re.compile(r"[|\s]*\|[|\s]*")


PerturbedCase = tuple[Case, Change]
"""The worse version of a case, and what was changed."""


class CannotPerturb(Exception):
    """No worse version can be made safely; `str` says why."""


class FileContext:
    """All cases of one file; the seed is that of what is drawn."""

    def __init__(self, cases: Sequence[Case], seed: int = 0) -> None:
        self._seed = seed
        texts = dict.fromkeys(source.text for case in cases for source in case.known_sources)
        self._most = max(2, len(texts) // 3)
        self._counts = Counter(word for text in texts for word in set(content_words(text)))
        # by their keys, so that neither the order of the rows nor of the sources matters
        drawn = sorted(texts, key=lambda text: self.order_key("donor", text))[:MOST_DONORS]
        self._donors = [(text, self.distinctive(text)) for text in drawn]

    def order_key(self, *about: str) -> bytes:
        """A pseudo-random sort key for these texts: the same for the same seed, whatever else is in the file."""
        named = "\0".join((str(self._seed), *about)).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(named, digest_size=16).digest()

    def distinctive(self, text: str) -> frozenset[str]:
        """The words of a text that say what it is about: those that at most a third of all sources hold, or two."""
        return frozenset(word for word in content_words(text) if self._counts[word] <= self._most)

    def unrelated_sources(self, case: Case) -> list[str]:
        """Sources of other cases that are about something else, in an order drawn for this case.

        They share no distinctive word with the query or the response, and next to none with the case's own sources.
        """
        asked = self.distinctive(case.query) | self.distinctive(case.response or "")
        own = frozenset[str]().union(*(self.distinctive(source.text) for source in case.known_sources))
        texts = {source.text for source in case.known_sources}
        found = [
            text
            for text, words in self._donors
            if text not in texts
            and words
            and not words & asked
            and len(words & own) <= RELATED * len(words | own)
            and not set(content_words(text)) & set(content_words(case.query))
        ]
        return sorted(found, key=lambda text: self.order_key(case.id, text))

    def unrelated_source(self, case: Case) -> str:
        """A source of another case that is about something else."""
        for text in self.unrelated_sources(case):
            return text
        raise CannotPerturb(NO_UNRELATED_SOURCE)

    def unrelated_sentence(self, case: Case) -> str:
        """A sentence that stands by itself, from a source that is about something else."""
        for text in self.unrelated_sources(case):
            if sentences := self_contained_sentences(text):
                return min(sentences, key=lambda sentence: self.order_key(case.id, sentence))
        raise CannotPerturb(NO_UNRELATED_SOURCE)


def unusable_reason(case: Case) -> str:
    """Why a case can't be changed at all; "" if it can."""
    if not case.response or not case.response.strip():
        return "there is no response"
    if not case.known_sources:
        return "there are no sources"
    if declines(case.query, case.response).value != "no":
        return "the response declines to answer, or may"
    return "" if language_of(case) == "en" else "it isn't in English, and the rules know no other language"


def check_addresses_query(case: Case) -> None:
    """Refuse a case whose response doesn't visibly address the query: it holds too few of its words."""
    if coverage(case.query, case.response or "") < ADDRESSES:
        raise CannotPerturb("it can't be told by rules that the response answers the query")


def answering_source(case: Case) -> int:
    """The position of the source that visibly supports a response which visibly addresses the query.

    Served must be the sentence of the response that shares most with the query: the others may be beside the point. And
    the sources together must hold most of what that sentence has from the query: sources about the ferry don't answer
    what is asked about its Wi-Fi.
    """
    said = [one.text for one in split_sentences(case.response or "")]
    if not said or coverage(case.query, case.response or "") < ADDRESSES:
        raise CannotPerturb(UNSURE)
    answering = max(said, key=lambda sentence: coverage(case.query, sentence))
    topic = set(content_words(answering)) & set(content_words(case.query))
    there = {word for source in case.known_sources for word in content_words(source.text)}
    shares = [coverage(answering, source.text) for source in case.known_sources]
    best = max(range(len(shares)), key=lambda i: (shares[i], -i), default=None)
    if len(topic & there) < ADDRESSES * len(topic) or best is None or shares[best] < SUPPORTS_ANSWER:
        raise CannotPerturb(UNSURE)
    return best


def self_contained_sentences(text: str) -> list[str]:
    """The sentences of a text that can be understood alone, of 6 to 40 words."""
    return [
        one.text
        for one in split_sentences(text)
        if 6 <= len(one.text.split()) <= 40
        and one.text[0].isupper()
        and one.text[-1] == "."
        and "\n" not in one.text
        and "|" not in one.text
        and not _BOUND.match(one.text)
    ]


def coverage(sentence: str, by: str) -> float:
    """The share of a sentence's content words that another text holds, in [0, 1]."""
    words, there = set(content_words(sentence)), set(content_words(by))
    return len(words & there) / max(1, len(words))


def answer_details(case: Case) -> tuple[frozenset[str], frozenset[str]]:
    """What the response says that the query doesn't: (numbers, words of names)."""
    response, asked = case.response or "", set(content_words(case.query))
    named = (word for word in name_words(response) - asked if not word[0].isdigit())
    return frozenset(numbers(response) - asked), frozenset(named)


def remove_sentences(text: str, removed: Iterable[Component]) -> str:
    """A text without some of its sentences, and without the rows of a table that are empty then."""
    kept = text
    for one in sorted(removed, key=lambda c: c.span or (0, 0), reverse=True):
        start, end = one.span or (0, 0)
        kept = kept[:start] + kept[end:]
    lines = (re.sub(r"[ \t]{2,}", " ", line).strip(" \t") for line in kept.split("\n"))
    full = (line for line in lines if not _EMPTY_ROW.fullmatch(line))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(full)).strip()


_ASKED = 0.5
"""The share of the query's distinctive words from which on a sentence of a source may answer it."""
_ANSWER = 0.6
"""The share of the answering sentence from which on a sentence of a source surely holds it."""


def irrelevant_source(case: Case, context: FileContext) -> PerturbedCase:
    """Add another case's source that is about something else, as the last one."""
    answering_source(case)
    unrelated = context.unrelated_source(case)
    worse = replace(case, sources=(*case.known_sources, Source(unrelated)))
    place = f"source {len(worse.known_sources)}"
    return worse, Change("an irrelevant source added", place, "", unrelated)


def stray_fact(case: Case, context: FileContext) -> PerturbedCase:
    """Add a sentence of another case's source to the end of the source that supports the response."""
    at = answering_source(case)
    sentence = context.unrelated_sentence(case)
    source = case.known_sources[at]
    sources = (
        *case.known_sources[:at],
        replace(source, text=f"{source.text.rstrip()} {sentence}"),
        *case.known_sources[at + 1 :],
    )
    change = Change("a fact of another case added to a source", f"source {at + 1}", "", sentence)
    return replace(case, sources=sources), change


def answer_removed(case: Case, context: FileContext) -> PerturbedCase:
    """Remove every sentence of the sources that holds what the response says, or shares much with the query.

    What is left holds none of the response's numbers and names, so that no other sentence can give the same answer.
    """
    answering_source(case)
    if any(question_type(one.text) == "yesno" for one in split_questions(case.query)):
        raise CannotPerturb("what is left may still tell yes or no")
    said = [one.text for one in split_sentences(case.response or "")]
    answering = max(said, key=lambda sentence: coverage(case.query, sentence))
    key_numbers, key_names = answer_details(case)
    asked = context.distinctive(case.query) or frozenset(content_words(case.query))
    sources, removed = [], []
    for source in case.known_sources:
        sentences = split_sentences(source.text)
        away = [
            one
            for one in sentences
            if key_numbers & numbers(one.text)
            or key_names & set(content_words(one.text))
            or any(coverage(sentence, one.text) >= SAME_SENTENCE for sentence in said)
            or len(asked & set(content_words(one.text))) >= _ASKED * len(asked)
        ]
        removed += [one.text for one in away]
        rest = remove_sentences(source.text, away)
        if len(away) < len(sentences) and rest:
            sources.append(replace(source, text=rest))
    if not any(coverage(answering, text) >= _ANSWER for text in removed):
        raise CannotPerturb("no sentence of the sources surely holds the answer")
    if not sources:
        raise CannotPerturb("nothing would be left of the sources")
    rest = "\n".join(source.text for source in sources)
    if key_numbers & numbers(rest) or key_names & name_words(rest):
        raise CannotPerturb("something else in the sources may hold the answer too")
    change = Change("the sentences that hold the answer removed", "sources", "\n".join(removed), "")
    return replace(case, sources=tuple(sources)), change


_DISTINCT = 0.2
"""The share of words in common, of all, below which a sentence surely repeats none of the others."""
_TYPED = ("who", "where", "when", "number")
"""The kinds of question whose answer has a form that distinguishes it from other sentences."""


def unneeded_sentence(case: Case, context: FileContext) -> PerturbedCase:
    """Add a sentence that is about something else to the end of the response."""
    check_addresses_query(case)
    return _appended(case, context.unrelated_sentence(case), "an unneeded sentence added to the response")


def answer_dropped(case: Case, context: FileContext) -> PerturbedCase:  # noqa: ARG001  # all perturbations get both
    """Remove the sentences of the response that answer one of the query's sub-questions, where no other can.

    A sentence answers a sub-question if it shares a word that only this one has. What is left must share none, and,
    where it answers no other sub-question, hold nothing of the kind that is asked for (a number, a name, a time).
    """
    check_addresses_query(case)
    sentences = split_sentences(case.response or "")
    if len(sentences) < 2:
        raise CannotPerturb("nothing would be left of the response")
    asked = [one.text for one in split_questions(case.query)]
    own = [
        set(content_words(one)) - {word for other in asked if other is not one for word in content_words(other)}
        for one in asked
    ]
    for i, question in reversed(list(enumerate(asked))):
        if len(asked) > 1:
            others = {word for j, words in enumerate(own) if j != i for word in words}
            away = _answering(question, case.query, sentences, own[i], others)
        else:
            typed = _type_of(question) in _TYPED
            away = [one for one in sentences if typed and _holds(question, case.query, one.text)]
        if away and len(away) < len(sentences):
            text = remove_sentences(case.response or "", away)
            gone = "\n".join(one.text for one in away)
            return replace(case, response=text), Change(
                "an answering sentence removed from the response", "response", gone
            )
    raise CannotPerturb("it can't be told by rules which sentences alone answer a part of the query")


def repeat_added(case: Case, context: FileContext) -> PerturbedCase:
    """Add one of the response's sentences once more, in other words."""
    every = [one.text for one in split_sentences(case.response or "")]
    sentences = [
        one
        for one in self_contained_sentences(case.response or "")
        if all(other == one or _common(one, other) < _DISTINCT for other in every) and every.count(one) == 1
    ]
    if not sentences:
        raise CannotPerturb("no sentence of the response stands by itself and surely repeats no other")
    # one that rules have other words for goes first
    sentence = min(sentences, key=lambda one: (not reworded(one), context.order_key(case.id, one)))
    kind = "paraphrased repeat" if reworded(sentence) else "repeat in the same words"
    return _appended(case, paraphrased(sentence), f"a {kind} added to the response", sentence)


def _appended(case: Case, sentence: str, what: str, of: str = "") -> PerturbedCase:
    worse = replace(case, response=f"{(case.response or '').rstrip()} {sentence}")
    return worse, Change(what, "response", of, sentence)


def _common(one: str, other: str) -> float:
    """The share of two sentences' content words that both have, of all."""
    a, b = set(content_words(one)), set(content_words(other))
    return len(a & b) / max(1, len(a | b))


def _holds(question: str, query: str, sentence: str) -> bool:
    """Whether a sentence holds something of the kind that a question asks for, which the query doesn't say itself."""
    known = set(content_words(query))
    named = any(not set(content_words(name)) <= known for name in names(sentence))
    counted = bool(numbers(sentence) - known)
    return holds_type(_type_of(question), sentence, names=named, numbers=counted)


def _type_of(question: str) -> QuestionType:
    """The kind of question as its first words say it: "whose" in the middle asks for nobody."""
    return question_type(" ".join(question.split()[:4]))


def _answering(
    question: str, query: str, sentences: tuple[Component, ...], own: set[str], others: set[str]
) -> list[Component]:
    """The sentences that answer one of several questions; none where another might answer it too."""
    away = [one for one in sentences if own & set(content_words(one.text))]
    kept = [one for one in sentences if one not in away]
    answered = [one for one in away if not others & set(content_words(one.text))]
    loose = [one for one in kept if not others & set(content_words(one.text))]
    if not own or len(answered) < len(away) or any(_holds(question, query, one.text) for one in loose):
        return []
    return away
