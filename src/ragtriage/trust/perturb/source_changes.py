"""Worse sources: one that has nothing to do with the query, a stray fact, the answer taken out."""

from __future__ import annotations

from dataclasses import replace

from ragtriage.core.case import Case, Source
from ragtriage.text import split_questions, split_sentences
from ragtriage.text.questions import question_type
from ragtriage.trust.content_words import content_words, name_words, numbers
from ragtriage.trust.pairs.pair_files import Change
from ragtriage.trust.perturb.file_context import (
    SAME_SENTENCE,
    CannotPerturb,
    ChangedCase,
    FileContext,
    answer_details,
    answering_source,
    coverage,
    remove_sentences,
)

_ASKED = 0.5
"""The share of the query's distinctive words from which on a sentence of a source may answer it."""
_ANSWER = 0.6
"""The share of the answering sentence from which on a sentence of a source surely holds it."""


def irrelevant_source(case: Case, context: FileContext) -> ChangedCase:
    """Add another case's source that is about something else, as the last one."""
    answering_source(case)
    unrelated = context.unrelated_source(case)
    worse = replace(case, sources=(*case.sources, Source(unrelated)))
    place = f"source {len(worse.sources)}"
    return worse, Change("an irrelevant source added", place, "", unrelated)


def stray_fact(case: Case, context: FileContext) -> ChangedCase:
    """Add a sentence of another case's source to the end of the source that supports the response."""
    at = answering_source(case)
    sentence = context.unrelated_sentence(case)
    source = case.sources[at]
    sources = (*case.sources[:at], replace(source, text=f"{source.text.rstrip()} {sentence}"), *case.sources[at + 1 :])
    change = Change("a fact of another case added to a source", f"source {at + 1}", "", sentence)
    return replace(case, sources=sources), change


def answer_removed(case: Case, context: FileContext) -> ChangedCase:
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
    for source in case.sources:
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
