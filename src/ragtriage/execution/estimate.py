"""What evaluating a file would take, before a request is made."""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import hypot
from operator import itemgetter

from ragtriage.core.case import Case
from ragtriage.evaluation.estimate import FEWEST, EvaluationEstimate, RowEstimate, estimate_evaluation, sum_estimates
from ragtriage.judges.protocol import Judge
from ragtriage.judges.wrappers.cached import AnswerMemory
from ragtriage.judges.wrappers.combined import Cascade
from ragtriage.readers import CaseFile
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.selection import ALL_ROWS, RowCounts, RowSelection, SelectedCases, case_digest, estimated_counts

MOST_SAMPLED = 384
"""Rows of a sample, at most; of a file with no more of them all are looked at."""
MOST_READ = 10_000
"""Rows of a JSONL file that are all read, so that those that can't be used are counted; of more, a sample is."""


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
    most_read: int = MOST_READ,
    advance: Callable[[int], None] = lambda _: None,
) -> tuple[EvaluationEstimate, RowCounts]:
    """Estimate what evaluating the selected rows of a file would take, and count its rows.

    Of a large file a random sample is looked at, the same at every call whatever the order of the rows; the estimate
    says how far it may be off. `judges` are those that would be asked, one a repetition, of which the first has the
    number `first_trial`. `advance` is called with how many rows were counted or read since, and once more for every one
    that is looked at.
    """
    selected = SelectedCases(file, selection)
    drawn = None if exact or selection.limit or selection.sample else _drawn(file, most_read, advance)
    sampled, counts = drawn or _read(selected, advance)
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
    return _with_rows(sum_estimates(estimates), counts.estimate), counts


def _with_rows(estimate: EvaluationEstimate, rows: RowEstimate | None) -> EvaluationEstimate:
    """An estimate that is off by what the number of its cases may be off, too."""
    sampling = estimate.sampling
    if sampling is None or rows is None:
        return estimate
    error = None if sampling.error is None else hypot(sampling.error, rows.error)
    return replace(estimate, sampling=replace(sampling, error=error, rows=rows))


def _drawn(file: CaseFile, most_read: int, advance: Callable[[int], None]) -> tuple[list[Case], RowCounts] | None:
    """Some cases, and what all rows hold by them; None where all rows have to be read for that."""
    sample = file.draw(MOST_SAMPLED, advance)
    if sample is None or sample.rows - sample.repeated <= max(most_read, MOST_SAMPLED):
        return None
    cases = [row for row in sample.drawn if isinstance(row, Case)]
    # where most rows can't be used, a sample tells little of those that can
    return (cases, estimated_counts(sample)) if len(cases) >= FEWEST else None


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
