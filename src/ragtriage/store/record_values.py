"""A record as the values of columns, and back: the tables of a store and the files of a record set hold the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ragtriage.core.case import Case, Source, Turn
from ragtriage.core.record import Record
from ragtriage.core.verdicts import Known, Outcome, Score, Undefined
from ragtriage.metrics import metric_named
from ragtriage.store.codec import DELETED, custom_parts, decode_steps, encode_steps, with_custom_parts
from ragtriage.store.identity import content_hash, digest

Text = tuple[str, int, str | None, str]
"""A text of a case: role, place, label (a source's id, a turn's role), text."""
_EMPTY: Mapping[str, Any] = {"value": None, "reason": None, "failed": False, "judged": None, "unknown": None}


def case_values(record: Record) -> dict[str, Any]:
    """All of a record but its scores and texts, by column."""
    case = record.case
    return {
        "id": case.id,
        "id_digest": digest(case.id),
        "content": content_hash(case),
        "failed": any(outcome_values(outcome)["failed"] for outcome in record.outcomes.values()),
        "language": record.language,
        "seconds": record.seconds,
        "weight": case.weight,
        "time": case.time,
        "trace_id": case.trace_id,
        "relevant_ids": case.relevant_ids,
        "tags": dict(case.tags),
        "steps": encode_steps(case, {**record.steps, **custom_parts(record.outcomes)}),
    }


def outcome_values(outcome: Outcome) -> dict[str, Any]:
    """A score, or why there is none, by column."""
    return {column: getattr(outcome, column, none) for column, none in _EMPTY.items()}


def outcome_from(value: float | None, reason: str | None, failed: bool, judged: Any, unknown: Any) -> Outcome:  # noqa: FBT001  # a column
    """Undo `outcome_values`."""
    return Undefined(reason or "", failed) if value is None else Score(value, judged, unknown)


def texts_of(case: Case) -> Iterator[Text]:
    """Every text of a case."""
    by_role: dict[str, Sequence[tuple[str | None, str | None]]] = {
        "query": [(None, case.query)],
        "response": [(None, case.response)],
        "reference": [(None, case.reference)],
        "source": [(source.id, source.text) for source in case.sources],
        "history": [(turn.role, turn.text) for turn in case.history],
        "sample": [(None, sample) for sample in case.samples],
        "citation mark": [(None, case.citation_mark)],
    }
    for role, labelled in by_role.items():
        for i, (label, text) in enumerate(labelled):
            if text is not None:
                yield role, i, label, text


def case_from(values: Mapping[str, Any], written: Iterable[tuple[str, str | None, str | None]]) -> Case:
    """A case from its columns and its texts: role, label, text (None where it was deleted), in their order."""
    by_role: dict[str, list[tuple[str | None, str]]] = {}
    for role, label, text in written:
        by_role.setdefault(role, []).append((label, DELETED if text is None else text))

    def only(role: str) -> str | None:
        return by_role[role][0][1] if role in by_role else None

    relevant = values["relevant_ids"]
    return Case(
        id=values["id"],
        query=only("query") or "",
        sources=tuple(Source(text, label) for label, text in by_role.get("source", ())),
        response=only("response"),
        reference=only("reference"),
        history=tuple(Turn(label or "", text) for label, text in by_role.get("history", ())),
        samples=tuple(text for _, text in by_role.get("sample", ())),
        relevant_ids=None if relevant is None else tuple(relevant),
        tags=values["tags"],
        weight=values["weight"],
        time=values["time"],
        trace_id=values["trace_id"],
        citation_mark=only("citation mark"),
    )


def record_from(case: Case, values: Mapping[str, Any], outcomes: Mapping[str, Outcome]) -> Record:
    """A record from its case, its columns and its scores, whose parts are found again in the steps.

    Raises:
        StoreError: the steps are damaged, or were written by a newer version.
    """
    steps = decode_steps(case, values["steps"])
    found = with_custom_parts(outcomes, steps)
    whole = {name: _with_parts(name, outcome, steps) for name, outcome in found.items()}
    return Record(case, steps, whole, values["language"], values["seconds"])


def _with_parts(name: str, outcome: Outcome, steps: Mapping[str, Known]) -> Outcome:
    """The stored score with the parts that today's metric finds for it; without them if it would differ today."""
    metric = metric_named(name)
    if metric is None or isinstance(outcome, Undefined):
        return outcome
    try:
        again = metric(steps)
    except (KeyError, ValueError):
        return outcome  # the metric needs other steps today than when the run was made
    if isinstance(again, Score) and (again.value, again.judged) == (outcome.value, outcome.judged):
        return replace(outcome, parts=again.parts)
    return outcome
