"""From a probability to a verdict with its reason."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ragtriage.core.display import LONGEST_QUOTE, quoted
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import CHECK, Answer, Answered, Components, Failure, Verdict, with_chance
from ragtriage.judges.embedded.claimed_text import is_field, listed_item, listed_items, without_attribution
from ragtriage.judges.embedded.readings import Reading, Sentence, read, read_sentence
from ragtriage.judges.embedded.unsupported_numbers import unsupported_numbers
from ragtriage.text.claim_parts import Marker, capitalized
from ragtriage.text.declines import declines
from ragtriage.text.differences import agree, differ, differences, likely_place, opposite_words
from ragtriage.text.pronouns import PRONOUN_WORDS
from ragtriage.text.sentences import split_sentences
from ragtriage.text.short_answers import is_yes, stated
from ragtriage.text.values import values

NEAR = 0.6
"""From this share of a claim's words in one sentence on, an unsupported claim is one that the sentence contradicts."""
MOST_DIFFERENCES = 3
"""Details that are shown beside a quote."""


@dataclass(frozen=True, slots=True)
class Scored:
    """What was found for one question."""

    probability: float
    """Of yes, in (0, 1)."""
    quote: str = ""
    """What it rests on most: the closest passage, sentence or true answer."""
    missing: tuple[str, ...] = ()
    """Numbers and names of the claim that stand nowhere in the evidence, as it writes them."""
    unsupported: tuple[str, ...] = ()
    """Numbers of the claim that nothing in the evidence, the query or a calculation accounts for."""
    calculated: bool = False
    """Whether the claim states a date or number that the response works out rightly, and that stands nowhere."""
    untold: bool = False
    """Whether nobody can tell: a "no" alone, of which it isn't said what it denies."""
    contradicted_by: str = ""
    """A sentence of the evidence that contradicts the claim in one detail."""
    highest: float = 1.0
    """The probability that it has at most, whatever the models say."""
    doubted: str = ""
    """The words of the claim that the reader doubts most."""
    cosine: float | None = None
    """Similarity only: with the closest of the others, in [-1, 1]."""
    nearness: float = 0.0
    """Share of the claim's words, weighted by rarity, that the closest sentence has."""
    table: bool = False
    """Whether the evidence is mostly rows and fields, or the claim is code."""


def verdict_of(question: Question, found: Scored) -> Verdict:
    """The verdict on one question."""
    if question.kind == "similarity":
        return _similarity(found)
    chance = found.probability
    if found.untold or (question.kind == "supported" and found.calculated and chance < CHECK):
        # the models miss what stands nowhere, and can't calculate
        return Verdict("unknown", chance, 1.0 - chance, _explained(question, found, "unknown"))
    contradicted = question.kind == "supported" and (found.contradicted_by != "" or found.nearness >= NEAR)
    decided = with_chance(Verdict("no", chance, contradicted=contradicted), chance)
    return replace(decided, explanation=_explained(question, found, decided.value))


def _similarity(found: Scored) -> Verdict:
    """Yes from an even chance on."""
    cosine = -1.0 if found.cosine is None else found.cosine
    if not found.quote:
        return Verdict("no", cosine, 1.0, "there is nothing else to compare with")
    chance, reason = found.probability, f"closest sentence ({cosine:.2f}): {quoted(found.quote)}"
    return Verdict("yes", cosine, chance, reason) if chance > CHECK else Verdict("no", cosine, 1.0 - chance, reason)


def _explained(question: Question, found: Scored, value: Answered) -> str:
    """The closest passage, what the claim says otherwise, and what is missing from all passages."""
    if question.kind != "supported":
        what = "closest true answer" if question.kind == "same_answer" else "closest passage"
        return f"{what}: {quoted(found.quote)}"
    if found.contradicted_by and value != "yes" and not found.calculated:
        return f"a passage says otherwise: {_quoted_beside(question.subject, found.contradicted_by, contradicts=True)}"
    doubted = value != "yes" and not found.calculated
    quote = _quoted_beside(question.subject, found.quote) if doubted else quoted(found.quote)
    reason = f"closest passage: {quote}"
    if found.unsupported:
        return f"{reason}; nothing there accounts for {', '.join(found.unsupported[:5])}"
    if found.missing:
        return f"{reason}; not found there: {', '.join(found.missing[:5])}"
    return f"{reason}; most in doubt: “{found.doubted}”" if doubted and found.doubted and "≠" not in quote else reason


def _quoted_beside(claim: str, passage: str, *, contradicts: bool = False) -> str:
    """A quote in which is seen what a claim says otherwise, with that behind it: "… a fee of £35", £53 ≠ £35."""
    found = differences(without_attribution(claim), passage, contradicts=contradicts)
    if not found:
        return quoted(passage, likely_place(claim, passage))
    place = found[0].place[0], max(one.place[1] for one in found)
    shown = quoted(passage, place if place[1] - place[0] < LONGEST_QUOTE else found[0].place)
    return f"{shown}, {', '.join(map(str, found[:MOST_DIFFERENCES]))}"


def question_and_opposite(question: Question) -> tuple[Question, ...]:
    """What a yes or no alone states of its question, and the opposite of that; none for any other claim."""
    said = is_yes(question.subject) if question.kind == "supported" else None
    statements = [] if said is None else [stated(question.query, yes=yes) for yes in (said, not said)]
    return tuple(replace(question, subject=one) for one in statements) if all(statements) else ()


def likelier_answer(asked: Sequence[Question], answers: Sequence[Answer]) -> Answer:
    """The verdict on a statement of which its opposite was judged too: only one of the two can be supported.

    Its chance is the odds of one to the other, as far as either is supported at all. The models hardly see a "not", so
    that a closest sentence that denies something speaks for the one that does, and one that doesn't for the other.
    """
    found, opposite = answers
    if not isinstance(found, Verdict) or not isinstance(opposite, Verdict):
        return found if isinstance(found, Failure) else opposite
    here, there = (min(max(one.score or 0.0, LEAST), 1.0 - LEAST) for one in (found, opposite))
    odds = (here / (1.0 - here)) / (there / (1.0 - there))
    negated = read_sentence(asked[0].subject).negated
    odds *= DENIAL if _denied(asked[int(negated)]) == negated else 1.0 / DENIAL
    chance = (1.0 - (1.0 - here) * (1.0 - there)) * odds / (1.0 + odds)
    if negated and max(here, there) < CHECK:  # neither what it denies nor the denial is told
        return Verdict("unknown", chance, 1.0 - chance, f"read as “{asked[0].subject}”: {found.explanation}")
    decided = with_chance(Verdict("no", chance, contradicted=there >= CHECK), chance)
    why = opposite if decided.value == "no" and there >= CHECK else found
    said = f"“{asked[0].subject}”" if why is found else f"“{asked[0].subject}”, and the opposite is said"
    return replace(decided, explanation=f"read as {said}: {why.explanation}")


def _denied(question: Question) -> bool:
    """Whether the sentence that shares most words with a claim denies something, or has the opposite of one of them."""
    own = read_sentence(question.subject).stemset
    told: list[tuple[int, Sentence]] = []
    for text in question.evidence:
        before: frozenset[str] = frozenset()
        for sentence in read(text).sentences:
            leans = sentence.text.partition(" ")[0].lower() in PRONOUN_WORDS  # on what the sentence before is about
            before = sentence.stemset | before if leans else sentence.stemset
            told.append((len(before & own), sentence))
    closest = max(told, key=lambda one: one[0])[1]
    return closest.negated or any(opposite_words(question.subject, closest.text))


DENIAL = 2.5
"""By how much a denial in the evidence, or its absence, changes the odds; set by hand."""


def item_questions(question: Question) -> tuple[Question, ...]:
    """A claim that is an item of a list, with the words before the list and without them; a field's value as it is.

    None for any other claim, and for items that state more than names.
    """
    item = listed_item(question.subject, question.context) if question.kind == "supported" and question.context else ""
    if item and is_field(question.subject, question.context):
        return (question,)
    named = item and len(item.split()) <= LONGEST_ITEM and not any(map(str.isdigit, item))
    return (question, replace(question, subject=item)) if named else ()


def item_answer(asked: Sequence[Question], answers: Sequence[Answer]) -> Answer:
    """The weaker of the verdicts on an item; the more of its words stand nowhere, the weaker.

    The words before a list stand in the evidence, so that they speak for any item.
    """
    verdicts = [one for one in answers if isinstance(one, Verdict)]
    if len(verdicts) < len(answers):
        return next(one for one in answers if not isinstance(one, Verdict))
    found, question = min(verdicts, key=lambda one: one.score or 0.0), asked[0]
    item, readings = listed_item(question.subject, question.context), [read(text) for text in question.evidence]
    own = {word for word in read_sentence(item).stemset if word.isalpha()}
    share = len(own.difference(*(reading.stems for reading in readings))) / max(1, len(own))
    known = frozenset[str]().union(*(reading.numbers | reading.stems for reading in readings))
    if unsupported_numbers(item, known, (*question.evidence, question.query), question.context):
        share = 1.0
    fall = NOWHERE ** (share + (share == 1.0 and _tells_others(item, question.context, readings)))
    here = min(max(found.score or 0.0, LEAST), 1.0 - LEAST)
    odds = here / (1.0 - here) / fall
    chance = odds / (1.0 + odds)
    return with_chance(replace(found, score=chance), chance) if share else found


def _tells_others(item: str, response: str, readings: Sequence[Reading]) -> bool:
    """Whether the evidence tells what would stand in an item's place.

    Only other values of its kind, or in one sentence several items of the response's list.
    """
    items = [own for one in listed_items(response) if (own := read_sentence(one).stemset)]
    sentences = [sentence for reading in readings for sentence in reading.sentences]
    pairs = [(one, other) for one in values(item) for sentence in sentences for other in values(sentence.text)]
    other_values = any(differ(*pair) for pair in pairs) and not any(agree(*pair) for pair in pairs)
    return other_values or any(sum(own <= one.stemset for own in items) >= _SEVERAL for one in sentences)


def denied_answer(_: Sequence[Question], answers: Sequence[Answer]) -> Answer:
    """The verdict on a statement that is called false, of that on the statement: something has to contradict it."""
    found = answers[0]
    if not isinstance(found, Verdict) or found.value == "unknown":
        return found
    chance = 1.0 - (found.score or 0.0)
    chance = chance if found.value == "yes" or found.contradicted else min(chance, UNTOLD)
    return with_chance(replace(found, score=chance), chance)


DENIED = "It is not true that "
"""What a claim begins with that calls a statement false."""
UNTOLD = 0.4
"""The highest chance of a denial of what nothing contradicts; set by hand."""
LONGEST_ITEM = 8
"""Words of an item that names something."""
NOWHERE = 6.0
"""By how much the odds of an item fall if none of its words, or not its number, stands in the evidence; by the square
of it where the evidence tells what would stand in its place. Set by hand."""
_SEVERAL = 2
"""Items in a sentence that lists them, at least."""
LEAST = 1e-4
"""The least chance that is weighed against another."""
SHOWN = 120
"""Characters of a claim that are quoted."""
_ORDER = {"no": 0, "unknown": 2, "yes": 3}
"""The weakest first; a failure stands behind no, since it might have been any."""


Decide = Callable[[Sequence[Question], Sequence[Answer]], Answer]
"""Makes one answer of those to the parts of a question."""


def parts_of_question(
    question: Question, split: Callable[[str, str], Components]
) -> tuple[tuple[Question, ...], Decide]:
    """What is asked in place of a question, at least itself, and how the answers are put together."""
    if opposites := question_and_opposite(question):
        return opposites, likelier_answer
    if item := item_questions(question):
        return item, item_answer
    if question.kind == "supported" and question.subject.startswith(DENIED):
        return (replace(question, subject=capitalized(question.subject.removeprefix(DENIED))),), denied_answer
    return questions_by_claim(question, split), weakest_answer


def questions_by_claim(question: Question, split: Callable[[str, str], Components]) -> tuple[Question, ...]:
    """One question a claim, for a part of a response that has several sentences; else the question itself.

    `split` tells the claims of a text, beside the query.
    """
    if question.kind != "supported" or not question.context or len(split_sentences(question.subject)) < 2:
        return (question,)
    claims = [c.text for c in split(question.subject, question.query) if not c.remark]
    return tuple(replace(question, subject=claim) for claim in claims) if len(claims) > 1 else (question,)


def weakest_answer(asked: Sequence[Question], answers: Sequence[Answer]) -> Answer:
    """The answer that decides: the weakest one, which says which claim it is about."""
    question, found = min(zip(asked, answers, strict=True), key=lambda pair: _rank(pair[1]))
    if len(asked) == 1 or not isinstance(found, Verdict):
        return found
    said = question.subject if len(question.subject) <= SHOWN else question.subject[: SHOWN - 1] + "…"
    return replace(found, explanation=f"“{said}”: {found.explanation}")


def _rank(answer: Answer) -> tuple[int, float]:
    return (_ORDER[answer.value], answer.score or 0.0) if isinstance(answer, Verdict) else (1, 0.0)


def verdict_on_refusals(question: Question, marker: Marker) -> Verdict | None:
    """The verdict on `same_answer` where refusals decide it; None elsewhere."""
    if question.kind != "same_answer":
        return None
    own = declines(question.query, question.subject, marker)
    if own.value != "yes":
        return None
    if question.at is None:
        return Verdict("no", 1.0 - _sure(own), _sure(own), "The response declines, so it gives no true answer.")
    others = [declines(question.query, text, marker) for text in question.evidence]
    sure = min(_sure(own), max((_sure(other) for other in others if other.value == "yes"), default=0.0))
    return Verdict("yes", sure, sure, "Both decline to answer.") if sure else None


def _sure(told: Verdict) -> float:
    return 1.0 if told.score is None else told.score
