"""What a response calculates: numbers and dates.

Numbers are results of calculations that are written out, if they are right and start from known or calculated numbers;
dates are one of the evidence or the query, plus or minus a span of time.
"""

import math
import re
from calendar import monthrange
from collections.abc import Collection, Iterator, Sequence
from datetime import date, timedelta
from functools import lru_cache
from itertools import combinations, islice

from ragtriage.judges.embedded.readings import RULES
from ragtriage.text.dates import WEEKDAYS, WrittenDate, without_markup, written_dates
from ragtriage.text.words import normalize_number

_MARKS = re.compile(r"\*\*|__|`|\\[()\[\]]|\\(?=[$%])|(?<!\S)[*_](?=\S)|(?<=\S)[*_](?!\S)")
_TIMES = re.compile(r"\\(?:times|cdot)\b")
_DIVIDED = re.compile(r"\\div\b")
_CURRENCY = r"(?:[€$£]\s?|\b[A-Z]{3}\s)?"
_FIGURES = r"\d++(?:[.,]\d++)*+"
_OPERAND = rf"{_CURRENCY}{_FIGURES}(?:\s?(?:%|[^\W\d_]+(?:[ -][^\W\d_]+){{0,2}}))?(?:\s?\([^()]{{1,40}}\))?"
_RESULT = rf"(?:about |roughly |approximately )?{_CURRENCY}({_FIGURES})\s?(%)?"
_SIGN = r"(?:\s?[×x*·÷/+−–-]\s?|\s(?:out )?of\s)"
_EQUATION = re.compile(rf"(?<![\d.,])({_OPERAND}(?:{_SIGN}{_OPERAND}){{1,5}})\s?[=≈|]\s?{_RESULT}")
"""A calculation that is written out, with currencies, units, remarks: "352 of 640 = 55 %", "12 × £1.86 | £22.32"."""
_REMARK = re.compile(r"\([^()]*\)")
_TERM = re.compile(rf"({_FIGURES})(?:\s?(%))?|(?<=[\s\d)%\w])([×x*·÷/+−–-])(?=[\s\d€$£])|\s(?:out )?(of)\s")
_AMOUNT = re.compile(rf"(?<![\d.,])({_FIGURES})[^\w\n]*$")
"""A number at the end of a line."""
_TOTAL = re.compile(r"\b(?:in all|altogether|total|together|sum)\b", re.IGNORECASE)
_HUNDREDTHS = re.compile(r"\d\s?(?:p|c|ct|cts|cents?|pence)\b|%")
_NUMBER = re.compile(_FIGURES)
SMALLEST = 13
"""Whole numbers below it are counted in the head: days of a range, months of a year."""
_MOST = 60
"""Known numbers, and numbers of a response, that are combined with each other."""
_EQUATIONS = 200
_SUMMANDS, _SUMMED = 6, 12
"""Of how many results a sum is looked for, and among how many."""


@lru_cache(64)  # each claim of a response asks
def calculated_numbers(response: str, values: frozenset[float]) -> frozenset[float]:
    """The numbers that a response accounts for by calculating.

    The result of each calculation that is written out, right, and made of numbers that are known, small, or worked out
    before it, or that adds up a list; the small numbers in it; and what is said of such results without being written
    out: their sum, how far one is from another, its share of another.
    """
    text = _MARKS.sub("", _DIVIDED.sub("÷", _TIMES.sub("×", response)))
    results = list(_column_sums(text, values))
    known = {round(one, 6) for one in (*values, *results)}
    found: set[float] = set(results)
    for equation in islice(_EQUATION.finditer(text), _EQUATIONS):
        terms = list(_terms(equation[1]))
        result = _value(equation[2])
        operands, signs = [t for t in terms if not isinstance(t, str)], [t for t in terms if isinstance(t, str)]
        if result is None or len(operands) != len(signs) + 1 or len(operands) < 2:
            continue
        if not all(_known(value, known) for value, _ in operands):
            continue
        hundredths = _HUNDREDTHS.search(equation[0]) is not None
        if any(_fits(come, result, equation[2]) for come in _outcomes(operands, signs, hundredths=hundredths)):
            results.append(result)
            known.add(round(result, 6))
            found |= {result, *(value for value, _ in operands)}
    if _TOTAL.search(text):
        found |= set(_products_with_sum(text, values))
    if results:
        found |= set(_said_of(text, results, values))
    return frozenset(found)


def _column_sums(text: str, values: Collection[float]) -> Iterator[float]:
    """The sums of three or more amounts at the ends of lines that follow each other, each known or some times known."""
    there = {round(one, 6) for one in values}
    run: list[float] = []
    for line in (*text.splitlines(), ""):
        amount = _AMOUNT.search(line)
        value = _value(amount[1]) if amount else None
        if value is not None and not there.isdisjoint(round(value / n, 6) for n in range(1, SMALLEST)):
            run.append(value)
        elif line.strip() or not run:
            if len(run) > 2:
                yield sum(run)
            run = []
    if len(run) > 2:
        yield sum(run)


def _products_with_sum(text: str, values: Collection[float]) -> Iterator[float]:
    """Numbers that are a product of two known ones, if the sum of two or more of them is told too; and that sum."""
    known = sorted(one for one in values if one > 1)[:_MOST]
    written = {value for found in _NUMBER.findall(text)[:_MOST] if (value := _value(found)) is not None}
    new = sorted(
        value for value in written if value >= SMALLEST and not any(nearly_equal(value, one) for one in values)
    )
    products = [value for value in new if any(nearly_equal(a * b, value) for a, b in combinations(known, 2))]
    for n in (2, 3):
        for some in combinations(products[:_SUMMANDS], n):
            if any(nearly_equal(sum(some), value) for value in new):
                yield from (*some, sum(some))


def _terms(calculation: str) -> Iterator[tuple[float, bool] | str]:
    """Operands (value, whether it is a percentage) and the signs between them."""
    for term in _TERM.finditer(_REMARK.sub(" ", calculation)):
        if term[1]:
            value = _value(term[1])
            yield (math.inf if value is None else value), bool(term[2])
        else:
            yield term[3] or "/"


def _value(written: str) -> float | None:
    """What a number means; None if it is a version, or too large to calculate with."""
    try:
        value = float(normalize_number(written).replace(",", "."))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _known(value: float, known: set[float]) -> bool:
    """Whether a number is small, known, a known percentage as a factor, or two known ones added or subtracted."""
    if is_small(value) or round(value, 6) in known:
        return True
    if 0 < value < 2 and not known.isdisjoint({round(abs(value - 1) * 100, 6), round(value * 100, 6)}):
        return True  # a surcharge or discount of so many per cent
    return any(round(value - one, 6) in known or round(value + one, 6) in known for one in known)


def _outcomes(operands: Sequence[tuple[float, bool]], signs: Sequence[str], *, hundredths: bool) -> Iterator[float]:
    """What a calculation comes to, percentages read as hundredths and as they stand, in either of two units."""
    for as_share in (True, False):
        come = _calculation([v / 100 if share and as_share else v for v, share in operands], signs)
        yield from (come, come * 100, come / 100) if hundredths else (come,)


def _calculation(numbers: Sequence[float], signs: Sequence[str]) -> float:
    """What numbers with signs between them come to, points before lines."""
    terms = [numbers[0]]
    for sign, value in zip(signs, numbers[1:], strict=True):
        if sign in "×x*·":
            terms[-1] *= value
        elif sign in "÷/":
            terms[-1] = terms[-1] / value if value else math.inf
        else:
            terms.append(value if sign == "+" else -value)
    return sum(terms)


def _said_of(text: str, results: Sequence[float], values: Collection[float]) -> Iterator[float]:
    """The numbers of a text that are a sum of results, or a difference or share of one and something known."""
    known = [*results[:_MOST]]
    others = sorted(values)[:_MOST]
    sums = _sums(results)
    for written in list(dict.fromkeys(_NUMBER.findall(text)))[:_MOST]:
        value = _value(written)
        if value is None or any(nearly_equal(value, one) for one in (*known, *others)):
            continue
        added = any(sums.get(round(value - one, 6), 0) > (not one) for one in (0.0, *others))
        if added or any(
            _fits(come, value, written) for a in known for b in (*known, *others) if a != b for come in _between(a, b)
        ):
            known.append(value)
            yield value


def _sums(results: Sequence[float]) -> dict[float, int]:
    """The sums of some results, rounded, and of how many each is at most; steps on the way to others aren't added."""
    some = (one for n in range(1, _SUMMANDS + 1) for one in combinations(results[:_SUMMED], n))
    return {round(sum(one), 6): len(one) for one in some}


def _between(a: float, b: float) -> Iterator[float]:
    """How far two numbers are apart, and what share of the one the other is, in per cent or times."""
    yield abs(a - b)
    for one, other in ((a, b), (b, a)):
        if other:
            yield one / other
            yield one / other * 100


def _fits(come: float, stated: float, written: str) -> bool:
    """Whether a calculation comes to what is stated, rounded to the figures that are shown."""
    decimals = len(written.rpartition(".")[2]) if "." in written else 0
    return math.isfinite(come) and abs(come - stated) <= 0.5 * 10.0**-decimals + 1e-6


def is_small(value: float) -> bool:
    """Whether a number is counted in the head."""
    return value < SMALLEST and value == int(value)


def nearly_equal(a: float, b: float) -> bool:
    """Whether two numbers are the same but for how computers calculate."""
    return abs(a - b) <= 1e-6 * max(1.0, abs(b))


_WORKDAYS = re.compile(r"business|working|banking|week", re.IGNORECASE)
_DAYS = {"day": 1, "week": 7, "fortnight": 14}
_MONTHS_OF = {"month": 1, "year": 12}
_NO_YEAR = (2001, 2004)
"""Years that stand for an unknown one: without and with a leap day."""
_YEARS = range(1996, 2024)
"""All ways in which the days of a week fall on dates."""
_MOST_DATES, _MOST_SPANS = 24, 60
"""Dates, and spans, of a text that are combined; dates of the evidence in all."""


_Span = tuple[int, str]
"""How many of which unit."""


def calculated_dates(claim: str, texts: tuple[str, ...], response: str) -> frozenset[str]:
    """The words of a claim's dates that can be worked out: day, month, year and day of the week, in small letters.

    The last of the `texts` is the query. A date that was worked out in the `response` that the claim was taken from may
    lead to the next.
    """
    own = list(written_dates(claim))
    found: set[str] = set()
    for year, days, months in _reached(texts, response or claim) if own else ():
        for one in own:
            day = one.on(year)
            if day in days:
                found |= {str(one.day), one.month_name, str(day.year)}
                found |= {one.weekday} & ({WEEKDAYS[day.weekday()]} if one.year or year not in _NO_YEAR else set())
            elif one.day is None and (one.year, one.month) in months:
                found |= {one.month_name, str(one.year)}
    return frozenset(found)


@lru_cache(64)
def _reached(texts: tuple[str, ...], response: str) -> tuple[tuple[int, set[date], set[tuple[int, int]]], ...]:
    """Each year that it may be, and what can be worked out in it: dates of the response, and (year, month) pairs."""
    said = list(islice(written_dates(response), _MOST_DATES))
    asked = list(islice(written_dates(texts[-1]), _MOST_DATES)) if texts else []
    told = {one for text in texts for one in islice(written_dates(text), _MOST_DATES)}
    told = {
        *asked,
        *sorted(told, key=lambda one: (one.year or 0, one.month or 0, one.day or 0, one.weekday))[:_MOST_SPANS],
    }
    at_hand = [*asked, *said]
    own = {span for text in (response, *texts[-1:]) for span in islice(_spans(text), _MOST_DATES)}
    spans = {*own, *sorted({span for text in texts for span in islice(_spans(text), _MOST_DATES)})[:_MOST_DATES]}
    years = {one.year for one in told if one.year} or _fitting(told, {one.year for one in said if one.year})
    return tuple((year, *_grown(year, (list(told), said, at_hand), own, spans)) for year in sorted(years))


def _grown(
    year: int,
    dates: tuple[Sequence[WrittenDate], Sequence[WrittenDate], Sequence[WrittenDate]],
    own: set[_Span],
    spans: set[_Span],
) -> tuple[set[date], set[tuple[int, int]]]:
    """From the dates that are told to those of the response that a span leads to, and on from these.

    Either the date or the span must be the query's or the response's own: evidence is full of both.
    """
    told, said, at_hand = ({day for one in some if (day := one.on(year))} for some in dates)
    known, left = set(told), said - told
    while met := {
        b for b in left if any(_leads(a, b, span) for a in known for span in (spans if a in at_hand else own))
    }:
        known |= met
        left -= met
    months = {month for day in known for span in (spans if day in at_hand else own) for month in _months(day, span)}
    return known - told, months


def _months(day: date, span: _Span) -> Iterator[tuple[int, int]]:
    """The (year, month) that a span before and after a day falls in; a span of working days isn't looked at."""
    number, unit = span
    for sign in (1, -1):
        if unit in _DAYS:
            there = day + sign * timedelta(number * _DAYS[unit])
            yield there.year, there.month
        elif unit in _MONTHS_OF:
            year, month = divmod(day.year * 12 + day.month - 1 + sign * number * _MONTHS_OF[unit], 12)
            yield year, month + 1


def _leads(a: date, b: date, span: _Span) -> bool:
    """Whether two dates are a span apart, the first day counted or not."""
    first, last = min(a, b), max(a, b)
    number, unit = span
    if unit == "workday":
        from numpy import busday_count  # noqa: PLC0415  # loaded when days are counted, so that a command starts quickly

        apart = int(busday_count(first, last))
    elif unit in _DAYS:
        apart, number = (last - first).days, number * _DAYS[unit]
    else:
        apart, number = (last - _later(first, number * _MONTHS_OF[unit])).days, 0
    return abs(apart - number) <= 1


def _later(day: date, months: int) -> date:
    """The same day some months later, or the last one of a shorter month."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def _fitting(told: Collection[WrittenDate], said: Collection[int]) -> Collection[int]:
    """Years in which the days of the week that are named fall on their dates: those that are said, or else any."""
    named = [one for one in told if one.weekday]
    years = [
        y for y in (said or _YEARS) if all((d := one.on(y)) and WEEKDAYS[d.weekday()] == one.weekday for one in named)
    ]
    return years if named or said else _NO_YEAR


def _spans(text: str) -> Iterator[_Span]:
    """How many of which unit: (10, "day"), (4, "workday")."""
    for number, kind, unit in RULES["time_span"].findall(without_markup(text)):
        name = "workday" if _WORKDAYS.match(kind) else unit.lower()
        if name in {"workday", *_DAYS, *_MONTHS_OF}:
            yield (int(number) if number.isdigit() else 1), name
