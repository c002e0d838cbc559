"""A run's claims, facts, sub-questions and other components as rows: each with a verdict on it, why, and where."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ragtriage.core.case import Record
from ragtriage.core.metric import Metric
from ragtriage.core.steps import CITING, Match, Step
from ragtriage.core.verdicts import Cell, Component, Failure, Verdict, Verdicts, chance_of, is_yes

COLUMNS = (
    "id", "step", "metrics", "unit", "of", "number", "text", "start", "end", "source", "source_id", "remark",
    "relation", "against", "value", "chance", "sure", "contradicted", "flag", "explanation", "quote", "quote_source",
    "quote_source_id", "quote_start", "quote_end",
)  # fmt: skip
_MARK = re.compile("[“”]")


def claim_rows(
    records: Iterable[Record], steps: Sequence[Step], metrics: Sequence[Metric]
) -> Iterator[Mapping[str, Any]]:
    """A row for each verdict on a component, and one for each component without any, in the order of the text.

    Its columns: `id` of the case; `step`, what was asked, and the `metrics` that count it; the component: its `unit`
    (claims, facts, questions, …), what it is a part `of`, its `number` from 1 there, its `text`, where that stands
    (`start`, `end`: characters from 0; of a fact in its `source`, counted from 1, with its `source_id`), whether it is
    a `remark` about the answer; what was asked about it (`relation`, `against`), the verdict: `value` (yes, no,
    unknown, failed; null where nobody was asked), `chance` of yes as the scores count it, `sure`, `contradicted` (the
    evidence says otherwise), `flag` (what a check found against it), `explanation`; and the `quote` in that, with the
    source and place where it stands, where it does. Against single sources the verdict is the one that counts, of
    which the source is told as that of its quote.

    Args:
        records: of a run.
        steps: in the order of the plan.
        metrics: of the run.
    """
    used = {step: [m.name for m in metrics if step in m.needs.values()] for step in steps}
    for record in records:
        judged: set[tuple[Step, Component]] = set()
        for step in steps:
            if isinstance(step, Match) and (found := record.verdicts(step)):
                for row, component, cell, at in _judged(step, found):
                    judged.add((step.components, component))
                    yield _row(record, step, used[step], row, component, cell, at)
        for step in steps:
            for row, component in enumerate(record.components(step) or ()):
                if (step, component) not in judged:
                    yield _row(record, step, used[step], row, component, None, None)


def _row(
    record: Record,
    step: Step,
    metrics: list[str],
    row: int,
    component: Component,
    cell: Cell,
    at: int | None,
) -> dict[str, Any]:
    parts = step.components if isinstance(step, Match) else step
    listed = record.components(parts) or ()
    start, end = component.span or (None, None)
    source = component.source
    told = dict.fromkeys(COLUMNS) | {
        "id": record.case.id,
        "step": str(step),
        "metrics": metrics,
        "unit": parts.into,
        "of": parts.of,
        "number": (listed.index(component) if component in listed else row) + 1,
        "text": component.text,
        "start": start,
        "end": end,
        "remark": component.remark,
    }
    if source is not None:
        told |= {"source": source + 1, "source_id": (record.case.sources or ())[source].id}
    if isinstance(step, Match):
        told |= {"relation": step.relation, "against": step.criterion or step.against}
    if isinstance(cell, Failure):
        told |= {"value": "failed", "explanation": cell.cause}
    if isinstance(cell, Verdict) and isinstance(step, Match):
        names = ("value", "sure", "contradicted", "flag", "explanation")
        told |= {name: getattr(cell, name) for name in names} | {"chance": chance_of(cell)}
        told |= _quote(record, step, component, cell, at)
    return told


def _judged(step: Match, found: Verdicts) -> Iterator[tuple[int, Component, Cell, int | None]]:
    """Each component with the cell that counts and, against single sources, which of them it is about."""
    for row, (component, cell, cells) in enumerate(zip(found.components, found.best(), found.cells, strict=True)):
        if cell is not None:
            yield row, component, cell, cells.index(cell) if step.against == "each source" and is_yes(cell) else None


def _read(record: Record, step: Match, component: Component, at: int | None) -> Iterator[tuple[str, int | None]]:
    """The texts that a verdict was read off, as far as a quote is looked for in them; of sources with their places."""
    if step.against == "response":
        yield record.case.response or "", None
    only = component.source if step.against == "query" else at
    for place, source in enumerate(record.case.sources or ()):
        if place == only or (only is None and step.against in ("sources", *CITING)):
            yield source.text, place


def _quote(record: Record, step: Match, component: Component, verdict: Verdict, at: int | None) -> dict[str, Any]:
    """The quote in an explanation, and where it stands in what was read."""
    sources = record.case.sources or ()
    told: dict[str, Any] = {}
    if at is not None:
        told |= {"quote_source": at + 1, "quote_source_id": sources[at].id}
    for quote in quotes_in(verdict.explanation):
        told.setdefault("quote", quote)
        words = re.compile(r"\s+".join(map(re.escape, quote.split())))
        for text, place in _read(record, step, component, at):
            if found := words.search(text):
                if place is not None:
                    told |= {"quote_source": place + 1, "quote_source_id": sources[place].id}
                return told | {"quote": found[0], "quote_start": found.start(), "quote_end": found.end()}
    return told


def quotes_in(explanation: str) -> Iterator[str]:
    """What an explanation quotes, as `ragtriage.core.display.quoted` writes it; marks inside a quote are its own."""
    depth = start = 0
    for mark in _MARK.finditer(explanation):
        if mark[0] == "“":
            start = start if depth else mark.end()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield explanation[start : mark.start()].removeprefix("… ").removesuffix(" …")
    if depth and (end := explanation.rfind("”")) > start:  # a quote that was cut inside one of its own
        yield explanation[start:end].removeprefix("… ").removesuffix(" …")
