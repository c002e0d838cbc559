"""Scores in LangSmith: `langsmith.evaluate(target, data=…, evaluators=[ragtriage.langsmith.evaluator()])`.

Importing this imports no LangSmith.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Unpack

if TYPE_CHECKING:
    from ragtriage.adapters.harness import HarnessOptions

PLACES = 4
"""Decimals of a score that LangSmith keeps; its client rounds to them."""


def evaluator(
    metrics: Sequence[str] | None = None, **options: Unpack[HarnessOptions]
) -> Callable[[Any, Any], dict[str, Any]]:
    """A function for `evaluators=`: a result for every metric, and `headline`: what is wrong with the row.

    Query, response and sources stand in the example's inputs and the run's outputs under names that a file may have;
    the true answer in the example's outputs. An undefined or failed score is `None`, and its comment says why.
    LangSmith hands over one row at a time unless `max_concurrency` says otherwise: 32 keeps the judge busy.

    Args:
        metrics: their names, as for `--metrics`; those of the settings, else THELMA's, if None.
        options: see `ragtriage.adapters.harness.HarnessOptions`.

    Raises:
        ConfigError: a metric or the judge can't be used.
    """
    from ragtriage.adapters.harness import Harness
    from ragtriage.adapters.judged_row import merged_row

    harness = Harness("langsmith", metrics, options)

    def ragtriage(run: Any, example: Any) -> dict[str, Any]:
        inputs = example.inputs if example else run.inputs
        expected = example.outputs if example else None
        row = merged_row(inputs or {}, run.outputs or {}, expected, raw=harness.names_places)
        judged = harness.judged(row, getattr(run, "session_name", None) or "")
        results: list[dict[str, Any]] = []
        for name in harness.names:
            value = getattr(judged.outcome(name), "value", None)
            score = None if value is None else round(value, PLACES)
            results.append({"key": name, "score": score, "comment": judged.why(name) or None})
        head = judged.head
        results.append({"key": "headline", "value": str(head), "comment": f"to repair: {head.component}"})
        return {"results": results}

    return ragtriage
