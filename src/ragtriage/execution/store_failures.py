"""What is told where an evaluation ended because its store failed."""

from __future__ import annotations

from ragtriage.core.display import dollars, plural
from ragtriage.core.errors import StoreError
from ragtriage.store import RunWriter, StoreLostError


def store_failure(error: StoreError, cases: int, run: RunWriter, unsaved: str) -> str:
    """What happened, what it means for the run, and what to do, in a sentence.

    Args:
        error: what the store said.
        cases: how many cases of the run were evaluated.
        run: the run, with what it cost.
        unsaved: what became of answers that the store couldn't take; see `Answers.unsaved`.
    """
    told = str(error)
    if isinstance(error, StoreLostError) and error.deleted:
        told = f"{error.told}: {_lost(cases, run)}"
    return told if not unsaved or unsaved in told else f"{told}; {unsaved}"


def _lost(cases: int, run: RunWriter) -> str:
    what = f"the {plural(cases, 'case')} that {'was' if cases == 1 else 'were'} evaluated"
    what += f" and all answers of run {run.number} are lost with it" if run.requests else " are lost with it"
    price = f"{dollars(run.cost)} for " if run.cost else ""
    cost = f"; they cost {price}{plural(run.requests, 'request')}" if run.requests else ""
    return f"{what}{cost}. To evaluate anew, give the same command again"
