"""Worse sources and worse responses: something unrelated or repeated put in, the answer taken out."""

from __future__ import annotations

from dataclasses import replace

from ragtriage.core.case import Case, Source
from ragtriage.core.verdicts import Component
from ragtriage.text.questions import QuestionType, holds_type, question_type, split_questions
from ragtriage.text.sentences import split_sentences
from ragtriage.trust.pairs.pair_files import Change
from ragtriage.trust.perturb.file_context import (
    SAME_SENTENCE,
    CannotPerturb,
    ChangedCase,
    FileContext,
    answer_details,
    answering_source,
    check_addresses_query,
    coverage,
    remove_sentences,
    self_contained_sentences,
)
from ragtriage.trust.wording import content_words, name_words, names, numbers, paraphrased, reworded

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


_DISTINCT = 0.2
"""The share of words in common, of all, below which a sentence surely repeats none of the others."""
_TYPED = ("who", "where", "when", "number")
"""The kinds of question whose answer has a form that distinguishes it from other sentences."""


def unneeded_sentence(case: Case, context: FileContext) -> ChangedCase:
    """Add a sentence that is about something else to the end of the response."""
    check_addresses_query(case)
    return _appended(case, context.unrelated_sentence(case), "an unneeded sentence added to the response")


def answer_dropped(case: Case, context: FileContext) -> ChangedCase:  # noqa: ARG001  # all perturbations get both
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


def repeat_added(case: Case, context: FileContext) -> ChangedCase:
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


def _appended(case: Case, sentence: str, what: str, of: str = "") -> ChangedCase:
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
