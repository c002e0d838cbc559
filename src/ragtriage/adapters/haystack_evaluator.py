"""Scores in a Haystack pipeline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from ragtriage.adapters.packages import require

if TYPE_CHECKING:
    from ragtriage.adapters.harness import HarnessOptions
    from ragtriage.adapters.judged_row import JudgedRow

LOWEST = "2.31.0"


@lru_cache(maxsize=1)
def evaluator_class() -> Any:
    """The component `RagtriageEvaluator`; a ConfigError where Haystack isn't there."""
    require("haystack-ai", LOWEST)
    from haystack import component, default_from_dict, default_to_dict

    from ragtriage.adapters.harness import Harness

    class RagtriageEvaluator:
        """Judges answers by their contexts: an output for every metric, and `results`, a mapping a row.

        A metric's output has `score`, the mean of those that are defined, and `individual_scores`, with NaN where one
        is undefined or the judge failed; the row's `status` in `results` is then `undefined` or `error`.

        Args:
            metrics: their names, as for `--metrics`; those of the settings, else THELMA's, if None.
            options: see `ragtriage.adapters.harness.HarnessOptions`.

        Raises:
            ConfigError: a metric or the judge can't be used.
        """

        def __init__(self, metrics: Sequence[str] | None = None, **options: Unpack[HarnessOptions]) -> None:
            self._given = {"metrics": metrics, **options}
            self._harness = Harness("haystack", metrics, options)
            outputs: dict[str, Any] = dict.fromkeys(self._harness.names, dict[str, Any])
            component.set_output_types(self, results=list[dict[str, Any]], **outputs)

        def run(
            self,
            questions: list[str],
            contexts: list[list[str]],
            predicted_answers: list[str],
            ground_truth_answers: list[str] | None = None,
        ) -> dict[str, Any]:
            """Judge all rows as one batch; the lists have the same length."""
            harness = self._harness
            truths: Sequence[str | None] = ground_truth_answers or [None] * len(questions)
            rows = [
                {"query": query, "sources": sources, "response": answer, "reference": truth}
                for query, sources, answer, truth in zip(questions, contexts, predicted_answers, truths, strict=True)
            ]
            judged = harness.judge_rows(rows)
            found: dict[str, Any] = {"results": [_result(row, harness.names) for row in judged]}
            for name in harness.names:
                scores = [float(getattr(row.outcome(name), "value", math.nan)) for row in judged]
                known = [score for score in scores if not math.isnan(score)]
                mean = sum(known) / len(known) if known else math.nan
                found[name] = {"score": mean, "individual_scores": scores}
            return found

        def to_dict(self) -> dict[str, Any]:
            """For a pipeline that is written to a file."""
            given = {name: str(it) if isinstance(it, Path) else it for name, it in self._given.items()}
            return dict(default_to_dict(self, **given))

        @classmethod
        def from_dict(cls, data: dict[str, Any]) -> Any:
            """Undo `to_dict`."""
            return default_from_dict(cls, data)

    RagtriageEvaluator.__module__ = "ragtriage.haystack"  # where Haystack finds it again
    RagtriageEvaluator.__qualname__ = RagtriageEvaluator.__name__
    return component(RagtriageEvaluator)


def _result(row: JudgedRow, names: Sequence[str]) -> dict[str, Any]:
    outcomes = [row.outcome(name) for name in names]
    failed = any(getattr(outcome, "failed", False) for outcome in outcomes)
    status = "error" if failed else "undefined" if row.reason else "ok"
    return {
        "query": row.record.case.query,
        **{name: getattr(row.outcome(name), "value", math.nan) for name in names},
        "headline": str(row.head),
        "component": row.head.component,
        "why": {name: row.why(name) for name in names},
        "status": status,
        "reason": row.reason,
    }
