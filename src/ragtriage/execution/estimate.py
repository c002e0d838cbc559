"""What evaluating a file would take, before a request is made."""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from operator import itemgetter

from ragtriage.core.case import Case
from ragtriage.evaluation.estimate import EvaluationEstimate, estimate_evaluation, sum_estimates
from ragtriage.judges.protocol import Judge
from ragtriage.judges.wrappers.cached import AnswerMemory
from ragtriage.judges.wrappers.combined import Cascade
from ragtriage.readers import CaseFile
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.selection import ALL_ROWS, RowCounts, RowSelection, SelectedCases, case_digest

MOST_SAMPLED = 384
"""Rows of a sample, at most; of a file with no more of them all are looked at."""


def estimate_file(  # noqa: PLR0913  # what would be evaluated, by which judges, and how it is looked at
    file: CaseFile,
    judges: Sequence[Judge],
    config: EvaluationConfig,
    selection: RowSelection = ALL_ROWS,
    *,
    concurrency: int = 16,
    memory: AnswerMemory | None = None,
    first_trial: int = 0,
    exact: bool = False,
    advance: Callable[[int], None] = lambda _: None,
) -> tuple[EvaluationEstimate, RowCounts]:
    """Estimate what evaluating the selected rows of a file would take, and count its rows.

    Of a large file a random sample is looked at, the same at every call whatever the order of the rows; the estimate
    says how far it may be off. `judges` are those that would be asked, one a repetition, of which the first has the
    number `first_trial`. `advance` is called with 1 for every row that is read, and again where it is looked at.
    """
    selected = SelectedCases(file, selection)
    sampled, counts = _read(selected, advance)
    whole = counts.selected <= MOST_SAMPLED

    def estimated(judge: Judge, trial: int) -> EvaluationEstimate:
        cases = selected.read(lambda _: None) if exact and not whole else sampled
        return estimate_evaluation(
            _advancing(cases, advance),
            judge,
            metrics=config.metrics,
            also=config.diagnosis_steps,
            concurrency=concurrency,
            memory=memory,
            trial=trial,
            sampled_from=None if exact or whole else counts.selected,
        )

    estimates = []
    for trial, judge in enumerate(judges, first_trial):
        estimate = estimated(judge, trial)
        if isinstance(judge, Cascade):
            best = estimated(judge.at_best(), trial)
            estimate = replace(estimate, least=best.least, seconds=(best.seconds[0], estimate.seconds[1]))
        estimates.append(estimate)
    return sum_estimates(estimates), counts


def _read(selected: SelectedCases, advance: Callable[[int], None]) -> tuple[list[Case], RowCounts]:
    """Some of the selected cases, or all in their order where there are no more, and what all rows hold."""
    counts = RowCounts()
    ranked = (
        (case_digest(case), place, case) for place, case in enumerate(_advancing(selected.counted(counts), advance))
    )
    drawn = heapq.nsmallest(MOST_SAMPLED, ranked, key=itemgetter(0))
    if counts.selected <= MOST_SAMPLED:
        drawn.sort(key=itemgetter(1))
    return [case for _, _, case in drawn], counts


def _advancing(cases: Iterable[Case], advance: Callable[[int], None]) -> Iterator[Case]:
    for case in cases:
        yield case
        advance(1)
