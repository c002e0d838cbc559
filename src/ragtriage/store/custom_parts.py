"""What a score of a metric of one's own rests on, kept with the steps.

The parts of a built-in metric's score are found again from the steps. Those of a metric of one's own are not, since its
code isn't run to show a run, so they are written beside the steps, as verdicts of two columns: the deciding cell, and
whether it speaks for the answer, explained by the kind of bad component that it is (gone where texts are deleted).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ragtriage.core.verdicts import Answered, Known, Outcome, Part, Score, Verdict, Verdicts
from ragtriage.metrics import metric_named

_GOOD: Mapping[bool | None, Answered] = {True: "yes", False: "no", None: "unknown"}
_BACK: Mapping[Answered, bool | None] = {word: good for good, word in _GOOD.items()}


def own_parts(outcomes: Mapping[str, Outcome]) -> dict[str, Known]:
    """The parts of the scores of metrics of one's own, as further steps."""
    return {
        _key(name): Verdicts(
            tuple(part.component for part in outcome.parts),
            tuple((part.cell, Verdict(_GOOD[part.good], explanation=part.kind)) for part in outcome.parts),
        )
        for name, outcome in outcomes.items()
        if isinstance(outcome, Score) and outcome.parts and not metric_named(name)
    }


def with_own_parts(outcomes: Mapping[str, Outcome], steps: dict[str, Known]) -> dict[str, Outcome]:
    """Undo `own_parts`: the outcomes with their parts, which are taken out of the steps."""
    found = dict(outcomes)
    for name, outcome in outcomes.items():
        kept = steps.pop(_key(name), None)
        if isinstance(outcome, Score) and isinstance(kept, Verdicts):
            rows = zip(kept.components, kept.cells, strict=True)
            parts = (Part(component, cell, *_read(said)) for component, (cell, said) in rows)
            found[name] = replace(outcome, parts=tuple(parts))
    return found


def _read(cell: object) -> tuple[bool | None, str]:
    return (_BACK[cell.value], cell.explanation) if isinstance(cell, Verdict) else (None, "")


def _key(name: str) -> str:
    return f"parts of {name}"
