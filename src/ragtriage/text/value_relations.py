"""How two values relate: the same, both possible, not told so, another, or not comparable."""

from dataclasses import replace
from decimal import Decimal
from itertools import product
from typing import Literal

from ragtriage.text.dates import Clock, WrittenDate
from ragtriage.text.values import MOMENTS, MONEY, Bound, Value
from ragtriage.text.words import Figure

ValueRelation = Literal["same", "within", "unsure", "other", ""]
"""How a value relates to another: `same`; `within`, both may be true; `unsure`; `other`; empty: can't be compared."""

_UP: frozenset[Bound] = frozenset(("least", "above"))
_DOWN: frozenset[Bound] = frozenset(("most", "below"))
_SAME = Decimal("1e-9")
"""How far numbers may be apart by how other units are worked out."""
_ROUNDED = Decimal("0.05")
"""How far a rough number may be off so that it is the other one rounded."""
_FAR = Decimal("0.2")
"""From here on a rough number is another one."""
_CALENDAR = Decimal("0.09")
"""How far apart lengths may be that are told in days and in months: 30 days, a month."""


def relation(own: Value, there: Value) -> ValueRelation:
    """How a claimed value relates to one that is told."""
    if own.kind != there.kind:
        return ""
    found = _relates(own, there)
    if found == "within" and there.end and not own.bound:
        bound: Bound = "most" if there.bound == "least" else "least"
        if _relates(own, replace(there, readings=there.end, bound=bound)) == "other":
            return "other"
    return found


def _relates(own: Value, there: Value) -> ValueRelation:
    if own.kind not in MOMENTS:
        return _amounts_relate(own, there)
    if not (own.end or there.end) and _opposed(own.bound, there.bound):
        return "other"
    bound: Bound = there.bound if there.end else ""  # a deadline leaves no other day
    related = [_reading_relates(a, b, bound) for a, b in product(own.readings, there.readings)]
    for one in ("same", "within", ""):
        if one in related:
            return one
    return "other"


def _reading_relates(a: object, b: object, bound: Bound) -> ValueRelation:
    match a, b:
        case WrittenDate(), WrittenDate():
            told = _dates_relate(a, b)
            return "within" if told == "other" and _follows(*_ordered(a, b), bound) else told
        case Clock(), Clock():
            if a.may_be(b) or b.may_be(a):
                return "same"
            return "within" if any(_follows((x,), (y,), bound) for x in a.seconds for y in b.seconds) else "other"
        case int(), int():
            return "same" if a == b else "within" if bound else "other"
        case _:
            return ""


def _ordered(a: WrittenDate, b: WrittenDate) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What both dates tell, the largest first."""
    pairs = [(x, y) for x, y in ((a.year, b.year), (a.month, b.month), (a.day, b.day)) if x and y]
    return tuple(x for x, _ in pairs), tuple(y for _, y in pairs)


def _follows(one: tuple[int, ...], other: tuple[int, ...], bound: Bound) -> bool:
    """Whether the first lies on the side of the other that a bound allows."""
    return one > other if bound == "least" else one < other if bound == "most" else False


def _dates_relate(a: WrittenDate, b: WrittenDate) -> ValueRelation:
    pairs = ((a.day, b.day), (a.month, b.month), (a.year, b.year))
    both = [(x, y) for x, y in pairs if x is not None and y is not None]
    if not both:
        return ""
    if any(x != y for x, y in both):
        return "other"
    return "same" if all((x is None) == (y is None) for x, y in pairs) else "within"


def _amounts_relate(own: Value, there: Value) -> ValueRelation:
    if own.kind == MONEY and own.unit != there.unit:
        same = any(a.value == b.value for a, b in product(own.figures, there.figures))
        return "other" if same and own.bound == there.bound else ""
    related = [_figures_relate(own, a, there, b) for a, b in product(own.figures, there.figures)]
    for one in ("same", "within", "unsure", ""):
        if one in related:
            return one
    return "other"


def _figures_relate(own: Value, a: Figure, there: Value, b: Figure) -> ValueRelation:
    larger = max(abs(a.value), abs(b.value))
    apart = abs(a.value - b.value)
    if apart <= _SAME * larger:
        return _bounds_relate(own.bound, there.bound)
    rough = "about" in (own.bound, there.bound)
    if rough and apart <= _ROUNDED * larger:
        return "same" if own.bound == "about" else "within"
    less_exact = apart <= max(a.step, b.step) / 2
    if less_exact or (own.unit != there.unit and apart <= _CALENDAR * larger):
        return "within"
    if sides := _sides(own, there):
        return "within" if (a.value > b.value) == (sides == "up") else "other"
    if _opposed(own.bound, there.bound):
        return ""
    return "unsure" if rough and apart <= _FAR * larger else "other"


def _sides(own: Value, there: Value) -> Literal["up", "down", ""]:
    """Where the claimed number may lie, if only one of both has a bound."""
    open_ends = ("", "about")
    if own.bound in open_ends and there.bound not in open_ends:
        return "up" if there.bound in _UP else "down"
    if there.bound in open_ends and own.bound not in open_ends:
        return "down" if own.bound in _UP else "up"
    return ""


def _opposed(a: Bound, b: Bound) -> bool:
    return (a in _UP and b in _DOWN) or (a in _DOWN and b in _UP)


def _bounds_relate(own: Bound, there: Bound) -> ValueRelation:
    """How the bounds of the same number relate."""
    if own == there:
        return "same"
    if _opposed(own, there):
        return "other"
    if own == "about":
        return "same" if not there else "within"
    if own in _UP | _DOWN and there in ("", "about"):
        return "within" if own == "most" else "unsure"
    return "within"
