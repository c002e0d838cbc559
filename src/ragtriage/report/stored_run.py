"""A stored run as it is reported."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragtriage.report.run_report import Header, RepeatsReport, RunReport, run_report
from ragtriage.report.words import shown_time
from ragtriage.runs.evaluation_config import ARITHMETIC, COUNTING, EMBEDDINGS, EvaluationConfig
from ragtriage.runs.run import Run
from ragtriage.runs.selection import QUOTED
from ragtriage.runs.tally import SlicedTally
from ragtriage.trust.calibration.corrected_mean import CorrectedMean


def stored_run_report(  # the run, how it is read, its numbers, and what may be known besides
    stored: Run,
    config: EvaluationConfig,
    tally: SlicedTally,
    *,
    repeats: RepeatsReport | None = None,
    corrections: Mapping[str, CorrectedMean] | None = None,
    judge_card: Mapping[str, Any] | None = None,
) -> RunReport:
    """What the terminal, the page and JSON show of a run.

    Args:
        stored: the run.
        config: what it was evaluated with, or is to be read with.
        tally: its records, counted.
        repeats: how far its trials agree, if it was repeated.
        corrections: metric name → its mean corrected by people's labels.
        judge_card: what is known of the judge.
    """
    info = stored.info
    rejected = stored.rejected()
    shown = (f"row {r.row}{f', field {r.field!r}' if r.field else ''}: {r.reason}" for r in rejected[:QUOTED])
    header = Header(
        run=info.typed,
        input=info.input if not Path(info.input).is_absolute() else Path(info.input).name,
        judge=info.judge,
        arithmetic=int(info.configuration.get(ARITHMETIC, 1)),
        counting=str(info.configuration.get(COUNTING, "")),
        embeddings=str(info.configuration.get(EMBEDDINGS, "")),
        created=shown_time(info.created),
        state=info.state,
        of=info.rows,
        thresholds=config.thresholds,
        rules=config.rules,
        application_price=config.application_price,
        rejected=len(rejected),
        rejections=tuple(shown),
        spent=info.spent,
        version=info.versions.get("ragtriage", ""),
        metrics=config.metrics,
        corrections=corrections or {},
        judge_card=judge_card,
        texts_deleted=stored.texts_deleted(),
    )
    return run_report(header, tally.summary(), tally.slices(), repeats)
