"""Scores in inspect: `Task(dataset=…, solver=…, scorer=ragtriage.inspect_ai.scorer(["groundedness"]))`.

Importing this imports no inspect.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

from ragtriage.adapters.packages import require

if TYPE_CHECKING:
    from ragtriage.adapters.harness import HarnessOptions

LOWEST = "0.3.285"


def scorer(metrics: Sequence[str] | None = None, **options: Unpack[HarnessOptions]) -> Any:
    """A scorer whose value has every metric by its name, with what the scores rest on as its explanation.

    The query is the sample's input, the response the model's completion, and the sources stand in the state's metadata
    under a name that a file may have; a target is the reference. A score that is undefined, or that the judge failed
    on, is NaN, which inspect counts as unscored; its `reason` says why.

    Args:
        metrics: their names, as for `--metrics`; those of the settings, else THELMA's, if None.
        options: see `ragtriage.adapters.harness.HarnessOptions`.

    Raises:
        ConfigError: inspect isn't there, or a metric or the judge can't be used.
    """
    require("inspect-ai", LOWEST)
    from inspect_ai.scorer import Score, mean, stderr
    from inspect_ai.scorer import scorer as registered

    from ragtriage.adapters.harness import Harness

    harness = Harness("inspect", metrics, options)

    @registered(metrics={name: [mean(), stderr()] for name in harness.names}, name="ragtriage")  # type: ignore[untyped-decorator]  # of a package that may be missing
    def ragtriage() -> Any:
        async def score(state: Any, target: Any) -> Any:
            response = state.output.completion if state.output and state.output.choices else None
            row = {**(state.metadata or {}), "query": state.input_text, "response": response}
            if target.text:
                row["reference"] = target.text
            judged = await harness.judged_beside(row)
            told = {name: judged.why(name) for name in harness.names}
            return Score(
                value={name: getattr(judged.outcome(name), "value", math.nan) for name in harness.names},
                answer=response,
                explanation="\n".join([str(judged.head), *(f"{name}: {why}" for name, why in told.items() if why)]),
                reason=judged.reason or None,
                metadata={"headline": str(judged.head), "component": judged.head.component},
            )

        return score

    return ragtriage()
