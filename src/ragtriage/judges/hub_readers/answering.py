"""Questions to a hub reader: which pairs are read for them, and the verdict on what it says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ragtriage.core.chances import NOT_SUPPORTED, log_odds, with_chance
from ragtriage.core.questions import Kind, Question, essential
from ragtriage.core.verdicts import Answer, Components, Failure, Verdict
from ragtriage.judges.embedded.claimed_text import asserted_text, without_attribution
from ragtriage.judges.embedded.featurizer import claimed_text
from ragtriage.judges.embedded.verdict import weakest_answer
from ragtriage.judges.hub_readers.chunks import chunks, count_words, groups, stretches
from ragtriage.judges.hub_readers.families import Said, sigmoid
from ragtriage.judges.hub_readers.hub_reader import PLACES, HubReader, Spans
from ragtriage.judges.quotes import quoted
from ragtriage.text import split_sentences
from ragtriage.text.claims import Marker
from ragtriage.text.differences import differences, likely_place

SMALLEST = 32
"""Word pieces that a chunk may have at least; what leaves less room for it isn't judged."""
STEP = 32
"""Chunks differ in size by so many word pieces, so that claims of similar length share them."""
HALLUCINATED = 0.5
"""From this probability on a word is one that the sources don't support."""
UNDECIDED = 0.02
"""The chance of a claim of which nothing is left to be held against anything."""
PROMPT = (
    "Briefly answer the following question:\n{question}\nBear in mind that your response should be strictly based on "
    "the following {count} passages:\n{passages}\nIn case the passages do not contain the necessary information to "
    'answer the question, please reply with: "Unable to answer based on given passages."\noutput:'
)
PROMPT_WITHOUT_QUESTION = "Summarize the following text:\n{passages}\noutput:"
"""What the classifiers of spans were trained to see before a response (LettuceDetect, `prompts/`)."""
Pairs = tuple[tuple[str, str], ...]
"""What is read for a question."""
Claims = Callable[[str, str], Components]
"""The claims of a response, as the judge splits it: text, query → components."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What answers a question beside the model."""

    reader: HubReader
    claims: Claims
    marker: Callable[[str], Marker | None]
    """Where claims begin in a text, and its remarks; None for a text in another language than English."""


def answers(questions: Sequence[Question], setting: Setting) -> list[Answer]:
    """One answer a question, in order; what is read for several is read once."""
    by_kind: dict[Kind, list[int]] = {}
    for place, question in enumerate(questions):
        by_kind.setdefault(question.kind, []).append(place)
    found: dict[int, Answer] = {}
    for kind, places in by_kind.items():
        some = [questions[place] for place in places]
        found.update(zip(places, _ANSWERED[_how(kind, setting)](some, setting), strict=True))
    return [found[place] for place in range(len(questions))]


def _how(kind: Kind, setting: Setting) -> str:
    return "spans" if setting.reader.folder.family.name == "spans" else kind


def calibrated(verdict: Verdict, said: float, setting: Setting) -> Verdict:
    """A verdict by a model's probability: with a chance where a temperature is known, else with none."""
    temperature = setting.reader.folder.temperature
    if temperature is None or said in {0.0, 1.0}:
        told = with_chance(verdict, said)
        return replace(told, score=said, sure=told.value == "yes" or said <= NOT_SUPPORTED, chance=None)
    chance = sigmoid(log_odds(said) / temperature)
    return replace(with_chance(verdict, chance), score=chance)


# supported, by entailment classifiers, MiniCheck and HHEM


def _supported(questions: Sequence[Question], setting: Setting) -> list[Answer]:
    parts = [_claims_of(question, setting) for question in questions]
    asked = [one for part in parts for one in part]
    reads = [_evidence(one, setting) for one in asked]
    said = setting.reader.read(pair for some in reads if some for pair in some)
    judged = iter([_on_claim(one, some, said, setting) for one, some in zip(asked, reads, strict=True)])
    return [weakest_answer(part, [next(judged) for _ in part]) for part in parts]


def _claims_of(question: Question, setting: Setting) -> tuple[Question, ...]:
    """One question a claim, for a part of a response that has several sentences; else the question itself."""
    if not question.context or len(split_sentences(question.subject)) < 2:
        return (question,)
    found = [one.text for one in setting.claims(question.subject, question.query) if not one.remark]
    return tuple(replace(question, subject=claim) for claim in found) if len(found) > 1 else (question,)


def _said(question: Question) -> str:
    """A claim without what it says about its sources; empty for a "no" alone, of which nobody can tell."""
    return asserted_text(question.query, without_attribution(question.subject))


def _evidence(question: Question, setting: Setting) -> Pairs | None:
    """(chunk, claim) for each chunk of the sources as one document, in an order that is theirs and not the search's.

    None where the claim is so long that no chunk fits beside it.
    """
    if not (claim := _said(question)):
        return ()
    found = _fitting("\n".join(sorted(set(question.evidence))), lambda text: (text, claim), setting)
    return None if found is None else tuple((chunk, claim) for chunk in found)


def _fitting(text: str, read: Callable[[str], tuple[str, str]], setting: Setting) -> tuple[str, ...] | None:
    """The chunks of a text, each short enough that nothing of a pass is cut off.

    None where what stands beside a chunk leaves it fewer than `SMALLEST` word pieces.

    Args:
        text: what is divided.
        read: a chunk → what is read of it.
        setting: see `Setting`.
    """
    reader, length = setting.reader, setting.reader.folder.length
    room = (length - reader.pieces(*read(""))) // STEP * STEP
    while room >= SMALLEST:
        found = _chunks(text, room, reader)
        # side by side two texts may have more word pieces than apart
        excess = max((reader.pieces(*read(chunk)) for chunk in found), default=0) - length
        if excess <= 0:
            return found
        room -= -(-excess // STEP) * STEP
    return None


@lru_cache(maxsize=64)
def _chunks(text: str, room: int, reader: HubReader) -> tuple[str, ...]:
    family, count = reader.folder.family, reader.tokens().count
    if family.by_words and family.chunk is not None:
        return chunks(text, family.chunk, count_words, (room, count))
    return chunks(text, min(family.chunk or room, room), count)


def _too_long(what: str, setting: Setting) -> Verdict:
    length = setting.reader.folder.length
    return Verdict("unknown", explanation=f"{what} is too long to be read whole: the reader takes {length} word pieces")


def _on_claim(
    question: Question, pairs: Pairs | None, said: Mapping[tuple[str, str], Said], setting: Setting
) -> Answer:
    if not _said(question):
        reason = "a “no” alone doesn't say what it denies"
        return Verdict("unknown", UNDECIDED, 1.0 - UNDECIDED, reason)
    if pairs is None:
        return _too_long("the claim", setting)
    if not pairs:
        return Failure("there is no word in the sources to hold the claim against")
    best = max(pairs, key=lambda pair: said[pair].yes)
    against = max(pairs, key=lambda pair: said[pair].against)
    told = said[against].against
    contradicted = told >= 0.5 and told > said[best].yes
    verdict = calibrated(Verdict("no", contradicted=contradicted), said[best].yes, setting)
    text, claim = against if verdict.contradicted else best
    how = "a passage says otherwise" if verdict.contradicted else "closest passage"
    shown = f"{how}: {quoted(text, likely_place(claim, text))}"
    if verdict.value == "no" and (found := differences(claim, text, contradicts=verdict.contradicted)):
        shown += f", {found[0]}"
    return replace(verdict, explanation=_of_chunks(shown, len(pairs)))


def _of_chunks(shown: str, count: int) -> str:
    return f"{shown} (the best of {count} chunks)" if count > 1 else shown


# supported, by classifiers of spans


def _by_spans(questions: Sequence[Question], setting: Setting) -> list[Answer]:
    parts = [_claims_of(question, setting) for question in questions]
    asked = [one for part in parts for one in part]
    places = [_place_of(one, setting) for one in asked]
    reads = [_prompts(one, response, setting) for one, (response, _) in zip(asked, places, strict=True)]
    said = setting.reader.spans(pair for some in reads if some for pair in some)
    judged = iter(
        [
            _on_span(response, span, [said[pair] for pair in some], setting)
            if some
            else _too_long("the claim with the question", setting)
            for (response, span), some in zip(places, reads, strict=True)
        ]
    )
    return [weakest_answer(part, [next(judged) for _ in part]) for part in parts]


def _place_of(question: Question, setting: Setting) -> tuple[str, tuple[int, int]]:
    """What is read for a claim, with the claim's place in it: the response that makes it, or a part of that."""
    response, (start, end) = _response_of(question, setting)
    tokens = setting.reader.tokens()
    half = (setting.reader.folder.length - setting.reader.pieces(_prompt(question.query, ("",)), "")) // 2
    if tokens.count(response) <= half:
        return response, (start, end)
    # the sources need room beside it
    for a, b in stretches(response, max(SMALLEST, half), tokens.count):
        if a <= start and end <= b:
            return response[a:b], (start - a, end - a)
    return response[start:end], (0, end - start)


def _response_of(question: Question, setting: Setting) -> tuple[str, tuple[int, int]]:
    """The response that makes a claim, with the claim's place in it; the claim alone where it stands in none."""
    for one in setting.claims(question.context, question.query) if question.context else ():
        if one.text == question.subject and one.span:
            return question.context, one.span
    if (start := question.context.find(question.subject)) >= 0 and question.subject:
        return question.context, (start, start + len(question.subject))
    return question.subject, (0, len(question.subject))


def _prompts(question: Question, response: str, setting: Setting) -> Pairs | None:
    """(prompt, response) with the passages before the response, in several prompts where one can't hold them all.

    None where the question and the response leave no room for passages.
    """
    reader, length = setting.reader, setting.reader.folder.length
    count = reader.tokens().count
    texts = tuple(sorted(set(question.evidence)))
    each = count("\npassage 100: ")
    room = length - reader.pieces(_prompt(question.query, ("",)), response)
    while room >= SMALLEST + each:
        found = tuple((_prompt(question.query, group), response) for group in groups(texts, room, count, each=each))
        excess = max(reader.pieces(*pair) for pair in found) - length
        if excess <= 0:
            return found
        room -= excess
    return None


def _prompt(query: str, passages: Sequence[str]) -> str:
    listed = "\n".join(f"passage {number}: {text}" for number, text in enumerate(passages, 1))
    form = PROMPT if query.strip() else PROMPT_WITHOUT_QUESTION
    return form.format(question=query, count=len(passages), passages=listed)


def _on_span(response: str, span: tuple[int, int], said: Sequence[Spans], setting: Setting) -> Verdict:
    """By the word of the claim that is most surely unsupported; of several prompts the highest probability counts."""
    start, end = span
    chances: dict[tuple[int, int], float] = {}
    for one in said:
        for a, b, chance in one.pieces:
            if a < end and b > start:
                chances[a, b] = max(chance, chances.get((a, b), 0.0))
    if not chances:
        return Verdict("unknown", explanation="the reader knows no word of the claim")
    highest = max(chances.values(), default=0.0)
    verdict = calibrated(Verdict("no"), round(1.0 - highest, PLACES), setting)
    shown = ", ".join(quoted(response[a:b]) for a, b in _runs(chances, response))
    if verdict.value == "yes" or not shown:
        return replace(verdict, explanation="every word of it is supported")
    return replace(verdict, explanation=f"the sources don't support {shown}")


def _runs(chances: Mapping[tuple[int, int], float], response: str) -> list[tuple[int, int]]:
    """The stretches of words that aren't supported."""
    found: list[tuple[int, int]] = []
    for (a, b), chance in sorted(chances.items()):
        if chance < HALLUCINATED:
            continue
        begin, end = _whole_word(response, a + len(response[a:b]) - len(response[a:b].lstrip()), b)
        if found and not response[found[-1][1] : begin].strip():
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found


def _whole_word(text: str, start: int, end: int) -> tuple[int, int]:
    """A part of a word as the word."""
    while start > 0 and text[start].isalnum() and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    return start, end


# essential, answered and the sentences that are needed, by rerankers


def _relevant_texts(questions: Sequence[Question], setting: Setting) -> list[Answer]:
    reads = [_read_for(question, setting) for question in questions]
    said = setting.reader.read(pair for some in reads if some for pair in some)
    found: list[Answer] = []
    for some in reads:
        if some is None:
            found.append(_too_long("the question", setting))
            continue
        if not some:
            found.append(Verdict("no", 0.0, 1.0, "there is nothing in the text that could answer"))
            continue
        best = max(some, key=lambda pair: said[pair].yes)
        verdict = calibrated(Verdict("no"), said[best].yes, setting)
        found.append(replace(verdict, explanation=f"closest passage: {quoted(best[1], likely_place(*best))}"))
    return found


def _read_for(question: Question, setting: Setting) -> Pairs | None:
    """(question, text) for each text that may answer, in chunks; None where the question leaves no room for them."""
    if question.kind == "answered":
        asked, texts = question.subject, tuple(sorted(set(question.evidence)))
        if question.query:  # of a response only what it claims can answer
            said = claimed_text(question.query, question.evidence, setting.marker("\n".join(question.evidence)))
            texts = (said,) if said else ()
    else:
        asked, texts = question.query, (question.subject,)
    found = [_fitting(text, lambda chunk: (asked, chunk), setting) for text in texts]
    if any(some is None for some in found):
        return None
    return tuple((asked, chunk) for some in found if some for chunk in some)


def _needed(questions: Sequence[Question], setting: Setting) -> list[Answer]:
    """The sentences of a source that are essential for the query, each read by itself."""
    split = [split_sentences(question.subject) for question in questions]
    asked = [
        essential(question.query, one.text, source=question.subject)
        for question, some in zip(questions, split, strict=True)
        for one in some
    ]
    judged = iter(_relevant_texts(asked, setting))
    return [
        tuple(one for one in some if isinstance(told := next(judged), Verdict) and told.value == "yes")
        for some in split
    ]


# similarity, by sentence encoders


def _similar(questions: Sequence[Question], setting: Setting) -> list[Answer]:
    vectors = setting.reader.vectors(text for one in questions for text in (one.subject, *one.evidence))
    threshold = setting.reader.repeats()
    found: list[Answer] = []
    for one in questions:
        others = [place for place in range(len(one.evidence)) if place != one.at]
        if not others:
            found.append(Verdict("no", -1.0, 1.0, "there is nothing else to compare with"))
            continue
        cosines = [float(np.clip(vectors[one.evidence[p]] @ vectors[one.subject], -1.0, 1.0)) for p in others]
        best = int(np.argmax(cosines))
        other, cosine = one.evidence[others[best]], round(cosines[best], 4)
        apart = differences(one.subject, other, contradicts=True)
        repeats = cosine >= threshold and not apart
        reason = f"closest sentence ({cosine:.2f}): {quoted(other)}"
        found.append(Verdict("yes" if repeats else "no", cosine, None, reason + (f", {apart[0]}" if apart else "")))
    return found


_ANSWERED: Mapping[str, Callable[[Sequence[Question], Setting], list[Answer]]] = {
    "supported": _supported,
    "spans": _by_spans,
    "essential": _relevant_texts,
    "answered": _relevant_texts,
    "needed_sentences": _needed,
    "similarity": _similar,
}
