"""Worse sources: one that has nothing to do with the query, a stray fact, the answer taken out."""

from __future__ import annotations

from dataclasses import replace

from ragtriage.core.case import Case, Source
from ragtriage.text import split_questions, split_sentences
from ragtriage.text.question_forms import question_type
from ragtriage.trust.pairs import Change
from ragtriage.trust.perturb.surroundings import HOLDS, Made, Skipped, Surroundings, answers, covered, key_of, without
from ragtriage.trust.wording import content, names, numbers

NO_STRANGER = "no other case's source is surely about something else"
UNSURE = "it can't be told by rules that the response answers the query from its sources"
_ASKED = 0.5
"""The share of the query's telling words from which on a sentence of a source may answer it."""
_SAID = 0.6
"""The share of the answering sentence from which on a sentence of a source surely holds it."""


def irrelevant_source(case: Case, around: Surroundings) -> Made | Skipped:
    """Add another case's source that is about something else, as the last one."""
    if answers(case) is None:
        return Skipped(UNSURE)
    stranger = next(iter(around.strangers(case)), None)
    if stranger is None:
        return Skipped(NO_STRANGER)
    worse = replace(case, sources=(*case.sources, Source(stranger)))
    place = f"source {len(worse.sources)}"
    return Made(worse, Change("an irrelevant source added", place, "", stranger))


def stray_fact(case: Case, around: Surroundings) -> Made | Skipped:
    """Add a sentence of another case's source to the end of the source that serves the response."""
    at = answers(case)
    if at is None:
        return Skipped(UNSURE)
    sentence = next(around.strange_sentences(case), None)
    if sentence is None:
        return Skipped(NO_STRANGER)
    source = case.sources[at]
    sources = (*case.sources[:at], replace(source, text=f"{source.text.rstrip()} {sentence}"), *case.sources[at + 1 :])
    change = Change("a fact of another case added to a source", f"source {at + 1}", "", sentence)
    return Made(replace(case, sources=sources), change)


def answer_removed(case: Case, around: Surroundings) -> Made | Skipped:
    """Remove every sentence of the sources that holds what the response says, or shares much with the query.

    What is left holds none of the response's numbers and names, so that no other sentence can give the same answer.
    """
    if answers(case) is None:
        return Skipped(UNSURE)
    if any(question_type(one.text) == "yesno" for one in split_questions(case.query)):
        return Skipped("what is left may still tell yes or no")
    said = [one.text for one in split_sentences(case.response or "")]
    answering = max(said, key=lambda sentence: covered(case.query, sentence))
    key_numbers, key_names = key_of(case)
    asked = around.telling(case.query) or frozenset(content(case.query))
    sources, removed = [], []
    for source in case.sources:
        sentences = split_sentences(source.text)
        away = [
            one
            for one in sentences
            if key_numbers & numbers(one.text)
            or key_names & set(content(one.text))
            or any(covered(sentence, one.text) >= HOLDS for sentence in said)
            or len(asked & set(content(one.text))) >= _ASKED * len(asked)
        ]
        removed += [one.text for one in away]
        rest = without(source.text, away)
        if len(away) < len(sentences) and rest:
            sources.append(replace(source, text=rest))
    if not any(covered(answering, text) >= _SAID for text in removed):
        return Skipped("no sentence of the sources surely holds the answer")
    if not sources:
        return Skipped("nothing would be left of the sources")
    rest = "\n".join(source.text for source in sources)
    if key_numbers & numbers(rest) or key_names & {word for name in names(rest) for word in content(name)}:
        return Skipped("something else in the sources may hold the answer too")
    change = Change("the sentences that hold the answer removed", "sources", "\n".join(removed), "")
    return Made(replace(case, sources=tuple(sources)), change)
