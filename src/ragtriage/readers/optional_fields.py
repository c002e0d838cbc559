"""The optional fields of a row: id, reference, samples, ids of sources and of relevant ones, time, weight."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from typing import Any

from ragtriage.readers.literals import NotALiteral, literal, looks_like_list
from ragtriage.readers.problems import Limits, RowProblem
from ragtriage.readers.text_values import clean, shown, text_of

_EARLIEST = 100_000_000  # 1973 in seconds: smaller numbers are durations
SEVERAL_REFERENCES = "{rows}: there are several reference answers; the first is used, all of them are kept as a tag"


def id_of(value: Any, field: str, remarks: list[str]) -> str | None:
    """A name: a text or a whole number; None if it is missing or empty.

    Raises:
        RowProblem: it is something else.
    """
    if isinstance(value, float) and value.is_integer():  # what a table makes of whole numbers when one is missing
        value = int(value)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise RowProblem(field, f"is {shown(value)}: write a text or a whole number")
    return clean(str(value), remarks)


def reference_of(value: Any, limits: Limits, remarks: list[str]) -> tuple[str | None, bool]:
    """The reference answer, and whether there are others beside it.

    Raises:
        RowProblem: it is not a text or a list of texts.
    """
    value = _list_in_text(value)
    if not isinstance(value, list | tuple):
        return (None if value is None else text_of("reference", value, limits, remarks)), False
    texts = [text_of("reference", text, limits, remarks, f"answer {number} ") for number, text in enumerate(value, 1)]
    if len(texts) > 1:
        remarks.append(SEVERAL_REFERENCES)
    return (texts[0] if texts else None), len(texts) > 1


def samples_of(value: Any, limits: Limits, remarks: list[str]) -> tuple[str, ...]:
    """Further responses.

    Raises:
        RowProblem: it is not a list of texts.
    """
    value = _list_in_text(value)
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise RowProblem("samples", f"is {shown(value)}: write a list of texts")
    return tuple(text_of("samples", text, limits, remarks, f"sample {number} ") for number, text in enumerate(value, 1))


def relevant_ids_of(value: Any, remarks: list[str]) -> tuple[str, ...] | None:
    """The ids of the sources that should have been retrieved.

    Raises:
        RowProblem: it is not a list of ids, or one text that may be several.
    """
    names = _ids(value, "relevant_ids", remarks)
    if names is None:
        return None
    if None in names:
        raise RowProblem("relevant_ids", "holds an empty id: leave it out")
    return tuple(name for name in names if name is not None)


def source_ids_of(value: Any, remarks: list[str]) -> tuple[str | None, ...] | None:
    """The ids of the sources, in their order; None for a source without one.

    Raises:
        RowProblem: it is not a list of ids, or one text that may be several.
    """
    names = _ids(value, "source_ids", remarks)
    return None if names is None else tuple(names)


def _ids(value: Any, field: str, remarks: list[str]) -> list[str | None] | None:
    value = _list_in_text(value)
    if value is None:
        return None
    if isinstance(value, str) and ("," in value or ";" in value):
        raise RowProblem(field, f"is {shown(value)}: write several ids as a JSON list")
    items = value if isinstance(value, list | tuple) else [value]
    return [id_of(item, field, remarks) for item in items]


def time_of(value: Any) -> str | None:
    """The time as ISO 8601, from that or from seconds, milli-, micro- or nanoseconds since 1970; None if it is none."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, str):
        try:
            datetime.fromisoformat(value.strip())
        except ValueError:
            return None
        return value.strip()
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    if not _EARLIEST <= value < 1e19:
        return None
    seconds = float(value)
    while seconds > 1e11:
        seconds /= 1000
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def weight_of(value: Any) -> float:
    """How many cases the row stands for; 1 if nothing is said.

    Raises:
        RowProblem: it is not a positive number.
    """
    if value is None:
        return 1.0
    weight = math.nan
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            weight = float(value)
        except (ValueError, OverflowError):
            weight = math.nan
    if not (math.isfinite(weight) and weight > 0):
        raise RowProblem("weight", f"is {shown(value)}: write a number above 0")
    return weight


def _list_in_text(value: Any) -> Any:
    if isinstance(value, str) and looks_like_list(value):
        try:
            held = literal(value)
        except NotALiteral:
            return value
        return held if isinstance(held, list | tuple) else value
    return value
