"""Verdicts of one case that speak for each other: a response that declines speaks against sources that answer.

A judge reads whether the sources answer apart from whether the response declines, and a small one says too readily that
sources on the very topic answer. Of the refusals in natural cases three in four are right. So the log odds that sources
answer are moved by `BASE` − `WEIGHT` · d, where d is the chance that the response declines. On natural cases of domains
that nothing was fitted on, this raises the correlation of the score with the true one from .49 to .57. Two other
factors gained nothing and aren't here: a source that answers is needed (.44, .44), and sources answer what the response
answers with claims that they support (.57, .57 beside this one).
"""

from __future__ import annotations

from collections.abc import Mapping

from ragtriage.core.chances import chance_of, shifted, with_chance
from ragtriage.core.verdicts import Cell, Known, Verdict, Verdicts
from ragtriage.metrics.thelma import ANSWERED_BY_ONE, ANSWERED_TOGETHER, DECLINES

WEIGHT = 2.16
BASE = 0.48


def consistent(steps: Mapping[str, Known]) -> dict[str, Known]:
    """The steps of one case, with the chances that sources answer moved by whether the response declines.

    Only verdicts with a chance strictly between 0 and 1 are moved, of a judge that measures probabilities, and only
    where it was asked whether the response declines: a diagnosis asks it, a metric by itself doesn't.

    Args:
        steps: by their text forms.
    """
    found, declines = dict(steps), steps.get(str(DECLINES))
    chances = [chance_of(cell) for cell in declines.best()] if isinstance(declines, Verdicts) else []
    known = [chance for chance in chances if chance is not None]
    if not known:
        return found
    by = BASE - WEIGHT * max(known)
    for step in (ANSWERED_BY_ONE, ANSWERED_TOGETHER):
        verdicts = steps.get(str(step))
        if isinstance(verdicts, Verdicts):
            rows = (tuple(_moved(cell, by) for cell in row) for row in verdicts.cells)
            found[str(step)] = Verdicts(verdicts.components, tuple(rows))
    return found


def _moved(cell: Cell, by: float) -> Cell:
    if not isinstance(cell, Verdict) or cell.chance is None or cell.score is None or cell.value == "unknown":
        return cell
    return with_chance(cell, shifted(cell.chance, by))
