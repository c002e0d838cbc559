"""Which answers are right: what the file says, else the typed match, else a judge's same-answer verdict.

A typed match compares by what the true answer is: a date, time, number, yes or no, list, name. It says yes or no only
where the texts leave no room. All else is unknown, which a judge may decide.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from ragtriage.core.questions import same_answer
from ragtriage.core.verdicts import Failure, Verdict
from ragtriage.judges.protocol import Judge
from ragtriage.testset.answered_rows import AnswerType, Row, Truth
from ragtriage.text.dates import (
    SURE_MONTHS,
    Clock,
    DayRange,
    Moment,
    clock_beside,
    clock_in,
    clocks,
    date_in,
    is_spoken,
    moments,
)
from ragtriage.text.declines import declines
from ragtriage.text.words import NEGATIONS, OPENERS, STOP, Figure, figures, fold, number_in, tokens

_DIGITS = re.compile(r"\d+(?:\.\d+)?|[+(]?(?:\d[\s()+-]*){5,}")
"""As many of them that what stands between them may be taken for granted; 3-4 is something else."""
_DAY = re.compile(r"\d{4}-\d\d(?:-\d\d)?|\d{1,2}([./-])\d{1,2}\1\d{4}")
_LEADING_ZERO = re.compile(r"0\d+(?:[ -]\d+)*")
_BETWEEN = r"[\s()-]{0,3}"
"""What may stand between two digits of a long code."""
_LONG = 5
"""Digits from which a code may be written with blanks and dashes in it."""
_TAIL = 6
"""Last digits that two ways of writing one phone number have in common, with and without the code of its country."""


def is_code(text: str, *, declared: bool) -> bool:
    """Whether a whole text is made of digits that are no number.

    Only a leading zero tells, unless the row says that it is a text (`declared`).
    """
    bare = text.strip()
    return not _DAY.fullmatch(bare) and bool((_DIGITS if declared else _LEADING_ZERO).fullmatch(bare))


def holds_code(code: str, text: str) -> bool:
    """Whether a text has exactly the digits of a code, neither more nor fewer."""
    return bool(_pattern(code).search(text))


def may_be_code(code: str, text: str) -> bool:
    """Whether a text may give the code otherwise: without the code of a country, or as a number of the same value."""
    tail = _bare(code)[-_TAIL:]
    if len(tail) == _TAIL and re.search(r"[\s().-]{0,3}".join(tail) + r"(?!\d)", text):
        return True
    bare = _bare(code)
    return not re.match(r"0\d", bare) and any(one.value == Decimal(bare) for one in figures(text))


def _bare(code: str) -> str:
    """The digits alone, with the point of a decimal number."""
    return re.sub(r"[\s()+-]", "", code)


def _pattern(code: str) -> re.Pattern[str]:
    bare = _bare(code)
    between = _BETWEEN if len(bare) >= _LONG and "." not in bare else ""
    inner = between.join(map(re.escape, bare))
    return re.compile(rf"(?<![\w.,])\+?\(?{inner}(?![.,]?\d|['’]?s\b)")


TOLERANCE = 0.005
"""How far a number in a response may be from the true one, as a share of it, where it is written less exactly."""

_YES = frozenset("yes yeah yep true correct indeed right affirmative".split())
_NO = frozenset("no nope not false incorrect wrong negative never".split())
_NOTHING = frozenset("none nobody nothing nowhere".split())
_BEGINNING = re.compile(r"^\W*\w+\W*")
_OTHER_UNIT = re.compile(r"\bcents?\b|¢|%|\bper ?cent\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?:;])\s+|\n+")
_LINKING = frozenset("and plus well follow following list include includes including total answer".split())
_ALONE = r"(?=\W*(?:$|[.,;:!?…)]|\s[-–—]|(?:and|or|but|depending)\b))"
_OTHER_SIDE = {
    True: re.compile(rf"\b(?:no|nope|(?:or|rather|perhaps|maybe) not|true and false|right and wrong)\b{_ALONE}"),
    False: re.compile(rf"\b(?:yes|yeah|yep|(?:or|rather|perhaps|maybe) so|false and true|wrong and right)\b{_ALONE}"),
}
"""Behind a first word of this side: the other one said as well, not merely a word of it ("Yes, no doubt")."""
_TAKEN_BACK = re.compile(
    r"\b(?:i mean|scratch that|correction|(?:that['’]s|that is|i['’]m|i was) (?:wrong|mistaken))\b"
)


def typed_match(
    query: str, answer: Truth, response: str, tolerance: float = TOLERANCE, kind: AnswerType | None = None
) -> Verdict:
    """Yes if a response gives the true answer, no if it doesn't, unknown where its type doesn't tell.

    The rules, in their order: an empty response and one that declines are wrong (where there is no answer, declining is
    right); so is one that only repeats the question. Then by the type of the answer. *Yes or no*: the first word. A
    *date*: the same or a more exact one; a less exact one is wrong. A *number*: in figures or words, rounded as it is
    written and within the tolerance. A *list*: every value is there and nothing else that could be one. A *name* or
    other text: its words stand together. Where another value of the type is there too, or the sentence is negated, or
    the response says "or", it is unknown. The answer is `()` if there is none. `kind` is what the true answer is, where
    that is known; else the answer itself tells. Digits are a number unless this says `text` or begin with a zero.
    """
    if not response.strip():
        return Verdict("no", explanation="The response is empty.")
    refusal = declines(query, response).value == "yes"
    if answer == ():
        return _nothing_to_find(response, declined=refusal)
    if refusal:
        return Verdict("no", explanation="The response declines to answer.")
    if isinstance(answer, tuple):
        return _list(query, answer, response, tolerance)
    side = _yes_or_no(answer, kind)
    if side is not None:
        return _first_word(query, response, truth=side)
    return _echo(query, str(answer), response) or _single(query, answer, response, tolerance, kind)


def truths_for_judge(answer: Truth) -> tuple[str, ...]:
    """The true answer as a judge is told it: one text, a list's values separated by commas."""
    if isinstance(answer, tuple):
        return (", ".join(map(_said, answer)),)
    return (_said(answer),)


def _said(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _nothing_to_find(response: str, *, declined: bool) -> Verdict:
    first = _folded(response)[:1]
    if declined or (first and first[0] in _NOTHING | {"no"}):
        return Verdict("yes", explanation="There is no answer, and the response says so.")
    return Verdict("no", explanation="There is no answer, but the response gives one.")


def _yes_or_no(answer: Truth, kind: AnswerType | None) -> bool | None:
    if isinstance(answer, bool):
        return answer
    words = {"yes": True, "true": True, "no": False, "false": False}
    if kind == "yes/no":
        words |= {"1": True, "0": False}
    return words.get(str(answer).strip().lower())


def _first_word(query: str, response: str, *, truth: bool) -> Verdict:
    words = _folded(response)
    if not words or words[0] not in _YES | _NO:
        return Verdict("unknown", explanation="The response doesn't begin with yes or no.")
    if declines(query, _BEGINNING.sub("", response)).value == "yes":
        return Verdict("no", explanation="Behind its first word the response declines to answer.")
    said = words[0] in _YES
    if _OTHER_SIDE[said].search(response.lower()) or _TAKEN_BACK.search(response.lower()):
        return Verdict("unknown", explanation="It begins with one of yes and no, and says the other too.")
    return Verdict("yes" if said == truth else "no", explanation=f"It says {'yes' if said else 'no'}.")


def _echo(query: str, truth: str, response: str) -> Verdict | None:
    """For a true answer that stands in the question too: is it given, or only repeated? None if it doesn't."""
    wanted, asked, said = _folded(truth), _folded(query), _folded(response)
    if not wanted or not _times(wanted, asked):
        return None
    content, question = _content(said), _content(asked)
    if set(content) <= set(wanted) and _times(wanted, said):
        return Verdict("yes", explanation="The response is the true answer.")
    if content <= question <= content and _times(wanted, said) <= _times(wanted, asked):
        return Verdict("no", explanation="The response only repeats the question.")
    return Verdict("unknown", explanation="The true answer stands in the question too.")


def _single(query: str, answer: object, response: str, tolerance: float, kind: AnswerType | None) -> Verdict:
    text = str(answer)
    if is_code(text, declared=kind == "text"):
        return _code(query, text, response)
    if (time := clock_in(text)) is not None:
        return _time(time, query, response)
    day = date_in(text)
    if day is not None:
        at = clock_beside(text)
        return _date(day, query, response) if at is None else _date_and_time(day, at, query, response)
    number = number_in(text)
    if number is None or (kind == "text" and not any(letter.isdigit() for letter in text)):
        return _name(query, text, response)
    asked = figures(query)
    own = [one for one in figures(response) if one.is_same(number, tolerance)]
    others = [one for one in figures(response) if one not in own and not _among(one, asked)]
    if others and not own and _OTHER_UNIT.search(response) and not _OTHER_UNIT.search(text):
        return Verdict("unknown", explanation="The number may be the true one in another unit.")
    return _weighed("number", own, others, response)


def _among(figure: Figure, others: Sequence[Figure]) -> bool:
    return any(figure.value == other.value for other in others)


def _date(truth: DayRange, query: str, response: str) -> Verdict:
    said, asked = moments(response), moments(query)
    own = [one for one in said if _lies_in(truth, one)]
    doubtful = [one for one in said if one not in own and any(span == truth for span in one)]
    others = [one for one in said if one not in own and one not in doubtful and one not in asked]
    if doubtful and not own:
        return Verdict("unknown", explanation="A date is written in a way that can be read as two days.")
    if not own and any(first <= truth[0] and truth[1] <= last for one in others for first, last in one):
        return Verdict("no", explanation="The date is less exact than the true one.")
    return _weighed("date", own, others, response)


def _time(truth: Clock, query: str, response: str) -> Verdict:
    said, asked = clocks(response), clocks(query)
    own = [one for one in said if one.is_same(truth)]
    doubtful = [one for one in said if one not in own and one.may_be(truth)]
    if doubtful and not own:
        return Verdict("unknown", explanation="A time of day is written in a way that can be read as two times.")
    if not said and is_spoken(response):
        return Verdict("unknown", explanation="A time of day may be there, in words or written like something else.")
    others = [one for one in said if one not in own and one not in doubtful and one not in asked]
    return _weighed("time of day", own, others, response)


def _date_and_time(day: DayRange, at: Clock, query: str, response: str) -> Verdict:
    """A date with its time of day: both must be there."""
    date, time = _date(day, query, response), _time(at, query, response)
    if "no" in {date.value, time.value}:
        return date if date.value == "no" else time
    if date.value == "yes" and not clocks(response) and not is_spoken(response):
        return Verdict("no", explanation="The date is there, but not its time of day.")
    return date if date.value == "unknown" else time


def _code(query: str, code: str, response: str) -> Verdict:
    rest = _pattern(code).sub(" ", response)
    own = figures(response) if holds_code(code, response) else []
    others = [one for one in figures(rest) if not _among(one, figures(query))]
    if others and not own and may_be_code(code, response):
        return Verdict("unknown", explanation="Its digits may be the true ones, written otherwise.")
    return _weighed("code", own, others, response)


def _weighed(kind: str, own: Sequence[object], others: Sequence[object], response: str) -> Verdict:
    """From the values that are the true one and those that are neither it nor taken from the question."""
    if own and not others:
        return _unless_turned(f"The true {kind} is there.", response)
    if own:
        return Verdict("unknown", explanation=f"The true {kind} is there, and another one.")
    if others:
        return Verdict("no", explanation=f"It names another {kind}.")
    return Verdict("unknown", explanation=f"It names no {kind}.")


def _unless_turned(why: str, response: str) -> Verdict:
    """Yes, but unknown where the sentence is negated or leaves a choice."""
    words = {word.lower().replace("’", "'") for word in tokens(response)}
    if words & NEGATIONS or "or" in words:
        return Verdict("unknown", explanation=f"{why} But the response negates something or leaves a choice.")
    return Verdict("yes", explanation=why)


def _name(query: str, truth: str, response: str) -> Verdict:
    wanted, said = _folded(truth), _folded(response)
    if said == wanted and (wanted or truth.strip() == response.strip()):
        return Verdict("yes", explanation="The response is the true answer.")
    if not wanted or not _stands_in(wanted, said):
        return Verdict("unknown", explanation="The words of the true answer don't stand together in it.")
    if others := _names(response) - set(wanted) - set(_folded(query)):
        why = f"The true answer is there, and other names: {', '.join(sorted(others))}."
        return Verdict("unknown", explanation=why)
    return _unless_turned("The true answer is there.", response)


def _list(query: str, answer: Sequence[object], response: str, tolerance: float) -> Verdict:
    """Every value must be there, and nothing left that could be one more."""
    texts = [_said(value) for value in answer]
    days = [day for text in texts if (day := date_in(text))]
    times = [at for text in texts if (at := clock_in(text) or (clock_beside(text) if date_in(text) else None))]
    numbers = [number for text in texts if not date_in(text) and (number := number_in(text)) is not None]
    said, dated, counted = _folded(response), moments(response), figures(response)
    lacks = [text for text in texts if not _holds(text, response, said, dated, counted, tolerance)]
    exact = [text for text in lacks if date_in(text) or number_in(text) is not None]
    if exact and not (times and is_spoken(response)):
        return Verdict("no", explanation=f"It lacks {', '.join(exact)}.")
    if lacks:
        return Verdict("unknown", explanation=f"It lacks the words {', '.join(lacks)}.")
    known = set(_folded(" ".join([query, *texts]))) | _LINKING | (SURE_MONTHS if days else frozenset())
    more: list[object] = [word for word in _content(_folded(response)) - known if not word[0].isdigit()]
    if times:
        more += [one for one in clocks(response) if not any(one.is_same(at) for at in times)]
    if days:
        more += [one for one in dated if not any(_lies_in(day, one) for day in days) and one not in moments(query)]
    elif numbers:
        own = [one for one in counted if any(one.is_same(number, tolerance) for number in numbers)]
        more += [one for one in counted if one not in own and not _among(one, figures(query))]
    if more:
        return Verdict("unknown", explanation="All values are there, and perhaps others.")
    return _unless_turned("All values are there, and no others.", response)


def _holds(
    text: str, response: str, said: Sequence[str], dated: Sequence[Moment], counted: Sequence[Figure], tolerance: float
) -> bool:
    """Whether one value of a list is there."""
    if is_code(text, declared=False):
        return holds_code(text, response)
    if day := date_in(text):
        at = clock_beside(text)
        timed = at is None or any(one.is_same(at) for one in clocks(response))
        return timed and any(_lies_in(day, one) for one in dated)
    if at := clock_in(text):
        return any(one.is_same(at) for one in clocks(response))
    number = number_in(text)
    if number is not None:
        return any(one.is_same(number, tolerance) for one in counted)
    return _stands_in(_folded(text), said)


def _lies_in(truth: DayRange, moment: Moment) -> bool:
    """Whether a date, however it is read, is the true one or a more exact one."""
    return all(truth[0] <= first and last <= truth[1] for first, last in moment)


def _folded(text: str) -> list[str]:
    return [fold(word) for word in tokens(text)]


def _content(words: Sequence[str]) -> set[str]:
    return {word for word in words if word not in STOP}


def _times(wanted: Sequence[str], words: Sequence[str]) -> int:
    """How often some words stand in others in this order and together."""
    size = len(wanted)
    return sum(list(words[i : i + size]) == list(wanted) for i in range(len(words) - size + 1))


def _stands_in(wanted: Sequence[str], words: Sequence[str]) -> bool:
    """Whether some words stand together in others, in any order: `Peacock, Jane` is `Jane Peacock`."""
    size, sought = len(wanted), sorted(wanted)
    return bool(size) and any(sorted(words[i : i + size]) == sought for i in range(len(words) - size + 1))


def _names(text: str) -> set[str]:
    """The capitalised words, folded; the first word of a sentence only if another follows it."""
    found: set[str] = set()
    for sentence in _SENTENCE.split(text):
        words = tokens(sentence)
        for at, word in enumerate(words):
            alone = at == 0 and not (len(words) > 1 and words[1][:1].isupper())
            if word[:1].isupper() and not alone and fold(word) not in STOP | OPENERS:
                found.add(fold(word))
    return found


DecisionSource = Literal["the file", "typed match", "judge", "nobody"]
Given = Literal["sibling", "gold"]
"""What an application is given when it is asked again: the sources of a right answer of the group, or the database's
row as a text."""


@dataclass(frozen=True, slots=True)
class SecondAnswer:
    """What the application answered the second time, with sources that suffice."""

    given: Given
    correct: bool


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether one answer is right."""

    correct: bool | None
    """None if it is undecided: there is no response, or neither the typed match nor the judge could tell."""
    by: DecisionSource
    why: str = ""
    failed: bool = False
    """Whether the judge failed on it, so that another call may decide it."""
    second_answer: SecondAnswer | None = None
    """Of a wrong answer: what the application says when it is given sources that suffice, where it was asked."""


def decide(rows: Sequence[Row], judge: Callable[[], Judge] | None, tolerance: float = TOLERANCE) -> list[Decision]:
    """Decide every row, in order.

    A row's own `correct` is used as it stands. A row without a response is undecided: a time-out isn't a wrong answer.
    """
    decisions = [_without_judge(row, tolerance) for row in rows]
    open_rows = [i for i, decision in enumerate(decisions) if decision is None]
    if open_rows and judge is not None:
        judged = asyncio.run(_ask(judge(), [rows[i] for i in open_rows]))
        for i, decision in zip(open_rows, judged, strict=True):
            decisions[i] = decision
    return [decision or Decision(None, "nobody", "The typed match can't tell.") for decision in decisions]


def _without_judge(row: Row, tolerance: float) -> Decision | None:
    """None where a judge is needed."""
    if row.correct is not None:
        return Decision(row.correct, "the file")
    if row.response is None:
        return Decision(None, "nobody", "The application gave no response.")
    if row.answer is None:
        return Decision(None, "nobody", "The true answer isn't known.")
    verdict = typed_match(row.query, row.answer, row.response, tolerance, row.answer_type)
    if verdict.value == "unknown":
        return None
    return Decision(verdict.value == "yes", "typed match", verdict.explanation)


async def _ask(judge: Judge, rows: Sequence[Row]) -> list[Decision]:
    questions = [same_answer(row.query, truths_for_judge(row.answer or ()), row.response or "") for row in rows]
    found = [Decision(None, "judge", "The judge gave no answer.", failed=True)] * len(rows)
    async for place, answer in judge.ask(questions):
        match answer:
            case Verdict(value=value, explanation=why):
                found[place] = Decision(None if value == "unknown" else value == "yes", "judge", why)
            case Failure(cause=cause):
                found[place] = Decision(None, "judge", f"The judge failed: {cause}", failed=True)
    return found


def check_matcher(rows: Sequence[Row], tolerance: float = TOLERANCE) -> Counter[tuple[bool, str]]:
    """Hold the typed match against `correct`, on the rows that have it beside an answer and a response.

    Returns (label, verdict of the typed match) → how many rows.
    """
    return Counter(
        (row.correct, typed_match(row.query, row.answer, row.response, tolerance, row.answer_type).value)
        for row in rows
        if row.correct is not None and row.answer is not None and row.response is not None
    )
