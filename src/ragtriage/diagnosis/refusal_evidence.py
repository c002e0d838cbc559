"""What a response that declines says of its sources: that they may not answer after all.

A score of the sources depends on query and sources only. A finding reads the response too, so what the response
suggests moves how likely the finding is, and nothing else.
"""

from collections.abc import Mapping, Sequence

from ragtriage.core.case import Record
from ragtriage.core.metric import Metric
from ragtriage.core.verdicts import Cell, Known, Score, Verdict, Verdicts, chance_of, shifted, with_chance
from ragtriage.metrics.thelma import ANSWERED_BY_ONE, ANSWERED_TOGETHER, DECLINES

WEIGHT = 2.16
"""By how much the log odds that sources answer fall where the response surely declines."""
BASE = 0.48
"""By how much they rise where it surely doesn't; both fitted on natural cases: see `docs/probabilities.md`."""
_MOVED = (ANSWERED_BY_ONE, ANSWERED_TOGETHER)


def scores_beside_response(record: Record, metrics: Sequence[Metric]) -> dict[str, Score]:
    """The scores of a case as findings read them, by name: those of its sources in the light of its response.

    Only what is computed from whether the sources answer differs from the record's scores, and only where it is known
    whether the response declines.
    """
    scores = {name: outcome for name, outcome in record.outcomes.items() if isinstance(outcome, Score)}
    moved = steps_beside_response(record.steps)
    if moved is not record.steps:
        for metric in metrics:
            needs = metric.needs.values()
            known = all(str(step) in moved for step in needs)
            if metric.name in scores and known and any(step in _MOVED for step in needs):
                outcome = metric(moved)
                if isinstance(outcome, Score):
                    scores[metric.name] = outcome
    return scores


def steps_beside_response(steps: Mapping[str, Known]) -> Mapping[str, Known]:
    """The steps of one case, with the chances that sources answer moved by whether the response declines.

    Only verdicts with a chance strictly between 0 and 1 are moved, of a judge that measures probabilities. The very
    same steps where nobody knows whether the response declines.
    """
    declines = steps.get(str(DECLINES))
    chances = [chance_of(cell) for cell in declines.best()] if isinstance(declines, Verdicts) else []
    known = [chance for chance in chances if chance is not None]
    if not known:
        return steps
    by = BASE - WEIGHT * max(known)
    found = dict(steps)
    for step in _MOVED:
        verdicts = steps.get(str(step))
        if isinstance(verdicts, Verdicts):
            rows = (tuple(_moved(cell, by) for cell in row) for row in verdicts.cells)
            found[str(step)] = Verdicts(verdicts.components, tuple(rows))
    return found


def _moved(cell: Cell, by: float) -> Cell:
    if not isinstance(cell, Verdict) or cell.chance is None or cell.score is None or cell.value == "unknown":
        return cell
    return with_chance(cell, shifted(cell.chance, by))
