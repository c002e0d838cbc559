"""Steps and answers as compact texts, and back, exactly.

A component that stands verbatim at its span is written as the span alone, so that deleting the text deletes it too.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

from ragtriage.core.case import Case
from ragtriage.core.errors import StoreError
from ragtriage.core.verdicts import Answer, Cell, Citation, Component, Failure, Known, Missing, Verdict, Verdicts

FORMAT = 1
"""The first member of every blob of steps; a reader refuses one that it doesn't know."""

DELETED = "[text deleted]"
"""What is read where a text was deleted."""

_LETTERS: dict[str, str] = {"yes": "y", "no": "n", "unknown": "u"}
_VALUES: dict[str, Any] = {letter: value for value, letter in _LETTERS.items()}
_NOT_ASKED, _FAILED = "-", "!"


def _number(value: Any) -> float:
    return float(value)  # a numpy scalar: judges compute with them


_dumps = json.JSONEncoder(separators=(",", ":"), default=_number).encode


def encode_steps(case: Case, steps: Mapping[str, Known]) -> bytes:
    """The steps of one case, compressed; equal components are written once."""
    table: dict[Component, int] = {}
    written = {name: _known(known, table) for name, known in steps.items()}
    components = [_component(case, component) for component in table]
    return zlib.compress(_dumps([FORMAT, components, written]).encode(), 1)


def decode_steps(case: Case, blob: bytes) -> dict[str, Known]:
    """Undo `encode_steps`.

    Args:
        case: as it was stored; a text that was deleted since is `DELETED`.
        blob: what was written.

    Raises:
        StoreError: the blob is damaged or was written by a newer version.
    """
    try:
        read = json.loads(zlib.decompress(blob))
        if read[0] != FORMAT:
            raise StoreError(f"the steps of case {case.id!r} were written by a newer version: update ragtriage")
        components = [_component_back(case, c) for c in read[1]]
        return {name: _known_back(known, components) for name, known in read[2].items()}
    except (zlib.error, ValueError, LookupError, TypeError) as error:
        raise StoreError(f"the stored steps of case {case.id!r} are damaged: {error}") from error


def without_texts(blob: bytes) -> bytes:
    """The same steps with every text in them deleted: components, explanations, causes of failures, flags.

    A verdict that was flagged stays flagged, so that counts of them stay.
    """
    version, components, steps = json.loads(zlib.decompress(blob))
    for component in components:
        component[4] = DELETED
        for citation in component[5] if len(component) > 5 else ():
            citation[0] = DELETED
    for known in steps.values():
        if isinstance(known, dict) and "verdicts" in known:
            known["why"] = {}
            for told in ("causes", "flags"):
                known[told] = dict.fromkeys(known.get(told, ()), DELETED)
    return zlib.compress(_dumps([version, components, steps]).encode(), 1)


def encode_answer(answer: Answer) -> str:
    """One answer for the cache.

    Raises:
        ValueError: it is a failure, which is never kept.
    """
    match answer:
        case Failure():
            raise ValueError("a failure is never kept: the next run asks again")
        case Verdict():
            flag = [answer.flag] if answer.flag else []
            return _dumps([answer.value, answer.score, answer.confidence, answer.explanation, answer.sure, *flag])
        case _:
            return _dumps([[[c.text, c.span, c.source, c.remark] for c in answer]])


def decode_answer(body: str) -> Answer:
    """Undo `encode_answer`."""
    read = json.loads(body)
    if len(read) == 1:
        return tuple(Component(text, tuple(span) if span else None, *rest) for text, span, *rest in read[0])
    return Verdict(*read)


def _known(known: Known, table: dict[Component, int]) -> Any:
    match known:
        case Missing(reason, field, failed):
            return {"missing": [reason, field, failed]}
        case Verdicts(components, cells):
            return _grid(cells) | {"of": [table.setdefault(c, len(table)) for c in components]}
        case _:
            return [table.setdefault(c, len(table)) for c in known]


def _known_back(read: Any, table: list[Component]) -> Known:
    if isinstance(read, list):
        return tuple(table[i] for i in read)
    if "missing" in read:
        return Missing(*read["missing"])
    return Verdicts(tuple(table[i] for i in read["of"]), _grid_back(read))


def _grid(cells: tuple[tuple[Cell, ...], ...]) -> dict[str, Any]:
    """A grid by columns of the same kind, which is quicker to write and packs better than a list of verdicts."""
    flat = [cell for row in cells for cell in row]
    verdicts = [cell for cell in flat if isinstance(cell, Verdict)]
    return {
        "width": len(cells[0]) if cells else 0,
        "verdicts": "".join(
            _LETTERS[c.value] if isinstance(c, Verdict) else _FAILED if isinstance(c, Failure) else _NOT_ASKED
            for c in flat
        ),
        "scores": [v.score for v in verdicts],
        "confidences": [v.confidence for v in verdicts],
        "why": {i: v.explanation for i, v in enumerate(verdicts) if v.explanation},
        "flags": {i: v.flag for i, v in enumerate(verdicts) if v.flag},
        "unsure": [i for i, v in enumerate(verdicts) if not v.sure],
        "causes": {i: c.cause for i, c in enumerate(flat) if isinstance(c, Failure)},
    }


def _grid_back(read: dict[str, Any]) -> tuple[tuple[Cell, ...], ...]:
    unsure, flags = set(read["unsure"]), read.get("flags", {})  # stores of version 1 have no flags
    flat: list[Cell] = []
    nth = 0
    for i, letter in enumerate(read["verdicts"]):
        if letter == _NOT_ASKED:
            flat.append(None)
        elif letter == _FAILED:
            flat.append(Failure(read["causes"][str(i)]))
        else:
            why = read["why"].get(str(nth), "")
            score, confidence = read["scores"][nth], read["confidences"][nth]
            flat.append(Verdict(_VALUES[letter], score, confidence, why, nth not in unsure, flags.get(str(nth), "")))
            nth += 1
    width = read["width"]
    return tuple(tuple(flat[row * width : (row + 1) * width]) for row in range(len(read["of"])))


def _origins(case: Case, source: int | None) -> tuple[str | None, ...]:
    if source is not None:
        return (case.sources[source].text if 0 <= source < len(case.sources) else None,)
    return case.response, case.query, case.reference


def _component(case: Case, component: Component) -> list[Any]:
    """[source, start, end, remark, text], where a number in place of the text says where it stands verbatim.

    A segment that cites something has a sixth member: [[name, sources], …].
    """
    start, end = component.span or (None, None)
    text: str | int = component.text
    if component.span:
        for i, origin in enumerate(_origins(case, component.source)):
            if origin is not None and origin[start:end] == component.text:
                text = i
                break
    cited = [[[c.name, c.sources] for c in component.citations]] if component.citations else []
    return [component.source, start, end, component.remark, text, *cited]


def _component_back(case: Case, read: list[Any]) -> Component:
    source, start, end, remark, text, *cited = read
    if isinstance(text, int):
        origin = _origins(case, source)[text]
        text = DELETED if origin is None or origin == DELETED else origin[start:end]
    citations = tuple(Citation(name, tuple(sources)) for name, sources in (cited[0] if cited else ()))
    return Component(text, None if start is None else (start, end), source, remark, citations)
