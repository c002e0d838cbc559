"""The values of the fields beside query, sources and response; one that can't be read is a RowProblem."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Any

from ragtriage.readers.messages import turns_of
from ragtriage.readers.problems import RowContext, RowProblem
from ragtriage.readers.text_values import clean, list_in, shown, text_of

SEVERAL_REFERENCES = "{rows}: there are several reference answers; the first is used, all of them are kept as a tag"
NO_TIME = "{rows}: the time can't be read as ISO 8601 or as a number; it is kept as a tag"
_EARLIEST = 100_000_000  # 1973 in seconds: smaller numbers are durations


def _id(value: Any, field: str, context: RowContext) -> str | None:
    """A name: a text or a whole number; None if it is missing or empty."""
    if isinstance(value, float) and value.is_integer():  # what a table makes of whole numbers when one is missing
        value = int(value)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise RowProblem(field, f"is {shown(value)}: write a text or a whole number")
    return clean(str(value), context.remarks)


def _ids(value: Any, field: str, context: RowContext) -> tuple[str | None, ...] | None:
    """Ids in their order, None for an empty one; None if there are none."""
    if value is None:
        return None
    items = list_in(value)
    if items is None and isinstance(value, str) and ("," in value or ";" in value):
        raise RowProblem(field, f"is {shown(value)}: write several ids as a JSON list")
    return tuple(_id(item, field, context) for item in ([value] if items is None else items))


def _relevant_ids(value: Any, context: RowContext) -> tuple[str | None, ...] | None:
    """The ids of the sources that should have been retrieved."""
    ids = _ids(value, "relevant_ids", context)
    if ids is not None and None in ids:
        raise RowProblem("relevant_ids", "holds an empty id: leave it out")
    return ids


def _reference(value: Any, context: RowContext) -> str | None:
    """The reference answer; the first of several, which is remarked."""
    answers = list_in(value)
    if answers is None:
        return None if value is None else text_of("reference", value, context)
    texts = [text_of("reference", text, context, f"answer {number} ") for number, text in enumerate(answers, 1)]
    if len(texts) > 1:
        context.remarks.append(SEVERAL_REFERENCES)
    return texts[0] if texts else None


def _samples(value: Any, context: RowContext) -> tuple[str, ...]:
    """Further responses."""
    texts = list_in(value)
    if texts is None and value is not None:
        raise RowProblem("samples", f"is {shown(value)}: write a list of texts")
    return tuple(text_of("samples", text, context, f"sample {number} ") for number, text in enumerate(texts or (), 1))


def _time(value: Any, context: RowContext) -> str | None:
    """The time as ISO 8601, from that or from seconds, milli-, micro- or nanoseconds since 1970; else remarked."""
    if value is None or isinstance(value, datetime | date):
        return value.isoformat() if value else None
    if isinstance(value, str):
        try:
            datetime.fromisoformat(value.strip())
            return value.strip()
        except ValueError:
            value = None
    if isinstance(value, int | float) and not isinstance(value, bool) and _EARLIEST <= value < 1e19:
        seconds = float(value)
        while seconds > 1e11:
            seconds /= 1000
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    context.remarks.append(NO_TIME)
    return None


def _weight(value: Any) -> float:
    """How many cases the row stands for; 1 if nothing is said."""
    if value is None:
        return 1.0
    try:
        weight = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        weight = math.nan
    if not (math.isfinite(weight) and weight > 0):
        raise RowProblem("weight", f"is {shown(value)}: write a number above 0")
    return weight


PARSERS: Mapping[str, Callable[[Any, RowContext], Any]] = {
    "source_ids": lambda value, context: _ids(value, "source_ids", context),
    "history": lambda value, context: () if value is None else turns_of(value, "history", context),
    "reference": _reference,
    "time": _time,
    "id": lambda value, context: _id(value, "id", context),
    "samples": _samples,
    "relevant_ids": _relevant_ids,
    "weight": lambda value, _: _weight(value),
    "trace_id": lambda value, context: _id(value, "trace_id", context),
}
"""A field to what makes its value of what a file holds, where None is that it holds nothing."""
