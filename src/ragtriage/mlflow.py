"""Scores in MLflow: `mlflow.genai.evaluate(data=…, predict_fn=…, scorers=ragtriage.mlflow.scorers())`.

Importing this imports no MLflow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Unpack

from ragtriage.adapters.packages import require

if TYPE_CHECKING:
    from ragtriage.adapters.harness import Harness, HarnessOptions
    from ragtriage.adapters.judged_row import JudgedRow

LOWEST = "3.4.0"
NAME = "ragtriage"
PATIENCE = 300.0
"""Seconds that MLflow gives a scorer which says nothing else."""
MOST_QUOTED, LONGEST_CLAIM = 120, 200
"""Characters of a source that say which one it is, and of a claim."""
_RUN = "mlflow.sourceRun"
_RUN_OF_ASSESSMENT = "mlflow.assessment.sourceRunId"


def scorers(
    metrics: Sequence[str] | None = None, *, claims: bool = False, **options: Unpack[HarnessOptions]
) -> list[Any]:
    """One scorer, which gives a feedback for every metric, and `headline`: what is wrong with the row.

    The sources are what the trace's topmost `RETRIEVER` spans gave; without one, they stand in the inputs or outputs
    under a name that a file may have. On the retriever's span `source_needed` says of every source whether it was.

    Args:
        metrics: their names, as for `--metrics`; those of the settings, else THELMA's, if None.
        claims: also a feedback `claim` for every claim of the response.
        options: see `ragtriage.adapters.harness.HarnessOptions`.

    Raises:
        ConfigError: MLflow isn't there, or a metric or the judge can't be used.
    """
    require("mlflow-skinny", LOWEST, "mlflow")
    from ragtriage.adapters.harness import Harness

    return [_scorer(Harness("mlflow", metrics, options), claims=claims)]


def _scorer(harness: Harness, *, claims: bool) -> Any:
    from mlflow.genai.scorers import Scorer

    from ragtriage.adapters.judged_row import merged_row, with_sources

    @lru_cache(maxsize=1000)
    def run_name(run_id: str) -> str:
        import mlflow

        return str(mlflow.get_run(run_id).info.run_name)

    class RagtriageScorer(Scorer):  # type: ignore[misc]  # of a package that may be missing
        def __call__(
            self, *, inputs: Any = None, outputs: Any = None, expectations: Any = None, trace: Any = None
        ) -> list[Any]:
            retrieved = _Retrieved(trace)
            row = merged_row(inputs, outputs, expectations, raw=harness.names_places)
            if retrieved.documents is not None:
                row = with_sources(row, retrieved.documents)
            run = trace.info.trace_metadata.get(_RUN, "") if trace else ""
            limit = getattr(self, "timeout", None)
            limit = PATIENCE if limit is None else limit or None  # MLflow's 0 means for ever
            judged = harness.judged(row, run_name(run) if run else "", limit)
            retrieved.tell(judged, harness, run)
            return [*_feedbacks(judged, harness, claims=claims)]

    return RagtriageScorer(name=NAME)


class _Retrieved:
    """The documents of the topmost retrievers of a trace, in the order of time, each once; None without a retriever."""

    def __init__(self, trace: Any) -> None:
        self._trace = trace
        self._places: list[tuple[str, int]] = []
        self.documents: list[Any] | None = None
        spans = trace.data.spans if trace else ()
        by_id = {span.span_id: span for span in spans}

        def is_below(span: Any) -> bool:
            parent = by_id.get(span.parent_id)
            return parent is not None and (parent.span_type == "RETRIEVER" or is_below(parent))

        found = [span for span in spans if span.span_type == "RETRIEVER" and not is_below(span)]
        for span in sorted(found, key=lambda one: one.start_time_ns):
            given = span.outputs.get("documents") if isinstance(span.outputs, Mapping) else span.outputs
            if not isinstance(given, list | tuple):  # it failed, or tells in another form: not that it found nothing
                continue
            self.documents = self.documents or []
            for at, document in enumerate(given):
                if document not in self.documents:
                    self.documents.append(document)
                    self._places.append((span.span_id, at))

    def tell(self, judged: JudgedRow, harness: Harness, run: str) -> None:
        """Write on the retrievers' spans which sources were needed.

        MLflow itself puts all that a scorer gives on the trace's root.
        """
        import mlflow

        from ragtriage.core.display import shortened

        for source, verdict in judged.needed_sources():
            if source < len(self._places):
                span, at = self._places[source]
                text = shortened(judged.record.case.known_sources[source].text, MOST_QUOTED)
                metadata = {"chunk_index": str(at), **({_RUN_OF_ASSESSMENT: run} if run else {})}
                told = {
                    "value": verdict.value == "yes",
                    "rationale": ": ".join(filter(None, (f"“{text}”", verdict.explanation))),
                }
                one = _feedback(harness, "source_precision", "source_needed", **told, span_id=span, metadata=metadata)
                with suppress(mlflow.exceptions.MlflowException):  # the trace isn't in this store
                    mlflow.log_assessment(trace_id=self._trace.info.trace_id, assessment=one)


def _feedbacks(judged: JudgedRow, harness: Harness, *, claims: bool) -> Iterator[Any]:
    from mlflow.entities import AssessmentError

    from ragtriage.core.display import shortened

    for name in harness.names:
        outcome, why = judged.outcome(name), judged.why(name)
        if getattr(outcome, "failed", False):
            error = AssessmentError(error_code="JUDGE_FAILED", error_message=why)
            yield _feedback(harness, name, name, error=error)
        else:
            yield _feedback(harness, name, name, value=getattr(outcome, "value", None), rationale=why or None)
    about = f"to repair: {judged.head.component}"
    yield _feedback(harness, "", "headline", value=str(judged.head), rationale=about)
    if claims:
        for part in judged.claims():
            start, end = part.component.span or (None, None)
            told: dict[str, Any] = {
                "value": getattr(part.cell, "value", None),
                "rationale": shortened(part.component.text, LONGEST_CLAIM),
                "metadata": {"start": str(start), "end": str(end)},
            }
            yield _feedback(harness, "groundedness", "claim", **told)


def _feedback(harness: Harness, metric: str, name: str, **given: Any) -> Any:
    from mlflow.entities import AssessmentSource, Feedback

    from ragtriage.monitor.outputs.scores import scorer_of

    kind = "CODE" if scorer_of(metric, harness.judge) == "CODE" else "LLM_JUDGE"
    return Feedback(name=name, source=AssessmentSource(source_type=kind, source_id=harness.judge), **given)
