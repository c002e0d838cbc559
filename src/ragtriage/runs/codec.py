"""Steps and answers as compact texts, and back, exactly.

A component that stands verbatim at its span is written as the span alone, so that deleting the text deletes it too.
"""

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ragtriage.core.case import Case
from ragtriage.core.errors import StoreError
from ragtriage.core.verdicts import (
    Answer,
    Answered,
    Cell,
    Citation,
    Component,
    Failure,
    Known,
    Missing,
    Outcome,
    Part,
    Score,
    Verdict,
    Verdicts,
)
from ragtriage.metrics import metric_named

FORMAT = 1
"""The first member of every blob of steps; a reader refuses one that it doesn't know."""

DELETED = "[text deleted]"
"""What is read where a text was deleted."""

_NOT_ASKED, _FAILED = "-", "!"
_LETTERS: Mapping[Answered, str] = {"yes": "y", "no": "n", "unknown": "u"}
_VALUES: Mapping[str, Answered] = {letter: value for value, letter in _LETTERS.items()}

_dumps = json.JSONEncoder(separators=(",", ":"), default=float).encode  # judges compute with numpy's scalars


def encode_steps(case: Case, steps: Mapping[str, Known]) -> bytes:
    """The steps of one case, compressed; equal components are written once."""
    table = _Components()
    written = {name: _encode_known(known, table) for name, known in steps.items()}
    return _packed([_encode_component(case, component) for component in table.places], written)


def steps_readable(blob: bytes) -> bool:
    """Whether a blob of steps is whole."""
    try:
        return len(json.loads(zlib.decompress(blob))) > 1
    except (zlib.error, ValueError, TypeError):
        return False


class _Components:
    """The distinct components of a case, each with its place; most steps are about the very same objects."""

    def __init__(self) -> None:
        self.places: dict[Component, int] = {}
        self._known: dict[int, int] = {}

    def place(self, component: Component) -> int:
        """The place of a component, or of one that is equal to it."""
        own = id(component)  # to look at all that it says takes longer
        found = self._known.get(own)
        if found is None:
            found = self._known[own] = self.places.setdefault(component, len(self.places))
        return found


def decode_steps(case: Case, blob: bytes) -> dict[str, Known]:
    """Undo `encode_steps`, for the case as it was stored; a text that was deleted since is `DELETED`."""
    try:
        version, components, steps = json.loads(zlib.decompress(blob))
        if version != FORMAT:
            raise StoreError(f"the steps of case {case.id!r} were written by a newer version: update ragtriage")
        table = [_decode_component(case, component) for component in components]
        return {name: _decode_known(known, table) for name, known in steps.items()}
    except (zlib.error, ValueError, LookupError, TypeError) as error:
        raise StoreError(f"the stored steps of case {case.id!r} are damaged: {error}") from error


def without_texts(blob: bytes) -> bytes:
    """The same steps with every text in them deleted: components, explanations, causes of failures, flags.

    A verdict that was flagged stays flagged, so that counts of them stay.
    """
    _, components, steps = json.loads(zlib.decompress(blob))
    for component in components:
        component[4] = DELETED
        for citation in component[5] if len(component) > 5 else ():
            citation[0] = DELETED
    for known in steps.values():
        if isinstance(known, dict) and "missing" in known:
            reason, field, failed = known["missing"]
            known["missing"] = [DELETED if failed else reason, field, failed]
        elif isinstance(known, dict):
            known["why"] = {}
            for told in ("causes", "flags"):
                known[told] = dict.fromkeys(known[told], DELETED)
    return _packed(components, steps)


def _packed(components: list[Any], steps: Mapping[str, Any]) -> bytes:
    return zlib.compress(_dumps([FORMAT, components, steps]).encode(), 1)


def encode_answer(answer: Answer) -> str:
    """One answer for the cache; a failure, which is never kept, raises a ValueError."""
    match answer:
        case Failure():
            raise ValueError("a failure is never kept: the next run asks again")
        case Verdict(value, score, confidence, explanation, sure, flag, contradicted, chance):
            more = [flag, contradicted, chance]
            while more and (more[-1] in ("", None) or more[-1] is False):
                more.pop()
            return _dumps([value, score, confidence, explanation, sure, *more])
        case _:
            return _dumps([[[c.text, c.span, c.source, c.remark] for c in answer]])


def decode_answer(body: str) -> Answer:
    """Undo `encode_answer`."""
    read = json.loads(body)
    if len(read) == 1:
        return tuple(Component(text, tuple(span) if span else None, *rest) for text, span, *rest in read[0])
    return Verdict(*read)


def _encode_known(known: Known, table: _Components) -> Any:
    match known:
        case Missing(reason, field, failed):
            return {"missing": [reason, field, failed]}
        case Verdicts(components, cells):
            return _encode_grid(cells) | {"of": list(map(table.place, components))}
        case _:
            return list(map(table.place, known))


def _decode_known(read: Any, table: list[Component]) -> Known:
    if isinstance(read, list):
        return tuple(table[i] for i in read)
    if "missing" in read:
        return Missing(*read["missing"])
    flat, width = list(_decode_cells(read)), read["width"]
    rows = (tuple(flat[row * width : (row + 1) * width]) for row in range(len(read["of"])))
    return Verdicts(tuple(table[i] for i in read["of"]), tuple(rows))


def _encode_grid(cells: tuple[tuple[Cell, ...], ...]) -> dict[str, Any]:
    """A grid by columns of the same kind, which is quicker to write and packs better than a list of verdicts."""
    flat = [cell for row in cells for cell in row]
    verdicts = [cell for cell in flat if isinstance(cell, Verdict)]
    contradicted = [i for i, v in enumerate(verdicts) if v.contradicted]
    chances = [v.chance for v in verdicts]
    scores = [v.score for v in verdicts]
    return {
        "width": len(cells[0]) if cells else 0,
        "verdicts": "".join(
            _LETTERS[c.value] if isinstance(c, Verdict) else _FAILED if isinstance(c, Failure) else _NOT_ASKED
            for c in flat
        ),
        "scores": scores,
        # what a judge measured mostly is the chance too
        **({"chances": None if chances == scores else chances} if any(c is not None for c in chances) else {}),
        "confidences": [v.confidence for v in verdicts],
        "why": {i: v.explanation for i, v in enumerate(verdicts) if v.explanation},
        "flags": {i: v.flag for i, v in enumerate(verdicts) if v.flag},
        "unsure": [i for i, v in enumerate(verdicts) if not v.sure],
        **({"contradicted": contradicted} if contradicted else {}),
        "causes": {i: c.cause for i, c in enumerate(flat) if isinstance(c, Failure)},
    }


def _decode_cells(read: dict[str, Any]) -> Iterator[Cell]:
    unsure, contradicted = set(read["unsure"]), set(read.get("contradicted", ()))
    chances = read.get("chances", [None] * len(read["scores"]))
    verdicts = enumerate(zip(read["scores"], read["confidences"], chances or read["scores"], strict=True))
    for i, letter in enumerate(read["verdicts"]):
        if letter == _NOT_ASKED:
            yield None
        elif letter == _FAILED:
            yield Failure(read["causes"][str(i)])
        else:
            nth, (score, confidence, chance) = next(verdicts)
            explanation, flag = (read[told].get(str(nth), "") for told in ("why", "flags"))
            told = (explanation, nth not in unsure, flag, nth in contradicted, chance)
            yield Verdict(_VALUES[letter], score, confidence, *told)


def _origins(case: Case, source: int | None) -> tuple[str | None, ...]:
    if source is not None:
        return (case.known_sources[source].text if 0 <= source < len(case.known_sources) else None,)
    return case.response, case.query, case.reference


def _encode_component(case: Case, component: Component) -> list[Any]:
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


def _decode_component(case: Case, read: list[Any]) -> Component:
    source, start, end, remark, text, *cited = read
    if isinstance(text, int):
        origin = _origins(case, source)[text]
        text = DELETED if origin is None or origin == DELETED else origin[start:end]
    citations = tuple(Citation(name, tuple(sources)) for name, sources in (cited[0] if cited else ()))
    return Component(text, None if start is None else (start, end), source, remark, citations)


# The parts of a built-in metric's score are found again from the steps. Those of a user's own metric are not, since its
# code isn't run to show a run, so they are written beside the steps as verdicts of two columns: the deciding cell, and
# whether it speaks for the answer, explained by the kind of bad component that it is (gone where texts are deleted).

_GOOD: Mapping[bool | None, Answered] = {True: "yes", False: "no", None: "unknown"}
_GOOD_BACK: Mapping[Answered, bool | None] = {word: good for good, word in _GOOD.items()}


def custom_parts(outcomes: Mapping[str, Outcome]) -> dict[str, Known]:
    """The parts of the scores of a user's own metrics, as further steps."""
    return {
        _parts_key(name): Verdicts(
            tuple(part.component for part in outcome.parts),
            tuple((part.cell, Verdict(_GOOD[part.good], explanation=part.kind)) for part in outcome.parts),
        )
        for name, outcome in outcomes.items()
        if isinstance(outcome, Score) and outcome.parts and not metric_named(name)
    }


def with_custom_parts(outcomes: Mapping[str, Outcome], steps: dict[str, Known]) -> dict[str, Outcome]:
    """Undo `custom_parts`: the outcomes with their parts, which are taken out of the steps."""
    found = dict(outcomes)
    for name, outcome in outcomes.items():
        kept = steps.pop(_parts_key(name), None)
        if isinstance(outcome, Score) and isinstance(kept, Verdicts):
            rows = zip(kept.components, kept.cells, strict=True)
            parts = (
                Part(component, cell, _GOOD_BACK[good.value], good.explanation)
                for component, (cell, good) in rows
                if isinstance(good, Verdict)
            )
            found[name] = replace(outcome, parts=tuple(parts))
    return found


def _parts_key(name: str) -> str:
    return f"parts of {name}"
