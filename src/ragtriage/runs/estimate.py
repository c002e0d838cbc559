"""What evaluating a file would take, before a request is made."""

from __future__ import annotations

from dataclasses import replace

from ragtriage.evaluation.estimate import EvaluationEstimate, estimate_evaluation
from ragtriage.judges.protocol import Judge
from ragtriage.judges.wrappers import AnswerMemory, Cascade
from ragtriage.readers import CaseFile
from ragtriage.runs.config import EvaluationConfig
from ragtriage.runs.selection import ALL_ROWS, RowCounts, RowSelection, SelectedCases


def estimate_file(
    file: CaseFile,
    judge: Judge,
    config: EvaluationConfig,
    selection: RowSelection = ALL_ROWS,
    *,
    concurrency: int = 16,
    memory: AnswerMemory | None = None,
    trial: int = 0,
    sample: int = 50,
) -> tuple[EvaluationEstimate, RowCounts]:
    """Estimate what evaluating the selected rows of a file would take, and count its rows.

    Args:
        file: the cases.
        judge: the one that would be asked.
        config: which metrics, and which rules need more than they do.
        selection: which rows.
        concurrency: how many requests would be in flight.
        memory: where the evaluation would look up answers.
        trial: which repetition.
        sample: on how many cases to find the most expensive metric; 0 to skip it.

    Raises:
        StoreError: the memory can't be read.
    """
    counts = RowCounts()
    cases = SelectedCases(file, selection)

    def estimated(by: Judge, rows: RowCounts) -> EvaluationEstimate:
        return estimate_evaluation(
            cases.counted(rows),
            by,
            metrics=config.metrics,
            also=config.diagnosis_steps,
            concurrency=concurrency,
            sample=sample,
            memory=memory,
            trial=trial,
        )

    estimate = estimated(judge, counts)
    if isinstance(judge, Cascade):
        best = estimated(judge.at_best(), RowCounts())
        estimate = replace(estimate, least=best.least, seconds=(best.seconds[0], estimate.seconds[1]))
    return estimate, counts
