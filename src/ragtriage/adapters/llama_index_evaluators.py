"""Scores in LlamaIndex's `BatchEvalRunner`, and for one response."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Unpack

from ragtriage.adapters.packages import require

if TYPE_CHECKING:
    from ragtriage.adapters.harness import HarnessOptions

LOWEST = "0.12.52"


def evaluators(metrics: Sequence[str] | None = None, **options: Unpack[HarnessOptions]) -> dict[str, Any]:
    """An evaluator for every metric, by its name: `BatchEvalRunner(ragtriage.llama_index.evaluators(), workers=32)`.

    The evaluators share what is judged: a response is judged once, whichever of them asks. Its sources are the
    response's `source_nodes`, as the model read them; else the `contexts` that are given.

    Args:
        metrics: their names, as for `--metrics`; those of the settings, else THELMA's, if None.
        options: see `ragtriage.adapters.harness.HarnessOptions`.

    Raises:
        ConfigError: LlamaIndex isn't there, or a metric or the judge can't be used.
    """
    require("llama-index-core", LOWEST)
    from ragtriage.adapters.harness import Harness

    harness = Harness("llama_index", metrics, options)
    return {name: _evaluator_class()(harness, name) for name in harness.names}


@lru_cache(maxsize=1)
def _evaluator_class() -> Any:
    from llama_index.core.evaluation import BaseEvaluator, EvaluationResult

    class RagtriageEvaluator(BaseEvaluator):  # type: ignore[misc]  # of a package that may be missing
        """One metric of a response: `score`, `passing` by its threshold, `feedback`; else `invalid_reason`."""

        def __init__(self, harness: Any, metric: str) -> None:
            self._harness, self._metric = harness, metric

        def _get_prompts(self) -> dict[str, Any]:
            return {}

        def _update_prompts(self, prompts_dict: Any) -> None:
            """There are no prompts of LlamaIndex's."""

        async def aevaluate_response(self, query: str | None = None, response: Any = None, **given: Any) -> Any:
            """Evaluate a response with its source nodes."""
            text, nodes = (None, None) if response is None else (str(response.response), response.source_nodes)
            sources = None if nodes is None else [_as_read(node) for node in nodes]
            return await self._evaluated(query, text, sources, given)

        async def aevaluate(
            self,
            query: str | None = None,
            response: str | None = None,
            contexts: Sequence[str] | None = None,
            **given: Any,
        ) -> Any:
            """Evaluate texts."""
            sources = None if contexts is None else [{"text": text} for text in contexts]
            return await self._evaluated(query, response, sources, given)

        async def _evaluated(self, query: str | None, response: str | None, sources: Any, given: Any) -> Any:
            row = {"query": query, "response": response, "sources": sources}
            if given.get("reference"):
                row["reference"] = given["reference"]
            judged, name = await self._harness.judged_beside(row), self._metric
            value, why = getattr(judged.outcome(name), "value", None), judged.why(name)
            return EvaluationResult(
                query=query,
                contexts=None if sources is None else [one["text"] for one in sources],
                response=response,
                passing=judged.passing(name),
                score=value,
                feedback=why or None,
                invalid_result=value is None,
                invalid_reason=None if value is not None else str(judged.outcome(name)),
            )

    return RagtriageEvaluator


def _as_read(node: Any) -> dict[str, Any]:
    return {"text": node.get_content(metadata_mode="llm"), "id": node.node_id}
