"""What the rules need to know of a case and its file: what a case is about, and which texts are about something else.

Everything here errs on the safe side: a change that might not make the case worse isn't made.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from ragtriage.core.case import Case
from ragtriage.core.verdicts import Component
from ragtriage.text.declines import declines
from ragtriage.text.language import language_of
from ragtriage.text.sentences import split_sentences
from ragtriage.trust.pairs.pair_files import Change
from ragtriage.trust.wording import content_words, name_words, numbers

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


ChangedCase = tuple[Case, Change]
"""The worse version of a case, and what was changed."""


class CannotPerturb(Exception):
    """No worse version can be made safely; `str` says why."""


class FileContext:
    """All cases of one file; the seed is that of what is drawn."""

    def __init__(self, cases: Sequence[Case], seed: int = 0) -> None:
        self._seed = seed
        texts = dict.fromkeys(source.text for case in cases for source in case.sources)
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
        own = frozenset[str]().union(*(self.distinctive(source.text) for source in case.sources))
        texts = {source.text for source in case.sources}
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
    if not case.sources:
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
    there = {word for source in case.sources for word in content_words(source.text)}
    shares = [coverage(answering, source.text) for source in case.sources]
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
